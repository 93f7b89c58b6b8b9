#!/bin/bash
# dracut module: keeps the initramfs from assembling the arrays that ramraid starts, and has it
# start the one that the root file system is on, as initramfs/hook does where initramfs-tools is
# used.
# dracut's own module "mdraid" copies mdadm.conf and, of the two folders that mdadm may read beside
# it, only /etc/mdadm.conf.d.
# dracut sources this file and calls its functions (dracut.modules(7)); initdir, moddir and
# dracutsysrootdir are dracut's.
# shellcheck disable=SC2154

# Prints the paths of the claims, as in the real root. "ramraid claim" writes to one or the other of
# these folders.
ramraid_claims() {
	local claim
	for claim in "${dracutsysrootdir-}"/etc/mdadm/mdadm.conf.d/ramraid-*.conf \
		"${dracutsysrootdir-}"/etc/mdadm.conf.d/ramraid-*.conf; do
		[[ ! -f $claim ]] || printf '%s\n' "${claim#"${dracutsysrootdir-}"}"
	done
}

# Prints a line for each array with ROOT=yes: its UUID and its name, for initramfs/start.
ramraid_roots() {
	local claim
	while IFS= read -r claim; do
		sed -n 's/^ARRAY \(\/dev\/[^ ]*\) UUID=\([0-9a-f:]*\)$/\2 \1/p' \
			"${dracutsysrootdir-}$claim"
	done < <(ramraid_claims)
}

# 255 means: install this module only if somebody asks for it (dracut.modules(7)).
check() { [[ -n $(ramraid_claims) ]] || return 255; }

# "mdraid" starts the array with the root file system as long as nothing is missing.
depends() { [[ -z $(ramraid_roots) ]] || echo mdraid; }

# mdadm reads one of the two folders. Which one depends on the mdadm.conf that is there and on how
# mdadm was built (load_conffile() in mdadm's config.c), so the claims go to both. Nothing is
# appended to a file that dracut has copied: it may be a link.
install() {
	local claim folder roots code=0
	while IFS= read -r claim; do
		for folder in /etc/mdadm.conf.d /etc/mdadm/mdadm.conf.d; do
			inst_dir "$folder"
			inst -H "$claim" "$folder/${claim##*/}" || code=1 # said by dracut
		done
		ramraid_do_not_wait "${dracutsysrootdir-}$claim"
	done < <(ramraid_claims)
	roots=$(ramraid_roots)
	[[ -z $roots ]] || ramraid_install_start "$roots" || code=1
	return "$code"
}

# ramraid_install_start ROOTS: installs what starts them while only the RAM leg is missing. dracut
# runs it whenever udev has nothing more to do and the root device is not there yet
# (dracut-initqueue.sh, "settled").
ramraid_install_start() {
	printf '%s\n' "$1" >"$initdir/etc/ramraid.roots"
	inst_simple "$moddir/start" /usr/lib/ramraid/start &&
		inst_hook initqueue/settled 50 "$moddir/start-root.sh"
}

# ramraid_do_not_wait CLAIM: keeps the initramfs from waiting for that array, or for what is on it.
# An initramfs for this host alone waits for every array, logical volume and LUKS device that swap
# is on (cmdline() of "mdraid", "lvm" and "crypt"), and has its entries of /etc/crypttab. Nothing
# starts a claimed array there, so the boot would end in the emergency shell. Those modules are
# installed before this one: dracut takes modules in the order of their names.
# What is on the array may be a guest's, who writes there what he likes, such as the UUID of the
# container that the root file system is in.
ramraid_do_not_wait() {
	local array what word uuid='' node name type kind id ids=() nodes=' '
	while read -r array what word; do
		[[ "$array $what $word" != 'ARRAY <ignore> UUID='* ]] || uuid=${word#UUID=}
	done <"$1"
	[[ $uuid =~ ^[0-9a-f:]{35}$ ]] || return 0
	ramraid_take_out "rd.md.uuid=$uuid"
	while ramraid_read_device; do
		nodes+="$node "
		[[ $kind != crypto_LUKS ]] || ids+=("$id")
		case $type in
		lvm) ramraid_take_out "rd.lvm.lv=$(ramraid_volume "$name")" ;;
		crypt) ramraid_take_out_of_crypttab "$name" ;;
		esac
	done < <(ramraid_devices "/dev/disk/by-id/md-uuid-$uuid")
	for id in "${ids[@]}"; do
		! ramraid_is_elsewhere "$id" || continue
		ramraid_take_out "rd.luks.uuid=$id"
		ramraid_take_out "rd.luks.uuid=luks-$id"
	done
}

# ramraid_devices [DEVICE]: prints a line for each block device, or for DEVICE and each on it.
# ramraid_read_device: reads such a line; sets the caller's node, name, type, kind and id. The name
# is what device-mapper calls it; kind is what it holds, and id the UUID of that, if it has the form
# of one.
ramraid_devices() {
	lsblk --noheadings --pairs --output KNAME,NAME,TYPE,FSTYPE,UUID "$@" 2>/dev/null
}
ramraid_read_device() {
	local line value='([^"]*)"' form
	form="^KNAME=\"$value NAME=\"$value TYPE=\"$value FSTYPE=\"$value UUID=\"$value\$"
	node='' name='' type='' kind='' id=''
	IFS= read -r line || return
	[[ $line =~ $form ]] || return 0
	node=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]} type=${BASH_REMATCH[3]}
	kind=${BASH_REMATCH[4]} id=${BASH_REMATCH[5]}
	[[ $id =~ ^[0-9a-fA-F-]{36}$ ]] || id=''
}

# ramraid_is_elsewhere UUID: has a device that is not among the caller's nodes the same?
ramraid_is_elsewhere() {
	local node name type kind id
	while ramraid_read_device; do
		[[ $id != "$1" || $nodes == *" $node "* ]] || return 0
	done < <(ramraid_devices)
	return 1
}

# ramraid_volume NAME: prints GROUP/VOLUME for the name that device-mapper has for it: a hyphen
# stands between the two, and each hyphen within them is doubled (lvm(8)).
ramraid_volume() {
	local name=${1//--/$'\n'}
	name=${name/-//}
	printf '%s\n' "${name//$'\n'/-}"
}

# ramraid_take_out WORD: takes it out of what the image adds to the kernel's command line.
ramraid_take_out() {
	local file line text
	for file in "$initdir"/etc/cmdline.d/*.conf; do
		[[ -f $file && ! -L $file ]] || continue
		text=''
		while IFS= read -r line || [[ -n $line ]]; do
			line=" $line "
			while [[ $line == *" $1 "* ]]; do line=${line/" $1 "/ }; done
			text+=$line$'\n'
		done <"$file"
		printf '%s' "$text" >"$file"
	done
}

# ramraid_take_out_of_crypttab NAME: takes out the line of that mapping. "crypt" writes this file
# itself; whatever else may be there is left alone.
ramraid_take_out_of_crypttab() {
	local file=$initdir/etc/crypttab line first text=''
	[[ -f $file && ! -L $file ]] || return 0
	while IFS= read -r line || [[ -n $line ]]; do
		read -r first _ <<<"$line"
		[[ $first == "$1" ]] || text+=$line$'\n'
	done <"$file"
	printf '%s' "$text" >"$file"
}
