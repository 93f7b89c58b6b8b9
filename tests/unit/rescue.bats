#!/usr/bin/env bats
# The rescue image: made whole or not at all, put back only if it is what was recorded.

setup() {
	load helper
	world
	libs paths log act conf confcheck confneed systemd disk diskuse mdstate md rescue
	ID=11111111-2222-3333-4444-555555555555
	mkdir -p "$R/sys/block/md127" "$R/var"
	head -c 3145728 /dev/urandom >"$R/dev/md127"
	truncate -s 8M "$R/dev/md127"
	echo 16384 >"$R/sys/block/md127/size"
	IMAGE=$R/var/data/rescue-77
	# Plain files on a file system that may not know O_DIRECT.
	dd() { command dd "${@/[io]flag=direct/status=none}"; }
}

write() { rescue_write data "$ID" md127 77 "$R/var" 2>"$BATS_TEST_TMPDIR/log" || fail "$(<"$BATS_TEST_TMPDIR/log")"; }

@test "what was on the array is in the image, and the record says so" {
	write
	cmp "$R/dev/md127" "$IMAGE"
	rescue_read data "$ID"
	[[ ${RESCUE[image]} == "$IMAGE" && ${RESCUE[bytes]} == 8388608 && ${RESCUE[events]} == 77 && -z ${RESCUE[damaged]-} ]]
	[[ $(stat -c %a "$IMAGE") == 600 && ! -e $IMAGE.sum ]]
	# Zeros take no room.
	(($(stat -c %b "$IMAGE") < 8192))
}

@test "the image is read back, and as long as that takes systemd is told that the stop gets on" {
	systemd_go_on() { called go_on; }
	systemd_status() { called "$*"; }
	sha256sum() { sleep 1.5 && command sha256sum; }
	write
	[[ $(calls) == *"reading $IMAGE back"*go_on*"reading $IMAGE back"* && $(calls) == *'saving it to'* ]] || fail "$(calls)"
	# What does not come back as it was written is no image.
	rescue_forget data 2>/dev/null
	sha256sum() { command sha256sum | if [[ -e $BATS_TEST_TMPDIR/second ]]; then tr 0-9a-f a-f0-9; else cat; fi && : >"$BATS_TEST_TMPDIR/second"; }
	not rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null
	[[ ! -e $(rescue_record data) && ! -e $IMAGE ]]
}

@test "a record of another array is none, a damaged one stands for data nevertheless" {
	write
	rescue_read data 99999999-2222-3333-4444-555555555555
	[[ ${#RESCUE[@]} == 0 ]]
	echo garbage >"$(rescue_record data)"
	rescue_read data "$ID"
	[[ ${RESCUE[damaged]} == yes && -n ${RESCUE[image]} ]]
	rescue_forget data 2>/dev/null
	rescue_read data "$ID"
	[[ ${#RESCUE[@]} == 0 ]]
}

@test "an array that can't be read, a full file system, a bad copy: no image, no record" {
	local code=0
	rescue_copy_() { return 1; }
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == 1)) && [[ ! -e $IMAGE && ! -e $(rescue_record data) ]]
	rescue_copy_() { head -c 8388608 /dev/zero >"$2" && printf '%064d\n' 0; }
	code=0
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == 1)) && [[ ! -e $IMAGE && ! -e $(rescue_record data) ]]
}

@test "put back: the array is the image again" {
	write
	head -c 8388608 /dev/zero >"$R/dev/md127"
	rescue_read data "$ID"
	rescue_put_back md127 2>/dev/null
	cmp "$R/dev/md127" "$IMAGE"
}

@test "put back: not from an image that has changed, nor onto an array of another size" {
	local before
	write
	rescue_read data "$ID"
	head -c 8388608 /dev/zero >"$R/dev/md127"
	before=$(sha256sum <"$R/dev/md127")
	echo 16392 >"$R/sys/block/md127/size"
	not rescue_put_back md127 2>/dev/null
	echo 16384 >"$R/sys/block/md127/size"
	head -c 64 /dev/urandom | dd of="$IMAGE" bs=64 seek=80 conv=notrunc status=none
	not rescue_put_back md127 2>/dev/null
	truncate -s 4M "$IMAGE"
	not rescue_put_back md127 2>/dev/null
	[[ $(sha256sum <"$R/dev/md127") == "$before" ]]
}

@test "where no image can be" {
	[[ $(rescue_why_not none md127) == RESCUE=none ]]
	: >"$R/file"
	[[ $(rescue_why_not "$R/file/x" md127) == *'cannot be written' ]]
	[[ -z $(rescue_why_not "$R/var" md127) ]]
}

@test "kernels known to read from the part of a leg that is not rebuilt" {
	local release KERNEL_FLAW
	for release in 6.9.0 6.9 6.9.12-amd64 6.10 6.10.0-rc3 6.10.6-1 6.10.6+bpo-amd64; do
		md_kernel_flaw "$release"
		[[ $KERNEL_FLAW == *"$release"*CVE-2024-45023* ]] || fail "$release"
	done
	for release in 6.1.0-30-amd64 6.8.12 6.10.7 6.10.11+bpo-amd64 6.11.0 6.12.57 6.90.1 16.9.1 5.6.9 '' nonsense; do
		md_kernel_flaw "$release"
		[[ -z $KERNEL_FLAW ]] || fail "$release: $KERNEL_FLAW"
	done
}
