#!/usr/bin/env bats
# What a damaged or hostile text may do, wherever it comes from: docs/security.md names these tests.

setup() {
	load helper
	world
	libraries
	mkdir -p "$R/run/ramraid/data.copy" "$R/etc/ramraid/state"
	echo '100.00 50.00' >"$R/proc/uptime"
	declare -gA F=([name]=data [members]=1 [leg.0.dev]=/dev/disk/by-id/ata-A [leg.0.in]=''
		[leg.0.device_uuid]=aa-bb [leg.0.time]=5 [array.md]=md127)
	EVIL='a[$(touch "$R/ran")0]'
	DRY_RUN=''
}

did_not_run() { [[ ! -e $R/ran ]] || fail "$1 was evaluated"; }

@test "text_number_or keeps digits without leading zeros; all else becomes the default, and nothing is evaluated" {
	local text number
	for text in 0:0 7:7 010:10 00:0 999999999999999999:999999999999999999 -1:x 1e3:x 0x10:x \
		'1 2:x' 1+1:x 9999999999999999999:x :x $'1\n:x' "$EVIL:x" number:x; do
		number=${text%:*}
		text_number_or number x
		[[ $number == "${text##*:}" ]] || fail "$text: $number"
	done
	did_not_run text_number_or
}

@test "a damaged file of ours is never evaluated: failures, returns, joined" {
	printf '%s\n' "$EVIL" "$EVIL" "$EVIL" >"$RUN/data.failures"
	not ramdisk_may_try data
	did_not_run failures
	printf '%s %s\n' "$EVIL" /dev/disk/by-id/ata-A >"$RUN/data.returns"
	legs_seen_look
	did_not_run returns
	mkdir -p "$R/sys/block/md127"
	echo 7 >"$R/sys/block/md127/diskseq"
	printf '%s\n' 'md127 7' "aa-bb events=$EVIL with=" >"$RUN/data.joined"
	F[leg.0.events]=5
	legs_seen_joined 0
	did_not_run joined
	[[ ${F[leg.0.joined]} == yes && ${F[leg.0.elsewhere]} == yes ]]
}

@test "the kernel name of an array is never evaluated" {
	local name='md_$(called evaluated)' i
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	mkdir -p "$R/etc/ramraid" "$R/sys/block/$name/md/dev-sda" \
		"$R/sys/class/block/sda/holders/$name"
	echo 11111111-2222-3333-4444-555555555555 >"$R/sys/block/$name/md/uuid"
	echo clean >"$R/sys/block/$name/md/array_state"
	echo in_sync >"$R/sys/block/$name/md/dev-sda/state"
	printf '%s\n' UUID=11111111-2222-3333-4444-555555555555 \
		MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B >"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	conf_load data || fail "${CONF_ERRORS[*]}"
	before_look_configured data
	facts_observe
	[[ ${F[array.md]} == "$name" && ${F[leg.1.node]} == sdb ]] || fail "${F[array.md]}"
	[[ $(calls) != *evaluated* ]] || fail "$(calls)"
}

@test "a damaged file of ours is never evaluated: the copy's size, begin, pid, done, rate, rest" {
	local file COPY_STATE COPY_WHY COPY_SECONDS DONE TOTAL RATE FROM TO HOW TURN COPY_DONE \
		NUMBER
	for file in size begin pid done.0 rate; do
		printf '%s\n' "$EVIL" >"$RUN/data.copy/$file"
	done
	copy_state data
	did_not_run copy_state
	[[ $DONE:$TOTAL == 0:0 ]]
	printf '%s 100 dense\n' "$EVIL" >"$RUN/data.copy/rest"
	not copy_workers_take_ "$RUN/data.copy" 1 0
	did_not_run rest
	: >"$RUN/data.copy/rest"
	copy_workers_coordinate $$ "$RUN/data.copy" md127 rd0 0 sda
	did_not_run size
	[[ $(<"$RUN/data.copy/result") == 'it was stopped after 0 of -1 bytes' ]] ||
		fail "$(<"$RUN/data.copy/result")"
	# Nothing but the number in the plan stands in the way of the superblock.
	mkdir -p "$R/sys/block/rd0" "$R/sys/block/md127/md"
	echo 2 >"$R/sys/block/md127/md/raid_disks"
	echo 'rapiddisk rd0 1 - used' >"$RUN/data.ram"
	: >"$RUN/data.copy/superblock"
	superblock_read() { :; }
	superblock_clone_why_not() { :; }
	superblock_clone_bitmap() { SUPERBLOCK_CLONE_CLEARED=5; }
	copy_is_ours_() { :; }
	copy_head_() { :; }
	for file in 5 "$EVIL" 'SUPERBLOCK_CLONE_CLEARED'; do
		printf 'md127 rd0 0 sda %s\n' "$file" >"$RUN/data.copy/plan"
		COPY_WHY=''
		copy_finish data || [[ $file != 5 ]]
		did_not_run plan
		[[ $file == 5 || $COPY_WHY == *'(at 5 events, -1 before)' ]] || fail "$file: $COPY_WHY"
	done
}

@test "a damaged rest of a copy gives no piece to copy" {
	local FROM TO HOW TURN
	for file in '5 dense' 'x 100 dense' '100 5 dense' '-1 100 dense' ''; do
		printf '%s\n' "$file" >"$RUN/data.copy/rest"
		not copy_workers_take_ "$RUN/data.copy" 1 0
		[[ ! -s $RUN/data.copy/rest ]]
	done
	printf '0 4096 dense\n' >"$RUN/data.copy/rest"
	copy_workers_take_ "$RUN/data.copy" 1 0
	[[ "$FROM $TO $HOW" == '0 4096 dense' ]]
	# Half of it is copied when the list is damaged.
	COPY_OFFSETS=(0)
	: >"$R/dev/sda"
	echo 8192 >"$RUN/data.copy/size"
	echo 4096 >"$RUN/data.copy/done.0"
	echo 0 >"$RUN/data.copy/rate"
	printf '4096 x dense\n' >"$RUN/data.copy/rest"
	(copy_workers_coordinate $$ "$RUN/data.copy" md127 rd0 0 sda)
	[[ $(<"$RUN/data.copy/result") == 'it was stopped after 4096 of 8192 bytes' ]] ||
		fail "$(<"$RUN/data.copy/result")"
}

@test "trust_why_not checks each part of a path and follows links; what is not there yet is nobody's" {
	mkdir -p "$R"/a/b/c "$R/open/d"
	chmod 1777 "$R/open"
	[[ -z $(trust_why_not "$R/a/b/c") && -z $(trust_why_not "$R/a/none/none") &&
		-z $(trust_why_not "$R//a/./b/../b/") ]]
	[[ $(trust_why_not "$R/open/d") == "$R/open is writable by others than root (mode \
1777)" ]]
	ln -s "$R/open/d" "$R/a/link"
	[[ $(trust_why_not "$R/a/link/x") == *"open is writable"* ]]
	ln -s ../../open "$R/a/b/up"
	[[ $(trust_why_not "$R/a/b/up/d") == *"open is writable"* ]]
	# A link that others could point elsewhere leads through their folder.
	ln -s "$R/a" "$R/open/good"
	[[ $(trust_why_not "$R/open/good/b") == *"open is writable"* ]]
	ln -s loop "$R/a/loop"
	[[ $(trust_why_not "$R/a/loop") == *'leads nowhere' ]]
	chown 65534 "$R/a/b"
	[[ $(trust_why_not "$R/a/b/c") == "$R/a/b belongs to user 65534, not to root" ]]
}

@test "what can't be looked at is taken neither for missing nor for root's" {
	local long why=''
	mkdir -p "$R/home/u"
	: >"$R/file"
	[[ $(trust_why_not "$R/file/x") == "$R/file/x can't be checked" ]]
	printf -v long '%0300d' 0
	[[ $(trust_why_not "$R/$long/x") == "$R/$long can't be checked" ]]
	# As the FUSE file system of a user tells root: bash finds nothing there.
	stat() {
		[[ "$*" != *"$R/home/u" ]] || {
			echo "stat: cannot statx '$R/home/u': Permission denied" >&2
			return 1
		}
		command stat "$@"
	}
	rmdir "$R/home/u"
	[[ $(trust_why_not "$R/home/u/tell") == "$R/home/u can't be checked" ]]
	# It has come after that.
	mkdir "$R/home/u"
	[[ $(trust_why_not "$R/home/u/tell") == "$R/home/u can't be checked" ]]
	# No answer, and half of one.
	stat() { return 137; }
	[[ $(trust_why_not "$R/home") == "$R/home can't be checked" &&
		$(trust_why_not "$R/none") == "$R/none can't be checked" &&
		$(trust_here_why_not "$R/home") == "$R/home can't be checked" ]]
	stat() { command stat "$@" | head -n 1; }
	[[ $(trust_why_not "$R/home") == "$R/home can't be checked" ]]
	unset -f stat
	ln -s home "$R/link"
	readlink() { return 137; }
	[[ $(trust_why_not "$R/link") == "$R/link leads nowhere" ]]
	unset -f readlink
	trust_into why "$R/link"
	[[ -z $why ]]
	# A shell that can make no process ends so (make_child() in bash's jobs.c).
	trust_served_() { exit 254; }
	trust_into why "$R/link"
	[[ $why == "$R/link can't be checked" ]]
	CONF[RESCUE]=$R/home RESCUE[image]=$R/home/image RESCUE[file]=$R/record
	# To be asked again (detach_ram_wait_for_disk_).
	not rescue_why_not "$R/home" md127
	run rescue_check
	assert_failure
	assert_output -p "may not be what was saved: $R/home/image can't be checked"
}

@test "the caller's environment decides nothing: not variables called like ours, nor functions called like programs" {
	run env -u RAMRAID_ROOT LOG_JOURNAL=yes LOG_TAG=evil DRY_RUN=yes MEMBERSHIP_FORCE=/dev/sda \
		WITNESS_GENERATION=x 'BASH_FUNC_stat%%=() { echo evil; }' \
		'BASH_FUNC_need%%=() { echo evil; }' LOADED=x lib=/nowhere \
		"$PROJECT/bin/ramraid" nonsense
	[[ $status == 2 && $output == 'ramraid: unknown verb'* ]] || fail "$output"
	# As bin/ramraid calls it, in a shell of its own.
	run env -u RAMRAID_ROOT DRY_RUN=yes MEMBERSHIP_FORCE=/dev/sda WITNESS_GENERATION=x F=x \
		TERM=vt100 NOTIFY_SOCKET=/s RAMRAID_UNIT=data DPKG_MAINTSCRIPT_PACKAGE=ramraid \
		bash -c 'source "$0/lib/core/environment.sh"; environment_clean; printf "%s " "${DRY_RUN-}${MEMBERSHIP_FORCE-}${WITNESS_GENERATION-}${F-}" "$TERM" "$NOTIFY_SOCKET" "$RAMRAID_UNIT" "$DPKG_MAINTSCRIPT_PACKAGE"' "$PROJECT"
	[[ $output == ' vt100 /s data ramraid ' ]] || fail "$output"
}

@test "NOTIFY's program is run only if nobody but root can change it" {
	CONF[NOTIFY]=$R/bin/tell
	mkdir -p "$R/bin" "$R/run/systemd/system"
	printf '#!/bin/sh\n' >"$R/bin/tell"
	chmod 755 "$R/bin/tell"
	systemd-run() { called run; }
	notify_others warning x '' text 2>/dev/null
	[[ $(calls) == run ]]
	rm -f "$BATS_TEST_TMPDIR/calls"
	chmod 775 "$R/bin/tell"
	run notify_others warning x '' text
	assert_output -p "is not run: $R/bin/tell is writable by others than root"
	chmod 755 "$R/bin/tell"
	chown 65534 "$R/bin"
	run notify_others warning x '' text
	assert_output -p "is not run: $R/bin belongs to user 65534"
	[[ -z $(calls) ]]
}

@test "a file is made whole, under a free name, and with its mode from the first moment" {
	local file=$R/etc/file seen=$BATS_TEST_TMPDIR/seen
	dd() { command dd "$@" && stat -c %a "$temporary" >"$seen"; }
	act_file "$file" 600 echo secret 2>/dev/null
	[[ $(<"$seen") == 600 && $(stat -c %a "$file") == 600 && $(builtin umask) == 0022 ]]
	# A folder in its place is not written into.
	mkdir "$R/etc/folder"
	not act_text "$R/etc/folder" x 2>/dev/null
	[[ -z $(ls "$R/etc/folder") && -z $(compgen -G "$R/etc/folder.*") ]]
	# Somebody has guessed the name, in the moment after the look.
	echo precious >"$R/precious"
	log_info() { [[ $1 != '+ write '* ]] || { ln -s "$R/precious" "$temporary"; }; }
	not act_text "$file" x 2>/dev/null
	[[ $(<"$R/precious") == precious ]]
	# ... or after it. What is there is somebody's, and stays.
	log_info() { :; }
	# shellcheck disable=SC2120 # act_text gives it one
	umask() {
		[[ $# == 0 || $1 == 022 ]] || ln -s "$R/precious" "$temporary"
		builtin umask "$@"
	}
	not act_text "$file" x 2>/dev/null
	[[ $(<"$R/precious") == precious && -n $(compgen -G "$file.*") ]]
}

# The text goes to nobody who reads from the FIFO in place of a disk.
nothing_came() {
	local i
	echo end >&7
	# What is in a FIFO that nobody has open is lost, so not before the reader has come.
	for ((i = 0; i < 300; i++)); do [[ ! -s $R/got ]] || break; sleep 0.1; done
	exec 7>&-
	wait "$reader"
	[[ $(<"$R/got") == end ]] || fail "$(<"$R/got")"
}
reader() {
	mkfifo -m 600 "$R/disk"
	# Both ends: it waits for nobody.
	exec 7<>"$R/disk"
	timeout 60 cat "$R/disk" >"$R/got" 3>&- 7>&- &
	reader=$!
}

@test "a file is not written through a link to a disk or FIFO that has come under its temporary name" {
	local reader
	reader
	# shellcheck disable=SC2120 # act_text gives it one
	umask() {
		[[ $# == 0 || $1 == 022 ]] || ln -s "$R/disk" "$temporary"
		builtin umask "$@"
	}
	not act_text "$R/etc/file" 'over the disk' 2>"$R/said"
	[[ $(<"$R/said") == *"$R/etc/file can't be written: File exists" ]]
	nothing_came
	[[ ! -e $R/etc/file ]]
}

@test "a file that could not be written is not tried again under the name that others have seen" {
	local reader
	set -o pipefail
	reader
	# As on a full file system, once.
	printf() {
		[[ "$*" != *precious* || -e $R/once ]] || {
			: >"$R/once"
			return 1
		}
		builtin printf "$@"
	}
	rm() {
		command rm "$@"
		[[ ${*: -1} != "$R/etc/file."* || -e $R/twice ]] || {
			: >"$R/twice"
			ln -s "$R/disk" "${*: -1}"
		}
	}
	not act_text "$R/etc/file" 'precious text' 2>/dev/null
	nothing_came
	[[ -e $R/twice && ! -e $R/etc/file ]]
}

@test "what a FUSE file system of a user says of its files is not trusted, wherever it is mounted" {
	mkdir -p "$R/mnt/u/a b/c" "$R/mnt/x"
	fuse() {
		printf '30 1 0:40 / /mnt/u/a\\040b rw,nosuid,nodev,relatime shared:9 - %s %s rw,%s\n' \
			"$@" >"$R/proc/1/mountinfo"
	}
	fuse fuse.sshfs x,user_id=0 user_id=1000,group_id=0,default_permissions,allow_other
	[[ $(trust_why_not "$R/mnt/u/a b/c") == '/mnt/u/a b is a FUSE file system of user 1000' ]]
	[[ $(trust_why_not "$R/mnt/u/a b/none") == *'of user 1000' &&
		-z $(trust_why_not "$R/mnt/u") ]]
	ln -s "$R/mnt/u/a b" "$R/mnt/x/link"
	[[ $(trust_why_not "$R/mnt/x/link/c") == *'of user 1000' ]]
	# Nothing is asked of it by its name: who serves it need not answer.
	stat() { called stat; }
	[[ $(trust_why_not "$R/mnt/u/a b/c") == *'of user 1000' && -z $(calls) ]]
	unset -f stat
	# Root's own, as of NTFS.
	fuse fuseblk /dev/sdc1 user_id=0,group_id=0,allow_other,blksize=4096
	[[ -z $(trust_why_not "$R/mnt/u/a b/c") ]]
	# As a program for root to run.
	fuse fuse x user_id=1000,group_id=1000,allow_other
	printf '#!/bin/sh\n' >"$R/mnt/u/a b/tell"
	chmod 755 "$R/mnt/u/a b/tell"
	CONF[NOTIFY]="$R/mnt/u/a b/tell"
	run notify_others warning x '' text
	assert_output -p 'is not run: /mnt/u/a b is a FUSE file system of user 1000'
	# Nor is it asked whether it has one.
	CONF[NOTIFY]="$R/mnt/u/a b/none"
	run notify_others warning x '' text
	assert_output -p 'is not run: /mnt/u/a b is a FUSE file system of user 1000'
	[[ -z $(calls) ]]
}

@test "a disk that a user has had mounted is not trusted; one of fstab is, whatever users mount elsewhere" {
	mkdir -p "$R/run/mount" "$R/media/u/a b/c" "$R/srv"
	utab() { printf 'ID=7 SRC=/dev/sdc1 TARGET=%s ROOT=/ OPTS=%s\n' "$@" >"$R/run/mount/utab"; }
	utab '/media/u/a\040b' uhelper=udisks2
	[[ $(trust_why_not "$R/media/u/a b/c") == '/media/u/a b has been mounted for a user (uhelper=udisks2), and anybody can plug in such a disk' ]]
	[[ -n $(trust_why_not "$R/media/u/a b/none") && -z $(trust_why_not "$R/media/u") &&
		-z $(trust_why_not "$R/srv") ]]
	ln -s "$R/media/u/a b" "$R/srv/link"
	[[ $(trust_why_not "$R/srv/link/c") == *'uhelper=udisks2'* ]]
	utab '/media/u/a\040b' x-foo,user=alice,x-bar
	[[ $(trust_why_not "$R/media/u/a b/c") == *'(user=alice)'* ]]
	for options in _netdev x-uhelper=udisks2 x-systemd.user=1 uhelper=nfs; do
		utab '/media/u/a\040b' $options
		[[ -z $(trust_why_not "$R/media/u/a b/c") ]] || fail "$options"
	done
	rm "$R/run/mount/utab"
	[[ -z $(trust_why_not "$R/media/u/a b/c") ]]
}

@test "a disk that users may mount by users, owner or group in fstab is not trusted, whoever mounted it" {
	local options
	mkdir -p "$R/mnt/a b/c" "$R/mnt/other"
	fstab() { printf '/dev/sdc1 /mnt/a\\040b auto %s 0 0\n' "$1" >"$R/etc/fstab"; }
	for options in users noauto,users owner,noauto ro,group,nofail; do
		fstab "$options"
		[[ $(trust_why_not "$R/mnt/a b/c") == '/mnt/a b can be mounted by users ("'@(users|owner|group)'" in fstab), and anybody can plug in such a disk' ]] ||
			fail "$options: $(trust_why_not "$R/mnt/a b/c")"
		[[ -n $(trust_why_not "$R/mnt/a b/none") && -z $(trust_why_not "$R/mnt/other") ]]
	done
	ln -s "$R/mnt/a b" "$R/mnt/other/link"
	[[ $(trust_why_not "$R/mnt/other/link/c") == *'"group" in fstab'* ]]
	# Of "user" it is written down who it was (above).
	for options in user,noauto nousers,x-group,owner=1 grpid defaults ''; do
		fstab "$options"
		[[ -z $(trust_why_not "$R/mnt/a b/c") ]] || fail "$options"
	done
	printf '  # /dev/sdc1 /mnt/a\\040b auto users 0 0\n\n/dev/sdd none swap sw,users\n' \
		>"$R/etc/fstab"
	[[ -z $(trust_why_not "$R/mnt/a b/c") ]]
}

# place: in a shell of its own, which ends with it. What is done as another user says as whom, and
# what it has open.
place() { (
	mkdir -p "$R/bin"
	printf '#!/bin/sh\necho "+ as $*"; ls -l /proc/self/fd >"%s/open"\n' "$R" >"$R/bin/setpriv"
	chmod 755 "$R/bin/setpriv"
	PATH=$R/bin:$PATH
	cmd_metrics_place "$ROOT${OPT[output]}" 2>&1
	printf '%s in %s\n' "$METRICS_FILE" "$(realpath .)"
); }
refuses() { # WHY
	local said code=0
	said=$(place 2>&1) || code=$?
	[[ $code == "$EX_REFUSED" && $said == *'is not written: others than '*"($1); revoke that permission"* ]] ||
		fail "$code: $said"
	[[ ! -e $R/open ]] || fail "$(<"$R/open")"
}

@test "metrics: in a folder of another user nothing is done as root, and a path through one is checked" {
	local folder=$R/var/lib/prometheus/node-exporter METRICS_FILE why
	mkdir -p "$folder" "$R/etc"
	OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
	as_owner="+ as --reuid=65534 --regid=65533 --clear-groups --inh-caps=-all --no-new-privs -- "
	[[ $(place) == "$folder/ramraid.prom in $PWD" ]] || fail "$(place)"
	chown 65534:65533 "$folder"
	[[ $(place) == "$as_owner"*" metrics --output=${OPT[output]}" ]] || fail "$(place)"
	# One that is not there yet would be made in that of somebody else.
	OPT[output]=/var/lib/prometheus/node-exporter/deeper/still/ramraid.prom
	[[ $(place) == "$as_owner"* ]] || fail "$(place)"
	# Root's, in another's: that one may have put a link there by now.
	OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
	chown 0:0 "$folder"
	chown 65534:65533 "${folder%/*}"
	[[ $(place) == "./ramraid.prom in $folder" ]] || fail "$(place)"
	mv "$folder" "$folder.away"
	ln -s "$R/etc" "$folder"
	why=$(place 2>&1) && fail "$why"
	[[ $why == *'is not written: others than root can change where it leads'* &&
		$why != *' in '"$R/etc"* ]] || fail "$why"
}

@test "metrics: a folder that is replaced while it is entered is not written to" {
	local folder=$R/var/lib/prometheus/node-exporter METRICS_FILE
	mkdir -p "$folder" "$R/etc"
	chown 65534:65533 "${folder%/*}"
	OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
	# bash has found out where it leads, and goes there.
	cd() {
		mv "$folder" "$folder.away"
		ln -s "$R/etc" "$folder"
		builtin cd "$folder" && PWD=$folder
	}
	refuses "$R/var/lib/prometheus belongs to user 65534, not to root"
}

@test "metrics: nothing is written to a folder that others may write to, neither as root nor as its owner" {
	local folder=$R/srv/textfiles METRICS_FILE
	mkdir -p "$folder"
	OPT[output]=/srv/textfiles/ramraid.prom
	for mode in 777 1777 2775; do
		chmod "$mode" "$folder"
		refuses "$folder is writable by others than root (mode $mode)"
	done
	OPT[output]=/srv/textfiles/deeper/ramraid.prom
	refuses "$folder is writable by others than root (mode 2775)"
	OPT[output]=/srv/textfiles/ramraid.prom
	chown 65534:65533 "$folder"
	refuses "$folder is writable by others than root (mode 2775)"
	chmod 755 "$folder"
	[[ $(place) == '+ as --reuid=65534 '* ]] || fail "$(place)"
	# Nor where the disk says so.
	chown 0:0 "$folder"
	printf '30 1 0:40 / /srv/textfiles rw - fuse.x x rw,user_id=1000,group_id=0,allow_other\n' \
		>"$R/proc/1/mountinfo"
	rm "$R/open"
	refuses '/srv/textfiles is a FUSE file system of user 1000'
}

@test "metrics: no user can have the file written as a third user through a link" {
	local folder=$R/var/lib/prometheus METRICS_FILE
	mkdir -p "$folder" "$R/home/alice"
	chown 65534:65534 "$folder"
	chown 65533:65533 "$R/home/alice"
	ln -s "$R/home/alice" "$folder/node-exporter"
	OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
	refuses "$folder belongs to user 65534, not to root"
	# By root's own link, it may.
	chown 0:0 "$folder"
	[[ $(place) == '+ as --reuid=65533 '* ]] || fail "$(place)"
}

@test "metrics: the process that writes as the folder's owner has nothing open that root has open" {
	local folder=$R/var/lib/prometheus METRICS_FILE
	mkdir -p "$folder"
	chown 65534:65534 "$folder"
	OPT[output]=/var/lib/prometheus/ramraid.prom
	exec 7<>"$R/secret" 12<>"$R/secret"
	place >"$R/secret"
	exec 7>&- 12>&-
	grep -q ' 0 -> /dev/null' "$R/open" && grep -q ' 2 -> pipe:' "$R/open" ||
		fail "$(<"$R/open")"
	not grep "$R/secret\|tty\|pts" "$R/open"
}

@test "metrics: exits with the code of the process that writes as the folder's owner" {
	local folder=$R/var/lib/prometheus/node-exporter METRICS_FILE code=0
	mkdir -p "$folder" "$R/bin"
	OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
	chown 65534:65533 "$folder"
	printf '#!/bin/sh\nsleep 0.3; exit 7\n' >"$R/bin/setpriv"
	# It has said all, and goes on for a moment.
	printf '#!/bin/sh\n/usr/bin/stat "$@"; exec >&-; sleep 0.2\n' >"$R/bin/stat"
	chmod 755 "$R"/bin/*
	# Of a group of its own, as a service is: else setsid has no need of a child.
	set -m
	(PATH=$R/bin:$PATH && cmd_metrics_place "$ROOT${OPT[output]}") 3>&- &
	set +m
	wait "$!" || code=$?
	((code == 7)) || fail "$code"
}

@test "metrics: the process of the folder's owner has nothing of root's terminal, but its messages are shown there" {
	local folder=$R/var/lib/prometheus/node-exporter
	mkdir -p "$folder" "$R/bin"
	chown 65534:65533 "$folder"
	cat >"$R/bin/setpriv" <<-EOT
		#!/bin/sh
		for fd in 0 1 2; do [ ! -t "\$fd" ] || echo "\$fd" >>"$R/terminals"; done
		(: >/dev/tty) 2>/dev/null && echo tty >>"$R/terminals"
		printf 'a\\033[2Jb\\n' >&2
		exit 7
	EOT
	chmod 755 "$R/bin/setpriv"
	place() {
		OPT[output]=/var/lib/prometheus/node-exporter/ramraid.prom
		PATH=$R/bin:$PATH
		cmd_metrics_place "$ROOT${OPT[output]}"
	}
	cat >"$R/run-it" <<-EOT
		set -Eeuo pipefail
		$(declare -f place cmd_metrics_place cmd_metrics_as_ log_printable log_write log_error)
		$(declare -f descriptors_close)
		$(declare -p PRINTABLE PRINTABLE_ODD)
		need() { :; }
		trust_into() { printf -v "\$1" ''; }
		declare -A OPT=()
		ROOT=$R R=$R
		place
	EOT
	run script -qec "bash $R/run-it" /dev/null
	[[ $status == 7 && $output == *'a\x1b[2Jb'* ]] || fail "$status: $output"
	[[ ! -e $R/terminals ]] || fail "$(<"$R/terminals")"
}

@test "printable: control characters, newlines and what is not UTF-8 are escaped, the rest stays; twice is as once" {
	local case text
	for case in plain:plain $'a\eb:a\\x1bb' $'a\nb\n:a\\nb\\n' $'\xff:\\xff' \
		$'caf\xc3\xa9:caf\xc3\xa9' $'\xc2\x9b31m:\\xc2\\x9b31m' $'\xc0\x80:\\xc0\\x80' \
		$'\xe2\x80\xaex:\\xe2\\x80\\xaex' $'a\xd8\x9cb:a\\xd8\\x9cb' \
		$'\xf0\x9f\x98\x80:\xf0\x9f\x98\x80' \
		$'\xed\xa0\x80:\\xed\\xa0\\x80' $'\xe2\x82:\\xe2\\x82' $'\t\x7f:\\x09\\x7f'; do
		text=${case%%:*}
		log_printable text
		[[ $text == "${case#*:}" ]] || fail "$case: $text"
		log_printable text
		[[ $text == "${case#*:}" ]] || fail "twice: $text"
	done
}

# A character may be on both sides of the border of what is looked at together.
@test "a long text becomes printable in seconds, and as its parts do" {
	local part text expected i shift begin=$SECONDS
	part=$'\xc3\xa9\xf0\x9f\x98\x80\xe2\x82'
	printf -v text '%*s' 16000 ''
	text=${text// /$part}
	log_printable text
	((SECONDS - begin < 60)) || fail "$((SECONDS - begin)) s"
	log_printable part
	printf -v expected '%*s' 16000 ''
	[[ $text == "${expected// /$part}" ]] || fail "${text:0:80}"
	for shift in 1019 1020 1021 1022 1023 1024; do
		for i in $'\xf0\x9f\x98\x80' $'\xc3\xa9' $'\n' $'\xe2\x80\xae'; do
			printf -v text '%*s' "$shift" ''
			expected=$i
			text+=$i
			log_printable expected text
			[[ $text == *' '"$expected" && ${#text} == $((shift + ${#expected})) ]] ||
				fail "$shift: ${text#"${text%%[! ]*}"}"
		done
	done
}

@test "nothing hostile reaches a terminal, the journal, a program, or a finding unescaped" {
	local evil=$'x\e[2J\n<0>y\xff' out LOG_JOURNAL='' SHOWN='' FINDINGS=0 CHECK_ARRAY=data
	for out in "$(log_error "$evil" 2>&1)" "$(log_info "$evil" 2>&1)" \
		"$( (die "$evil") 2>&1)"; do
		[[ ${out#ramraid: } == 'x\x1b[2J\n<0>y\xff' ]] || fail "$out"
	done
	advice_show_line_ '  why:' "$evil"
	[[ $SHOWN == '  why: x\x1b[2J\n<0>y\xff'$'\n' ]]
	findings_note x "$evil" "$evil" "$evil"
	[[ ${FINDING[0.expected]}${FINDING[0.found]}${FINDING[0.action]} != *[!\ -~]* ]]
	mkdir -p "$R/run/systemd/system"
	systemd-run() { printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/run"; }
	notify_run_ /bin/true warning x "/dev/$evil" "$evil"
	grep -qxF -- '/dev/x\x1b[2J\n<0>y\xff' "$BATS_TEST_TMPDIR/run" ||
		fail "$(cat "$BATS_TEST_TMPDIR/run")"
	grep -qxF -- '--setenv=RAMRAID_MESSAGE=x [2J <0>y\xff' "$BATS_TEST_TMPDIR/run" ||
		fail "$(cat "$BATS_TEST_TMPDIR/run")"
	# A status for systemd must not become another message to it.
	systemd-notify() { printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/notified"; }
	NOTIFY_SOCKET=/x systemd_status $'in use by x\nMAINPID=1'
	[[ $(<"$BATS_TEST_TMPDIR/notified") == '--status=in use by x\nMAINPID=1' ]] ||
		fail "$(<"$BATS_TEST_TMPDIR/notified")"
	NOTIFY_SOCKET=/x systemd_ready "$evil"
	[[ $(<"$BATS_TEST_TMPDIR/notified") == $'--ready\n--status=x\\x1b[2J\\n<0>y\\xff' ]] ||
		fail "$(<"$BATS_TEST_TMPDIR/notified")"
	logger() { printf '%s\n' "${*: -1}" >"$BATS_TEST_TMPDIR/journal"; }
	notify_journal_ warning "$evil"
	[[ $(<"$BATS_TEST_TMPDIR/journal") == 'x\x1b[2J\n<0>y\xff' ]]
}

@test "nothing hostile reaches a terminal: what a dry run writes, what a person is asked, what can be adopted" {
	local evil=$'LABEL=\t\e]0;x\a$(touch ran)\xc2\x9b31m' seen
	clean() {
		LC_ALL=C grep -q '[^[:print:]]' <<<"${1//$'\t'/}" && fail "$1"
		[[ $1 == *'\x1b]0;x\x07'* ]] || fail "$1"
	}
	DRY_RUN=yes
	seen=$(act_text "$R/etc/new" "$evil"$'\n')
	clean "$seen"
	[[ $seen == "cat > $R/etc/new <<'EOT'"* ]] || fail "$seen"
	echo old >"$R/etc/old"
	seen=$(act_text "$R/etc/old" "$evil"$'\n')
	clean "$seen"
	[[ $seen == "patch $R/etc/old <<'EOT'"*$'\n+LABEL=\t'* ]] || fail "$seen"
	PLAN=("build     $evil") WRONG=()
	clean "$(cli_confirm data "head $evil" 2>&1)"
	clean "$(cli_ask data 2>&1)"
	mkdir -p "$R/sys/block/md_$evil/md/dev-sda"
	echo clean >"$R/sys/block/md_$evil/md/array_state"
	echo in_sync >"$R/sys/block/md_$evil/md/dev-sda/state"
	echo raid1 >"$R/sys/block/md_$evil/md/level"
	echo 1.2 >"$R/sys/block/md_$evil/md/metadata_version"
	superblock_facts() { printf 'sb=ok\nuuid=1-2\nlevel=1\nraid_disks=1\n'; }
	clean "$(unadopted_table)"
	# What is to be typed is what is meant, however a disk calls the array.
	mv "$R"/sys/block/md_* "$R/sys/block/md_x;touch ran"
	[[ $(unadopted_table) == *'ramraid adopt NAME /dev/md_x\;touch\ ran' ]] ||
		fail "$(unadopted_table)"
}

@test "docs/security.md: every test that it names exists" {
	local text kind name part found=0
	text=$(tr '\n' ' ' <"$BATS_TEST_DIRNAME/../../docs/security.md")
	while [[ $text =~ (unit|case)s?\ \`([a-z]+)\`(:\ (\"[^\"]*\"(,\ )?)+)? ]]; do
		kind=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]} part=${BASH_REMATCH[3]#: }
		text=${text#*"${BASH_REMATCH[0]}"} found=$((found + 1))
		if [[ $kind == case ]]; then
			[[ -e $BATS_TEST_DIRNAME/../vm/cases/$name.sh ]] || fail "no case $name"
			continue
		fi
		[[ -e $BATS_TEST_DIRNAME/$name.bats ]] || fail "no tests/unit/$name.bats"
		while [[ $part == *'"'* ]]; do
			part=${part#*'"'}
			grep '^@test' "$BATS_TEST_DIRNAME/$name.bats" |
				grep -qF -- "${part%%'"'*}" || fail "$name has no test \"${part%%'"'*}\""
			part=${part#*'"'}
		done
	done
	((found > 30)) || fail "only $found tests are named"
}

@test "if the mounts can't be seen nothing is trusted, but under hidepid= our own table of mounts counts" {
	mkdir -p "$R/mnt/x" "$R/proc/self"
	[[ -z $(trust_why_not "$R/mnt/x") ]]
	rm "$R/proc/1/mountinfo"
	[[ $(trust_why_not "$R/mnt/x") == "$R/mnt/x can't be checked" ]] ||
		fail "$(trust_why_not "$R/mnt/x")"
	: >"$R/proc/self/mountinfo"
	[[ -z $(trust_why_not "$R/mnt/x") ]]
	echo '30 1 0:40 / /mnt/x rw - fuse x rw,user_id=1000,group_id=0' >"$R/proc/self/mountinfo"
	[[ $(trust_why_not "$R/mnt/x") == '/mnt/x is a FUSE file system of user 1000' ]]
}
