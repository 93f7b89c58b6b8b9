#!/usr/bin/env bash
# tests/model/answer.sh [MUTANT]: the real action_choose as a co-process. One question a line on
# stdin, one answer a line on stdout.
#   question: START_DEGRADED WAITED FORCED ARRAY READAUTO PENDING SYNC RAM RAM-SLOT RAM-NUMBER
#   DEGRADED NAMELESS EVENTS LEGS LEFT GIVEN RAM-SLOT RAM-NUMBER NUMBERS NAME ARRAY-EVENTS LEG…
#                 START_DEGRADED may be "record", which asks whether there is a disk leg in sync
#                 to be written down: the answer is "disks" or "ram"
#     NAMELESS      letters of the disks in sync whose configured name is gone
#     FORCED        which of the legs the administrator has chosen, or "-"
#     EVENTS LEGS LEFT GIVEN  the witness: event count ("-": there is none), letters of legs ("-":
#                             none)
#     RAM-SLOT RAM-NUMBER NUMBERS NAME  the witness: the RAM leg's slot and device number, the
#                                       device numbers of LEGS; "other": for another name's
#                                       configuration
#     ARRAY-EVENTS  the event count of the running array, or "-"
#     LEG           LETTER:"-" absent, LETTER:"blank", LETTER:"twin" in a second array,
#                   LETTER:"in:STATE:SLOT:NUMBER" in the running array, anything else that is
#                   attached:
#                   LETTER:"out:EVENTS:NUMBER:ROLES:SLOTS:DIRTY:RECOVERY:FAILED:JOINED:ELSEWHERE";
#                   ROLES = NUMBER.SLOT,…
#   answer: ACTION ARGUMENT…, then "giving-up" if the start gives up legs
set -Euo pipefail
shopt -s inherit_errexit

readonly ME=11111111-2222-3333-4444-555555555555
readonly LIB=${RAMRAID_LIB:-${BASH_SOURCE[0]%/*}/../../lib}

declare -gA F=()

# uuid_of LETTER: sets UUID to the device UUID of that leg.
uuid_of() { UUID=aaaaaaaa-0000-0000-0000-00000000000$1; }

# The facts that no question changes.
constant_facts() {
	F+=([name]=data [uuid]=$ME [conf.ram]=auto [conf.wait]=yes [conf.wait_timeout]=1800 [conf.on_timeout]=degraded
		[conf.member_timeout]=30 [conf.write_behind]=0 [array.backlog]=0
		[array.behind]=0 [array.strangers]='' [array.twin]='' [array.level]=raid1
		[ram.node]='' [witness.filled]=0 [witness.why]='there is no record of the last start')
}

witness_facts() { # EVENTS LEGS LEFT GIVEN RAM-SLOT RAM-NUMBER NUMBERS NAME
	F[witness.events]='' F[witness.legs]='' F[witness.left]='' F[witness.given]='' \
		F[witness.ram_slot]='' F[witness.ram_number]='' F[witness.numbers]=''
	[[ $1 != - ]] || return 0
	F[witness.events]=$1 F[witness.ram_slot]=${5#-} F[witness.ram_number]=${6#-} \
		F[witness.numbers]=${7//[,-]/ }
	uuids_fact witness.legs "$2"
	uuids_fact witness.left "$3"
	uuids_fact witness.given "$4"
}

uuids_fact() { # KEY LETTERS
	local letters=${2#-} UUID
	while [[ -n $letters ]]; do
		uuid_of "${letters:0:1}"
		F[$1]+="${F[$1]:+ }$UUID"
		letters=${letters:1}
	done
}

leg_facts() { # I LETTER:LEG
	local i=$1 letter=${2%%:*} field UUID
	F[leg.$i.dev]=$letter F[leg.$i.node]=sd$letter F[leg.$i.in]='' F[leg.$i.state]='' \
		F[leg.$i.slot]='' F[leg.$i.writemostly]='' F[leg.$i.sb]=''
	F[leg.$i.uuid]='' F[leg.$i.role]='' F[leg.$i.view]='' F[leg.$i.events]=0 \
		F[leg.$i.recovery]='' F[leg.$i.device_uuid]='' F[leg.$i.level]=''
	F[leg.$i.number]='' F[leg.$i.roles]='' F[leg.$i.joined]='' F[leg.$i.elsewhere]=''
	unset "F[failed.readd.$i]"
	local - IFS=:
	set -f
	# shellcheck disable=SC2206 # split at ":" on purpose; a here-string costs a pipe
	field=(${2#*:})
	unset IFS
	case ${field[0]} in
	-) F[leg.$i.node]='' ;;
	blank) F[leg.$i.sb]=none ;;
	twin) F[leg.$i.in]=md126 F[leg.$i.state]='' F[array.twin]=md126 ;;
	in)
		F[leg.$i.in]=md127 F[leg.$i.state]=${field[1]} F[leg.$i.slot]=${field[2]} \
			F[leg.$i.number]=${field[3]} F[leg.$i.writemostly]=yes
		;;
	out)
		uuid_of "$letter"
		F[leg.$i.sb]=ok F[leg.$i.uuid]=$ME F[leg.$i.level]=1 F[leg.$i.device_uuid]=$UUID
		F[leg.$i.events]=${field[1]} F[leg.$i.number]=${field[2]} \
			F[leg.$i.raid_disks]=${field[4]} F[leg.$i.dirty]=${field[5]} \
			F[leg.$i.recovery]=${field[6]-}
		roles_facts "$i" "${field[2]}" "${field[3]}" "${field[4]}"
		[[ -z ${field[7]-} ]] || F[failed.readd.$i]=refused
		[[ -z ${field[8]-} ]] || F[leg.$i.joined]=yes
		[[ -z ${field[9]-} ]] || F[leg.$i.elsewhere]=yes
		;;
	esac
}

nameless_facts() { # LETTERS
	local letters=$1
	while [[ -n $letters ]]; do
		F[array.unconfigured]+="${F[array.unconfigured]:+ }sd${letters:0:1}"
		letters=${letters:1}
	done
	F[array.strangers]=${F[array.unconfigured]}
}

roles_facts() { # I NUMBER ROLES SLOTS: role, roles and view as lib/world/superblock.sh has them
	local i=$1 entry view
	F[leg.$i.role]=spare
	printf -v view '%*s' "$4" ''
	view=${view// /.}
	for entry in ${3//[,-]/ }; do
		F[leg.$i.roles]+="${F[leg.$i.roles]:+ }${entry/./:}"
		view=${view:0:${entry#*.}}A${view:${entry#*.}+1}
		[[ ${entry%.*} != "$2" ]] || F[leg.$i.role]=${entry#*.}
	done
	F[leg.$i.view]=$view
}

# slots_fact: sets the number of all slots: those that are free or whose member is not in sync, and
# those of members in sync.
slots_fact() {
	local i slots=${F[array.degraded]} letters=${F[array.unconfigured]//[!1-9]/}
	slots=$((slots + ${#letters}))
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || slots=$((slots + 1))
	done
	[[ ${F[ram.state]} != in_sync ]] || slots=$((slots + 1))
	F[array.slots]=$slots
}

answer() { # the words of a question
	local i record question=$*
	F[conf.start_degraded]=$1 F[waited]=$2 F[forced]=${3#-} F[array.state]=$4 \
		F[array.readauto]=$5 F[array.pending]=$6 F[array.sync]=$7 F[ram.state]=$8
	F[array.md]='' F[ram.slot]=${9#-} F[ram.number]=${10#-} F[array.degraded]=${11} \
		F[array.twin]=''
	[[ $4 == absent ]] || F[array.md]=md127
	F[array.unconfigured]='' F[array.strangers]=''
	[[ ${12} == - ]] || nameless_facts "${12}"
	witness_facts "${@:13:8}"
	F[array.events]=${21/#-/0}
	record=${1/#[!r]*/}
	shift 21
	F[members]=$#
	for ((i = 0; i < F[members]; i++)); do leg_facts "$i" "${@:i+1:1}"; done
	slots_fact
	[[ -z $record ]] || {
		if health_disk_in_sync; then printf 'disks\n'; else printf 'ram\n'; fi
		return
	}
	action_choose
	[[ -z ${MODEL_WHY-} ]] || printf '%s\n    %s: %s\n' "$question" "$ACTION" "$WHY" >&2
	printf '%s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}${GIVING_UP:+ giving-up}"
}

main() {
	local words
	STATE=/state ETC=/etc/ramraid
	lib=$LIB
	# shellcheck source=lib/core/load.sh
	source "$lib/core/load.sh"
	need decide/action observe/facts
	# shellcheck source=tests/model/mutants.sh
	[[ -z ${1-} ]] || {
		source "${BASH_SOURCE[0]%/*}/mutants.sh"
		if declare -F "mutant_$1" >/dev/null; then "mutant_$1"; else "deep_mutant_$1"; fi
	}
	facts_blank 9
	constant_facts
	while read -r -a words; do answer "${words[@]}"; done
}

main "$@"
