# tmpfs, copied by rsync now and then: a power cut loses what was written since the last copy.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='' measures='cached-randread cached-randwrite'
up() {
	mkdir -p "$folder"
	mount -t tmpfs -o size=$((MB + 16))M tmpfs "$folder"
	target=$folder/file
	dd if=/dev/urandom of="$target" bs=1M count="$MB" status=none
}
down() { umount "$folder"; }
