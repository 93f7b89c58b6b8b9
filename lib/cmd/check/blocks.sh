# The check, RAM=zram on an array with blocks of 512 bytes: may they become larger at its next
# start?
# shellcheck shell=bash

need cmd/check/findings core/paths decide/larger-blocks observe/contents-blocks world/md-state
need world/ramdisk-zram

declare -gA F # the facts: decide/facts.list

# check_blocks: sets the caller's found, why there is no RAM leg; cure, what to write or type; and
# blocks, of the next start: ok, wrong, or unseen.
check_blocks() {
	local why='' bytes file=$ETC/$CHECK_ARRAY.conf other='take another kind, such as RAM=auto' \
		again="ramraid stop $CHECK_ARRAY; ramraid start $CHECK_ARRAY"
	found="none, since zram has blocks of 4096 bytes, and those of the array have \
${F[array.block]}"
	cure=$other blocks=wrong
	if [[ ${F[conf.root]} == yes ]]; then
		found+=', and the initramfs, which starts it, gives it no larger ones'
		return
	elif ! findings_is_root; then
		cure="sudo ramraid check $CHECK_ARRAY, \
which sees whether what is on it bears larger ones"
		blocks=unseen
		return
	fi
	contents_blocks_look "${F[array.md]}"
	why=$(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}")
	if [[ -n $why ]]; then
		found+="; what is on it does not bear larger ones: ${why//$'\n'/; }"
	elif bytes=$(md_state_leg_bytes "${F[array.md]}"); then
		why=$(ramdisk_zram_why_not "$bytes" "$RAMDISK_ZRAM_BLOCK")
		found+=${why:+"; $why"}
	fi
	if [[ -n $why ]]; then
		[[ ${F[conf.block]} != 4096 ]] ||
			cure="before its next start take BLOCK=4096 out of $file; $other"
	elif [[ ${F[conf.block]} == 4096 ]]; then
		cure="$again; or a reboot" blocks=ok
	else
		cure="what is on it bears larger ones \
($(larger_blocks_what "${CONTENTS_BLOCKS[@]}")): write BLOCK=4096 in $file; then: $again"
	fi
}

# check_blocks_later BLOCKS FOUND CURE: beside a RAM leg of another kind, which is in sync: will
# there be one after the next start?
check_blocks_later() {
	case $1 in
	wrong) findings_problem larger-blocks 'a RAM leg after the next start as well' "$2" "$3" ;;
	unseen)
		findings_unseen contents 'to see whether what is on the array bears blocks of 4096 bytes, as RAM=zram needs them' 'no right to read it'
		;;
	esac
}
