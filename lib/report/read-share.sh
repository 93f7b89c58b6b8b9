# What the legs of an array have served, and since when it has been whole, from the facts alone.
# shellcheck shell=bash

declare -gA F # the facts

# We, mdadm and udev look at superblocks now and then: this much of what is read from each disk leg
# (sectors of 512) does not count as anybody's reading.
readonly READ_SHARE_LOOKS=2048

# read_share_history: sets the HISTORY_… of act/whole-since.sh from F[lately]; to 0 when that is
# damaged, or about another array.
read_share_history() {
	# shellcheck disable=SC2086
	set -- ${F[lately]} # a star among them would be one damage more
	local numbers=" ${*:6}"
	# These numbers are used in arithmetic.
	[[ $# == 12 && $1 == "${F[uuid]}" && $5 == @(copy|kernel|none) && $numbers != *[!0-9\ ]* &&
		$numbers != *\ 0[0-9]* && ${#numbers} -lt 90 ]] || set -- - - - - none 0 0 0 0 0 0 0
	HISTORY_LIFE="$2 $3 $4" HISTORY_BOOT=$2 HISTORY_ENGINE=$5 HISTORY_SINCE=$6 \
		HISTORY_UNTIL=$7 HISTORY_REBUILT=$8 HISTORY_SECONDS=$9 HISTORY_RATE=${10}
	HISTORY_READS=${11} HISTORY_DISK_READS=${12}
}

# read_share: sets SHARE to how much of what was read since the array became whole came from the RAM
# leg, in percent; empty when that is not known. Sets SHARE_LEAST to "at least " when the disk legs
# have been read too, by whomever: md reads them when it compares the legs. This goes by md's count
# of the array (linux drivers/md/raid1.c, md_account_bio() or bio_start_io_acct()), because ramdisks
# count nothing (drivers/block/brd.c has neither function, nor has rapiddisk). Call
# read_share_history first, and set DISK_READS.
read_share() {
	local all disks
	SHARE='' SHARE_LEAST=''
	[[ ${F[ram.state]} == in_sync && $HISTORY_BOOT == "${F[boot]}" ]] || return 0
	# shellcheck disable=SC2086 # words
	set -- ${F[array.stat]}
	all=$((${3:-0} - HISTORY_READS)) \
		disks=$((DISK_READS - HISTORY_DISK_READS - F[members] * READ_SHARE_LOOKS))
	((all > 0)) || return 0
	SHARE=100
	((disks <= 0)) ||
		SHARE=$((disks < all ? (all - disks) * 100 / all : 0)) SHARE_LEAST='at least '
}
