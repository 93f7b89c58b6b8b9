# make demo: shows the main job from scratch, and explains it while it happens. The disks are
# throttled to the read and write rates that the published recipe measured on its hard disks (464
# and 352 IOPS), so that the difference can be seen; absolute figures are the emulator's.
from base
disk A 160M throttling.iops-read=464,throttling.iops-write=352
disk B 160M throttling.iops-read=464,throttling.iops-write=352

chapter() { printf '\n=== %s\n' "$1"; }
# type_ SCRIPT: shows each line as a person would type it, and runs it.
type_() {
	local line
	while IFS= read -r line; do
		line=${line#"${line%%[![:space:]]*}"}
		printf '# %s\n' "$line"
		show "$line" 2>&1
	done <<<"$1"
}
iops() { # DEVICE: random reads of 4 KiB, 32 outstanding, unbuffered, 8 s
	guest "fio --name=r --filename=$1 --readonly --direct=1 --rw=randread --bs=4k \
		--ioengine=libaio --iodepth=32 --runtime=8 --time_based --output-format=json |
		jq '.jobs[0].read.iops | floor'"
}

steps() {
	local disk array
	chapter 'a plain Debian in a virtual machine, with two hard disks'
	boot
	vm_send "$RAMRAID_DEB" /root/ramraid.deb
	type_ 'cat /etc/debian_version; uname -r
		lsblk --nodeps -o NAME,SIZE,SERIAL $(node A) $(node B)'
	chapter 'install the package'
	show '
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
			/root/ramraid.deb 2>&1 |
			tail -n 4'
	chapter 'make the mirror'
	type_ "ramraid create --yes data /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_A /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_B"
	type_ 'ramraid status
		mkfs.ext4 -q /dev/md/data
		mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" >>/etc/fstab
		systemctl daemon-reload
		mount /srv/data'
	chapter 'write data'
	type_ 'head -c 40M /dev/urandom >/srv/data/precious
		sha256sum /srv/data/precious | tee /root/sum
		sync'
	chapter 'reboot: the memory is gone'
	reboot
	type_ 'journalctl -b -u ramraid@data -o short-monotonic --no-hostname | grep -v " + "'
	check 'the mirror is whole again' 'ramraid status; test "$(slots data)" = UUU'
	type_ 'ramraid status'
	check 'it is mounted and the data is there' 'findmnt /srv/data && sha256sum -c /root/sum'
	chapter 'reads, compared with the bare disk'
	disk=$(iops /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_A)
	array=$(iops /dev/md/data)
	printf 'random reads of 4 KiB: one disk %s IOPS, the mirror %s IOPS\n' "$disk" "$array"
	((array > 2 * disk)) || {
		printf 'not ok - the mirror reads more than twice as fast as its disks\n'
		return 1
	}
	printf 'ok - the mirror reads %d times as fast as its disks\n' $((array / disk))
	chapter 'pull the plug, and boot once more'
	kill_power
	boot
	check 'the mirror is whole, mounted, and the data is there' '
		test "$(slots data)" = UUU; findmnt /srv/data && sha256sum -c /root/sum'
	type_ 'ramraid status'
}
