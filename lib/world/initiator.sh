# How long this machine waits for the far end of a disk that it reaches over the network. sysfs
# shows that for iSCSI and NVMe over fabrics, debugfs for network block devices.
# shellcheck shell=bash

need core/paths world/disk

# initiator_forever NODE: sets FOREVER to why a request to one of its physical disks may never end,
# and FOREVER_DO to what to type; both empty when every request has a bound, or when that is not
# known.
initiator_forever() {
	local disk path
	FOREVER='' FOREVER_DO=''
	while IFS= read -r disk; do
		if [[ $disk == nbd* ]]; then
			initiator_nbd_ "$disk"
		else
			path=$(readlink -f "$SYS/class/block/$disk/device") || continue
			if [[ $path =~ ^(.*/(session[0-9]+))/ ]]; then
				initiator_iscsi_ \
					"${BASH_REMATCH[1]}/iscsi_session/${BASH_REMATCH[2]}"
			else
				initiator_nvme_ "$disk"
			fi
		fi
		[[ -z $FOREVER ]] || return 0
	done < <(disk_physical "$1")
}

# sysfs shows -1 as "off"; with 0, requests fail at once (iscsid.conf(5),
# node.session.timeo.replacement_timeout; linux drivers/scsi/scsi_transport_iscsi.c).
initiator_iscsi_() { # SESSION
	local seconds='' target=''
	{ read -r seconds <"$1/recovery_tmo"; } 2>/dev/null || return 0
	[[ $seconds == @(off|-*) ]] || return 0
	{ read -r target <"$1/targetname"; } 2>/dev/null || :
	FOREVER="that iSCSI waits for its target without end (replacement_timeout is $seconds)"
	# The target chooses its own name, and the user pastes this into a shell.
	printf -v target '%q' "${target:-TARGET}"
	FOREVER_DO="iscsiadm -m node -T $target -o update -n \
node.session.timeo.replacement_timeout -v 30, and log in again"
}

# If there are several controllers, one without a limit is enough to hold requests for ever.
# fast_io_fail_tmo ends the requests before the kernel removes the controller (linux
# drivers/nvme/host/fabrics.c, multipath.c).
initiator_nvme_() { # DISK
	local file folder name loss fast
	for file in "$SYS/class/block/$1"/device/{,nvme*/}ctrl_loss_tmo; do
		[[ -r $file ]] || continue
		folder=${file%/ctrl_loss_tmo} loss='' fast=off
		{
			read -r loss <"$file" && read -r fast <"$folder/fast_io_fail_tmo"
		} 2>/dev/null || :
		[[ $loss == @(off|-*) && $fast == @(off|-*) ]] || continue
		name=$(readlink -f "$folder")
		FOREVER='that NVMe reconnects without end (ctrl_loss_tmo is off)'
		FOREVER_DO="echo 60 >/sys/class/nvme/${name##*/}/ctrl_loss_tmo; \
and connect with --ctrl-loss-tmo=60 from now on"
		return
	done
}

# Only root can read the timeout, and only where debugfs is mounted (linux drivers/block/nbd.c,
# "timeout").
initiator_nbd_() { # DISK
	local timeout=''
	{ read -r timeout <"$SYS/kernel/debug/nbd/$1/timeout"; } 2>/dev/null || return 0
	[[ $timeout == 0 ]] || return 0
	FOREVER='that nbd waits for its server without end (it has no timeout)'
	FOREVER_DO="connect with nbd-client -timeout 30 (timeout=30 in nbdtab(5))"
}
