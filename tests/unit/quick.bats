#!/usr/bin/env bats
# The quick look of "status": what it shows is what the whole look shows, and what is out of the ordinary is left to that.

setup() {
	load helper
	world
	libs_work served show look confcheck
	quick_world
	# The program with no more than the quick look needs.
	ONLY=$BATS_TEST_TMPDIR/only
	mkdir -p "$ONLY/bin" "$ONLY/lib"
	cp "$PROJECT/bin/ramraid" "$ONLY/bin/"
	cp "$PROJECT"/lib/{quick,paths,served,show,conf,terminal}.sh "$ONLY/lib/"
}

# A mirror of two disks and a ramdisk, whole, with all the files that the kernel and ramraid have for it.
quick_world() {
	local i=0 node
	ID=11111111-2222-3333-4444-555555555555
	M=$R/sys/block/md127/md
	mkdir -p "$M/bitmap" "$R/proc/sys/kernel/random" "$R/etc/ramraid/state" "$R/run/ramraid" "$R/dev/md"
	for node in rd0 sda sdb; do
		fake_disk "$node" 104857600 "disk/by-id/ata-$node"
		mkdir -p "$M/dev-$node" "$R/sys/class/block/$node/holders/md127"
		echo in_sync,write_mostly >"$M/dev-$node/state"
		echo "$i" >"$M/dev-$node/slot"
		echo 0 >"$M/dev-$node/errors"
		echo 2048 >"$M/dev-$node/offset"
		: >"$M/dev-$node/bad_blocks"
		echo "  $((i * 1000))   0   $((i * 800)) 200 500 0 50000 100 0 10 10" >"$R/sys/class/block/$node/stat"
		i=$((i + 1))
	done
	echo in_sync >"$M/dev-rd0/state"
	echo "$ID" >"$M/uuid"
	echo clean >"$M/array_state"
	echo idle >"$M/sync_action"
	echo none >"$M/resync_start"
	echo 0 >"$M/degraded"
	echo raid1 >"$M/level"
	echo '    1000    0   800000 0 500 0 4000 0 0 0 0' >"$R/sys/block/md127/stat"
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	echo "$ID b0b0b0b0-0000-4000-8000-000000000001 md127 9 copy 1795169472 0 1795169472 39 56832 5000 200" >"$R/etc/ramraid/state/data.lately"
	cp "$PROJECT/etc/ramraid/ramraid.conf" "$R/etc/ramraid/"
	conf
}

# conf [LINE…]: the configuration, and further lines.
conf() { printf '%s\n' '# Größe' '' "UUID=$ID" MEMBER=/dev/disk/by-id/ata-sda MEMBER=/dev/disk/by-id/ata-sdb "$@" >"$R/etc/ramraid/data.conf"; }

# Sets QUICK to what the quick look shows; returns 1 if it leaves it to the whole one.
quickly() {
	local code=0
	QUICK=$(
		set +eu
		quick "$@" && printf '%s' "$SHOWN"
	) || code=$?
	return "$code"
}

# the_same [NAME…]: the quick look answers, with what the whole one shows ("--" makes the program take that one), and the program takes it.
the_same() {
	quickly "$@" || fail 'it was left to the whole look'
	[[ -n $QUICK && $QUICK == "$("$PROJECT/bin/ramraid" status -- "$@")" ]] || fail "$QUICK"
	[[ $QUICK == "$("$ONLY/bin/ramraid" status "$@")" ]] || fail 'the program did not take it'
}

@test "an array that is whole is shown as the whole look shows it" {
	local id state line
	the_same data
	[[ $QUICK == *'reads served by RAM: 100 %'*'whole since:'*'last rebuild:'* ]] || fail "$QUICK"
	the_same
	for state in active active-idle write-pending read-auto; do
		echo "$state" >"$M/array_state"
		the_same data
	done
	for id in "$ID" 11111111:22223333:44445555:55555555; do
		printf '%s\n' "UUID=$id" RAM=brd MEMBER=/dev/disk/by-id/ata-sdb MEMBER=/dev/disk/by-id/ata-sda >"$R/etc/ramraid/data.conf"
		the_same data
	done
	for line in WAIT=no WAIT_TIMEOUT=5min HOTPLUG=no REBUILD=kernel MOUNT=/srv/data RAM_RESERVE=512M NOTIFY=/usr/local/bin/x; do
		conf "$line"
		the_same data
	done
	conf
	mkdir "$R/etc/ramraid/data.conf.d"
	echo WAIT=no >"$R/etc/ramraid/data.conf.d/a.conf~"
	the_same data
	echo 7 >"$M/dev-sdb/errors"
	echo 123456789 0 99 0 5 >"$R/sys/class/block/sda/stat"
	the_same data
	rm "$R/etc/ramraid/state/data.lately" "$R/etc/ramraid/ramraid.conf"
	the_same data
	rm "$R/proc/sys/kernel/random/boot_id" "$R"/sys/class/block/*/stat "$M"/dev-*/errors
	the_same data
	conf RAM=none
	rm -r "$M/dev-rd0" "$R/sys/class/block/rd0/holders/md127"
	the_same data
}

@test "a note or a count that ends in the middle is none" {
	for file in "$R/etc/ramraid/state/data.lately" "$R/sys/block/md127/stat" "$R/sys/class/block/sda/stat" "$M/dev-sdb/errors" "$R/proc/sys/kernel/random/boot_id"; do
		truncate -s -1 "$file"
		the_same data
	done
}

@test "on a terminal it is dressed as the whole look dresses it" {
	local long
	long=/dev/disk/by-id/ata-$(printf 'x%.0s' {1..60})
	ln -s ../../sda "$R$long"
	printf '%s\n' "UUID=$ID" "MEMBER=$long" MEMBER=/dev/disk/by-id/ata-sdb >"$R/etc/ramraid/data.conf"
	run env TERM=xterm script -qec "$ONLY/bin/ramraid status data" /dev/null
	[[ $status == 0 && $output == *$'\e[32mwhole'* && $output == *$'\n'*"    $long"* ]] || fail "$output"
	[[ $output == "$(env TERM=xterm script -qec "$PROJECT/bin/ramraid status -- data" /dev/null)" ]]
}

@test "two arrays: both, or none" {
	cp -r "$R/sys/block/md127" "$R/sys/block/md126"
	echo 22222222-2222-3333-4444-555555555555 >"$R/sys/block/md126/md/uuid"
	rm -r "$R"/sys/block/md126/md/dev-*
	for node in rd1 sdc; do
		fake_disk "$node" 104857600 "disk/by-id/ata-$node"
		mkdir -p "$R/sys/block/md126/md/dev-$node" "$R/sys/class/block/$node/holders/md126"
		echo in_sync >"$R/sys/block/md126/md/dev-$node/state"
		echo 0 >"$R/sys/block/md126/md/dev-$node/slot"
	done
	printf '%s\n' UUID=22222222-2222-3333-4444-555555555555 MEMBER=/dev/disk/by-id/ata-sdc >"$R/etc/ramraid/my-b.conf"
	the_same
	the_same my-b data
	[[ $QUICK == 'my-b: whole (/dev/md126)'*'data: whole (/dev/md127)'* ]]
	echo faulty >"$R/sys/block/md126/md/dev-sdc/state"
	not quickly
	[[ -z $QUICK ]]
	the_same data
	run "$PROJECT/bin/ramraid" status
	assert_failure
	assert_line 'data: whole (/dev/md127)'
	assert_line 'my-b: degraded (/dev/md126)'
}

# left COMMAND…: after that, what it would show is left to the whole look. The world is made anew before.
left() {
	rm -rf "$R"
	world
	quick_world
	quickly data || fail "before: $*"
	"$@"
	not quickly data || fail "it was not left to the whole look: $*"
	[[ -z $QUICK ]] || fail "shown: $*"
}
another() { # NODE: one more member, in sync
	fake_disk "$1" 104857600
	mkdir -p "$R/sys/class/block/$1/holders/md127"
	cp -r "$M/dev-rd0" "$M/dev-$1"
}
write() { printf '%s\n' "$2" >"$1"; }

@test "whatever is not whole, at rest, and of our legs is left to the whole look" {
	local value
	for value in clear inactive broken readonly suspended ''; do left write "$M/array_state" "$value"; done
	for value in resync recover check repair frozen reshape; do left write "$M/sync_action" "$value"; done
	left write "$M/resync_start" 0
	left write "$M/uuid" 99999999-2222-3333-4444-555555555555
	for value in uuid array_state sync_action resync_start dev-sda/slot dev-sda/state; do left rm "$M/$value"; done
	for value in faulty spare write_mostly,faulty in_sync,faulty blocked ''; do
		left write "$M/dev-sda/state" "$value"
		left write "$M/dev-rd0/state" "$value"
	done
	left write "$M/dev-sdb/bad_blocks" '8 8'
	left rm -r "$M/dev-sdb"
	left rm -r "$M/dev-rd0"
	left rm -r "$R/sys/class/block/sdb"
	left rm "$R/dev/disk/by-id/ata-sdb"
	left ln -sf ../../sda "$R/dev/disk/by-id/ata-sdb"
	# A disk that is nobody's, a second ramdisk, and what is no ramdisk in the place of one.
	left another sdz
	left another rd5
	left eval 'another zram0; rm -r "$M/dev-rd0"'
	# A disk under two names, with another one lost.
	left eval 'ln -sf sda "$R/dev/sdb"; ln -sf ../../sdc "$R/dev/disk/by-id/ata-sdb"'
	left write "$M/dev-sda/slot" none
	left write "$M/dev-sda/slot" ''
	left rm -r "$R/sys/class/block/sda/holders/md127"
	left mkdir "$R/run/ramraid/data.copy"
	left conf RAM=none
}

@test "a configuration that is not simple is left to the whole look" {
	local line
	for line in WAIT=maybe 'WAIT_TIMEOUT=5 min' WAIT= NONSENSE=1 wait=no WRITE_BEHIND=256 ACCEPT_DATA_LOSS=yes MOUNT=srv RAM=/dev/disk/by-id/nvme-x RAM=nonsense MEMBER=/dev/sda MEMBER=/dev/disk/by-id/.. MEMBER=/dev/disk/by-id/a/b \
		MEMBER=/dev/disk/by-id/ata-sda MEMBER=/dev/disk/by-id/ata-rd0 LAYOUT=far2 ROOT=yes ' RAM=brd' 'RAM="brd"' 'RAM = brd' nonsense '; x' "UUID=$ID " UUID=1 \
		$'# \x1b[31m' $'RAM=brd\r' "# $(printf '%70000s' x)"; do
		left conf "$line"
	done
	# In the place of a line that is needed.
	for line in MEMBER=/dev/sda MEMBER=/dev/disk/by-id/a/b MEMBER=/dev/disk/by-id/../../sda MEMBER=/dev/disk/by-x/sda MEMBER=/dev/mapper/a; do
		left eval 'mkdir -p "$R"/dev/{mapper,disk/{by-x,by-id/a}}; for l in mapper/a disk/by-x/sda disk/by-id/a/b; do ln -sf "$R/dev/sda" "$R/dev/$l"; done
			printf "%s\n" "UUID=$ID" MEMBER=/dev/disk/by-id/ata-sdb "$line" >"$R/etc/ramraid/data.conf"'
	done
	for line in UUID=1 UUID= "UUID=$ID" "UUID=${ID^^}"; do left eval '{ echo "$line"; conf; cat "$R/etc/ramraid/data.conf"; } >"$R/x" && mv "$R/x" "$R/etc/ramraid/data.conf"'; done
	left eval 'sed -i /UUID/d "$R/etc/ramraid/data.conf"; echo >"$M/uuid"'
	left eval 'sed -i /MEMBER/d "$R/etc/ramraid/data.conf"; rm -r "$M"/dev-sd?'
	left write "$R/etc/ramraid/ramraid.conf" "# $(printf '%70000s' x)"
	left write "$R/etc/ramraid/ramraid.conf" RAM=auto
	left write "$R/etc/ramraid/ramraid.conf" $'# x\n\n  RAM=auto'
	left write "$R/etc/ramraid/ramraid.conf" $'# \x07'
	left eval 'mkdir "$R/etc/ramraid/data.conf.d"; echo WAIT=no >"$R/etc/ramraid/data.conf.d/a.conf"'
	left eval 'mkdir "$R/etc/ramraid/data.conf.d"; ln -s nowhere "$R/etc/ramraid/data.conf.d/a.conf"'
	left rm "$R/etc/ramraid/data.conf"
	left eval 'printf "# \\0\\nUUID=%s\\n" "$ID" >"$R/etc/ramraid/ramraid.conf"'
	left eval 'printf "# \\0\\n" >>"$R/etc/ramraid/data.conf"'
	left eval 'rm "$R/etc/ramraid/ramraid.conf"; mkdir "$R/etc/ramraid/ramraid.conf"'
	left eval 'rm "$R/etc/ramraid/ramraid.conf"; ln -s nowhere "$R/etc/ramraid/ramraid.conf"'
	# Names that are none, though there is such a file.
	rm -rf "$R"
	world
	quick_world
	mkdir -p "$R/etc/ramraid/sub"
	for line in 'a b' 1a .data data.conf sub/data "$(printf 'a%.0s' {1..32})" ramraid; do
		cp "$R/etc/ramraid/data.conf" "$R/etc/ramraid/$line.conf"
		not quickly "$line" || fail "$line"
	done
	for line in nobody .. '' '*'; do not quickly "$line" || fail "$line"; done
	rm "$R"/etc/ramraid/*.conf
	not quickly
}

@test "its bounds are those of the whole look's reading of a configuration" {
	# shellcheck source=/dev/null
	[[ $(sed -n 's/^local control=\(.*\) # .*/\1/p' "$PROJECT/lib/quick.sh") == "$(sed -n 's/^readonly CONF_CONTROL=\(\S*\) .*/\1/p' "$PROJECT/lib/conf.sh")" ]]
	grep -q "65536" "$PROJECT/lib/quick.sh" && [[ $CONF_MAX_BYTES == 65536 && $CONF_MAX_LINE == 4096 ]]
}
