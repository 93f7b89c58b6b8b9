#!/usr/bin/env bats
# "estimate": what is sampled, how it is compressed and counted, and when it fits. With the real
# programs, on files.

setup() {
	load helper
	world
	libraries
	LOG_JOURNAL=''
	mkdir -p "$R/proc/sys/kernel" "$R/tmp"
	echo 6.12.57+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	memory 8388608 4194304
	conf_defaults
	SAMPLE_LEAST=40 SAMPLE_READ_BOUND=600
	D=$BATS_TEST_TMPDIR/data
	mkdir "$D"
}

memory() { # KIB KIB
	printf 'MemTotal: %s kB\nMemFree: 1 kB\nMemAvailable: %s kB\n' "$1" "$2" >"$R/proc/meminfo"
}
# pages SOURCE COUNT
pages() { head -c $(($2 * 4096)) "$1"; }
# text LINES PAGES
text() { seq -f 'line %.0f of a file of text, as there are many' "$1" | head -c $(($2 * 4096)); }
kinds() {
	pages /dev/zero 20 >"$D/zero" && pages /dev/urandom 20 >"$D/random" &&
		text 9999 20 >"$D/text"
}

# answer WORD…: the verb's answer as JSON, in JSON; its exit code in CODE.
answer() {
	CODE=0
	JSON=$(cmd_estimate --json "$@") || CODE=$?
	perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/estimate.schema.json" <<<"$JSON" ||
		fail "$JSON"
	[[ -z $(find "$R/run" "$R/tmp" -name 'ramraid-estimate*') ]] ||
		fail 'samples were left behind'
}
# says EXPRESSION VALUE
says() {
	[[ $(jq -c "$1" <<<"$JSON") == "$2" ]] ||
		fail "$1: $(jq -c "$1" <<<"$JSON"), not $2" "$JSON"
}
# of KIND KEY
of() { jq -r --arg kind "$1" ".kinds[] | select(.ram == \$kind).$2" <<<"$JSON"; }
between() { (($1 >= $2 && $1 <= $3)) || fail "$1 is not from $2 to $3"; }

@test "a small folder of zeros, text and random data is read in full, with no margin" {
	kinds
	answer "$D"
	[[ $CODE == 0 ]]
	says '[.of, .bytes, .files, .pages, .pages_looked_at, .pages_unread, .all_looked_at, .time_was_up]' \
		'["folder",245760,3,60,60,0,true,false]'
	[[ $(of rapiddisk takes_bytes) == $((40 * 4096)) &&
		$(of brd takes_bytes) == $((60 * 4096)) ]] ||
		fail "$JSON"
	says '[.kinds[].margin_bytes]' '[0,0,0,0]'
	# What is random takes as much as it is, text a good deal less, and 24 bytes for each page.
	between "$(of zram:zstd takes_bytes)" $((20 * 4096 + 60 * 24 + 20 * 64)) \
		$((20 * 4096 + 60 * 24 + 20 * 1400))
	between "$(of zram:lz4 takes_bytes)" "$(of zram:zstd takes_bytes)" \
		$((20 * 4096 + 60 * 24 + 20 * 2000))
	says '[.kinds[].fits]' '["yes","yes","yes","yes"]'
	says .next '"ramraid create --dry-run NAME DISK…"'
}

@test "zeros take next to nothing, and part of a page is counted as a whole one" {
	truncate -s 5000 "$D/hole"
	printf x >"$D/one byte"
	answer "$D"
	says '[.pages, .bytes]' '[3,12288]'
	[[ $(of rapiddisk takes_bytes) == 4096 ]]
	between "$(of zram:lz4 takes_bytes)" 72 136
}

@test "a large file is sampled, the same each time, with a margin that holds" {
	local first
	SAMPLE_LEAST=128
	truncate -s 64M "$D/image"
	yes 'half of it' |
		dd of="$D/image" bs=1M count=32 seek=16 iflag=fullblock conv=notrunc status=none
	answer "$D/image"
	says '[.of, .files, .pages, .all_looked_at]' '["file",null,16384,false]'
	between "$(jq .pages_looked_at <<<"$JSON")" 128 255
	between $((32 << 20)) $(($(of rapiddisk takes_bytes) - $(of rapiddisk margin_bytes))) \
		$(($(of rapiddisk takes_bytes) + $(of rapiddisk margin_bytes)))
	between "$(of rapiddisk margin_bytes)" $((3 << 20)) $((8 << 20))
	first=$JSON
	answer "$D/image"
	[[ $JSON == "$first" ]]
}

@test "a large file of which only zeros were sampled has a margin above 0" {
	truncate -s 1T "$D/image"
	answer "$D/image"
	[[ $(of rapiddisk takes_bytes) == 0 ]]
	between "$(of rapiddisk margin_bytes)" $((40 << 30)) $((100 << 30))
}

@test "of many small files each page counts the same, and the list of samples stays bounded" {
	local i
	SAMPLE_LEAST=128
	for ((i = 0; i < 3000; i++)); do printf '%s\n' "$i" >"$D/$i"; done
	pages /dev/zero 3000 >"$D/zero"
	answer "$D"
	says '[.files, .pages]' '[3001,6000]'
	between "$(jq .pages_looked_at <<<"$JSON")" 128 255
	between "$(of rapiddisk takes_bytes)" $((2600 * 4096)) $((3400 * 4096))
}

@test "file names may have blanks and newlines; links, FIFOs and devices are skipped; hard links count once" {
	local name
	for name in $'a\nb' ' c  d ' $'\t' -e '$(false)' '*' $'\xff'; do
		text 100 1 >"$D/$name"
	done
	mkdir "$D/"$'x\ny'
	text 100 1 >"$D/"$'x\ny/z'
	ln "$D/-e" "$D/second"
	mkfifo "$D/fifo"
	ln -s /usr "$D/link"
	ln -s /dev/zero "$D/endless"
	mknod "$D/node" c 1 5 2>/dev/null || :
	answer "$D"
	says '[.files, .pages_looked_at, .pages_unread, .all_looked_at]' '[8,8,0,true]'
	[[ $(find "$D" | wc -l) -ge 14 ]]
}

@test "files that are gone or shorter when they are read count as unread, and the rest is the answer" {
	kinds
	eval "kept_$(declare -f sample_folder)"
	sample_folder() {
		kept_sample_folder "$@"
		rm "$D/random"
		truncate -s 40K "$D/text"
		# What has come in its place is nothing that may be opened.
		mkfifo "$D/random"
	}
	answer "$D"
	says '[.pages_looked_at, .pages_unread, .all_looked_at]' '[30,30,false]'
	rm -r "$D"
	mkdir "$D"
	kinds
	run cmd_estimate "$D"
	assert_output --partial 'could not be read'
}

# secret: root's own, beside what somebody else has.
secret() {
	mkdir -p "$R/secret" "$D/a/b"
	echo 'it is not theirs' >"$R/secret/file"
	echo 'it is theirs' >"$D/a/b/file"
	SAMPLE=$R/sample
	mkdir "$SAMPLE"
	sample_folder "$D"
	((SAMPLE_PIECES == 1))
}
seen() { cat "${PIECES[@]-/dev/null}" | tr -d '\0'; }
reads() { sample_read "$D" 0 1 $((SECONDS + 60)); }

@test "a folder that is replaced by a link after the listing, or while it is entered, is not followed" {
	secret
	reads
	[[ $(seen) == 'it is theirs' ]] || fail "$(seen)"
	mv "$D/a/b" "$D/a/c"
	ln -s "$R/secret" "$D/a/b"
	reads
	[[ -z $(seen) ]] || fail "$(seen)"
	# It is found to be what it was, and then replaced: what bash says of where it is, is wrong.
	rm "$D/a/b"
	mv "$D/a/c" "$D/a/b"
	cd() {
		unset -f cd
		mv "$D/a" "$D/was"
		ln -s "$R/secret" "$R/b" && ln -s "$R" "$D/a"
		cd "$@" && [[ -e file ]] && PWD=$D/a/b
	}
	reads
	[[ -z $(seen) ]] || fail "$(seen)"
}

@test "files whose folder is replaced while they are read come from where they were found" {
	secret
	echo 'so is this' >"$D/a/b/second"
	sample_folder "$D"
	xargs() {
		mv "$D/a" "$D/was"
		mkdir "$D/a"
		ln -s "$R/secret" "$D/a/b"
		command xargs "$@"
	}
	reads
	[[ $(seen | sort) == $'it is theirs\nso is this' ]] || fail "$(seen)"
}

@test "a folder that is a link by the time it is listed is not listed" {
	secret
	mv "$D" "$D.was"
	ln -s "$R/secret" "$D"
	sample_folder "$D"
	[[ $SAMPLE_PIECES == 0 && $SAMPLE_UNSEEN == yes ]]
}

@test "a device that has replaced a file in the folder is not read" {
	secret
	rm "$D/a/b/file"
	mknod "$D/a/b/file" b 7 0 2>/dev/null || skip 'no devices can be made here'
	dd() { called dd; }
	xargs() { called xargs; }
	reads
	[[ -z $(calls) ]]
}

@test "without zstd and lz4 only uncompressed kinds are estimated, and the packages to install are named" {
	kinds
	command() { [[ ${2-} != @(zstd|lz4) ]] && builtin command "$@"; }
	answer "$D"
	[[ $CODE == 0 && $(of rapiddisk takes_bytes) == $((40 * 4096)) ]]
	says '[.kinds[2,3] | .takes_bytes, .margin_bytes, .fits]' \
		'[null,null,"unknown",null,null,"unknown"]'
	run cmd_estimate "$D"
	assert_success
	assert_line 'zram:zstd: zstd is not installed; type: apt install zstd'
	assert_line --regexp '^  zram:lz4 +- +- +unknown$'
	run cmd_estimate --ram=zram "$D"
	assert_failure 1
	assert_output 'ramraid: zstd is not installed; type: apt install zstd'
}

@test "--ram= estimates that kind alone, and refuses kinds that take no memory" {
	kinds
	answer --ram=zram "$D"
	says '[.kinds[].ram]' '["zram:zstd"]'
	says .next '"ramraid create --ram=zram:zstd --dry-run NAME DISK…"'
	answer --ram=auto "$D"
	says '[.kinds[].ram]' '["rapiddisk","brd"]'
	for kind in none /dev/sda zram:deflate; do
		run cmd_estimate "--ram=$kind" "$D"
		assert_failure 2
		assert_output "ramraid: --ram=$kind: can't be estimated; write rapiddisk, brd, \
auto, zram, zram:zstd or zram:lz4"
	done
}

@test "estimate says which kinds fit, which do not, and where the limit is within the margin" {
	SAMPLE_LEAST=256
	text 200000 1500 >"$D/text"
	memory 40000 7000 # 10 % are kept free
	answer "$D"
	[[ $CODE == 0 ]]
	says '[.kinds[].fits]' '["no","no","yes","yes"]'
	says .next '"ramraid create --ram=zram:lz4 --dry-run NAME DISK…"'
	answer --ram=rapiddisk "$D"
	[[ $CODE == 1 ]]
	says '[.next, .kinds[0].why]' '[null,"the ramdisk needs 5.9MiB and RAM_RESERVE keeps 4.0MiB free, but only 6.9MiB of memory are available"]'
	memory 40000 4300
	answer "$D"
	[[ $CODE == 1 ]]
	says '[.kinds[].fits]' '["no","no","no","no"]'
	memory 8388608 4194304
	echo RAM_LIMIT=100K >"$R/etc/ramraid/ramraid.conf"
	answer --ram=zram "$D"
	says '[.kinds[0].fits, .kinds[0].why]' '["no","RAM_LIMIT leaves it 136KiB"]'
	pages /dev/urandom 3000 >"$D/text"
	for kind in 5 7 9 10; do pages /dev/zero 3000 >"$D/$kind"; done
	# Of 15000 pages 3000 can't be compressed: 11.7 MiB, and 3 at most beside that, or less.
	echo RAM_LIMIT=12M >"$R/etc/ramraid/ramraid.conf"
	answer --ram=zram "$D"
	[[ $CODE == 1 ]]
	says '.kinds[0].fits' '"unsure"'
}

@test "estimate refuses an empty folder, a missing one, and what is no folder, file, device or array" {
	run cmd_estimate "$D"
	assert_failure 3
	assert_output "ramraid: $D: there is no data"
	run cmd_estimate "$D/none"
	assert_failure 3
	run cmd_estimate none
	assert_failure 3
	run cmd_estimate
	assert_failure 2
	run cmd_estimate "$D" "$D"
	assert_failure 2
	run cmd_estimate /dev/null
	assert_failure 2
	assert_line "ramraid: /dev/null: is a character special file; name a folder, a block \
device, an image file, or an array"
}

# An array of a file's data, named data.
array() {
	kinds
	fake_disk md127 245760
	cat "$D"/* >"$R/dev/md127"
	printf 'UUID=3d2f6f4c-1c1f-4b9b-9f0e-1f2e3d4c5b6a\nMEMBER=/dev/disk/by-id/a\n' \
		>"$R/etc/ramraid/data.conf"
	mkdir "$R/sys/class/block/md127/queue"
	echo "$1" >"$R/sys/class/block/md127/queue/logical_block_size"
	look_at_running() { F[array.md]=md127; }
	cli_root() { :; }
}

@test "for a running array, its own RAM leg counts as free, and zram needs blocks of 4096 bytes" {
	array 512
	mkdir -p "$R/run/ramraid" "$R/sys/block/rd0" "$R/sys/kernel/rapiddisk"
	echo 7 >"$R/sys/block/rd0/diskseq"
	echo 'rapiddisk rd0 245760 7 used' >"$R/run/ramraid/data.ram"
	echo 'rd0 245760 0 163840' >"$R/sys/kernel/rapiddisk/devices"
	memory 40000 4150
	answer data
	says '[.of, .bytes, .files, .available_bytes]' \
		"[\"array\",245760,null,$((4150 * 1024 + 163840))]"
	says '[.kinds[].fits]' '["yes","yes","no","no"]'
	says '.kinds[2].why' '"zram has blocks of 4096 bytes, and those of the array have 512"'
	says .next "\"with RAM=rapiddisk in $R/etc/ramraid/data.conf: ramraid check data\""
	echo 4096 >"$R/sys/class/block/md127/queue/logical_block_size"
	answer data
	says '[.kinds[].fits]' '["yes","yes","yes","yes"]'
	# By its device as well: with its own settings, and nothing to adopt.
	printf 'RAM_RESERVE=50%%\n' >>"$R/etc/ramraid/data.conf"
	mkdir -p "$R/dev/md"
	ln -s ../md127 "$R/dev/md/data"
	ESTIMATE=()
	cmd_estimate_device_ /dev/md127
	[[ ${ESTIMATE[kind]}:${ESTIMATE[target]}:${CONF[RAM_RESERVE]} == array:data:50% ]]
}

@test "for a block device, the next command is adopt if it is an array, and create if not" {
	fake_disk md127 1228800
	cmd_estimate_kinds
	cmd_estimate_device_ /dev/md127
	[[ ${ESTIMATE[kind]}:${ESTIMATE[node]}:${ESTIMATE[bytes]} == device:md127:1228800 ]]
	ESTIMATE[target]=/dev/md127
	cmd_estimate_next_ zram:lz4
	[[ ${ESTIMATE[next]} == 'ramraid adopt --ram=zram:lz4 --dry-run NAME /dev/md127' ]]
	ESTIMATE[target]='/dev/md/a b'
	cmd_estimate_next_ brd
	[[ ${ESTIMATE[next]} == 'ramraid adopt --ram=brd --dry-run NAME /dev/md/a\ b' ]]
	ESTIMATE[node]=sda
	cmd_estimate_next_ brd
	[[ ${ESTIMATE[next]} == 'ramraid create --ram=brd --dry-run NAME DISK…' ]]
	run cmd_estimate_device_ /dev/none
	assert_failure 3
}

@test "for a folder on an array, the next command is adopt, or status if the array is ramraid's" {
	fake_disk md127 1228800
	cmd_estimate_kinds
	findmnt() { printf '/dev/md127\n'; }
	ESTIMATE[kind]=folder ESTIMATE[target]=$R TARGET=$R
	cmd_estimate_next_ rapiddisk
	[[ ${ESTIMATE[next]} == 'ramraid adopt --dry-run NAME /dev/md127' ]] || fail "${ESTIMATE[next]}"
	: >"$R/etc/ramraid/data.conf"
	mkdir -p "$R/dev/md"
	ln -s ../md127 "$R/dev/md/data"
	cmd_estimate_next_ rapiddisk
	[[ ${ESTIMATE[next]} == 'it is on the mirror data: ramraid status data' ]] ||
		fail "${ESTIMATE[next]}"
	findmnt() { printf '/dev/sda[/srv]\n'; }
	cmd_estimate_next_ brd
	[[ ${ESTIMATE[next]} == 'ramraid create --ram=brd --dry-run NAME DISK…' ]]
}

@test "a source that does not answer ends the estimate with 75 after a time limit" {
	kinds
	SAMPLE_READ_BOUND=1
	# shellcheck disable=SC2317
	sample_read_() { sleep 5; }
	run cmd_estimate "$D/zero"
	assert_failure 75
	assert_output "ramraid: $D/zero: does not answer within 1 s"
	[[ -z $(find "$R/run" -name 'ramraid-estimate*') ]]
	SAMPLE_LIST_BOUND=1
	# shellcheck disable=SC2317
	sample_list_() { sleep 5; }
	run cmd_estimate "$D"
	assert_failure 75
	assert_output "ramraid: $D: its files could not be listed within 1 s"
}

@test "when the time is up, the answer comes from what has been read" {
	SAMPLE_BATCH=16
	truncate -s 64M "$D/image"
	eval "kept_$(declare -f sample_read)"
	sample_read() {
		PIECES=()
		(($2 == 0)) || return "$BOUNDED_SILENT"
		kept_sample_read "$@"
	}
	answer "$D/image"
	says '[.time_was_up, .all_looked_at, .pages_unread]' '[true,false,0]'
	between "$(jq .pages_looked_at <<<"$JSON")" 10 16
}

@test "an interrupted estimate deletes its samples" {
	kinds
	# shellcheck disable=SC2317
	sample_read() { kill -TERM "$BASHPID"; } # INT is ignored where tests run in the background
	run cmd_estimate "$D"
	assert_failure 130
	[[ -z $(find "$R/run" -name 'ramraid-estimate*') ]]
}

@test "estimate changes no file and no timestamp" {
	local before
	kinds
	before=$(find "$D" "$R/etc" -printf '%p %s %T@ %C@\n' | sort)
	answer "$D"
	[[ $(find "$D" "$R/etc" -printf '%p %s %T@ %C@\n' | sort) == "$before" && -z $(calls) ]]
}

@test "estimate prints a table, and what to do next" {
	kinds
	run cmd_estimate "$D"
	assert_success
	assert_line "$D: 240KiB in 3 files; only the data of this file system, not its free space"
	assert_line 'all 60 pages of 4 KiB were looked at'
	assert_line --regexp '^  rapiddisk  160KiB +240KiB +yes$'
	assert_line --regexp '^  zram:zstd  [0-9]+KiB +[0-9]+KiB +yes$'
	assert_line '4.0GiB of memory are available, and RAM_RESERVE keeps 820MiB of them free.'
	assert_line 'Next: ramraid create --dry-run NAME DISK…'
}

@test "the cost of a page in zram follows the sizes of zsmalloc" {
	local COST
	sample_zram_classes 6.12.57+deb13-amd64
	[[ $ZRAM_PAGES_HUGE == 3625 ]]
	# From 32 to 4096 bytes, by 16.
	((${#ZRAM_PAGES_COST[@]} == 255 && ZRAM_PAGES_COST[254] == 4096))
	sample_zram_cost 3625
	[[ $COST == 4096 ]]
	sample_zram_cost 3624 # nine in eight pages
	[[ $COST == 3640 ]]
	sample_zram_cost 2040 # two in a page
	[[ $COST == 2048 ]]
	sample_zram_cost 20
	[[ $COST == 32 ]]
	sample_zram_classes 6.1.0-40-amd64
	[[ $ZRAM_PAGES_HUGE == 3257 ]]
	sample_zram_cost 3256 # five in four pages
	[[ $COST == 3276 ]]
}

@test "the total and its margin are computed from a sample" {
	sample_spread 1000 100 204800 $((50 * 4096 * 4096))
	# Half of it, and twice the standard error: 2 * 2048 / 10 for each.
	[[ $SPREAD_TOTAL == 2048000 && $SPREAD_MARGIN == 409600 ]] ||
		fail "$SPREAD_TOTAL $SPREAD_MARGIN"
	sample_spread 1000 100 0 0
	[[ $SPREAD_TOTAL == 0 && $SPREAD_MARGIN == $((3 * 4096 * 10)) ]]
	sample_spread 100 100 204800 $((50 * 4096 * 4096)) complete
	[[ $SPREAD_TOTAL == 204800 && $SPREAD_MARGIN == 0 ]]
	[[ $(sample_root_ 0) == 0 && $(sample_root_ 1) == 1 && $(sample_root_ 99) == 9 &&
		$(sample_root_ 1000000000000) == 1000000 ]]
}
