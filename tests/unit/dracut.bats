#!/usr/bin/env bats
# The dracut module: its functions, called as dracut calls them, with dracut's own replaced by what
# they do to a folder (dracut-init.sh).

readonly UUID=01234567:89abcdef:01234567:89abcdef OTHER=11111111:22222222:33333333:44444444

setup() {
	load helper
	dracutsysrootdir=$BATS_TEST_TMPDIR/host initdir=$BATS_TEST_TMPDIR/initramfs
	MODULE=$PROJECT/dracut/90ramraid/module-setup.sh
	mkdir -p "$dracutsysrootdir/etc/mdadm/mdadm.conf.d" "$initdir/etc"
	# As "make install" has it.
	moddir=$BATS_TEST_TMPDIR/module
	mkdir "$moddir"
	cp "$PROJECT"/dracut/90ramraid/*.sh "$PROJECT/initramfs/start" "$moddir"
	# shellcheck source=/dev/null
	source "$MODULE"
}

inst_simple() { # as program and as hook, under the name that dracut gives it
	mkdir -p "$(dirname "$initdir$2")"
	cp "$1" "$initdir$2"
}
inst_hook() { inst_simple "$3" "/var/lib/dracut/hooks/$1/$2-${3##*/}"; }
inst_dir() { [[ -e $initdir/$1 ]] || mkdir -p "$initdir/$1"; }
inst() {
	[[ $1 != -H ]] || shift
	[[ -e $initdir/${2:-$1} ]] || cp -d "$dracutsysrootdir$1" "$initdir/${2:-$1}"
}

claim() { # NAME [FOLDER]
	mkdir -p "$dracutsysrootdir${2:-/etc/mdadm/mdadm.conf.d}"
	printf '# Written by ramraid, UUID=no\nARRAY <ignore> UUID=%s\n' "$UUID" \
		>"$dracutsysrootdir${2:-/etc/mdadm/mdadm.conf.d}/ramraid-$1.conf"
}

@test "without a claim the module is taken only on request, and does nothing" {
	local code=0
	echo 'ARRAY /dev/md0 UUID=x' >"$dracutsysrootdir/etc/mdadm/mdadm.conf.d/mine.conf"
	check || code=$?
	[[ $code == 255 ]]
	depends
	install
	[[ $(find "$initdir" -type f | wc -l) == 0 ]]
}

@test "claims, and no other lines, are in both folders that mdadm may read" {
	local folder
	claim data
	claim more
	echo 'ARRAY /dev/md0 UUID=x' >"$dracutsysrootdir/etc/mdadm/mdadm.conf.d/mine.conf"
	check
	install
	for folder in etc/mdadm.conf.d etc/mdadm/mdadm.conf.d; do
		[[ $(cd "$initdir/$folder" && echo *) == 'ramraid-data.conf ramraid-more.conf' ]]
		cmp "$initdir/$folder/ramraid-data.conf" \
			"$dracutsysrootdir/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	done
}

@test "claims in /etc/mdadm.conf.d, which dracut has already copied, are found as well" {
	claim data /etc/mdadm.conf.d
	mkdir -p "$initdir/etc/mdadm.conf.d"
	cp "$dracutsysrootdir/etc/mdadm.conf.d/ramraid-data.conf" "$initdir/etc/mdadm.conf.d"
	check
	install
	grep -q "ARRAY <ignore> UUID=$UUID" "$initdir/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	[[ $(grep -c ARRAY "$initdir/etc/mdadm.conf.d/ramraid-data.conf") == 1 ]]
}

@test "a link from one folder of claims to the other does not fail, and doubles nothing" {
	claim data
	mkdir -p "$initdir/etc/mdadm/mdadm.conf.d"
	ln -s mdadm/mdadm.conf.d "$initdir/etc/mdadm.conf.d"
	install
	[[ $(cat "$initdir"/etc/mdadm.conf.d/* | grep -c ARRAY) == 1 ]]
}

@test "no file of the host is written to" {
	claim data
	mkdir -p "$dracutsysrootdir/etc/cmdline.d" "$initdir/etc/cmdline.d"
	echo "rd.md.uuid=$UUID" >"$dracutsysrootdir/etc/cmdline.d/x.conf"
	ln -s "$dracutsysrootdir/etc/cmdline.d/x.conf" "$initdir/etc/cmdline.d/x.conf"
	ln -s "$dracutsysrootdir/etc/mdadm/mdadm.conf" "$initdir/etc/mdadm.conf"
	echo 'HOMEHOST x' >"$dracutsysrootdir/etc/mdadm/mdadm.conf"
	cp -a "$dracutsysrootdir" "$BATS_TEST_TMPDIR/before"
	install
	diff -r "$BATS_TEST_TMPDIR/before" "$dracutsysrootdir"
}

@test "the initramfs does not wait for a claimed array, but still waits for others" {
	claim data
	mkdir -p "$initdir/etc/cmdline.d"
	printf ' rd.md.uuid=%s  rd.md.uuid=%s \n' "$UUID" "$OTHER" \
		>"$initdir/etc/cmdline.d/90mdraid.conf"
	printf ' rd.md.uuid=%s \n' "$UUID" >"$initdir/etc/cmdline.d/20-mdraid.conf"
	install
	[[ $(xargs <"$initdir/etc/cmdline.d/90mdraid.conf") == "rd.md.uuid=$OTHER" ]]
	[[ -z $(xargs <"$initdir/etc/cmdline.d/20-mdraid.conf") ]]
	# One that it has to start it waits for.
	sed -i "s|<ignore>|/dev/md/data|" \
		"$dracutsysrootdir/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	printf ' rd.md.uuid=%s \n' "$UUID" >"$initdir/etc/cmdline.d/20-mdraid.conf"
	install
	[[ $(xargs <"$initdir/etc/cmdline.d/20-mdraid.conf") == "rd.md.uuid=$UUID" ]]
}

@test "the initramfs does not wait for the swap that is on a claimed array, in LVM or LUKS" {
	lsblk() {
		cat <<-'EOT'
			KNAME="md127" NAME="md127" TYPE="raid1" FSTYPE="crypto_LUKS" UUID="aaaaaaaa-0000-0000-0000-000000000001"
			KNAME="dm-0" NAME="swap-1" TYPE="crypt" FSTYPE="LVM2_member" UUID="Jx1"
			KNAME="dm-1" NAME="v.g--1-swap--a" TYPE="lvm" FSTYPE="swap" UUID=""
		EOT
	}
	claim data
	mkdir -p "$initdir/etc/cmdline.d"
	echo ' rd.luks.uuid=luks-aaaaaaaa-0000-0000-0000-000000000001 rd.luks.uuid=luks-bbbb-1' \
		>"$initdir/etc/cmdline.d/20-crypt.conf"
	printf ' rd.lvm.lv=%s ' v.g-1/swap-a v.g-1/swap-ab v.g-1/swap-a vxg-1/swap-a \
		>"$initdir/etc/cmdline.d/20-lvm.conf"
	printf '%s none\n' 'root UUID=bbbb-1' 'swap-1x UUID=cccc' 'swap-1 UUID=aaaa-1' \
		>"$initdir/etc/crypttab"
	install
	[[ $(<"$initdir/etc/crypttab") == $'root UUID=bbbb-1 none\nswap-1x UUID=cccc none' ]]
	[[ $(xargs <"$initdir/etc/cmdline.d/20-crypt.conf") == rd.luks.uuid=luks-bbbb-1 &&
		$(xargs <"$initdir/etc/cmdline.d/20-lvm.conf") == \
		'rd.lvm.lv=v.g-1/swap-ab rd.lvm.lv=vxg-1/swap-a' ]] ||
		fail "$(cat "$initdir"/etc/cmdline.d/*)"
}

@test "what a guest has written to a volume on a claimed array runs nothing, and takes nothing of the host's out" {
	local host=aaaaaaaa-0000-0000-0000-000000000009 line
	line='KNAME="dm-1" NAME="vg-guest" TYPE="lvm" FSTYPE="crypto_LUKS"'
	claim data
	mkdir -p "$initdir/etc/cmdline.d"
	echo " rd.lvm.lv=vg/root rd.luks.uuid=luks-$host" >"$initdir/etc/cmdline.d/20-lvm.conf"
	cd "$BATS_TEST_TMPDIR"
	for UUID_OF_GUEST in ',,;e id>z #' '\x22 .*' "$host"; do
		lsblk() {
			echo "$line UUID=\"$UUID_OF_GUEST\""
			[[ ${!#} == /dev/disk/by-id/* ]] ||
				echo "KNAME=\"sda2\" NAME=\"sda2\" TYPE=\"part\" FSTYPE=\"crypto_LUKS\" UUID=\"$host\""
		}
		install
		[[ ! -e z && $(xargs <"$initdir/etc/cmdline.d/20-lvm.conf") == \
			"rd.lvm.lv=vg/root rd.luks.uuid=luks-$host" ]] ||
			fail "$UUID_OF_GUEST: $(cat "$initdir"/etc/cmdline.d/*)"
	done
}

@test "for an array with ROOT=yes the initramfs gets its name, the start program, and a hook that runs it" {
	claim data
	[[ -z $(depends) ]]
	install
	[[ ! -e $initdir/etc/ramraid.roots && ! -e $initdir/usr/lib/ramraid ]]
	claim system
	sed -i "s|<ignore>.*|/dev/md/system UUID=$OTHER|" \
		"$dracutsysrootdir/etc/mdadm/mdadm.conf.d/ramraid-system.conf"
	[[ $(depends) == mdraid ]]
	install
	[[ $(<"$initdir/etc/ramraid.roots") == "$OTHER /dev/md/system" ]]
	cmp "$initdir/usr/lib/ramraid/start" "$PROJECT/initramfs/start"
	# dracut sources its hooks: one that ended the shell would end dracut.
	local hook=$initdir/var/lib/dracut/hooks/initqueue/settled/50-start-root.sh
	grep -qx /usr/lib/ramraid/start "$hook"
	sed -i s,/usr/lib/ramraid/start,true, "$hook"
	[[ $(sh -c ". $hook; echo goes on") == 'goes on' ]]
	inst_hook() { return 1; }
	not install
}

@test "a claim that can't be copied fails the module, but the other claims are copied" {
	inst() { [[ $2 != *bad* ]] && cp "$dracutsysrootdir$2" "$initdir$3"; }
	claim bad
	claim data
	not install
	[[ -f $initdir/etc/mdadm.conf.d/ramraid-data.conf &&
		-f $initdir/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
}
