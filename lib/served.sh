# Pure: what the legs of an array have served, and since when it is whole. From the facts that look.sh lists.
# shellcheck shell=bash

declare -gA F # the facts

# Superblocks are looked at now and then, by us, mdadm and udev: so much (sectors of 512) of what is read of each disk leg is nobody's reading.
readonly SHOW_LOOKS=2048

# lately_words: sets the LATELY_… that lately.sh tells of from F[lately]; all 0 when it is damaged, or about another array.
lately_words() {
	# shellcheck disable=SC2086
	set -- ${F[lately]} # a star among them would be one damage more
	local numbers=" ${*:6}"
	# They are calculated with.
	[[ $# == 12 && $1 == "${F[uuid]}" && $5 == @(copy|kernel|none) && $numbers != *[!0-9\ ]* && $numbers != *\ 0[0-9]* && ${#numbers} -lt 90 ]] || set -- - - - - none 0 0 0 0 0 0 0
	LATELY_LIFE="$2 $3 $4" LATELY_BOOT=$2 LATELY_ENGINE=$5 LATELY_SINCE=$6 LATELY_UNTIL=$7 LATELY_REBUILT=$8 LATELY_SECONDS=$9 LATELY_RATE=${10}
	LATELY_READS=${11} LATELY_DISK_READS=${12}
}

# show_share: sets SHARE to the part of what was read since the array became whole that came from the RAM leg, in percent; empty when that is not
# known. SHARE_LEAST: "at least ", when the disk legs have been read too, by whomever: md does when it compares the legs. By what md has counted of the
# array (linux drivers/md/raid1.c, md_account_bio() or bio_start_io_acct()), since ramdisks count nothing (there is neither in drivers/block/brd.c, nor
# in rapiddisk). After lately_words, with DISK_READS.
show_share() {
	local all disks
	SHARE='' SHARE_LEAST=''
	[[ ${F[ram.state]} == in_sync && $LATELY_BOOT == "${F[boot]}" ]] || return 0
	# shellcheck disable=SC2086 # words
	set -- ${F[array.stat]}
	all=$((${3:-0} - LATELY_READS)) disks=$((DISK_READS - LATELY_DISK_READS - F[members] * SHOW_LOOKS))
	((all > 0)) || return 0
	SHARE=100
	((disks <= 0)) || SHARE=$((disks < all ? (all - disks) * 100 / all : 0)) SHARE_LEAST='at least '
}
