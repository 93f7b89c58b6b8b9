# What the cases share that adopt arrays made by hand, as articles make them; they source this. The
# file system of the array NAME is at /srv/NAME.
# shellcheck shell=bash disable=SC2016,SC2034 # the guest expands; the cases use it

# attached RAMDISK: attaches a ramdisk of rapiddisk by hand. mounted NAME MD: makes an ext4 on it,
# mounts it by its UUID in fstab, and writes files. writer NAME SEED: starts a writer there that
# goes on until it is stopped. unharmed NAME: the file system is mounted, was not unmounted
# meanwhile, and is being written to. killed NAME STEP VERB ARG…: runs ramraid, and kills it just
# before it does what it announces as "+ STEP …". written NAME: all of it is there, and the legs are
# equal in all that is in use. clean NAME…: "check" finds nothing wrong with them.
readonly adopted='
attached() {
	modprobe -a raid1 rapiddisk
	echo "rapiddisk attach ${1#rd} $((64 << 20))" >/sys/kernel/rapiddisk/mgmt
	for i in $(seq 50); do [ -b /dev/$1 ] && break; sleep 0.1; done
}
resynced() { while grep -q resync /proc/mdstat; do sleep 0.5; done; }
members() { sed -n "/^$1 /{n;s/.*\[\([U_]*\)\]$/\1/p}" /proc/mdstat; }
mounted() {
	make_ext4 /dev/$2 -E nodiscard,lazy_itable_init=0; mkdir -p /srv/$1
	echo "UUID=$(blkid -o value -s UUID /dev/$2) /srv/$1 ext4 ${OPTIONS:-nofail} 0 2" \
		>>/etc/fstab
	systemctl daemon-reload; systemctl start srv-$1.mount
	for i in 1 2 3 4; do head -c 2M /dev/urandom >/srv/$1/file$i; done; sync
	sha256sum /srv/$1/file* >/root/sums.$1
}
sums() { for f in /root/sums.*; do mountpoint -q /srv/${f##*.}; sha256sum --quiet -c $f; done; }
since() { systemctl show -p ActiveEnterTimestampMonotonic --value srv-$1.mount; }
writer() {
	rm -f /srv/$1/c* /root/list.$1; since $1 >/run/since.$1
	systemd-run --quiet --unit=writer-$1 -p RequiresMountsFor=/srv/$1 perl /root/churn.pl \
		write /srv/$1 /root/list.$1 $2
	# Before its first file it does not know yet what to do when it is stopped.
	for i in $(seq 300); do
		[ -z "$(find /srv/$1 -name "c*" -print -quit)" ] || break; sleep 0.1
	done
}
unharmed() {
	test "$(systemctl is-active srv-$1.mount)" = active
	test "$(since $1)" = "$(cat /run/since.$1)"
	systemctl is-active --quiet writer-$1; sha256sum --quiet -c /root/sums.$1
}
killed() {
	local name=$1 at=$2 code=0; shift 2
	echo "--- killed before: $at"
	AT=$at bash /root/killed "$@" >/root/out 2>&1 </dev/null || code=$?
	cat /root/out; test $code = 137; grep -q "^+ $at" /root/out; unharmed $name
}
written() {
	local md
	! systemctl is-active --quiet writer-$1 || systemctl stop writer-$1
	sync; echo 3 >/proc/sys/vm/drop_caches
	perl /root/churn.pl check /srv/$1 /root/list.$1; sha256sum --quiet -c /root/sums.$1
	md=$(basename $(readlink -f $(findmnt -no SOURCE /srv/$1)))
	while [ "$(cat /sys/block/$md/md/sync_action)" != idle ]; do sleep 0.2; done
	echo check >/sys/block/$md/md/sync_action
	while [ "$(cat /sys/block/$md/md/sync_action)" != idle ]; do sleep 0.2; done
	test "$(cat /sys/block/$md/md/mismatch_cnt)" = 0 || perl /root/churn.pl differ $md
}
clean() {
	ramraid check >/root/out || :; cat /root/out
	for name; do grep "^$name: nothing to report" /root/out; done
}
'
