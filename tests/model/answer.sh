#!/usr/bin/env bash
# tests/model/answer.sh [MUTANT]: the real decide_action as a co-process. One question a line on stdin, one answer a line on stdout.
#   question: START_DEGRADED WAITED FORCED ARRAY READAUTO PENDING SYNC RAM EVENTS LEGS LEFT GIVEN LEG…
#     FORCED        number of the leg that the administrator has chosen, or "-"
#     EVENTS LEGS LEFT GIVEN  the witness: event count ("-": there is none), letters of legs ("-": none)
#     LEG           "-" absent, "in:STATE" in the running array, "out:EVENTS:VIEW:DIRTY:RECOVERY:FAILED" anything else that is attached
#   answer: ACTION ARGUMENT…, then "giving-up" if the start gives up legs
set -Euo pipefail
shopt -s inherit_errexit

readonly ME=11111111-2222-3333-4444-555555555555
readonly LIB=${RAMRAID_LIB:-${BASH_SOURCE[0]%/*}/../../lib}

declare -gA F=()

# uuid_of LETTER: sets UUID to the device UUID of that leg.
uuid_of() { UUID=aaaaaaaa-0000-0000-0000-00000000000$1; }

# What no question changes.
constant_facts() {
	F=([name]=data [uuid]=$ME [conf.ram]=auto [conf.wait]=yes [conf.wait_timeout]=1800 [conf.on_timeout]=degraded
		[conf.member_timeout]=30 [conf.write_behind]=0 [array.backlog]=0 [array.strangers]='' [array.twin]='' [array.level]=raid1
		[array.degraded]=1 [ram.node]='' [witness.why]='there is no record of the last start')
}

witness_facts() { # EVENTS LEGS LEFT GIVEN
	F[witness.events]='' F[witness.legs]='' F[witness.left]='' F[witness.given]='' F[witness.ram_slot]=''
	[[ $1 != - ]] || return 0
	F[witness.events]=$1 F[witness.ram_slot]=0
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

leg_facts() { # I LEG
	local i=$1 letter=${LETTERS:$1:1} field UUID
	F[leg.$i.dev]=$letter F[leg.$i.node]=sd$letter F[leg.$i.in]='' F[leg.$i.state]='' F[leg.$i.slot]='' F[leg.$i.writemostly]='' F[leg.$i.sb]=''
	F[leg.$i.uuid]='' F[leg.$i.role]='' F[leg.$i.view]='' F[leg.$i.events]=0 F[leg.$i.recovery]='' F[leg.$i.device_uuid]='' F[leg.$i.level]=''
	unset "F[failed.readd.$i]"
	IFS=: read -r -a field <<<"$2"
	case ${field[0]} in
	-) F[leg.$i.node]='' ;;
	in) F[leg.$i.in]=md127 F[leg.$i.state]=${field[1]} F[leg.$i.slot]=$((i + 1)) F[leg.$i.writemostly]=yes ;;
	out)
		uuid_of "$letter"
		F[leg.$i.sb]=ok F[leg.$i.uuid]=$ME F[leg.$i.role]=$((i + 1)) F[leg.$i.level]=1 F[leg.$i.device_uuid]=$UUID
		F[leg.$i.events]=${field[1]} F[leg.$i.view]=${field[2]} F[leg.$i.dirty]=${field[3]} F[leg.$i.recovery]=${field[4]-}
		[[ -z ${field[5]-} ]] || F[failed.readd.$i]=refused
		;;
	esac
}

answer() { # the words of a question
	local i question=$*
	F[conf.start_degraded]=$1 F[waited]=$2 F[forced]=${3#-} F[array.state]=$4 F[array.readauto]=$5 F[array.pending]=$6 F[array.sync]=$7 F[ram.state]=$8
	F[array.md]='' F[ram.slot]=''
	[[ $4 == absent ]] || F[array.md]=md127
	[[ $8 == none ]] || F[ram.slot]=0
	witness_facts "${@:9:4}"
	shift 12
	F[members]=$#
	for ((i = 0; i < F[members]; i++)); do leg_facts "$i" "${@:i+1:1}"; done
	decide_action
	[[ -z ${MODEL_WHY-} ]] || printf '%s\n    %s: %s\n' "$question" "$ACTION" "$WHY" >&2
	printf '%s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}${GIVING_UP:+ giving-up}"
}

readonly LETTERS=123

main() {
	local words
	STATE=/state ETC=/etc/ramraid
	# shellcheck source=lib/whole.sh
	source "$LIB/whole.sh"
	# shellcheck source=lib/decide.sh
	source "$LIB/decide.sh"
	# shellcheck source=lib/disklegs.sh
	source "$LIB/disklegs.sh"
	# shellcheck source=lib/deviceleg.sh
	source "$LIB/deviceleg.sh"
	# shellcheck source=lib/histories.sh
	source "$LIB/histories.sh"
	# shellcheck source=lib/safestart.sh
	source "$LIB/safestart.sh"
	# shellcheck source=tests/model/mutants.sh
	[[ -z ${1-} ]] || {
		source "${BASH_SOURCE[0]%/*}/mutants.sh"
		if declare -F "mutant_$1" >/dev/null; then "mutant_$1"; else "deep_mutant_$1"; fi
	}
	constant_facts
	while read -r -a words; do answer "${words[@]}"; done
}

main "$@"
