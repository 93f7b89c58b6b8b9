# Letting go of the RAM leg: only while a disk leg holds all data. What is done at shutdown, by "stop" and by "detach".
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly GUARD_LOOK=1

# guard_disk_in_sync: is a disk leg in sync in F, with nothing outstanding?
guard_disk_in_sync() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || return 0
	done
	return 1
}

# guard_release NAME: takes the RAM leg out of the running array and gives its memory back. Waits, telling so, while the only good copy is
# in RAM and a disk leg is being rebuilt from it. Returns 4 when that can't end well: then everything is left as it is.
guard_release() {
	local said=''
	while facts_observe && [[ ${F[ram.state]} == @(in_sync|recovering|faulty) ]] && ! guard_disk_in_sync; do
		[[ ${F[array.sync]} != idle ]] || {
			log_error "$1: the RAM leg ${F[ram.node]} is the only good copy and no disk leg is being rebuilt: keeping it. Bring a disk leg back"
			return "$EX_REFUSED"
		}
		[[ -n $said ]] || log_error "$1: the RAM leg is the only good copy; waiting until a disk leg has it"
		said=yes
		systemd_status "the RAM leg is the only good copy; a disk leg is being rebuilt: $(progress_text "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")"
		sleep "$GUARD_LOOK"
	done
	case ${F[ram.state]} in
	in_sync | recovering | faulty) md_drop "${F[array.md]}" "${F[ram.node]}" || {
		log_error "$1: the RAM leg ${F[ram.node]} could not be taken out of ${F[array.md]}"
		return 1
	} ;;
	esac
	ram_drop "$1" || {
		log_error "$1: the ramdisk ${F[ram.node]} is still in use; its memory is not given back"
		return 1
	}
}
