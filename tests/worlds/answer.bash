#!/usr/bin/env bash
# tests/worlds/answer.bash [PLANT]: the product's libraries in one long-lived process. Reads a
# command a line from stdin, and answers each with one line on descriptor 3. The world is below
# RAMRAID_ROOT, made by simulate.pl. PLANT names a mistake of plants.bash.
# shellcheck disable=SC2034,SC2154 # the libraries' variables
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
PROJECT=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
exec 3>&1 >&2
unset DRY_RUN NOTIFY_SOCKET JOURNAL_STREAM SYSTEMD_EXEC_PID MAINPID

# shellcheck source=/dev/null
source "$PROJECT/bin/ramraid"
# Reads only what is asked here and what that needs: a smaller process forks faster.
for file in act/{bits,disk-legs,first-look,notify,witness-update} config/conf core/{act,clock,log} \
	decide/{action,give-up} notes/{legs-seen,old-name} observe/{before-look,facts} \
	world/{md,superblock}; do
	need "$file"
done

# Nothing here may touch the machine, and no time passes but what the world says.
for program in mdadm modprobe rmmod wipefs lsblk systemctl logger systemd-run systemd-notify \
	update-initramfs systemd-analyze; do
	eval "$program() { return 99; }"
done
sync() { :; }
flock() { :; }
sleep() { :; }
declare -gA F
WORLD_NOW=0
clock() { NOW=$WORLD_NOW; }
log_write() { LOG_LAST=$2; }

# The words of a superblock are in a file beside each image, made by the same program from the same
# bytes ("same" compares both ways of reading).
eval "real_$(declare -f superblock_read)"
superblock_read() {
	local line
	if { read -r line <"$1.words"; } 2>/dev/null; then
		printf ' %s\n' "$line"
	else
		real_superblock_read "$1"
	fi
}
# The facts of a superblock are in such a file, too: parsing costs more than all else together.
eval "real_$(declare -f superblock_facts)"
superblock_facts() {
	local lines
	if { mapfile -d '' lines <"$1.facts"; } 2>/dev/null; then
		printf '%s' "${lines[0]}"
	else
		real_superblock_facts "$1"
	fi
}
# Here every superblock can be read at once.
superblock_facts_patiently() { superblock_facts "$DEV/$1"; }
# These start no processes: nothing here has to survive a power cut.
act_text() { printf '%s' "$2" >"$1"; }
mv() {
	local all=()
	[[ ${*: -2:1} == *.new ]] || {
		command mv "$@"
		return
	}
	mapfile -d '' all <"${*: -2:1}"
	printf '%s' "${all[0]-}" >"${*: -1}"
}

# A few lines, sorted without starting a program.
sort() {
	local all=() line i
	[[ -z $* || $* == -u ]] || {
		command sort "$@"
		return
	}
	while IFS= read -r line || [[ -n $line ]]; do
		for ((i = ${#all[@]}; i > 0; i--)); do
			[[ ${all[i - 1]} > $line ]] || break
		done
		[[ $* == -u && i -gt 0 && ${all[i - 1]} == "$line" ]] ||
			all=("${all[@]:0:i}" "$line" "${all[@]:i}")
	done
	((${#all[@]} == 0)) || printf '%s\n' "${all[@]}"
}

say() { printf '%s\n' "$*" >&3; }

answer_conf() { # NAME
	conf_load "$1" || {
		say "error ${CONF_ERRORS[*]}"
		return
	}
	say ok
}

# answer_begin NAME [RETRY]: what drive does first; without RETRY, what the monitor does.
answer_begin() {
	FACTS_NUMBER=() MEMBERS_UUID=() WITNESS_UPDATE_WRITTEN='' WITNESS_UPDATE_NOW='' GIVING_UP='' \
	LOOP_ERROR=''
	before_look_configured "$1"
	[[ -z ${2-} ]] || ! declare -F old_name_take >/dev/null || old_name_take
	F[conf.wait_timeout]=1800 F[conf.member_timeout]=30 F[retry]=${2:-no}
	say ok
}

answer_look() { # WAITED
	F[waited]=$1 WORLD_NOW=$1
	GIVING_UP=''
	facts_observe
	first_look_is_done || witness_update_foreign_start
	action_choose
	action_gate
	say "$ACTION|${ARGUMENTS[*]}|$GATE|$GIVING_UP|$WHY"
}

# What drive asks before it acts: is there a leg to be written down now?
answer_leavers() {
	facts_observe
	first_look_is_done || witness_update_foreign_start
	if [[ ${F[array.known]} == yes ]] && first_look_has_leavers; then say yes; else say no; fi
}
answer_changed() {
	witness_update_members_now_
	if [[ -n $WITNESS_UPDATE_WRITTEN && $WITNESS_UPDATE_NOW != "$WITNESS_UPDATE_WRITTEN" ]]; then
		say yes
	else
		say no
	fi
}

answer_record() {
	facts_observe
	witness_update_or_go_on
	say ok
}

# What disk_legs_assemble does beside calling mdadm.
answer_bits() { # NODE…
	BITS=()
	bits_keep "$@"
	say "ok ${BITS[*]}"
}
# What disk_legs_readd does beside calling mdadm.
answer_own() { # I
	local SET=''
	bits_own "leg.$1" "${F[leg.$1.node]}"
	say "ok$SET"
}
md_bits_set() { SET+=" $2"; }
md_bits_set_all() { SET+=' 0-63'; }
answer_give() {
	[[ -z $GIVING_UP ]] || give_up_legs "$@"
	say ok
}
# What disk_legs_assemble notes of what it has started.
answer_started() { # MD NUMBER
	F[array.judged]="$1 $2"
	say ok
}
answer_failed() {
	F[$1]='md refused'
	say ok
}
answer_rejoins() {
	legs_seen_note_again "${F[leg.$1.device_uuid]}"
	say ok
}
answer_returned() {
	disk_legs_returned_ "$1"
	say ok
}
answer_freeslot() {
	witness_update_free_slot
	say ok
}
answer_facts() {
	local key
	for key in "${!F[@]}"; do
		[[ -z ${F[$key]} ]] || printf '%s=%s\n' "$key" "${F[$key]}" >&3
	done
	say .
}
answer_real() { # FILE
	real_superblock_facts "$1" >&3
	say .
}
answer_same() { # FILE
	local facts
	facts=$(superblock_facts "$1")
	if [[ $(real_superblock_read "$1") == "$(superblock_read "$1")" &&
	$(real_superblock_facts "$1") == "$facts" ]]; then
		say ok
	else
		say differs
	fi
}

[[ -z ${1-} ]] || {
	# shellcheck source=/dev/null
	source "$PROJECT/tests/worlds/plants.bash"
	"plant_$1"
}
while read -r -a words; do
	"answer_${words[0]}" "${words[@]:1}"
done
