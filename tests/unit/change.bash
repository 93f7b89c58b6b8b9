# A mirror of two disks and a ramdisk on a fake sysfs, for "replace" and "apply". Each call of a
# program is written down, and changes that sysfs as md would.
# shellcheck shell=bash disable=SC2154,SC2034

ID=01234567-89ab-4cde-8f01-23456789abcd

change_world() {
	local name
	world
	MD=$R/sys/block/md127/md
	mkdir -p "$MD/bitmap" "$R/sys/block/md127/holders" "$R/dev/md" "$R/etc/ramraid/state" \
		"$R"/run/{systemd/system,ramraid} "$R/proc/sys/kernel/random"
	ln -s ../../block/md127 "$R/sys/class/block/md127"
	echo 9:127 >"$R/sys/block/md127/dev"
	echo 7 >"$R/sys/block/md127/diskseq"
	: >"$R/dev/md127"
	ln -s ../md127 "$R/dev/md/data"
	echo 6.12.57+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	put level raid1 array_state active raid_disks 3 degraded 0 sync_action idle resync_start \
		none component_size 100000 uuid "$ID" bitmap/location +8 bitmap/backlog 0
	for name in a:A b:B c:C d:D; do
		fake_disk "sd${name%:*}" $((200 << 20)) "disk/by-id/ata-${name#*:}"
	done
	fake_disk rd0 $((104 << 20))
	mkdir -p "$R/sys/block/rd0"
	echo 9 >"$R/sys/block/rd0/diskseq"
	echo rapiddisk rd0 102400 9 used >"$R/run/ramraid/data.ram"
	joins rd0 in_sync 0
	joins sda in_sync,write_mostly 1
	joins sdb in_sync,write_mostly 2
	printf '%s\n' '# mine' "UUID=$ID" 'MEMBER=/dev/disk/by-id/ata-A' '' '# the second' \
		'MEMBER = "/dev/disk/by-id/ata-B"' WAIT=no >"$R/etc/ramraid/data.conf"
	chmod 640 "$R/etc/ramraid/data.conf"
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	printf '%s\n' "uuid=$ID" "legs=$(uuid_of a) $(uuid_of b)" events=40 filled=40 ram_slot=0 \
		generation=1 "seen=$(uuid_of a) $(uuid_of b)" >"$R/etc/ramraid/state/data.witness"
	KILL_AFTER=0 FAILS='' REBUILD=good
}
put() { # FILE VALUE …: of the array
	while (($# > 0)); do
		echo "$2" >"$MD/$1"
		shift 2
	done
}
# uuid_of LETTER: prints the device UUID of the disk sdLETTER; the letter is a hexadecimal digit
uuid_of() { echo "aaaaaaaa-0000-0000-0000-00000000000$1"; }
joins() { # NODE STATE SLOT
	mkdir -p "$MD/dev-$1" "$R/sys/class/block/$1/holders/md127"
	put "dev-$1/state" "$2" "dev-$1/slot" "$3" "dev-$1/offset" 2048 "dev-$1/bad_blocks" ''
	echo ours >"$R/dev/$1"
}
# A check that was killed, and that md holds at its bound.
check_left() {
	mkdir -p "$R/run/ramraid/.locks"
	: >"$R/run/ramraid/.locks/check.md127"
	put sync_action check sync_min 0 sync_max 8192
}
leaves() { rm -rf "${MD:?}/dev-$1" "$R/sys/class/block/$1/holders/md127"; } # NODE
conf() { printf '%s\n' "$@" >"$R/etc/ramraid/data.conf" && chmod 640 "$R/etc/ramraid/data.conf"; }

superblock_has_bad_blocks() { return 1; }
# What the superblocks say: a disk holds the word "ours", "ahead" (with more events than the others),
# "alone" (used without the others), "spare", or nothing.
superblock_facts() {
	local node=${1##*/} text='' slot=2 events=41 view=...
	[[ $node != sda ]] || slot=1
	[[ $node != rd* ]] || slot=0
	{ read -r text <"$1"; } 2>/dev/null || :
	[[ $text != ahead ]] || events=60
	case $text in
	ours | ahead)
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$(uuid_of "${node#sd}")" level=1 \
			raid_disks=3 size=1 data_offset=2048 data_size=1 "events=$events" "number=$slot" \
			"role=$slot" "roles=0:0 1:1 2:2" view=AAA recovery= dirty=no
		;;
	alone)
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$(uuid_of "${node#sd}")" level=1 \
			raid_disks=3 size=1 data_offset=2048 data_size=1 events=41 "number=$slot" \
			"role=$slot" "roles=$slot:$slot" "view=${view:0:slot}A${view:slot+1}" recovery= \
			dirty=no
		;;
	spare)
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$(uuid_of "${node#sd}")" level=1 \
			raid_disks=3 size=1 data_offset=2048 data_size=1 events=41 role=spare \
			view=AAA recovery= dirty=no
		;;
	*) printf 'sb=none\n' ;;
	esac
}
wipefs() {
	[[ $1 != --all ]] || { step wipefs "$@" && : >"$R${*: -1}" && return; }
	! grep -qs ext4 "${@: -1}" || echo ext4
}

step() {
	[[ -z $FAILS || "$*" != "$FAILS"* ]] || { called "$@" && return 1; }
	effect "$@" || return
	called "$@"
	((KILL_AFTER == 0 || $(calls | wc -l) != KILL_AFTER)) || kill -KILL $$ $BASHPID
}
# What md itself does: it fills free slots unless something keeps it from that, and moves the
# members together when the number of slots changes.
effect() {
	local md=$R/sys/block/md127/md node=${*: -1} line left
	node=${node##*/}
	case $* in
	'mdadm --grow /dev/md127 --size='*)
		[[ -n ${STUCK-} ]] || echo "${node##*=}" >"$md/component_size"
		;;
	'mdadm --grow --force /dev/md127 --raid-devices='*) regroup "${node##*=}" ;;
	'mdadm --manage /dev/md127 --add '*)
		joins "$node" spare none
		echo spare >"$R/dev/$node"
		rebuild
		;;
	'mdadm --manage /dev/md127 --re-add '*)
		joins "$node" in_sync,write_mostly 9 && regroup "$(<"$md/raid_disks")"
		;;
	'mdadm --manage /dev/md127 --fail '*)
		grep -l in_sync "$md"/dev-*/state | grep -v "dev-$node/" | grep -qv dev-rd ||
			called 'ONLY THE RAM LEG IS LEFT'
		echo faulty >"$md/dev-$node/state"
		;;
	'mdadm --manage /dev/md127 --remove '*)
		leaves "$node"
		left=("$md"/dev-*)
		echo $(($(<"$md/raid_disks") - ${#left[@]})) >"$md/degraded"
		;;
	'mdadm --zero-superblock '*) : >"$R/dev/$node" ;;
	'echo writemostly '*)
		line=$(<"$R$3")
		echo "$line,write_mostly" >"$R$3"
		;;
	'echo frozen '*) echo frozen >"$md/sync_action" ;;
	'echo idle '*) echo idle >"$md/sync_action" && rebuild ;;
	esac
}
regroup() { # SLOTS
	local folder n=0 members=("$MD"/dev-*)
	((${#members[@]} <= $1)) || return 1
	for folder in \
		$(grep -LE '^none$' "$MD"/dev-*/slot |
			while read -r f; do echo "$(<"$f") $f"; done | sort -n | cut -d' ' -f2); do
		echo "$n" >"$folder"
		n=$((n + 1))
	done
	echo "$1" >"$MD/raid_disks"
	echo $(($1 - n)) >"$MD/degraded"
	rebuild
}
rebuild() {
	local folder line free
	[[ $(<"$MD/sync_action") == idle && $REBUILD != never ]] || return 0
	for folder in "$MD"/dev-*; do
		line=$(<"$folder/state") free=$(free_slot)
		[[ $line == spare* && -n $free ]] || continue
		[[ $line == *write_mostly ]] || called 'READABLE BEFORE IT WAS WRITE-MOSTLY'
		echo "$free" >"$folder/slot"
		echo "${line/spare/in_sync}" >"$folder/state"
		echo ours >"$R/dev/${folder##*/dev-}"
		[[ $REBUILD != weak ]] || echo '3000 8' >"$folder/bad_blocks"
		[[ $REBUILD != bad ]] || echo faulty >"$folder/state"
	done
}
free_slot() {
	local n
	for ((n = 0; n < $(<"$MD/raid_disks"); n++)); do
		grep -qx "$n" "$MD"/dev-*/slot || { echo "$n" && return; }
	done
}
mdadm() { step mdadm "$@"; }
sleep() { SECONDS=$((SECONDS + 5)); }
modprobe() { :; }
systemctl() { :; }
lsblk() { :; }
# Called after each library is read, since the libraries have functions of these names.
fakes() {
	fake_clock
	! declare -F act_write >/dev/null || eval 'act_write() { step echo "$2" "${1#"$R"}" ""; }'
	! declare -F superblock_read >/dev/null || eval "$SUPERBLOCK_FACTS"
	declare -F act_text_ >/dev/null || ! declare -F act_text >/dev/null || {
		eval "$(declare -f act_text | sed '1s/act_text/act_text_/')"
		eval 'act_text() { act_text_ "$@" && step write "${1#"$R"}"; }'
	}
}

# verb ARG…: runs it, and sets status and output. It is a program of its own, because "run" switches
# errexit off.
verb() {
	SUPERBLOCK_FACTS=$(declare -f superblock_facts superblock_has_bad_blocks)
	export R MD ID KILL_AFTER FAILS STUCK REBUILD BATS_TEST_TMPDIR SUPERBLOCK_FACTS
	export -f called calls step effect put joins leaves uuid_of regroup rebuild free_slot \
		mdadm sleep lsblk modprobe systemctl wipefs fakes fake_clock
	ramraid_with fakes "$@"
}
# steps: prints the calls, without those for the note data.lately, which is tested elsewhere.
steps() { calls | grep -v -e 'state/data.lately' || :; }
refused() { # CODE PATTERN ARG…
	local code=$1 pattern=$2
	shift 2
	rm -rf "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	verb "$@"
	assert_failure "$code"
	assert_output -p "$pattern"
	untouched
}
never() {
	not grep -E '^(READABLE|ONLY)' "$BATS_TEST_TMPDIR/calls"
}
# is_whole DISK…: the members are these, in sync and write-mostly, and the ramdisk; there are as
# many slots; MEMBER= names just these; no note is left.
is_whole() {
	local name have want
	have=$(for name in "$MD"/dev-*; do echo "${name##*/dev-} $(<"$name/state")"; done)
	want=$(for name; do echo "sd${name,,} in_sync,write_mostly"; done | sort)
	[[ $have == "rd0 in_sync"$'\n'"$want" ]] || fail "members: $have" "$output" "$(calls)"
	[[ $(<"$MD/raid_disks") == $(($# + 1)) && $(<"$MD/sync_action") == idle ]] ||
		fail "slots: $(<"$MD/raid_disks")" "$output"
	[[ ! -e $R/etc/ramraid/state/data.leaving ]] || fail 'the note is left'
	have=$(sed -nE 's/^MEMBER ?= ?"?([^"]*)"?$/\1/p' "$R/etc/ramraid/data.conf" | sort)
	want=$(for name; do echo "/dev/disk/by-id/ata-$name"; done | sort)
	[[ $have == "$want" ]] || fail "configured: $have" "$output"
	never || fail "$(calls)"
}
