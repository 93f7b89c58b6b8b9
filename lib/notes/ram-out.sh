# Why a running array has no RAM leg: RUN/NAME.detached, which only this file reads and writes.
# shellcheck shell=bash
#
# The first line is one word, and the second, if there is one, says more:
#   person   a person has taken it out ("detach"); why an "attach" has failed since
#   release  "release" is at work on the array, or was interrupted
#   memory   memory was short (MEMORY_FLOOR=)
#   room     the same, but there is room again
#   full     its data did not fit into RAM_LIMIT; how far the data could be compressed
# Anything else means "person", also an empty file: earlier versions wrote that, and a full /run
# leaves it. The note goes when a RAM leg has been made; when a person types "attach" or "start",
# unless memory is short; and when what it announces does not come about.

need core/act core/paths

declare -gA F # the facts: decide/facts.list

# ram_out_read NAME: sets RAM_OUT to the word, and RAM_OUT_WHY to the second line; both are empty if
# there is no note.
ram_out_read() {
	RAM_OUT='' RAM_OUT_WHY=''
	[[ -e $RUN/$1.detached ]] || return 0
	{ read -r RAM_OUT && read -r RAM_OUT_WHY; } 2>/dev/null <"$RUN/$1.detached" || :
	[[ $RAM_OUT == @(memory|room|release|full) ]] || RAM_OUT=person
}

# ram_out_facts: sets the same as facts, for the array F[name].
ram_out_facts() {
	local RAM_OUT RAM_OUT_WHY
	ram_out_read "${F[name]}"
	F[ram.out]=$RAM_OUT F[ram.tried]=''
	case $RAM_OUT in
	full) F[ram.full]=$RAM_OUT_WHY ;;
	person) F[ram.tried]=$RAM_OUT_WHY ;;
	esac
}

# ram_out_is_noted NAME: is there a note, whatever it says?
ram_out_is_noted() { [[ -e $RUN/$1.detached ]]; }

# ram_out_is_short NAME: is the RAM leg out because memory was short?
ram_out_is_short() {
	local RAM_OUT RAM_OUT_WHY
	ram_out_read "$1"
	[[ $RAM_OUT == @(memory|room) ]]
}

# ram_out_is_released NAME: is "ramraid release" at work on the array, or was it interrupted? Then
# hot-plug leaves the array alone until a person types release again, or adopt, or start.
ram_out_is_released() {
	local RAM_OUT RAM_OUT_WHY
	ram_out_read "$1"
	[[ $RAM_OUT == release ]]
}

# ram_out_note NAME WORD [WHY]: writes the note. Returns 1 when it can't be written.
ram_out_note() { act_put "$RUN/$1.detached" "${@:2}"; }

# ram_out_forget NAME: deletes the note. ram_out_undo NAME does so as a step of a verb, which is
# logged and honours --dry-run.
ram_out_forget() { rm -f "$RUN/$1.detached"; }
ram_out_undo() { act rm -f -- "$RUN/$1.detached"; }
