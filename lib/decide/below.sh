# The pure ring's part that knows which legs are devices on top of others that show the same
# superblock. While such a leg is absent, the device below it looks like a copy, or like the leg
# under another name. It is neither: erasing it may destroy the only good copy, and a start from it
# goes past what is on top of it.
# shellcheck shell=bash
#
# The superblock is at the same place on both with DRBD, with device-mapper (a cache, a multipath
# map, a linear table), and with arrays that keep theirs at the end (metadata 0.90 and 1.0). It is
# not below LVM's volumes or LUKS, but their names do not tell them apart from the former. bcache
# begins later on the device below it.

need decide/leg

declare -gA F # the facts: decide/facts.list

# below_or WHAT TODO: sets BELOW to what to do with WHAT, which carries the array's UUID and is no
# leg of it: TODO, unless below_absent says otherwise.
below_or() { below_absent "$1" || BELOW=$2; }

# below_absent WHAT: may WHAT ("it", "one of them") be the device below a leg that is absent? Then
# it sets BELOW to what to do: one sentence or more, without the last full stop.
below_absent() {
	local i why how legs=()
	BELOW=''
	for ((i = 0; i < ${F[members]}; i++)); do legs+=("$i"); done
	[[ -z ${F[leg.ram.dev]} ]] || legs+=(ram)
	for i in "${legs[@]}"; do
		below_kind_ "$i" || continue
		leg_is_absent "$i" || continue
		BELOW+="${BELOW:+. }If $1 is the disk below ${F[leg.$i.dev]}, leave it alone: \
$why. Bring ${F[leg.$i.dev]} up first ($how)"
	done
	[[ -n $BELOW ]]
}

# below_kind_ I: sets the caller's why and how. Returns 1 if leg I has the name of a device that is
# on top of nothing.
below_kind_() {
	local dev=${F[leg.$1.dev]} resource
	case $dev in
	/dev/drbd/*)
		resource=${dev#/dev/drbd/by-res/}
		why='what is written to it past DRBD is missing on the other machine'
		how="drbdadm up ${resource%%/*}; and make this machine its primary, if the other \
one is not"
		;;
	/dev/mapper/* | /dev/disk/by-id/dm-*)
		why='a cache of device-mapper may have what is missing on it'
		how='vgchange -ay, cryptsetup open, multipath, dmsetup'
		;;
	/dev/md/* | /dev/disk/by-id/md-*)
		why='what is written to it past that array is missing on its other disks'
		how='mdadm --assemble'
		# mdadm judges no disk of it as ramraid does.
		[[ -z ${F[leg.$1.array]} ]] || how="ramraid start ${F[leg.$1.array]}"
		;;
	*) return 1 ;;
	esac
}
