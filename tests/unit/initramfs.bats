#!/usr/bin/env bats
# The hook of initramfs-tools: what the initramfs's copy of mdadm.conf says of the arrays that are claimed.

setup() {
	load helper
	world
	libs paths log act claim
	mkdir -p "$R"/etc/mdadm/mdadm.conf.d "$R"/initramfs/etc/mdadm
	COPY=$R/initramfs/etc/mdadm/mdadm.conf
	UUID=01234567-89ab-4cde-8f01-23456789abcd MD=01234567:89ab4cde:8f012345:6789abcd
}
hook() { sed "s|/etc/mdadm/mdadm.conf.d/|$R&|" "$PROJECT/initramfs/hook" | DESTDIR=$R/initramfs sh -s -- "$@"; }

@test "the claims are in it, and no other line about these arrays" {
	claim_write data "$UUID" 2>/dev/null
	claim_write other 99999999-89ab-4cde-8f01-23456789abcd 2>/dev/null
	printf 'HOMEHOST x\nARRAY /dev/md/data  metadata=1.2 UUID=%s name=vm:data\nARRAY /dev/md/own UUID=11111111:22222222:33333333:44444444\n' "$MD" >"$COPY"
	hook
	run grep ^ARRAY "$COPY"
	assert_output "ARRAY /dev/md/own UUID=11111111:22222222:33333333:44444444
ARRAY <ignore> UUID=$MD
ARRAY <ignore> UUID=99999999:89ab4cde:8f012345:6789abcd"
	grep -q '^HOMEHOST x' "$COPY"
}

@test "no claims: the copy is as it was; it comes after mdadm's own hook" {
	echo 'ARRAY /dev/md/own' >"$COPY"
	hook
	[[ $(<"$COPY") == 'ARRAY /dev/md/own' ]]
	[[ $(hook prereqs) == mdadm ]]
}
