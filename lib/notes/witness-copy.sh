# The place of the second copy of the witness (notes/witness.sh), on a file system that is not the
# root: /boot, the ESP, or a folder that somebody names. The device under it may queue for ever, so
# every look, read and write there has a bound.
# shellcheck shell=bash

need config/conf core/act core/bounded core/log core/mounts core/paths core/text
need core/trust notes/hardware world/disk world/disk-find

declare -gA CONF F

readonly WITNESS_COPY_BOUND=30 # seconds that the file system has to answer
readonly WITNESS_MAX=65536     # bytes of a record

# witness_copy_find UUID: sets WITNESS_COPY to the file that is the second copy, whether or not it
# exists, and WITNESS_COPY_WRITABLE to yes if it may be written. Both are empty when there is no
# place for a copy; then WITNESS_COPY_WHY says why. Sets WITNESS_ROOT to the type of the root file
# system. WITNESS_COPY= in ramraid.conf(5): none, a folder, or auto: /boot or the ESP.
witness_copy_find() {
	local want=${CONF[WITNESS_COPY]-none} root=('' '') best='' found=() folder NODE
	WITNESS_COPY='' WITNESS_COPY_WRITABLE='' WITNESS_COPY_WHY='' WITNESS_ROOT=''
	witness_copy_mounts_ || return 0
	folder=${want/#auto/"$best/ramraid"}
	if [[ $want == none ]]; then
		WITNESS_COPY_WHY='WITNESS_COPY=none'
	elif [[ -z $best || ${found[0]} == "${root[0]}" ]]; then
		WITNESS_COPY_WHY="$want is on the root file system"
		[[ $want != auto ]] ||
			WITNESS_COPY_WHY="neither /boot nor the ESP is a file system of its own \
that is mounted"
	elif ! witness_copy_is_local_ "${found[0]}" "${found[2]}"; then
		# Decided before anything there is looked at, which would mount it, or wait for it.
		WITNESS_COPY_WHY="$best is of type ${found[2]}, and may not be there, or may not \
answer, when the machine starts"
	elif ! witness_copy_stays_ "$want" "${found[0]}" "${found[3]}" "${root[@]}"; then
		: # says why not
	elif ! witness_copy_is_roots_ "$ROOT$folder"; then
		WITNESS_COPY_WHY=${WITNESS_COPY_TRUST[$ROOT$folder]}
	elif [[ $want != auto && ! -d $ROOT$want ]]; then
		WITNESS_COPY_WHY="there is no folder $want"
	elif [[ -n ${F[array.md]-} ]] && witness_copy_node_ "${found[0]}" "${found[3]}" &&
		disk_is_partly_on "$NODE" "${F[array.md]}"; then
		WITNESS_COPY_WHY="$best is on the array itself"
	else
		WITNESS_COPY=$ROOT$folder/$1.witness
		[[ ,${found[1]}, != *,rw,* || ! -w $ROOT$best ]] || WITNESS_COPY_WRITABLE=yes
	fi
}

# witness_copy_mounts_: looks in the table of mounts for the root file system and the place of the
# copy, and sets the caller's root, best and found. Returns 1 when there is no table.
witness_copy_mounts_() {
	local number target options type source rest MOUNTS
	mounts_read || {
		WITNESS_COPY_WHY="$PROC/1/mountinfo can't be read"
		[[ $want == none ]] || log_warning "not looking for the second copy of the record: \
$WITNESS_COPY_WHY"
		return 1
	}
	for rest in "${MOUNTS[@]}"; do
		text_into "$rest" _ _ number _ target options
		text_into "${rest##* - }" type source
		if [[ $target == / ]]; then
			root=("$number" "$source") WITNESS_ROOT=$type
		elif [[ $want == auto ]]; then
			[[ $target == @(/boot|/efi|/boot/efi) &&
				$type == @(ext[234]|xfs|f2fs|btrfs|vfat|msdos) ]] || continue
			# The first of these that is mounted; of two on one mount point, the upper
			# one.
			[[ $target:$best == @(/boot:*|/efi:|/efi:/efi|/efi:/boot/efi) ||
				$target:$best == @(/boot/efi:|/boot/efi:/boot/efi) ]] &&
				best=$target found=("$number" "$options" "$type" "$source")
		elif [[ $want/ == "$target"/* && ${#target} -ge ${#best} ]]; then
			best=$target found=("$number" "$options" "$type" "$source")
		fi
	done
	return 0
}

# witness_copy_is_local_ NUMBER TYPE: is it a file system on a block device, and not an automount?
# Any other may wait for the network or a server, and so for the array itself.
witness_copy_is_local_() {
	[[ $2 != @(fuse*|autofs) ]] && [[ $1 != 0:* || $2 == @(btrfs|bcachefs|zfs) ]]
}

# witness_copy_stays_ auto|FOLDER NUMBER SOURCE ROOT-NUMBER ROOT-SOURCE: has somebody named the
# folder, or is the file system safe from being replaced by another one that fstab finds by the same
# UUID? It is if nobody can plug in or make up a device on its bus, or if the root file system is on
# the same disk. A file system without a block device to know it by counts as safe. Otherwise sets
# WITNESS_COPY_WHY and returns 1.
witness_copy_stays_() {
	local HARDWARE NODE node
	[[ $1 == auto ]] && witness_copy_node_ "$2" "$3" || return 0
	node=$NODE
	hardware_of "$node"
	[[ +${HARDWARE%% *}+ =~ \+($HARDWARE_LOOSE|$HARDWARE_FAR)\+ ]] || return 0
	! witness_copy_node_ "$4" "$5" ||
		[[ $(disk_physical "$node" | sort -u) != "$(disk_physical "$NODE" | sort -u)" ]] ||
		return 0
	WITNESS_COPY_WHY="$best is on ${HARDWARE%% *} (/dev/$node), where another file system of \
the same UUID may take its place, and would be trusted"
	return 1
}

# witness_copy_node_ NUMBER SOURCE: sets NODE to the device of a file system, as mountinfo has it.
witness_copy_node_() {
	local line lines=()
	NODE=''
	if [[ $1 == 0:* ]]; then
		[[ $2 == /* ]] && disk_find "$2"
		return
	fi
	{ mapfile -t lines <"$SYS/dev/block/$1/uevent"; } 2>/dev/null || :
	for line in "${lines[@]}"; do
		[[ $line != DEVNAME=* ]] || NODE=${line#*=} NODE=${NODE//\//!}
	done
	[[ -n $NODE ]]
}

# witness_copy_is_roots_ FOLDER: can only root change what is in it? Otherwise anybody could vouch
# for an old disk, with a later generation, or make root wait for, or write, something else. This is
# checked once; WITNESS_COPY_TRUST has why not.
declare -gA WITNESS_COPY_TRUST=()
witness_copy_is_roots_() {
	[[ -n ${WITNESS_COPY_TRUST["$1"]+asked} ]] ||
		WITNESS_COPY_TRUST["$1"]=$(witness_copy_bounded_ "$1" trust_why_not "$1") || {
		WITNESS_COPY_TRUST["$1"]="$1 does not answer"
		witness_copy_say_ "in $1, can't be read: the file system does not answer"
	}
	[[ -z ${WITNESS_COPY_TRUST["$1"]} ]]
}

# witness_copy_bounded_ FOLDER COMMAND…: as bounded, for the file system that FOLDER is on.
witness_copy_bounded_() {
	local BOUNDED=$WITNESS_COPY_BOUND
	bounded "$@"
}

# witness_copy_text: called after witness_copy_find. Sets the caller's text to what the file holds,
# as mapfile -d '' does. Returns 1 when there is none, 2 when it can't be read, and BOUNDED_SILENT
# when the file system does not answer.
witness_copy_text() {
	local code=0
	mapfile -d '' text < <(
		witness_copy_bounded_ "${WITNESS_COPY%/*}" witness_copy_print_ || code=$?
		printf '\0%s' "$code"
	)
	((${#text[@]} > 0)) || return 2
	code=${text[-1]}
	text_number_or code 2
	unset 'text[-1]'
	((code != BOUNDED_SILENT)) || witness_copy_say_ "$WITNESS_COPY, can't be read: its file \
system does not answer"
	return "$code"
}
witness_copy_print_() {
	[[ -f $WITNESS_COPY && ! -L $WITNESS_COPY ]] || return 1
	head -c "$WITNESS_MAX" -- "$WITNESS_COPY" || return 2
}

# witness_copy_put TEXT: called after witness_copy_find. If the copy can't be written, a warning
# says so once, and that is all: an old copy is recognised by its generation.
WITNESS_COPY='' WITNESS_COPY_WRITABLE='' WITNESS_COPY_SAID=''
witness_copy_put() {
	[[ -n $WITNESS_COPY_WRITABLE ]] || return 0
	witness_copy_bounded_ "${WITNESS_COPY%/*}" act_text_anyhow "$WITNESS_COPY" "$1"$'\n' 600 ||
		witness_copy_say_ "$WITNESS_COPY, can't be written"
}

# witness_copy_drop: deletes it, if there is one. Returns 1 when it stays, or may come back after a
# power cut.
witness_copy_drop() {
	[[ -z $WITNESS_COPY ]] ||
		witness_copy_bounded_ "${WITNESS_COPY%/*}" act_put_away "$WITNESS_COPY"
}

witness_copy_say_() { # WHERE-AND-WHY
	[[ -n $WITNESS_COPY_SAID ]] || log_warning "the second copy of the record, $1 \
(WITNESS_COPY in ramraid.conf(5))"
	WITNESS_COPY_SAID=yes
}
