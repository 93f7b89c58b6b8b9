# What "ramraid selftest" has found on which kernel, in $STATE/selftest; and what a running test
# uses, or a killed one has left behind. The last entry for each kernel release counts.
# shellcheck shell=bash

need core/act core/log core/paths world/kernels

# A name for its ramdisk, its copy and its claim that no array can have (config/conf.sh), and the
# name that its array has below /dev/md.
readonly SELFTEST_NAME=_selftest SELFTEST_MD=ramraid-selftest
# Where its files are: in memory or, where that is too small, in $STATE. Only root can access
# either.
readonly SELFTEST_FOLDERS=("$RUN/.selftest" "$STATE/.selftest")

# selftest_record_read RELEASE: sets SELFTEST (modules: what kernels_md_build gives; result: passed
# or failed; rounds, time, version; and why it failed). Returns 1, with SELFTEST empty, when there
# is no record of that kernel.
declare -gA SELFTEST=()
selftest_record_read() {
	local key value mine='' file=$STATE/selftest
	SELFTEST=()
	[[ -f $file && -r $file ]] || return 1
	while IFS='=' read -r key value; do
		case $key in
		kernel)
			mine=''
			[[ $value != "$1" ]] || mine=yes SELFTEST=()
			;;
		modules | result | rounds | time | version | why)
			[[ -z $mine ]] || SELFTEST[$key]=$value
			;;
		esac
	done <"$file"
	[[ ${SELFTEST[result]-} == @(passed|failed) ]] && return
	SELFTEST=()
	return 1
}

# selftest_record_word RELEASE: sets SELFTEST_WORD to passed or failed, or to nothing when that
# kernel has not been tested. On the running kernel, md has to be the very build that was tested; as
# long as md is not loaded, the word is not "passed".
selftest_record_word() {
	local KERNEL_MD=''
	SELFTEST_WORD=''
	[[ -e $STATE/selftest ]] && selftest_record_read "$1" || return 0
	SELFTEST_WORD=${SELFTEST[result]}
	[[ $1 == "$(kernels_running)" ]] || return 0
	kernels_md_build "$1"
	if [[ -n $KERNEL_MD ]]; then
		[[ $KERNEL_MD == "${SELFTEST[modules]-}" ]] || SELFTEST_WORD=''
	elif [[ $SELFTEST_WORD == passed ]]; then
		SELFTEST_WORD=''
	fi
}

# selftest_record_write RELEASE MODULES RESULT ROUNDS VERSION WHY: writes what selftest_record_read
# reads. What was found on kernels that are no longer installed is dropped. Returns 1 when it can't
# be made durable.
selftest_record_write() {
	local text time folder release why=$6
	local -A SELFTEST=()
	printf -v time '%(%Y-%m-%dT%H:%M:%S%z)T' -1
	log_printable why
	text='# What "ramraid selftest" has found: ramraid-selftest(8).'$'\n'
	for folder in "$MODULES"/*/; do
		release=${folder%/} release=${release##*/}
		[[ -d $folder && $release != "$1" ]] || continue
		selftest_record_read "$release" || continue
		text+=$(selftest_record_text_ "$release")$'\n'
	done
	SELFTEST=([modules]=$2 [result]=$3 [rounds]=$4 [time]=$time [version]=$5)
	[[ -z $why ]] || SELFTEST[why]=$why
	text+=$(selftest_record_text_ "$1")$'\n'
	act_text "$STATE/selftest" "$text"
}

selftest_record_text_() { # RELEASE: of SELFTEST
	local key
	printf 'kernel=%s\n' "$1"
	for key in modules result rounds 'time' version why; do
		[[ -z ${SELFTEST[$key]-} ]] || printf '%s=%s\n' "$key" "${SELFTEST[$key]}"
	done
}

# selftest_record_left: sets SELFTEST_LEFT to a folder of a test that is running or has been killed;
# to nothing when there is none. selftest_record_uuid: sets SELFTEST_UUID to the UUID of that test's
# array.
selftest_record_left() {
	local folder
	SELFTEST_LEFT=''
	for folder in "${SELFTEST_FOLDERS[@]}"; do
		[[ ! -d $folder || -L $folder ]] || SELFTEST_LEFT=$folder
	done
}
selftest_record_uuid() {
	local SELFTEST_LEFT
	SELFTEST_UUID=''
	selftest_record_left
	{ read -r SELFTEST_UUID <"${SELFTEST_LEFT:-/nowhere}/uuid"; } 2>/dev/null || :
	[[ $SELFTEST_UUID =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]] || SELFTEST_UUID=''
}
