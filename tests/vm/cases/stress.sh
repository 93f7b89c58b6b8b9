# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# make suites: file systems under programs that know nothing of ramraid (stress-ng, fio, fsx,
# fsstress), on a mirror whose legs come and go by a fixed plan, over a reboot and a power cut: ext4,
# XFS and btrfs, one after the other. STRESS is an archive with fsx and fsstress, which are left out
# without it (tests/vm/suites programs). Prints "stress FILE-SYSTEM WHAT VALUE" for the page.
checked_on trixie
long
image stress
from installed
memory 2G
disk A 344M served
disk B 344M served
VM_CUT_KEEP=50

FS='' LOADS='fio stressors' LASTS=2 # LASTS: seconds of each stressor
[[ -z ${STRESS-} ]] || LOADS+=' fsx fsstress'

# What runs in the guest beside all else: bash /root/load WHAT FILE-SYSTEM. All loads but the
# stressors end when there is a file /root/stop.
readonly load='set -u
# round NUMBER [OPTION…]: fio writes a file, and reads it again; how goes by the number
round() {
	local how
	case $(($1 % 4)) in
	0) how="--ioengine=psync --rw=randwrite --bs=4k --size=2M" ;;
	1) how="--ioengine=psync --rw=write --bs=64k --size=4M --direct=1" ;;
	2) how="--ioengine=mmap --rw=randwrite --bs=8k --size=2M" ;;
	3) how="--ioengine=psync --rw=randwrite --bs=4k --size=1M --fsync=8" ;;
	esac
	fio --name=round --filename=/srv/data/fio/$1 $how --randseed=$1 --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --end_fsync=1 --output-format=json \
		--output=/root/fio.json "${@:2}" || return
	jq -e .jobs[0].error==0 /root/fio.json >/dev/null
}
bytes() { jq -r .jobs[0].$1.io_bytes /root/fio.json; }
# Of a file that is not whole, nothing is promised: so is one that fio was told to end amid.
fio_load() {
	local i
	i=$(ls /srv/data/fio | sort -n | tail -n 1)
	while [ ! -e /root/stop ]; do
		i=$((${i:-0} + 1)); rm -f /srv/data/fio/$((i - 12)); round $i || return
		[ $(bytes read) = $(bytes write) ] || return
		echo "fio-written $(bytes write)"; echo "fio-verified $(bytes read)"
		echo "round $1 $i" >/dev/virtio-ports/told
	done
}
verify() {
	local i
	for i; do
		round $i --verify_only=1 || return
		echo "fio-verified $(bytes read)"
	done
}
stressors_load() {
	stress-ng --temp-path /srv/data/stress --verify --metrics --timeout $LASTS \
		--sequential 1 --with access,acl,chattr,chdir,chmod,chown,dentry,dir,dirdeep,\
dirmany,fallocate,fiemap,file-ioctl,filename,filerace,flock,fpunch,fsize,fstat,getdent,hdd,iomix,\
lease,link,locka,metamix,mknod,open,pseek,rename,seek,symlink,sync-file,touch,unlink,utime,xattr \
		--chdir-dirs 512 --dentries 1024 --fallocate-bytes 8M --fiemap-bytes 8M \
		--fpunch-bytes 8M --hdd-bytes 8M --iomix-bytes 8M --metamix-bytes 4M \
		--seek-size 8M --sync-file-bytes 8M
}
fsx_load() {
	local i
	printf "%s\n" "[weights]" read=10 write=10 mapread=10 mapwrite=10 truncate=3 invalidate=1 \
		close_open=1 fsync=1 fdatasync=1 posix_fallocate=2 punch_hole=3 sendfile=2 \
		posix_fadvise=1 copy_file_range=3 >/root/fsx.toml
	for ((i = 1; ; i++)); do
		[ ! -e /root/stop ] || return 0
		/root/bin/fsx -v -f /root/fsx.toml -N 500 -S $i -P /root /srv/data/fsx/file || return
	done
}
tree() { mkdir -p $1; /root/bin/fsstress -d $1 -n 300 -p 2 -s $2 -v; } # FOLDER SEED
fsstress_load() {
	local i
	for ((i = 1; ; i++)); do
		[ ! -e /root/stop ] || return 0
		tree /srv/data/fsstress/$i $i || return
		rm -rf /srv/data/fsstress/$((i - 1))
	done
}
cd /root
case $1 in
verify | tree) "$@" ;;
*) ${1}_load "${@:2}" ;;
esac
'

# fs is the file system at hand.
readonly words="$VM_HANDS"'
	cd /root
	# begin PHASE WHAT…: these loads. ended PHASE WHAT…: they have, without an error.
	begin() {
		rm -f /root/stop; mkdir -p /srv/data/fio /srv/data/stress /srv/data/fsx \
			/srv/data/fsstress
		for what in "${@:2}"; do
			systemd-run --quiet --unit=load-$what-$fs-$1 --setenv=LASTS=$lasts \
				-p RequiresMountsFor=/srv/data -p RemainAfterExit=yes \
				-p StandardOutput=append:/root/$what-$fs.log \
				-p StandardError=inherit -p Nice=10 bash /root/load $what $fs
		done
	}
	ended() {
		for what in "${@:2}"; do
			unit=load-$what-$fs-$1
			for i in $(seq 500); do
				[ "$(systemctl show -p SubState --value $unit)" = running ] || break
				sleep 1
			done
			[ "$(systemctl show -p SubState --value $unit)" = exited ] || {
				systemctl status --no-pager $unit; tail -n 40 /root/$what-$fs.log
				return 1
			}
		done
	}
	row() { printf "stress\t%s\t%s\t%s\n" $fs "$1" "$2" >>/root/rows; }
	# Whole, and nobody at work any more.
	whole() {
		for i in $(seq 900); do
			[ "$(slots data)" = UUU ] && ! pgrep -f "ramraid mend" >/dev/null &&
				[ ! -e /run/ramraid/event ] && ramraid status data && return
			sleep 0.2
		done
		cat /proc/mdstat; ramraid status data; return 1
	}
	# sum FOLDER PART: of all that it holds, but for the times of access
	sum() {
		tar -C $1 --sort=name --format=posix --pax-option=delete=atime,delete=ctime \
			--xattrs "--xattrs-include=*" -c $2 2>/dev/null | sha256sum
	}
	# examine DEVICE: the file system on it, by its own program, which changes nothing
	examine() {
		case $fs in
		ext4) e2fsck -fn $1 ;;
		xfs) xfs_repair -n $1 ;;
		btrfs) btrfs check --readonly --check-data-csum $1 ;;
		esac >/root/examined 2>&1 || { cat /root/examined; return 1; }
	}
	# alone LEG: read without the others, its folder in sysfs given, it holds all of /root/all
	alone() {
		local node loop options=ro
		node=/dev/$(basename $(readlink -f $1/block)); blockdev --flushbufs $node
		loop=$(losetup --show --find --read-only --offset $(($(cat $1/offset) * 512)) \
			--sizelimit $(($(cat /sys/block/$(md data)/size) * 512)) $node)
		examine $loop
		[ $fs != ext4 ] || options=ro,noload
		[ $fs != xfs ] || options=ro,norecovery,nouuid
		mount -t $fs -o $options $loop /mnt; sum /mnt . >/root/alone; umount /mnt
		losetup -d $loop; cmp /root/alone /root/all
	}
	# A page that is changed while it is on its way to the legs, and whose file is deleted
	# before it is written again, can leave a free block that differs: then what counts is
	# what each leg holds in files.
	equal() {
		local count leg
		count=$(compare data); row "\`mismatch_cnt\` $1" $count
		[ $count = 0 ] || for leg in /sys/block/$(md data)/md/dev-*; do alone $leg; done
	}
	# right PHASE ROUND…: nobody writes. What fio has written, and what was kept, is there, the
	# file system is sound, and the legs are equal.
	right() {
		sync; echo 3 >/proc/sys/vm/drop_caches
		bash /root/load verify "${@:2}" >>/root/fio-$fs.log
		[ ! -e /root/kept ] || sum /srv/data kept | cmp - /root/kept
		[ $fs != btrfs ] || btrfs scrub start -B /srv/data
		sum /srv/data . >/root/all
		systemctl stop srv-data.mount; fails findmnt /srv/data
		examine /dev/md/data; equal "$1"; systemctl start srv-data.mount
		fails journalctl -k -b -q -o cat --no-pager -g "EXT4-fs (error|warning)|JBD2.*error|\
XFS.*([Cc]orrupt|error|shut)|BTRFS (error|critical)|csum failed|Buffer I/O error on dev md"
	}
	'

# tried TEXT SCRIPT: a check on the file system at hand, and a row of the page.
tried() {
	check "$FS: $1" "fs=$FS lasts=$LASTS; $words$2"
	printf 'stress\t%s\t%s\tok\n' "$FS" "$1"
}

# rounds: prints the last files of which fio was told that they are on the mirror.
rounds() { vm_told | sed -n "s/^round $FS //p" | tail -n 8 | paste -sd' '; }

stress_mirror() {
	vm_hands
	printf '%s' "$load" >"$VM/load"
	vm_send "$VM/load" /root/load
	[[ $LOADS != *fsx* ]] || vm_send "$STRESS" /root/programs
	guest '
		[ ! -e /root/programs ] || {
			mkdir /root/bin; tar --zstd -xf /root/programs -C /root/bin
			cat /root/bin/versions
		}
		echo "stress kernel: $(uname -r)"
		dpkg-query -W -f "stress \${Package}: \${Version}\n" fio stress-ng e2fsprogs xfsprogs \
			btrfs-progs mdadm 2>/dev/null || :'
	# These let a rebuild and a comparison go on beside the loads.
	check 'a mirror of two disks and the RAM leg' '
		echo "dev.raid.speed_limit_min = 50000" >/etc/sysctl.d/md.conf
		sysctl -q -p /etc/sysctl.d/md.conf; mkdir /srv/data
		ramraid create --yes data $(leg A) $(leg B); test "$(slots data)" = UUU'
}

stress_made() {
	tried 'is made, and mounted by fstab' '
		! findmnt /srv/data || systemctl stop srv-data.mount
		sed -i "/srv.data/d" /etc/fstab; rm -f /root/kept; wipefs -q -a /dev/md/data; settle
		case $fs in
		ext4) mkfs.ext4 -q -E nodiscard /dev/md/data ;;
		xfs) mkfs.xfs -q -K /dev/md/data ;;
		btrfs) mkfs.btrfs -q -K /dev/md/data ;;
		esac
		udevadm trigger --settle /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data $fs nodiscard 0 0" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount; findmnt -t $fs /srv/data'
}

stress_legs() {
	tried 'the RAM leg fails under load, and `attach` puts it back' "begin legs $LOADS; sleep 5"'
		mdadm -q /dev/md/data --fail $(ram data); slots data | grep _
		attach data; whole'
	tried 'a disk is pulled under load, and put back when it returns' '
		gone B; sleep 10; slots data | grep _; back B; whole'
	# What is being written meanwhile may differ between the legs.
	tried 'a scrub under load' '
		for i in $(seq 60); do
			code=0; ramraid scrub data >/root/scrub 2>&1 || code=$?; cat /root/scrub
			[ $code = 75 ] || break; sleep 1
		done
		[ $code = 0 ] || { [ $code = 1 ]; grep differ /root/scrub; }
		row "\`mismatch_cnt\` of the scrub under load" $(cat /sys/block/$(md data)/md/mismatch_cnt)'
	tried 'the loads end without an error' "
		[[ '$LOADS' != *stressors* ]] || ended legs stressors
		touch /root/stop; ended legs $LOADS; systemctl stop 'load-*'"
	tried 'all is right after that' 'right "after the legs" '"$(rounds)"
}

# kept: a tree that nobody writes to after this.
stress_kept() {
	tried 'a tree is kept, and written out' '
		mkdir /srv/data/kept; cp -a /etc /srv/data/kept/
		[ ! -e /root/bin/fsstress ] ||
			bash /root/load tree /srv/data/kept/tree 1000 >>/root/fsstress-$fs.log 2>&1
		sync -f /srv/data; sum /srv/data kept >/root/kept; sync /root/kept'
}

stress_reboot() {
	guest "fs=$FS lasts=$LASTS; $words begin reboot $LOADS; sleep 5"
	reboot
	tried 'a reboot under load: all that fio had finished, and the tree, is right' '
		findmnt -t $fs /srv/data; test "$(slots data)" = UUU
		right "after the reboot" '"$(rounds)"
}

# The power is cut: for ext4 with all legs there; for XFS while the RAM leg is rebuilt; for btrfs
# just after a disk has come back.
stress_cut() {
	guest "fs=$FS lasts=$LASTS; $words begin cut $LOADS"'
		sleep 10
		case $fs in
		xfs)
			mdadm -q /dev/md/data --fail $(ram data)
			setsid ramraid attach data >/root/attach 2>&1 </dev/null &
			sleep 2
			;;
		btrfs) gone B; sleep 5; back B ;;
		esac'
	VM_CUT_SEED=$FS
	kill_power
	echo "# $FS: $VM_CUT_LOST blocks in the caches of the disks are lost, $VM_CUT_KEPT written"
	boot
	tried 'a power cut under load: all that fio had finished, and the tree, is right' '
		findmnt -t $fs /srv/data; ramraid wait data; whole
		right "after the cut" '"$(rounds)"
}

# Notes what the programs say that they have done.
stress_counts() {
	guest "fs=$FS; $words"'
		said() { awk -v said=$1 "\$1 == said { n += \$2 } END { printf \"%d\", n }" fio-$fs.log; }
		row "fio: bytes written" "$(said fio-written)"
		row "fio: bytes verified" "$(said fio-verified)"
		[ ! -e fsx-$fs.log ] || row "fsx: operations" "$(grep -ac "^.INFO  fsx" fsx-$fs.log)"
		[ ! -e fsstress-$fs.log ] || row "fsstress: operations" \
			"$(grep -acE "^[0-9]+/[0-9]+: " fsstress-$fs.log)"
		[ ! -e stressors-$fs.log ] || {
			awk -v fs=$fs "/ metrc: / && \$5 ~ /^[0-9]+\$/ && NF > 8 {
				printf \"stress\t%s\tstress-ng %s: operations\t%s\n\", fs, \$4, \$5
			}" stressors-$fs.log >>rows
			for what in passed failed skipped; do
				row "stress-ng: stressors that $what" \
					"$(sed -n "s/.* $what: \([0-9]*\).*/\1/p" stressors-$fs.log | head -n 1)"
			done
		}
		cat rows; rm rows'
}

steps() {
	boot
	stress_mirror
	for FS in ext4 xfs btrfs; do
		stress_made
		stress_legs
		stress_kept
		stress_reboot
		stress_cut
		stress_counts
	done
}
