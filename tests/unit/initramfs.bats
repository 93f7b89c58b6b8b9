#!/usr/bin/env bats
# The hook of initramfs-tools: what the initramfs's copy of mdadm.conf says of the arrays that are
# claimed.

setup() {
	load helper
	world
	libraries
	declare -gA CONF=([ROOT]=no)
	mkdir -p "$R"/etc/mdadm/mdadm.conf.d "$R"/initramfs/etc/mdadm
	COPY=$R/initramfs/etc/mdadm/mdadm.conf
	UUID=01234567-89ab-4cde-8f01-23456789abcd MD=01234567:89ab4cde:8f012345:6789abcd
}
hook() {
	sed "s|/etc/mdadm/mdadm.conf.d/|$R&|; s|/etc/ramraid/state|$R&|" "$PROJECT/initramfs/hook" |
		DESTDIR=$R/initramfs sh -s -- "$@"
}

@test "the mdadm.conf in the initramfs has every claim, and no other line about a claimed array" {
	claim_write data "$UUID" 2>/dev/null
	claim_write other 99999999-89ab-4cde-8f01-23456789abcd 2>/dev/null
	printf "HOMEHOST x\nARRAY /dev/md/data  metadata=1.2 UUID=%s name=vm:data\n\
ARRAY /dev/md/own UUID=11111111:22222222:33333333:44444444\n" "$MD" >"$COPY"
	hook
	run grep ^ARRAY "$COPY"
	assert_output "ARRAY /dev/md/own UUID=11111111:22222222:33333333:44444444
ARRAY <ignore> UUID=$MD
ARRAY <ignore> UUID=99999999:89ab4cde:8f012345:6789abcd"
	grep -q '^HOMEHOST x' "$COPY"
}

@test "an mdadm.conf without a newline at its end loses no line, and a missing one is created" {
	claim_write data "$UUID" 2>/dev/null
	printf 'ARRAY /dev/md0 UUID=11111111:22222222:33333333:44444444' >"$COPY"
	hook
	[[ $(grep ^ARRAY "$COPY") == $'ARRAY /dev/md0 UUID=11111111:22222222:33333333:44444444\n'"ARRAY <ignore> UUID=$MD" ]] ||
		fail "$(<"$COPY")"
	rm "$COPY"
	hook
	cmp "$COPY" "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
}

@test "the array with the root file system is named once, and listed for initramfs/start" {
	CONF[ROOT]=yes
	claim_write system "$UUID" 2>/dev/null
	printf 'ARRAY /dev/md/0  metadata=1.2 UUID=%s name=vm:0\n' "$MD" >"$COPY"
	hook
	[[ $(grep ^ARRAY "$COPY") == "ARRAY /dev/md/system UUID=$MD" ]]
	[[ $(<"$R/initramfs/etc/ramraid.roots") == "$MD /dev/md/system" ]]
}

@test "resume is switched off for swap on an array that the initramfs does not start, and for no other swap" {
	local said
	mkdir -p "$R/initramfs/conf/conf.d" "$R/etc/ramraid/state"
	claim_write data "$UUID" 2>/dev/null
	printf '%s\n' /dev/mapper/vg-swap UUID=55555555-0000-4000-8000-000000000005 \
		>"$R/etc/ramraid/state/data.contents"
	# asked WANT LINE: is there a word of ours after these lines?
	asked() {
		rm -f "$R"/initramfs/conf/conf.d/*
		printf '%b' "$2" >"$R/initramfs/conf/conf.d/resume"
		said=$(hook 2>&1)
		[[ $(cat "$R/initramfs/conf/conf.d/zzz-ramraid" 2>/dev/null) == "$1" &&
			${said:+RESUME=none} == "$1" ]] ||
			fail "$2: $said"
	}
	asked '' ''
	asked '' 'RESUME=none\n'
	asked '' 'RESUME=UUID=66666666-0000-4000-8000-000000000005\n'
	asked RESUME=none 'RESUME=UUID=55555555-0000-4000-8000-000000000005\n'
	asked RESUME=none 'RESUME="/dev/mapper/vg-swap"\n'
	asked RESUME=none 'RESUME=auto\nRESUME=/dev/md/data\n'
	asked '' 'RESUME=/dev/md/data\nRESUME=/dev/sda2\n'
	# Of one that it starts it can be.
	CONF[ROOT]=yes
	claim_write data "$UUID" 2>/dev/null
	asked '' 'RESUME=/dev/md/data\n'
}

# ---- initramfs/start: arrays that mdadm holds back

# starts WANT: what it does to /sys/block/md127, whose legs are LEGS, in state HOW, with SLOTS.
starts() {
	local leg said
	rm -rf "$R/sys/block"
	mkdir -p "$R/sys/block/md127/md" "$R/sys/block/md3/md" "$R/bin"
	for leg in $LEGS; do mkdir "$R/sys/block/md127/md/dev-$leg"; done
	echo clean >"$R/sys/block/md3/md/array_state"
	echo "$HOW" >"$R/sys/block/md127/md/array_state"
	cat >"$R/bin/mdadm" <<-EOT
		#!/bin/sh
		case \$1 in
		--examine) printf 'MD_LEVEL=raid1\nMD_DEVICES=%s\nMD_UUID=%s\n' $SLOTS $SAYS ;;
		*) echo "\$@" >>"$R/did" ;;
		esac
	EOT
	chmod 755 "$R/bin/mdadm"
	: >"$R/did"
	said=$(sed "s|/etc/ramraid.roots|$R/roots|; s|/sys/block|$R&|; s|/dev/kmsg|$R/kmsg|" \
		"$PROJECT/initramfs/start" | PATH=$R/bin:$PATH sh 2>&1)
	[[ -z $said && $(<"$R/did") == "$1" ]] || fail "$said" "$(<"$R/did")"
}

@test "initramfs/start starts an inactive root array that lacks no more than one leg, and nothing else" {
	local did=$'--quiet --stop /dev/md127\n--quiet --assemble --run /dev/md/system /dev/sda2 /dev/sdb2'
	echo "$MD /dev/md/system" >"$R/roots"
	LEGS='sda2 sdb2' HOW=inactive SLOTS=3 SAYS=$MD
	starts "$did"
	grep -qx 'ramraid: starting /dev/md/system from /dev/sda2 /dev/sdb2' "$R/kmsg"
	HOW=clean starts ''
	LEGS=sda2 starts ''
	LEGS=sda2 SLOTS=2 starts \
		$'--quiet --stop /dev/md127\n--quiet --assemble --run /dev/md/system /dev/sda2'
	SAYS=99999999:89ab4cde:8f012345:6789abcd starts ''
	LEGS='' starts ''
	echo '11111111:22222222:33333333:44444444 /dev/md/x' >"$R/roots"
	starts ''
	rm "$R/roots"
	starts ''
	[[ $(sh "$PROJECT/initramfs/start" prereqs) == mdadm ]]
}

@test "without claims mdadm.conf stays as it was; the hook runs after those of mdadm and resume" {
	echo 'ARRAY /dev/md/own' >"$COPY"
	hook
	[[ $(<"$COPY") == 'ARRAY /dev/md/own' ]]
	[[ $(hook prereqs) == "mdadm resume" ]]
}

# ---- world/initramfs: what makes it

program() { # NAME [TEXT]: it is installed
	mkdir -p "$R/usr/sbin" "$R/usr/bin"
	printf '#!/bin/sh\n%s\n' "${2-}" >"$R/usr/${3-sbin}/$1"
	chmod 755 "$R/usr/${3-sbin}/$1"
}
# makes WANTED CALL COMMAND: who makes the initramfs that boots, what is called for all kernels, and
# what a person types for one.
makes() {
	local INITRAMFS_BY_HAND
	rm -f "$BATS_TEST_TMPDIR/calls"
	[[ $(initramfs_generator) == "$1" ]] || fail "$(initramfs_generator), and not $1"
	claim_initramfs 2>"$R/said"
	[[ $(calls) == "$2" ]] || fail "$(calls), and not $2"
	[[ $(initramfs_command 6.1 || :) == "$3" ]] || fail "$(initramfs_command 6.1), and not $3"
}

@test "the initramfs is rebuilt by the program that makes the one that boots" {
	update-initramfs() { called update-initramfs "$@"; }
	dracut() { called dracut "$@"; }
	makes '' '' ''
	grep -q 'no update-initramfs and no dracut here.*with the program that makes it (' "$R/said"
	program kernel-install '' bin
	makes '' '' ''
	grep -q 'rebuild it yourself, with kernel-install add-all (' "$R/said"
	program dracut '' bin
	makes dracut 'dracut --quiet --force --regenerate-all' 'dracut --force --kver 6.1'
	[[ $(<"$R/said") != *'rebuild it yourself'* ]]
	# Arch, where dracut makes none as long as there is mkinitcpio.
	program mkinitcpio '' bin
	makes '' '' ''
	grep -q 'rebuild it yourself, with mkinitcpio -P (' "$R/said"
	rm "$R/usr/bin/mkinitcpio"
	# Debian 14: dracut's own update-initramfs.
	program update-initramfs 'if dracut ${OPTS} --force "${initramfs}" "${version}"; then'
	makes dracut 'update-initramfs -u -k all' 'update-initramfs -c -k 6.1'
	# initramfs-tools beside dracut-core, which has the program as well; and alone.
	program update-initramfs 'mkinitramfs ${OPTS} -o "${initramfs}.new" "${version}"'
	makes initramfs-tools 'update-initramfs -u -k all' 'update-initramfs -c -k 6.1'
	rm "$R/usr/bin/dracut"
	mkdir -p "$R/boot" && : >"$R/boot/initrd.img-6.1"
	makes initramfs-tools 'update-initramfs -u -k all' 'update-initramfs -u -k 6.1'
}

@test "a rebuild of the initramfs fails with the exit code of dracut" {
	dracut() { called dracut "$@" && return 3; }
	program dracut
	run claim_initramfs
	assert_failure 3
	update-initramfs() { called update-initramfs "$@" && return 5; }
	program update-initramfs
	run claim_initramfs
	assert_failure 5
}

@test "two verbs never make the initramfs at once: the second says whom it waits for" {
	local i
	program update-initramfs
	update-initramfs() {
		called "begin $1"
		: >"$R/begun"
		# The other one begins meanwhile, unless it waits for this.
		for ((i = 0; i < 20; i++)); do (($(grep -c begin <(calls)) == 2)) || command sleep 0.05; done
		called "end $1"
	}
	VERB=adopt claim_initramfs 2>/dev/null 3>&- &
	while [[ ! -e $R/begun ]]; do command sleep 0.02; done
	VERB=create claim_initramfs 2>"$R/said"
	wait "$!"
	[[ $(calls) == $'begin -u\nend -u\nbegin -u\nend -u' ]] || fail "$(calls)"
	grep -q "another ramraid (adopt, process [0-9]*) makes the initramfs; waiting" "$R/said" ||
		fail "$(<"$R/said")"
	# The same with dracut.
	rm -f "$BATS_TEST_TMPDIR/calls" "$R/usr/sbin/update-initramfs"
	program dracut
	dracut() { update-initramfs "$@"; }
	rm "$R/begun"
	claim_initramfs 2>/dev/null 3>&- &
	while [[ ! -e $R/begun ]]; do command sleep 0.02; done
	claim_initramfs 2>/dev/null
	wait "$!"
	[[ $(calls) == $'begin --quiet\nend --quiet\nbegin --quiet\nend --quiet' ]] || fail "$(calls)"
}

@test "a wait for another ramraid's initramfs ends, and the program that makes one does not inherit the lock" {
	local held
	program update-initramfs
	update-initramfs() { called made && bash -c 'ls -l /proc/self/fd' >"$R/fds"; }
	paths_run
	exec {held}>"$LOCKS/initramfs"
	flock "$held"
	sleep() { SECONDS=$((SECONDS + $1)); }
	run claim_initramfs
	assert_failure 1
	assert_output -p 'another ramraid makes the initramfs, and has not ended within 30min 0s'
	[[ -z $(calls) ]]
	DRY_RUN=yes claim_initramfs >"$R/said"
	[[ $(<"$R/said") == 'update-initramfs -u -k all' ]]
	exec {held}>&-
	claim_initramfs 2>/dev/null
	[[ $(calls) == made ]] && not grep 'locks/initramfs' "$R/fds"
}

@test "a verb that ends while the initramfs is made can make it again at once" {
	program update-initramfs
	update-initramfs() {
		called made
		[[ -e $R/once ]] || {
			: >"$R/once"
			exit 130
		}
	}
	sleep() { SECONDS=$((SECONDS + $1)); }
	(
		trap 'act_apart claim_initramfs 2>/dev/null' EXIT
		claim_initramfs 2>/dev/null
	) || :
	[[ $(calls) == $'made\nmade' ]] || fail "$(calls)"
	claim_initramfs 2>/dev/null
}
