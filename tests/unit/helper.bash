# What the unit tests share: a world of their own below RAMRAID_ROOT, with no way to the machine's
# disks.
# shellcheck shell=bash

# bats traces every command, which takes ten times as long as the command. Without that, it still
# names the test that fails and its line, but not the line of a function that the test calls.
set +T

export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin BATS_LIB_PATH=/usr/lib/bats:/usr/lib
# The shell with which script(1) runs its command. It is the plainest one, as where nobody has
# logged in: it passes on no functions.
export SHELL=/bin/sh

# Loading bats-assert costs more than most tests, so the first assertion loads it.
for assertion in assert_success assert_failure assert_output refute_output assert_line \
	refute_line; do
	eval "$assertion() { bats_load_library bats-support && bats_load_library bats-assert && $assertion \"\$@\"; }"
done
fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# RAMRAID_PROJECT: another tree to test, such as an unpacked package with the same folders.
PROJECT=${RAMRAID_PROJECT:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
FIXTURES=$BATS_TEST_DIRNAME/../fixtures

# shellcheck source=lib/core/load.sh
source "$PROJECT/lib/core/load.sh"
# A faked sleep adds to SECONDS how long it would wait, so that is the time here; loop.bats tests
# the real clock.
# shellcheck disable=SC2317
fake_clock() { clock() { NOW=$SECONDS; }; }

# world: an empty root. Every test is a process of its own, so the libraries' readonly variables may
# be set again in each.
world() {
	export RAMRAID_ROOT=$BATS_TEST_TMPDIR/root
	R=$RAMRAID_ROOT
	mkdir -p "$R"/etc/ramraid "$R"/{dev,run,proc/1} "$R"/sys/{block,class/block}
	: >"$R/proc/1/mountinfo"
	echo "Filename Type Size Used Priority" >"$R/proc/swaps"
	umask 022
	# What is tested is on a disk, even where $TMPDIR is in memory.
	# shellcheck disable=SC2317
	findmnt() {
		if [[ $* == *--target* ]]; then
			echo ext4
		else
			command findmnt "$@"
		fi
	}
	export -f findmnt
	unset DRY_RUN NOTIFY_SOCKET JOURNAL_STREAM SYSTEMD_EXEC_PID MAINPID
}

# libraries: reads all files of lib/. A test defines its own functions afterwards, so no library is
# read later.
libraries() {
	local lib=$PROJECT/lib file
	for file in "$lib"/*/*.sh "$lib"/cmd/*/*.sh; do
		file=${file#"$lib/"}
		need "${file%.sh}"
	done
	fake_clock
}

# untouched: checks that nothing was called that changes anything, and that /etc is as
# $R/etc.before.
untouched() {
	[[ -z $(calls) ]] || fail "called: $(calls)"
	diff -r "$R/etc" "$R/etc.before" || fail 'files were written'
}

# not COMMAND…: bash does not end a test for a bare "! COMMAND".
not() { ! "$@"; }

# fake_disk NODE BYTES [LINK…]: a block device as the libraries see one. It is a plain file; links
# are relative to /dev.
fake_disk() {
	local node=$1 bytes=$2 link
	shift 2
	mkdir -p "$R/sys/class/block/$node/holders"
	echo $((bytes / 512)) >"$R/sys/class/block/$node/size"
	echo 0 >"$R/sys/class/block/$node/ro"
	printf '%8192s' '' >"$R/dev/$node" # long enough to have no superblock
	for link; do
		mkdir -p "$R/dev/${link%/*}"
		ln -s "$R/dev/$node" "$R/dev/$link"
	done
}

# Programs that could change the machine are replaced in every test; each call is written down, and
# fails unless the test file has a function of that name.
for program in mdadm modprobe rmmod wipefs lsblk systemctl logger systemd-run systemd-notify \
	update-initramfs; do
	declare -F "$program" >/dev/null ||
		eval "$program() { called $program \"\$@\"; return 99; }"
done
called() { printf '%s\n' "$*" >>"$BATS_TEST_TMPDIR/calls"; }
calls() { [[ ! -e $BATS_TEST_TMPDIR/calls ]] || cat "$BATS_TEST_TMPDIR/calls"; }

# ramraid_with FAKES VERB ARG…: runs the program in a process of its own, where the functions that
# FAKES makes stand in for those of the libraries. Sets status and output.
ramraid_with() {
	run bash -c 'set -Eeuo pipefail; shopt -s inherit_errexit; source "$1"; FAKES=$2; shift 2
		eval "$(declare -f need | sed "1s/need/need_/")"
		need() { need_ "$@"; eval "$FAKES"; }
		main "$@"' - "$PROJECT/bin/ramraid" "$@" </dev/null
}

# facts_print: prints all of F, sorted, as the fixtures have it.
facts_print() {
	local key
	for key in "${!F[@]}"; do printf '%s=%s\n' "$key" "${F[$key]}"; done | sort
}

# facts_complete: gives each fact that F lacks its initial value.
facts_complete() {
	local key
	local -A known=()
	for key in "${!F[@]}"; do known[$key]=${F[$key]}; done
	facts_blank "${F[members]:-0}"
	for key in "${!known[@]}"; do F[$key]=${known[$key]}; done
}

# facts_read: reads F from stdin, in the same form.
facts_read() {
	local key value
	F=()
	while IFS='=' read -r key value; do [[ -z $key || $key == '#'* ]] || F[$key]=$value; done
	[[ -z ${F[leg.0.view]+there} || -n ${F[leg.0.roles]+there} ]] || facts_numbered
	facts_complete
}

# facts_unnumbered: removes what facts_numbered has added, so that it can be added again after a
# change of the views.
facts_unnumbered() {
	local leg
	for leg in leg.ram leg.0 leg.1 leg.2; do unset -v "F[$leg.number]" "F[$leg.roles]"; done
	unset -v 'F[ram.number]'
}

# roles_of VIEW: sets ROLES to what a superblock says whose view of the slots is VIEW ("A.A"), if
# each device has its slot's number.
roles_of() {
	local - slot
	set +T
	ROLES=''
	for ((slot = 0; slot < ${#1}; slot++)); do
		[[ ${1:slot:1} != A ]] || ROLES+="${ROLES:+ }$slot:$slot"
	done
}

# facts_numbered: in F, gives each leg that has a view and no device numbers those of the slots. A
# leg in the array also gets its slot's number.
facts_numbered() {
	local - leg role ROLES
	set +T
	for leg in leg.ram leg.0 leg.1 leg.2; do
		[[ -n ${F[$leg.dev]-} && -z ${F[$leg.roles]-} ]] || continue
		roles_of "${F[$leg.view]-}"
		role=${F[$leg.role]:-${F[$leg.slot]-}}
		[[ -n ${F[$leg.number]-} || ! $role =~ ^[0-9]+$ ]] || F[$leg.number]=$role
		F[$leg.roles]=$ROLES
		[[ -z ${F[$leg.view]-} ]] || F[$leg.raid_disks]=${#F[$leg.view]}
	done
	[[ -n ${F[ram.number]-} ]] || F[ram.number]=${F[ram.slot]-}
	facts_complete
}

# numbered: prints the lines of a faked superblock_facts, from stdin, and adds the device numbers,
# which are those of the slots.
numbered() {
	local line ROLES='' role=''
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		role=[0-9]*) printf 'number=%s\n' "${line#*=}" ;;
		view=*)
			roles_of "${line#*=}"
			printf 'roles=%s\n' "$ROLES"
			;;
		esac
	done
}
