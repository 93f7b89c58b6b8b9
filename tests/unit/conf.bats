#!/usr/bin/env bats
# Configuration: read, checked, never executed.

setup() {
	load helper
	world
	libraries
	fake_disk sda 104857600 disk/by-id/ata-A disk/by-id/wwn-0x1 disk/by-path/pci-1
	fake_disk sdb 104857600 disk/by-id/ata-B
	umask 022
	C=$R/etc/ramraid
	ID=11111111-2222-3333-4444-555555555555
	GOOD="UUID=$ID"$'\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B\n'
}

write() { # FILE TEXT
	[[ $1 != */* ]] || mkdir -p "$C/${1%/*}"
	printf '%s' "$2" >"$C/$1"
}

loads() { # NAME
	conf_load "$1" || fail "conf_load $1: $? ${CONF_ERRORS[*]}"
	((${#CONF_ERRORS[@]} == 0))
}

# refuses NAME PATTERN…: exactly one error for each pattern, in this order.
refuses() {
	local code=0 i=0 pattern
	conf_load "$1" || code=$?
	shift
	((code == 1)) || fail "expected 1, got $code"
	((${#CONF_ERRORS[@]} == $#)) ||
		fail "expected $# errors, got ${#CONF_ERRORS[@]}: \
$(printf '%s\n' "${CONF_ERRORS[@]}")"
	for pattern; do
		[[ ${CONF_ERRORS[i]} == $pattern ]] ||
			fail "expected: $pattern"$'\n'"got: ${CONF_ERRORS[i]}"
		i=$((i + 1))
	done
}

with() { # LINE…: the good configuration, and these lines from line 4 on
	local line text=$GOOD
	for line; do text+=$line$'\n'; done
	write data.conf "$text"
}

# line_refused TEXT: one error that says where, and what to write.
line_refused() {
	CONF_ERRORS=()
	conf_lines_ file "${2:-array}" "$1"
	((${#CONF_ERRORS[@]} == 1)) || fail "not refused: $1"
	[[ ${CONF_ERRORS[0]} == file:1:\ ?* ]] || fail "does not say where: ${CONF_ERRORS[0]}"
}

line_taken() { # KEY VALUE
	CONF_ERRORS=()
	conf_lines_ file array "$1=$2"
	((${#CONF_ERRORS[@]} == 0)) || fail "${CONF_ERRORS[0]}"
	[[ $1 == @(MEMBER|REQUIRED_BY|UUID) || ${CONF[$1]} == "$2" ]] ||
		fail "$1=$2 became ${CONF[$1]}"
}

@test "a good configuration with every key is read" {
	write data.conf "UUID=$ID
MEMBER=/dev/disk/by-id/ata-A
MEMBER=/dev/disk/by-partuuid/0f0f-01
MEMBER=/dev/mapper/vg-leg
RAM=brd
RAM_RESERVE=512M
WAIT=no
WAIT_TIMEOUT=1h 30min
ON_TIMEOUT=fail
MEMBER_TIMEOUT=infinity
START_DEGRADED=never
REBUILD=kernel
WRITE_BEHIND=256
ACCEPT_DATA_LOSS=yes
REQUIRED_BY=/srv/my data
REQUIRED_BY=postgresql.service
"
	loads data
	[[ ${CONF[UUID]} == "$ID" &&
		${MEMBERS[*]} == \
			'/dev/disk/by-id/ata-A /dev/disk/by-partuuid/0f0f-01 /dev/mapper/vg-leg' ]]
	[[ ${CONF[RAM]} == brd && ${CONF[RAM_RESERVE]} == 512M && ${CONF[WAIT]} == no &&
		${CONF[WAIT_TIMEOUT]} == '1h 30min' ]]
	[[ ${CONF[ON_TIMEOUT]} == fail && ${CONF[MEMBER_TIMEOUT]} == infinity &&
		${CONF[START_DEGRADED]} == never && ${CONF[REBUILD]} == kernel ]]
	[[ ${CONF[WRITE_BEHIND]} == 256 && ${CONF[ACCEPT_DATA_LOSS]} == yes &&
		${#REQUIRED_BY[@]} == 2 && ${REQUIRED_BY[0]} == '/srv/my data' ]]
}

@test "keys that are not set have their defaults, not values of the array read before" {
	with WAIT=no REQUIRED_BY=/a
	loads data
	write plain.conf "${GOOD/1111/2222}"
	loads plain
	[[ ${CONF[RAM]} == auto && ${CONF[RAM_RESERVE]} == 10% && ${CONF[WAIT]} == yes &&
		${CONF[WAIT_TIMEOUT]} == 30min ]]
	[[ ${CONF[ON_TIMEOUT]} == degraded && ${CONF[MEMBER_TIMEOUT]} == 30s &&
		${CONF[START_DEGRADED]} == witness ]]
	[[ ${CONF[REBUILD]} == auto && ${CONF[WRITE_BEHIND]} == 0 &&
		${CONF[ACCEPT_DATA_LOSS]} == no ]]
	((${#MEMBERS[@]} == 2 && ${#REQUIRED_BY[@]} == 0))
}

@test "precedence: ramraid.conf, NAME.conf, NAME.conf.d in order of names" {
	write ramraid.conf $'WAIT=no\nRAM=brd\nON_TIMEOUT=fail\nREBUILD=kernel\n'
	with RAM=none ON_TIMEOUT=degraded
	write data.conf.d/10-one.conf $'RAM=rapiddisk\nMEMBER=/dev/disk/by-id/ata-C\n'
	write data.conf.d/20-two.conf $'RAM=auto\nREQUIRED_BY=/more\n'
	write data.conf.d/30-not.txt $'RAM=brd\n'
	loads data
	[[ ${CONF[WAIT]} == no && ${CONF[REBUILD]} == kernel && ${CONF[ON_TIMEOUT]} == degraded &&
		${CONF[RAM]} == auto ]]
	[[ ${MEMBERS[2]} == /dev/disk/by-id/ata-C && ${REQUIRED_BY[*]} == /more ]]
}

@test "drop-ins of the defaults: one in /etc replaces the vendor's of that name, and none may set an array's own keys" {
	local vendor=$R/usr/lib/ramraid/ramraid.conf.d
	mkdir -p "$vendor"
	printf 'RAM=brd\nWAIT=no\nREBUILD=kernel\nVERIFY=yes\n' >"$vendor/10-site.conf"
	printf 'ON_TIMEOUT=fail\n' >"$vendor/20-off.conf"
	printf 'RAM=none\n' >"$vendor/not"
	write ramraid.conf $'WAIT=yes\nREBUILD=copy\n'
	write ramraid.conf.d/20-off.conf ''
	write ramraid.conf.d/30-mine.conf $'REBUILD=auto\n'
	with VERIFY=sample
	loads data
	[[ ${CONF[RAM]}:${CONF[WAIT]}:${CONF[REBUILD]}:${CONF[ON_TIMEOUT]}:${CONF[VERIFY]} == \
		brd:yes:auto:degraded:sample ]] ||
		fail "$(declare -p CONF)"
	((${#CONF_WARNINGS[@]} == 0))
	[[ $(conf_names) == data ]]
	printf 'MEMBER=/dev/disk/by-id/ata-X\n' >"$vendor/10-site.conf"
	write ramraid.conf.d/30-mine.conf $'WAIT=perhaps\n'
	warns data "$vendor/10-site.conf:1: MEMBER belongs to one array*" \
		"$C/ramraid.conf.d/30-mine.conf:1: WAIT=perhaps: write yes or no"
	[[ ${CONF[HOTPLUG]} == no ]]
}

@test "comments, blank lines, blanks, quotes and a missing last newline are accepted" {
	write data.conf "# comment
  ; another

	UUID = \"$ID\"
MEMBER='/dev/disk/by-id/ata-A'
  WAIT=no$(printf ' \t')
REQUIRED_BY=\"/srv/my data\""
	loads data
	[[ ${CONF[UUID]} == "$ID" && ${MEMBERS[0]} == /dev/disk/by-id/ata-A &&
		${CONF[WAIT]} == no && ${REQUIRED_BY[0]} == '/srv/my data' ]]
}

@test "both spellings of an array UUID are read in the form that sysfs has" {
	write data.conf $'UUID=11111111:22223333:44445555:55555555\nMEMBER=/dev/disk/by-id/ata-A\n'
	loads data
	[[ ${CONF[UUID]} == 11111111-2222-3333-4444-555555555555 ]]
}

@test "an array without a file gives 3, without errors" {
	local code=0
	conf_load data || code=$?
	((code == 3 && ${#CONF_ERRORS[@]} == 0))
}

@test "unknown keys, and lines without KEY=value, are refused" {
	with WIAT=yes wait=yes 'WAIT yes' =yes 'export WAIT=yes' 'A[$(touch X)]=1'
	refuses data "$C/data.conf:4: unknown key \"WIAT\"*ramraid.conf(5)*" \
		"$C/data.conf:5: \"wait=yes\" is not*KEY=value" "$C/data.conf:6: *" \
		"$C/data.conf:7: *" "$C/data.conf:8: *" "$C/data.conf:9: *"
}

@test "MOUNT, the name of REQUIRED_BY in 0.1, is read, and a note gives the present name" {
	with MOUNT=/a 'MOUNT = "b.service"' REQUIRED_BY=/c
	loads data
	[[ ${REQUIRED_BY[*]} == '/a b.service /c' && ${#CONF_WARNINGS[@]} == 0 &&
		${CONF[HOTPLUG]} == yes ]]
	[[ ${#CONF_NOTES[@]} == 2 &&
		${CONF_NOTES[0]} == "$C/data.conf:4: MOUNT has been called REQUIRED_BY since 0.2.0; \
write REQUIRED_BY=, "* &&
		${CONF_NOTES[1]} == *:5:* ]] ||
		fail "${CONF_NOTES[*]}"
	run conf_need data
	assert_success
	((${#lines[@]} == 2))
	assert_line -p 'data.conf:5: MOUNT has been called REQUIRED_BY'
	# Asked for again with the lock held, it says so once.
	[[ $({ conf_need data && conf_need data; } 2>&1 | wc -l) == 2 ]]
	write plain.conf "$GOOD"
	loads plain
	((${#CONF_NOTES[@]} == 0))
	with MOUNT=srv
	refuses data "$C/data.conf:4: REQUIRED_BY=srv: write a mount point or the name of a unit"
	with
	write ramraid.conf $'MOUNT=/a\n'
	warns data "$C/ramraid.conf:1: REQUIRED_BY belongs to one array*"
}

@test "keys that take yes and no also take the other words of systemd for them" {
	local word
	for word in yes Yes true TRUE on 1; do
		with "ROOT=$word" "VERIFY=$word"
		conf_load data || fail "$word: ${CONF_ERRORS[*]}"
		[[ ${CONF[ROOT]} == yes && ${CONF[VERIFY]} == yes ]] || fail "$word"
	done
	for word in no NO false off Off 0; do
		with "WAIT=$word" "VERIFY=$word"
		conf_load data || fail "$word: ${CONF_ERRORS[*]}"
		[[ ${CONF[WAIT]} == no && ${CONF[VERIFY]} == no ]] || fail "$word"
	done
	for word in WAIT=2 WAIT=y WAIT=enabled WAIT= ON_TIMEOUT=yes RAM=off REBUILD=1; do
		with "$word"
		not conf_load data
	done
}

@test "bad values of every key are refused with the place and what to write" {
	local bad
	for bad in UUID= UUID=1234 UUID=1111111122223333444455555555555 \
		UUID=11111111-2222-3333-4444-55555555555g \
		'UUID=11111111:22223333-4444-555555555555' MEMBER= MEMBER=sda MEMBER=disk/by-id/x \
		MEMBER=/dev/ RAM= RAM=tape RAM=AUTO RAM_RESERVE= RAM_RESERVE=x RAM_RESERVE=10%% \
		RAM_RESERVE=-1 RAM_RESERVE=1.5G RAM_RESERVE=1Z WAIT= WAIT=maybe WAIT=Yess WAIT=2 \
		WAIT_TIMEOUT= WAIT_TIMEOUT=soon WAIT_TIMEOUT=-1s WAIT_TIMEOUT=infinite \
		'WAIT_TIMEOUT=10 min;' ON_TIMEOUT= ON_TIMEOUT=open MEMBER_TIMEOUT= \
		MEMBER_TIMEOUT=s MEMBER_TIMEOUT=infinity30s START_DEGRADED= START_DEGRADED=yes \
		REBUILD= REBUILD=fast WRITE_BEHIND= WRITE_BEHIND=-1 WRITE_BEHIND=yes \
		WRITE_BEHIND=0x10 WRITE_BEHIND=123456 ACCEPT_DATA_LOSS= ACCEPT_DATA_LOSS=y \
		REQUIRED_BY= REQUIRED_BY=srv REQUIRED_BY=a/b.mount REQUIRED_BY=foo.timer; do
		line_refused "$bad"
		[[ ${CONF_ERRORS[0]} == "file:1: ${bad:0:80}: write "?* ]] ||
			fail "${CONF_ERRORS[0]}"
	done
}

@test "a comment behind a value is refused, and the message says where comments go" {
	line_refused 'WAIT=no # until the disks are faster'
	[[ ${CONF_ERRORS[0]} == "file:1: WAIT=no # until the disks are faster: write yes or no; a \
comment must be on a line of its own" ]] ||
		fail "${CONF_ERRORS[0]}"
}

@test "write-behind beyond md's limit of 16383 is refused" {
	local value
	for value in 0 1 9 10 999 1000 9999 10000 16000 16299 16383; do
		line_taken WRITE_BEHIND "$value"
	done
	for value in 16384 16390 16400 17000 20000 99999; do
		line_refused "WRITE_BEHIND=$value"
	done
}

@test "good values of every key are accepted" {
	local value
	for value in 512 512K 1M 2G 1T 0 0% 10% 100%; do line_taken RAM_RESERVE "$value"; done
	for value in 0 30 90s 1.5h '1min 30s' 1h30min infinity 100ms; do
		line_taken WAIT_TIMEOUT "$value" && line_taken MEMBER_TIMEOUT "$value"
	done
	for value in auto rapiddisk brd none; do line_taken RAM "$value"; done
	for value in witness always never; do line_taken START_DEGRADED "$value"; done
	for value in / /srv '/a b' srv.mount dev-md-x.swap x@y.service a-b.target; do
		line_taken REQUIRED_BY "$value"
	done
}

@test "an unstable member name is refused, and the message has the link to write" {
	with MEMBER=/dev/sda
	refuses data "$C/data.conf:4: MEMBER=/dev/sda: this name can mean another disk*write \
/dev/disk/by-id/wwn-0x1"
	with MEMBER=/dev/sdz MEMBER=/dev/nvme0n1 MEMBER=/dev/disk/by-id/../sda MEMBER=/dev/dm-3
	refuses data "$C/data.conf:4:*write a name below /dev/disk/by-id*" "$C/data.conf:5:*" \
		"$C/data.conf:6:*" "$C/data.conf:7:*"
}

@test "a MEMBER that is named twice is refused" {
	with MEMBER=/dev/disk/by-id/ata-A
	refuses data "$C/data.conf:4: MEMBER=/dev/disk/by-id/ata-A is there already*"
	write data.conf "$GOOD"
	write data.conf.d/x.conf $'\nMEMBER=/dev/disk/by-id/ata-B\n'
	refuses data "$C/data.conf.d/x.conf:2: *already*"
}

# warns NAME PATTERN…: the array is taken as it is; exactly one warning for each pattern.
warns() {
	local i=0 pattern
	loads "$1"
	shift
	((${#CONF_WARNINGS[@]} == $#)) ||
		fail "expected $# warnings, got ${#CONF_WARNINGS[@]}: ${CONF_WARNINGS[*]}"
	for pattern; do
		[[ ${CONF_WARNINGS[i]} == $pattern ]] ||
			fail "expected: $pattern"$'\n'"got: ${CONF_WARNINGS[i]}"
		i=$((i + 1))
	done
}

@test "an array's own key in the defaults is a warning, and stops no array" {
	write data.conf "$GOOD"
	write ramraid.conf "UUID=$ID"$'\nMEMBER=/dev/disk/by-id/ata-C\nREQUIRED_BY=/a\nWAIT=no\n'
	warns data "$C/ramraid.conf:1: UUID belongs to one array*" \
		"$C/ramraid.conf:2: MEMBER belongs*" "$C/ramraid.conf:3: REQUIRED_BY belongs*"
}

@test "an error in the defaults switches hot-plug off, unless the array's own file switches it on" {
	with
	loads data
	[[ ${CONF[HOTPLUG]} == yes ]]
	write ramraid.conf $'HOTPLUG=no # it bounces\n'
	loads data
	[[ ${CONF[HOTPLUG]} == no && ${#CONF_WARNINGS[@]} == 1 ]]
	with HOTPLUG=yes
	loads data
	[[ ${CONF[HOTPLUG]} == yes ]]
}

@test "a file without UUID or MEMBER is refused" {
	write data.conf $'MEMBER=/dev/disk/by-id/ata-A\n'
	refuses data "$C/data.conf: UUID= is missing*mdadm --examine*"
	write data.conf "UUID=$ID"
	refuses data "$C/data.conf: there is no MEMBER= line*"
	write data.conf ''
	refuses data '*UUID*' '*MEMBER*'
}

@test "WRITE_BEHIND needs ACCEPT_DATA_LOSS=yes" {
	with WRITE_BEHIND=256
	refuses data "$C/data.conf: WRITE_BEHIND=256 lets fsync return before a disk has the \
data*ACCEPT_DATA_LOSS=yes"
	with WRITE_BEHIND=256 ACCEPT_DATA_LOSS=yes
	loads data
}

@test "LAYOUT=far2 needs two disks and RAM=none, takes a third for a change, and has no place in the defaults" {
	local member=MEMBER=/dev/disk/by-id/ata-X
	with LAYOUT=mirror
	loads data
	write data.conf $'UUID='"$ID"$'\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B\nLAYOUT=far2\nRAM=none\n'
	loads data
	[[ ${CONF[LAYOUT]} == far2 ]]
	write data.conf "$(<"$C/data.conf")"$'\n'"$member"$'\n'
	loads data
	write data.conf "$(<"$C/data.conf")"$'\n'"${member}2"$'\n'
	refuses data "$C/data.conf: LAYOUT=far2 takes two MEMBER lines and RAM=none*"
	write data.conf $'UUID='"$ID"$'\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B\nLAYOUT=far2\n'
	refuses data "$C/data.conf: LAYOUT=far2 takes two MEMBER lines and RAM=none*"
	with LAYOUT=near2
	refuses data '*LAYOUT=near2: write mirror or far2'
	with
	write ramraid.conf LAYOUT=far2
	loads data
	[[ ${CONF[LAYOUT]} == mirror && ${CONF_WARNINGS[*]} == *'LAYOUT belongs to one array'* ]] ||
		fail "${CONF_WARNINGS[*]}"
}

@test "files that others can write are not read" {
	local mode
	with
	for mode in 664 646 666 777; do
		chmod "$mode" "$C/data.conf"
		refuses data "$C/data.conf: *mode $mode*chmod 644*"
	done
	chmod 600 "$C/data.conf"
	loads data
	write ramraid.conf RAM=none
	chmod 666 "$C/ramraid.conf"
	warns data "$C/ramraid.conf: *mode 666*"
	[[ ${CONF[RAM]} == auto ]]
}

@test "files of other users are not read" {
	((EUID == 0)) || return 0 # cannot be made without root
	with
	chown 65534 "$C/data.conf"
	refuses data "$C/data.conf: belongs to user 65534*chown root*"
}

@test "only plain files are read, and nothing blocks" {
	mkfifo "$C/fifo.conf"
	refuses fifo "$C/fifo.conf: is a fifo*"
	mkdir "$C/folder.conf"
	refuses folder "$C/folder.conf: is a directory*"
	ln -s nowhere "$C/dangling.conf"
	refuses dangling "$C/dangling.conf: is a symbolic link*"
	write data.conf "$GOOD"
	ln -s data.conf "$C/link.conf"
	refuses link "$C/link.conf: is a symbolic link*"
	ln -s /dev/zero "$C/zero.conf"
	refuses zero '*symbolic link*'
}

@test "drop-ins and the defaults are read only if they are plain, root's and not huge, and nothing blocks" {
	local file kind
	for file in data.conf.d/x.conf ramraid.conf; do
		for kind in fifo folder link device mode owner huge nul; do
			rm -rf "$C/data.conf.d" "$C/ramraid.conf"
			with
			mkdir "$C/data.conf.d"
			case $kind in
			fifo) mkfifo "$C/$file" ;;
			folder) mkdir "$C/$file" ;;
			link) echo WAIT=no >"$C/target" && ln -s "$C/target" "$C/$file" ;;
			# /dev/zero
			device) ((EUID == 0)) && mknod "$C/$file" c 1 5 2>/dev/null || continue ;;
			mode) echo WAIT=no >"$C/$file" && chmod 664 "$C/$file" ;;
			owner)
				echo WAIT=no >"$C/$file" && { ((EUID == 0)) || continue; } &&
					chown 65534 "$C/$file"
				;;
			huge) truncate -s 1T "$C/$file" ;;
			nul) printf 'WAIT=n\0o\n' >"$C/$file" ;;
			esac
			timeout 10 bash -c \
				'lib=$1/lib; source "$lib/core/load.sh"; need config/conf core/log
				conf_load data; code=$?; printf "%s\n" "$code ${CONF[WAIT]}" "${CONF_ERRORS[@]}" "${CONF_WARNINGS[@]}"' - "$PROJECT" >"$BATS_TEST_TMPDIR/out" ||
				fail "$kind $file: $?"
			[[ $(<"$BATS_TEST_TMPDIR/out") == [01]" yes"$'\n'*"$C/$file: "* ]] ||
				fail "$kind $file: $(<"$BATS_TEST_TMPDIR/out")"
		done
	done
}

@test "keys that mean something to bash mean nothing here" {
	local key code=0 path=$PATH
	cd "$BATS_TEST_TMPDIR"
	for key in PATH BASH_ENV IFS EUID LC_ALL CONF MEMBERS RAMRAID_ROOT 'F[x]' 'a[$(touch X)]' \
		'CONF[$(touch X)]' 'MEMBER[0]' WAIT+ 'WAIT '; do
		CONF_ERRORS=()
		conf_lines_ file array "$key=/evil"
		[[ ${CONF_ERRORS[0]} == file:1:* ]] || fail "$key"
	done
	[[ $PATH == "$path" && ! -v BASH_ENV && $IFS == $' \t\n' && ! -e X && -z ${F[x]-} &&
		${#MEMBERS[@]} == 0 ]]
}

@test "NUL bytes, control characters and Windows line endings are refused" {
	local bad
	printf "UUID=$ID\nMEMBER=/dev/disk/by-id/ata-A\nWAIT=no\0\n" >"$C/data.conf"
	refuses data "$C/data.conf: has a NUL byte*"
	for bad in '\r' '\e[31m' '\x01' '\x7f' '\v'; do
		printf "UUID=$ID\nMEMBER=/dev/disk/by-id/ata-A\nWAIT=no$bad\n" >"$C/data.conf"
		[[ $bad == '\r' ]] || refuses data "$C/data.conf: contains control characters*"
	done
	printf "UUID=$ID\r\nMEMBER=/dev/disk/by-id/ata-A\r\n" >"$C/data.conf"
	refuses data '*Windows line endings*'
}

@test "the command that a message gives removes Windows line endings and a byte order mark" {
	local text
	with WAIT=no
	text=$(<"$C/data.conf")
	sed -i 's/$/\r/' "$C/data.conf"
	refuses data "$C/data.conf: has Windows line endings; type: sed -i *"
	eval "${CONF_ERRORS[0]#*type: }"
	[[ $(<"$C/data.conf") == "$text" ]] && conf_load data
	sed -i '1s/^/\xef\xbb\xbf/' "$C/data.conf"
	refuses data "$C/data.conf: begins with a byte order mark*"
	eval "${CONF_ERRORS[0]#*type: }"
	[[ $(<"$C/data.conf") == "$text" ]] && conf_load data
}

@test "a file of 1 MiB is not read" {
	head -c 1048576 /dev/zero | tr '\0' x >"$C/data.conf"
	refuses data "$C/data.conf: has 1048576 bytes*"
}

@test "the longest lines that are read are parsed in time" {
	local long blanks before=$SECONDS text
	printf -v long '%060000d' 0
	printf -v blanks '%10000s' ''
	for text in "$long" "${blanks}x" "KEY${long//0/A}=1" "WAIT=$long" \
		"MEMBER=/dev/disk/by-id/$long/x" "REQUIRED_BY=/$long" "WAIT${long//0/ }=no" \
		"\"${long//0/\"}"; do
		CONF_ERRORS=()
		conf_lines_ file array "$text"
		[[ ${#CONF_ERRORS[*]} == 0 || ${#CONF_ERRORS[0]} -lt 400 ]] ||
			fail "a message of ${#CONF_ERRORS[0]} characters"
	done
	((SECONDS - before < 30)) || fail "$((SECONDS - before)) s"
}

@test "the longest time spans that are read are parsed in time" {
	local long before=$SECONDS key
	printf -v long '%060000d' 1
	for key in WAIT_TIMEOUT MEMBER_TIMEOUT; do
		timeout 30 bash -c 'lib=$1/lib; source "$lib/core/load.sh"; need config/conf; [[ $2 =~ $RE_TIME ]]' - "$PROJECT" "$long!" ||
			(($? == 1)) || fail "took more than 30 s, or crashed"
		line_refused "$key=$long!"
	done
	((SECONDS - before < 30)) || fail "$((SECONDS - before)) s"
}

@test "values are never executed" {
	local value
	cd "$BATS_TEST_TMPDIR"
	for value in '$(touch X)' '`touch X`' '"; touch X; "' 'a[$(touch X)]' '$((X=1))' \
		'<(touch X)' '*' '~' '${X:=1}'; do
		with "WAIT=$value" "MEMBER=/dev/$value" "MEMBER=/dev/disk/by-id/$value" \
			"REQUIRED_BY=/$value" "WRITE_BEHIND=$value" "$value=yes" "UUID=$value" \
			"WAIT_TIMEOUT=$value" "$value"
		conf_load data || :
		[[ ! -e X && ! -v X ]] || fail "executed: $value"
		[[ ${REQUIRED_BY[0]} == "/$value" ]] || fail "changed: $value to ${REQUIRED_BY[0]}"
	done
	write 'x$(touch X).conf' "$GOOD"
	conf_load 'x$(touch X)' || :
	[[ ! -e X ]]
}

@test "impossible array names are refused, and good ones accepted" {
	local name code
	for name in '' ramraid ../data a/b /data .. . .hidden -data 1data 'a b' 'a;b' $'a\nb' \
		data.conf a@b ä aaaaaaaaaabbbbbbbbbbccccccccccdd; do
		code=0
		conf_load "$name" || code=$?
		((code == 1)) || fail "\"$name\": $code"
		[[ ${CONF_ERRORS[0]} == *"can't be an array's name"* ]]
	done
	for name in a data my-array a.b a_b A1 aaaaaaaaaabbbbbbbbbbccccccccccd; do
		conf_name_ok "$name" || fail "$name"
	done
}

@test "a name that mdadm reads as a device number is refused for a new array, and accepted for an existing one" {
	local name
	for name in d0 d07 d123; do
		run conf_new_name "$name"
		assert_failure 2
		assert_output -p 'mdadm reads it as the number of a device'
		# One that is there is loaded.
		conf_name_ok "$name"
	done
	run conf_new_name a/b
	assert_failure 2
	for name in d d7x D7 data; do conf_new_name "$name"; done
}

@test "conf_names lists all arrays, broken ones too, but not the defaults" {
	write ramraid.conf ''
	[[ -z $(conf_names) ]]
	write b.conf "$GOOD"
	write a.conf 'nonsense'
	ln -s nowhere "$C/c.conf"
	mkdir "$C/d.conf" "$C/b.conf.d"
	write e.txt ''
	[[ $(conf_names) == $'a\nb\nc\nd' ]] || fail "$(conf_names)"
	rm -r "$C"
	[[ -z $(conf_names) ]]
}

@test "conf_need ends with every error and exit code 2, or 3 for no array" {
	with WAIT=x 'WAIT_TIMEOUT=\x'
	run conf_need data
	assert_failure 2
	assert_line -p "data.conf:4: WAIT=x"
	assert_line -p 'data.conf:5: WAIT_TIMEOUT=\x'
	assert_line -p '2 error(s); nothing was done'
	run conf_need other
	assert_failure 3
	assert_output -p "$C/other.conf does not exist"
}

# Random bytes, and good lines with random changes; each run has another seed, or RAMRAID_SEED.
@test "fuzz: 3000 random lines and 100 files are accepted or refused, and nothing is executed" {
	set +T
	RANDOM=${RAMRAID_SEED:-$((seed = RANDOM))}
	echo "# seed ${RAMRAID_SEED:-$seed}" >&3
	cd "$BATS_TEST_TMPDIR"
	fuzz
	[[ ! -e X ]] || fail executed
}

fuzz_line() { # sets LINE
	local pieces=('$(touch X)' '`touch X`' = == '"' "'" '[' ']' '#' ';' ' ' $'\t' '\'
		'/dev/disk/by-id/' UUID MEMBER WAIT RAM REQUIRED_BY WRITE_BEHIND WAIT_TIMEOUT 10%
		9999999999999999999
		-1 0x10 yes no "$ID" '*' '?' '${X}' '@' ':' 'ä' $'\xff' '%s' '((' '|' '&' '>X' .. /
		- a[0] '!!' KEY=value)
	local i count=$((RANDOM % 8)) keys=("${!CONF_FORM[@]}")
	LINE=''
	((RANDOM % 3 == 0)) || LINE=${keys[RANDOM % ${#keys[@]}]}=
	for ((i = 0; i < count; i++)); do LINE+=${pieces[RANDOM % ${#pieces[@]}]}; done
}

fuzz() {
	local i j code LINE text kinds=(array defaults)
	MEMBERS=() REQUIRED_BY=() CONF_ERRORS=()
	for ((i = 0; i < 3000; i++)); do
		fuzz_line
		code=0
		conf_lines_ file "${kinds[i % 2]}" "$LINE" || code=$?
		((code == 0)) || fail "conf_lines_: $code for ${LINE@Q}"
		[[ $PWD == "$BATS_TEST_TMPDIR" ]]
	done
	for ((i = 0; i < 100; i++)); do
		text=''
		for ((j = RANDOM % 12; j > 0; j--)); do fuzz_line && text+=$LINE$'\n'; done
		printf '%s' "$text" >"$C/data.conf"
		code=0
		conf_load data || code=$?
		((code == 1 || code == 0)) || fail "conf_load: $code for ${text@Q}"
		((code == 0)) || ((${#CONF_ERRORS[@]} > 0)) || fail "no reason for ${text@Q}"
	done
}

@test "an array can be stopped with a broken configuration, by the one that it was started with" {
	write data.conf "$GOOD"
	loads data
	conf_need_keep data
	echo BROKEN >>"$C/data.conf"
	run conf_need data
	assert_failure 2
	# Asked for again with the lock held, it says so once.
	{ conf_need_started data && conf_need_started data; } 2>"$R/said"
	[[ $(grep -c 'using the one that it was started with' "$R/said"):$(grep -c 'BROKEN' "$R/said") \
		== 1:1 ]] ||
		fail "$(<"$R/said")"
	[[ ${CONF[UUID]} == "$ID" && ${#MEMBERS[@]} -gt 0 ]]
	rm "$C/data.conf"
	conf_need_started data 2>/dev/null
	[[ ${CONF[UUID]} == "$ID" && ${#MEMBERS[@]} -gt 0 ]]
}

@test "RAM=DEVICE needs a stable name, belongs to one array, and may not be a MEMBER" {
	local path
	for path in /dev/disk/by-id/nvme-X /dev/disk/by-path/pci-0000:00:1f.0-nvme-1 \
		/dev/disk/by-partuuid/1 /dev/mapper/fast /dev/md/fast /dev/pmem0 /dev/pmem12 \
		/dev/pmem0.1 /dev/pmem1s; do
		with "RAM=$path"
		loads data
		[[ ${CONF[RAM]} == "$path" ]] || fail "$path became ${CONF[RAM]}"
	done
	for path in /dev/sda /dev/nvme0n1 /dev/ram0 /dev/rd0 /dev/pmem /dev/pmemx /dev/pmem0p1 \
		/dev/disk/by-id/../../sda; do
		with "RAM=$path"
		refuses data "*/data.conf:4: RAM=$path: this name can mean another disk after the \
next boot; write *"
	done
	with RAM=/dev/sda
	refuses data '*; write /dev/disk/by-id/wwn-0x1'
	with RAM=/dev/disk/by-id/ata-B
	refuses data "*/data.conf: RAM=/dev/disk/by-id/ata-B is a MEMBER as well; delete one of \
the two lines"
	write ramraid.conf $'RAM=/dev/disk/by-id/nvme-X\n'
	with WAIT=no
	loads data
	[[ ${CONF[RAM]} == auto &&
		${CONF_WARNINGS[0]} == *'ramraid.conf:1: RAM=DEVICE belongs to one array; write it in that array'"'"'s own file' ]]
}

@test "a UUID other than that of the running array of this name is refused until that is stopped" {
	local other=99999999-2222-3333-4444-555555555555
	mkdir -p "$R/run/ramraid" "$R/sys/block/md127/md"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo clean >"$R/sys/block/md127/md/array_state"
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	printf 'UUID=%s\nRAM=auto\n' "$ID" >"$R/run/ramraid/data.started"
	write data.conf "$GOOD"
	loads data
	write data.conf "${GOOD/$ID/$other}"
	refuses data "*UUID= is not that of the array running as data: write $ID, or: ramraid stop data"
	# What a verb goes by that lets go of the RAM leg.
	printf 'MEMBER=/dev/disk/by-id/ata-A\n' >>"$R/run/ramraid/data.started"
	conf_need_started data 2>/dev/null
	[[ ${CONF[UUID]} == "$ID" ]]
	echo clear >"$R/sys/block/md127/md/array_state"
	loads data
	echo clean >"$R/sys/block/md127/md/array_state"
	echo 8 >"$R/sys/block/md127/diskseq"
	loads data
	echo 7 >"$R/sys/block/md127/diskseq"
	rm "$R/run/ramraid/data.watched"
	loads data
}

@test "a message names the line that sets a key now: a drop-in overrides what NAME.conf says" {
	is() { [[ $(conf_where data "${@:2}") == "$1" ]] || fail "$(conf_where data "${@:2}")"; }
	write data.conf "${GOOD}BLOCK=auto"$'\n'
	write ramraid.conf $'RESCUE=/all\n'
	is "$C/data.conf:4" BLOCK
	is "$C/data.conf" START_DEGRADED
	# What only the defaults set is overridden in the array's file.
	is "$C/data.conf" RESCUE
	is "$C/ramraid.conf:1" RESCUE ramraid
	is "$C/ramraid.conf" WITNESS_COPY ramraid
	write data.conf.d/block.conf $'# by hand\nBLOCK=4096\nMEMBER=/dev/disk/by-id/ata-C\n'
	is "$C/data.conf.d/block.conf:2" BLOCK
	is "$C/data.conf:3" MEMBER /dev/disk/by-id/ata-B
	is "$C/data.conf.d/block.conf:3" MEMBER /dev/disk/by-id/ata-C
	write data.conf.d/copy.conf $'WITNESS_COPY=/x\n'
	is "$C/data.conf.d/copy.conf:1" WITNESS_COPY ramraid
	# The caller's configuration stays as it is.
	CONF[BLOCK]=caller
	is "$C/data.conf.d/block.conf:2" BLOCK
	[[ ${CONF[BLOCK]} == caller ]]
	# Messages use it.
	block_size_refuse data 'no zram'
	[[ $BLOCK_SIZE_WHY == *"set BLOCK=auto in $C/data.conf.d/block.conf:2, and"* ]] || fail "$BLOCK_SIZE_WHY"
	# An array without a configuration, as in an initramfs.
	rm -r "$C/data.conf" "$C/data.conf.d"
	is "$C/data.conf" BLOCK
}
