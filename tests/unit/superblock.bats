#!/usr/bin/env bats
# Superblocks built byte by byte (linux include/uapi/linux/raid/md_p.h), and what superblock_parse
# and superblock_facts make of them.

setup() {
	load helper
	world
	libraries
	# as the program has it: a reader that fails must not look like an empty disk
	set -o pipefail
	T=$BATS_TEST_TMPDIR/out
	build 8
}

# build MAX_DEV: W = the 1024 words of a disk leg in slot 1 of 3, in good order.
build() {
	local - i blank
	set +T # bats traces every command, which costs more than they do
	printf -v blank '%.s00000000 ' {1..1024}
	read -r -a W <<<"$blank"
	put 0 a92b4efc 4 1 8 1 72 1 80 640000 84 0 92 3 96 8 128 800 144 8 152 0 160 1 184 1 200 \
		2a 208 ffffffff 212 ffffffff 220 "$(printf %x "$1")"
	# The bytes of a UUID in their order on disk, read as little-endian words.
	put 16 33221100 20 77665544 24 bbaa9988 28 ffeeddcc 168 03020100 172 07060504 176 0b0a0908 \
		180 0f0e0d0c
	for ((i = 0; i < $1 / 2; i++)); do W[64 + i]=fffefffe; done
	(($1 % 2 == 0)) || role $(($1 - 1)) fffe
	role 0 0 1 1 2 2
	seal
}

put() { # OFFSET HEX…
	while (($# > 0)); do
		printf -v "W[$1 / 4]" '%08x' "0x$2"
		shift 2
	done
}

role() { # NUMBER HEX…
	local word shift_
	while (($# > 0)); do
		word=$((64 + $1 / 2)) shift_=$(($1 % 2 * 16))
		printf -v "W[word]" '%08x' $((16#${W[word]} & ~(0xffff << shift_) | 0x$2 << shift_))
		shift 2
	done
}

# The checksum as the kernel computes it: a 64-bit sum of 32-bit words, and of the 16 bits that may
# be left over.
seal() {
	local - i sum=0 bytes=$((256 + 2 * 16#${W[55]}))
	set +T
	W[54]=00000000
	for ((i = 0; i + 4 <= bytes; i += 4)); do sum=$((sum + 16#${W[i / 4]})); done
	((bytes % 4 == 0)) || sum=$((sum + (16#${W[i / 4]} & 0xffff)))
	printf -v 'W[54]' '%08x' $((((sum & 0xffffffff) + (sum >> 32)) & 0xffffffff))
}

# image FILE: a device that begins with 4 KiB of nothing.
image() {
	local - word text=''
	set +T
	for word in "${W[@]}"; do
		text+="\\x${word:6:2}\\x${word:4:2}\\x${word:2:2}\\x${word:0:2}"
	done
	{ head -c 4096 /dev/zero && printf "$text"; } >"$1"
}

parse() { # sets GOT, without a process: this is called thousands of times
	local -
	set +T
	superblock_parse "${W[@]}" >"$T" || fail "exit code $?"
	GOT=''
	read -r GOT <"$T" || fail 'no output'
}

gives() { # LINE…: among the facts
	local - line facts
	set +T
	superblock_parse "${W[@]}" >"$T"
	facts=$'\n'$(<"$T")$'\n'
	for line; do [[ $facts == *$'\n'"$line"$'\n'* ]] || fail "expected $line in: $facts"; done
}

@test "every field of a superblock is read" {
	image "$BATS_TEST_TMPDIR/image"
	run superblock_facts "$BATS_TEST_TMPDIR/image"
	assert_success
	assert_output "sb=ok
uuid=00112233-4455-6677-8899-aabbccddeeff
device_uuid=00010203-0405-0607-0809-0a0b0c0d0e0f
level=1
raid_disks=3
size=6553600
data_offset=2048
data_size=0
events=42
time=0
number=1
role=1
roles=0:0 1:1 2:2
view=AAA
recovery=
dirty=no
bitmap=yes
writemostly=yes"
}

@test "superblock_has_bad_blocks says whether md keeps a list of blocks that the leg lacks" {
	local image=$BATS_TEST_TMPDIR/image
	image "$image"
	not superblock_has_bad_blocks "$image"
	put 8 9
	seal
	image "$image"
	superblock_has_bad_blocks "$image"
	not superblock_has_bad_blocks "$image.none"
	put 0 0
	image "$image"
	not superblock_has_bad_blocks "$image"
}

@test "the time of the last write is 40 bits of seconds, without the microseconds above them" {
	put 192 691e2d3c 196 0f423f01
	seal
	gives "time=$((0x01691e2d3c))"
}

@test "counts of more than 32 bits are read in full" {
	put 80 1 84 2 128 3 132 1 200 ffffffff 204 7
	seal
	gives size=8589934593 data_offset=4294967299 events=34359738367
}

@test "role: a slot, spare or faulty, and a role beyond the slots is spare" {
	role 1 2 2 1 && seal
	gives role=2 view=AAA
	role 1 ffff && seal
	gives role=spare view=AA.
	role 1 fffe && seal
	gives role=faulty view=AA.
	build 8
	put 160 7 && role 7 1 1 fffe && seal
	gives role=1 view=AAA
	# Neither a slot nor a word for none: md makes a spare of it, and decide must not look for
	# it in the view.
	local beyond
	for beyond in 3 4 1f40 fffd; do
		build 8
		role 1 "$beyond" && seal
		gives role=spare view=A.A
	done
}

@test "view: which slots the superblock calls active" {
	role 0 fffe && seal
	gives view=.AA
	role 2 ffff && seal
	gives view=.A.
	build 8
	put 92 1 && role 0 fffe 1 0 2 fffe && seal
	gives role=0 view=A
	build 8
	put 92 5 && role 5 4 && seal
	gives view=AAA.A
	# A role beyond the slots (a replacement that came too late) is nobody's.
	build 8
	role 5 9 && seal
	gives view=AAA
}

@test "recovery offset, unclean stop, bitmap and write-mostly are read" {
	gives recovery= dirty=no bitmap=yes writemostly=yes
	put 8 3 152 800 156 1 && seal
	gives recovery=4294969344 bitmap=yes
	put 8 0 184 0 208 0 212 0 && seal
	gives recovery= dirty=yes bitmap=no writemostly=no
	put 208 1000 184 fe && seal
	gives dirty=yes writemostly=no
}

@test "as many roles as fit the block are read, also an odd number of them" {
	build 1920
	gives sb=ok view=AAA
	build 7
	gives sb=ok view=AAA
	build 3
	gives sb=ok view=AAA
}

@test "one bit flipped in any byte of the checksummed area makes the superblock corrupt, or none" {
	set +T
	build 3
	flips
}

flips() {
	local i byte bit word expected
	for ((i = 0; i < 66; i++)); do
		word=${W[i]} expected=sb=corrupt
		((i > 0)) || expected=sb=none
		for byte in 0 1 2 3; do
			# The last role ends in the middle of the last word.
			((i < 65 || byte < 2)) || expected=sb=ok
			bit=$((byte * 8 + (i + byte * 3) % 8))
			printf -v 'W[i]' '%08x' $((16#$word ^ 1 << bit))
			parse
			[[ $GOT == "$expected" ]] ||
				fail "byte $((i * 4 + byte)), bit $((bit % 8)): $GOT"
		done
		W[i]=$word
	done
	# All bits of the checksum, and of the number of roles, which says how far it reaches.
	for i in 54 55; do
		word=${W[i]}
		for ((bit = 0; bit < 32; bit++)); do
			printf -v 'W[i]' '%08x' $((16#$word ^ 1 << bit))
			parse
			[[ $GOT == sb=corrupt ]] || fail "word $i, bit $bit: $GOT"
		done
		W[i]=$word
	done
}

@test "other versions and absurd counts are corrupt, even with the right checksum" {
	local change
	for change in '4 0' '4 2' '92 0' '92 9' '92 ffffffff' '92 80000000' '160 8' '160 ffffffff' \
		'160 fffffffe'; do
		build 8
		put $change && seal
		parse
		[[ $GOT == sb=corrupt ]] || fail "$change: $GOT"
	done
	for change in 0 781 ffff 80000000 ffffffff; do
		build 8
		put 220 "$change"
		parse
		[[ $GOT == sb=corrupt ]] || fail "max_dev $change: $GOT"
	done
}

# A leg at 2^63 events or more would be a negative number here, and the newest leg for md.
@test "counts of 2^56 and more are corrupt, just below they are counts" {
	local offset high
	for offset in 80 128 200; do
		for high in 1000000 7fffffff 80000000 ffffffff; do
			build 8
			put $((offset + 4)) "$high" && seal
			parse
			[[ $GOT == sb=corrupt ]] || fail "$offset $high: $GOT"
		done
	done
	build 8
	put 80 ffffffff 84 ffffff 128 ffffffff 132 ffffff 200 ffffffff 204 ffffff && seal
	gives size=72057594037927935 data_offset=72057594037927935 events=72057594037927935
	# What has no end is how far a rebuild came.
	build 8
	put 8 3 152 ffffffff 156 ffffffff && seal
	gives recovery=18446744073709551615
}

# A disk that spins up has no size yet: it is no blank disk.
@test "an empty, short or cut-off device is unreadable, and a blank one has no superblock" {
	local file=$BATS_TEST_TMPDIR/image bytes
	image "$file"
	for bytes in 0 1 4095 4096 4097 4100 4352 8188; do
		head -c "$bytes" "$file" >"$file.cut"
		[[ $(superblock_facts "$file.cut") == sb=unreadable ]] ||
			fail "$bytes bytes: $(superblock_facts "$file.cut")"
	done
	head -c 65536 /dev/zero >"$file"
	[[ $(superblock_facts "$file") == sb=none ]]
}

@test "a device that is not there is unreadable, and so is a folder" {
	[[ $(superblock_facts "$BATS_TEST_TMPDIR/nothing") == sb=unreadable ]]
	[[ $(superblock_facts "$BATS_TEST_TMPDIR") == sb=unreadable ]]
}

@test "random words: none or corrupt, never an error" {
	local seed=${RAMRAID_SEED:-$RANDOM}
	echo "# seed $seed" >&3
	RANDOM=$seed
	set +T
	random_words
}

random_words() {
	local i j
	for ((i = 0; i < 300; i++)); do
		build_cheap
		for ((j = 0; j < 90; j++)); do
			printf -v 'W[RANDOM % 80]' '%04x%04x' $((RANDOM * 2 + RANDOM % 2)) \
				$((RANDOM * 2 + RANDOM % 2))
		done
		# Two of three get as far as the counts or the checksum.
		((i % 3 == 0)) || W[0]=a92b4efc W[1]=00000001
		((i % 3 < 2)) || W[55]=00000020 W[23]=00000003 W[40]=00000001
		parse
		[[ $GOT == sb=none || $GOT == sb=corrupt ]] || fail "$GOT: ${W[*]:0:80}"
	done
}

build_cheap() {
	[[ -v PLAIN[@] ]] || PLAIN=("${W[@]}")
	W=("${PLAIN[@]}")
}

@test "random bytes in files: none or corrupt, never an error" {
	local i file=$BATS_TEST_TMPDIR/image seed=${RAMRAID_SEED:-$RANDOM} got
	echo "# seed $seed" >&3
	RANDOM=$seed
	# A generator with a seed, unlike /dev/urandom.
	for ((i = 0; i < 20; i++)); do
		openssl enc -aes-128-ctr -pass "pass:$seed$i" -nosalt -in /dev/zero 2>/dev/null |
			head -c $((8192 + RANDOM % 8192)) >"$file" ||
			:
		((i % 2 == 0)) ||
			printf '\xfc\x4e\x2b\xa9\x01\0\0\0' |
				dd of="$file" bs=4096 seek=1 conv=notrunc status=none
		got=$(superblock_facts "$file") || fail "exit code $?"
		[[ $got == sb=none || $got == sb=corrupt ]] || fail "$got"
	done
}

# Made by mdadm itself: NAME.bin is the beginning of a leg (8 KiB), NAME.facts holds lines that
# superblock_facts must print for it.
@test "superblocks that mdadm wrote have the facts that are recorded with them" {
	local file line facts count=0
	for file in "$FIXTURES"/superblock/*.bin; do
		[[ -e $file ]] || continue
		facts=$(superblock_facts "$file")
		while read -r line; do
			[[ -z $line || $line == '#'* ||
				$'\n'$facts$'\n' == *$'\n'"$line"$'\n'* ]] ||
				fail "$file: expected $line in: $facts"
		done <"${file%.bin}.facts"
		count=$((count + 1))
	done
	echo "# $count superblocks of mdadm's" >&3
}

@test "the list of blocks that a leg lacks is read in sectors of the array" {
	local list=() i
	superblock_bad_ranges "$T.none" && fail 'there is no such device'
	image "$T.img"
	[[ -z $(superblock_bad_ranges "$T.img") ]]
	# 8 sectors of it, 16 after the superblock; entries of 54 bits for where, and 10 for how many.
	put 8 9 184 80000 188 10
	seal
	image "$T.img"
	not superblock_bad_ranges "$T.img"
	printf -v list '%016x' $(((2048 + 5000) << 10 | 8)) $(((2048 + 952) << 10 | 1023))
	for ((i = 0; i < 510; i++)); do list+=ffffffffffffffff; done
	truncate -s 64K "$T.img"
	printf "$(printf '%s' "$list" | fold -w 16 | sed -E \
		's/(..)(..)(..)(..)(..)(..)(..)(..)/\\x\8\\x\7\\x\6\\x\5\\x\4\\x\3\\x\2\\x\1/' | tr -d '\n')" |
		dd of="$T.img" bs=512 seek=24 conv=notrunc status=none
	[[ $(superblock_bad_ranges "$T.img") == $'952 1975\n5000 5008' ]] ||
		fail "$(superblock_bad_ranges "$T.img")"
	put 184 80300
	seal
	dd if="$T.img" of="$T.rest" bs=8192 skip=1 status=none
	image "$T.img"
	cat "$T.rest" >>"$T.img"
	[[ $(superblock_bad_ranges "$T.img") == *'54336 54400' ]] ||
		fail "$(superblock_bad_ranges "$T.img")"
	# A kernel takes no more than a page of it.
	put 184 90000
	seal
	image "$T.img"
	cat "$T.rest" >>"$T.img"
	not superblock_bad_ranges "$T.img"
}

# leg_with_bits BITS CHUNK BYTE…: $T.img, a leg with a write-intent bitmap for BITS chunks of CHUNK
# bytes, 8 sectors after the superblock; of its bits these bytes, in hexadecimal.
leg_with_bits() {
	local - word text='' chunk
	set +T
	printf -v word '%x' $(($1 * $2 / 512))
	put 96 8 80 "$word"
	seal
	image "$T.img"
	printf -v chunk '%08x' "$2"
	printf -v word '%08x' $(($1 * $2 / 512))
	for word in 6d746962 00000004 "${OF[@]:-${W[@]:4:4}}" 0000002a 00000000 0000002a 00000000 \
		"$word" 00000000 00000000 "$chunk"; do
		text+="\\x${word:6:2}\\x${word:4:2}\\x${word:2:2}\\x${word:0:2}"
	done
	printf -v word '\\x%s' "${@:3}"
	truncate -s 64K "$T.img"
	{
		printf "$text" && head -c $((256 - 14 * 4)) /dev/zero && printf "$word"
	} | dd of="$T.img" bs=4096 seek=2 conv=notrunc status=none
}

@test "the dirty bits of a leg's bitmap are read as md takes them" {
	leg_with_bits 95 1048576 00 00 00 00 00 00 00 00 00 00 00 00 00
	[[ -z $(superblock_dirty_bits "$T.img") ]]
	leg_with_bits 95 1048576 01 c0 03 00 80 00 00 00 00 00 00 00 00
	[[ $(superblock_dirty_bits "$T.img") == '0 14-17 39' ]] ||
		fail "$(superblock_dirty_bits "$T.img")"
}

@test "bits behind the last chunk, with which mdadm fills up a bitmap, do not count" {
	leg_with_bits 95 1048576 00 00 00 00 00 00 00 00 00 00 00 ff ff ff
	# The numbers mean other places if the array's chunks have another size.
	[[ $(superblock_dirty_bits "$T.img" 12345) == all ]]
	[[ $(superblock_dirty_bits "$T.img") == 88-94 ]] || fail "$(superblock_dirty_bits "$T.img")"
}

@test "many dirty bits come in lines that one write to sysfs takes" {
	set +T
	mapfile -t bytes < <(yes 55 | head -n 3000)
	leg_with_bits 24000 1048576 "${bytes[@]}"
	superblock_dirty_bits "$T.img" >"$T"
	(($(wc -w <"$T") == 12000 && $(wc -L <"$T") < 4096))
	[[ $(tr ' ' '\n' <"$T") == "$(seq 0 2 23999)" ]]
}

@test "a forged bitmap with more bits than any array has counts as all dirty, unread; one without room is an error" {
	local most=$SUPERBLOCK_BITS_MOST
	eval "read_$(declare -f superblock_sectors_)"
	superblock_sectors_() { called "$3" && read_superblock_sectors_ "$@"; }
	leg_with_bits $((most + 1)) 512 01
	truncate -s 1M "$T.img"
	[[ $(superblock_dirty_bits "$T.img") == all && $(calls) == 1 ]] || fail "$(calls)"
	leg_with_bits "$most" 512 01
	truncate -s 1M "$T.img"
	[[ $(superblock_dirty_bits "$T.img") == 0 ]]
	rm "$BATS_TEST_TMPDIR/calls"
	put 128 20
	leg_with_bits $((most + 1)) 512 01
	truncate -s 1M "$T.img"
	not superblock_dirty_bits "$T.img"
	[[ $(calls) == 1 ]] || fail "$(calls)"
}

@test "reading as many bits as are allowed takes seconds, whatever is in them" {
	leg_with_bits "$SUPERBLOCK_BITS_MOST" 512 01
	truncate -s 1M "$T.img"
	head -c $((SUPERBLOCK_BITS_MOST / 8)) /dev/zero | tr '\0' '\125' |
		dd of="$T.img" bs=64K seek=$((8192 + 256)) oflag=seek_bytes conv=notrunc status=none
	BOUNDED=60
	timeout_at=$((SECONDS + 60))
	superblock_dirty_bits "$T.img" >"$T"
	(($(wc -w <"$T") == SUPERBLOCK_BITS_MOST / 2 && $(wc -L <"$T") < 4096))
	((SECONDS < timeout_at)) || fail "$SECONDS"
}

@test "a missing bitmap, superblock or device is an error, and not an empty bitmap" {
	leg_with_bits 8 1048576 01
	truncate -s 8K "$T.img" && truncate -s 64K "$T.img"
	not superblock_dirty_bits "$T.img"
	head -c 64K /dev/zero >"$T.img"
	not superblock_dirty_bits "$T.img"
	not superblock_dirty_bits "$T.none" 2>/dev/null
}

@test "a bitmap that is not read to its end is an error, and so is a program that fails" {
	local program
	eval "read_$(declare -f superblock_sectors_)"
	leg_with_bits 8000 1048576 01
	superblock_sectors_() {
		[[ $3 == 1 ]] || return "$BOUNDED_SILENT"
		read_superblock_sectors_ "$@"
	}
	not superblock_dirty_bits "$T.img"
	superblock_sectors_() { read_superblock_sectors_ "$@" | head -c 700; }
	not superblock_dirty_bits "$T.img"
	eval "$(declare -f read_superblock_sectors_ | sed 1s/read_//)"
	[[ $(superblock_dirty_bits "$T.img") == 0 ]]
	for program in od awk tail; do
		eval "$program() { return 127; }"
		not superblock_dirty_bits "$T.img"
		unset -f "$program"
	done
}

@test "a bitmap that is cut off, of another array, or has a damaged head is an error: no data is taken for bits" {
	local at bytes
	OF=(33221101 77665544 bbaa9988 ffeeddcc)
	leg_with_bits 8 1048576 01
	not superblock_dirty_bits "$T.img"
	unset OF
	# Version, size of a chunk, size of the array: each by itself.
	for bytes in '4 \x09' '52 \x01' '52 \x00\x00\x30' '45 \x7f' '47 \xff'; do
		leg_with_bits 8 1048576 01
		superblock_dirty_bits "$T.img" >/dev/null || fail 'sound, and refused'
		printf "${bytes#* }" |
			dd of="$T.img" bs=1 seek=$((8192 + ${bytes% *})) conv=notrunc status=none
		not superblock_dirty_bits "$T.img"
	done
	leg_with_bits 95000 1048576 01
	truncate -s 10K "$T.img"
	not superblock_dirty_bits "$T.img"
}

@test "bitmaps are read in blocks of 4 KiB, even where they do not begin at one" {
	local size
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\necho "dd $*" >>%s\nexec /usr/bin/dd "$@"\n' "$BATS_TEST_TMPDIR/calls" \
		>"$BATS_TEST_TMPDIR/bin/dd"
	chmod +x "$BATS_TEST_TMPDIR/bin/dd"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	head -c 64K /dev/urandom >"$T.img"
	for size in 1 7 8 9 100; do
		for at in 0 3 8 15; do
			cmp <(superblock_sectors_ "$T.img" "$at" "$size") \
				<(tail -c "+$((at * 512 + 1))" "$T.img" | head -c $((size * 512)))
		done
	done
	[[ $(calls | grep -vc ' bs=4096 ') == 0 ]] || fail "$(calls)"
}

# silent: $T.fifo, a device that never answers, and nobody who waits longer than need be.
silent() {
	BOUNDED=1
	mkfifo "$T.fifo"
}

@test "a device that does not answer is waited for within the bound, and not asked again while a reader waits for it" {
	local begin facts
	silent
	begin=$SECONDS
	facts=$(superblock_facts "$T.fifo")
	[[ $facts == $'sb=unreadable\nsilent=yes' ]] || fail "$facts"
	((SECONDS - begin <= 3))
	# Should it ask again, the test takes an hour.
	BOUNDED=3600
	[[ $(superblock_facts "$T.fifo") == $'sb=unreadable\nsilent=yes' ]]
	not superblock_dirty_bits "$T.fifo"
	[[ $(pgrep -fc "^dd if=$T.fifo ") == 1 ]] || fail "$(pgrep -fa "$T.fifo")"
	# It answers: the reader goes, and the device is asked again.
	: >"$T.fifo"
	while pgrep -f "^dd if=$T.fifo " >/dev/null; do sleep 0.1; done
	build 8
	image "$T.img"
	mv "$T.img" "$T.fifo"
	[[ $(superblock_facts "$T.fifo") == sb=ok* ]]
}

@test "a reader that waits for a device keeps no lock and no pipe open" {
	local lock pid
	silent
	mkdir -p "$R/run/ramraid"
	exec {lock}>"$R/run/lock"
	flock "$lock"
	# A reader with this pipe open would hold us here.
	[[ $(superblock_facts "$T.fifo" 2>&1 | cat) == sb=unreadable* ]]
	pid=$(pgrep -f "^dd if=$T.fifo ")
	(($(readlink /proc/$pid/fd/* | grep -vc '^/dev/null$') <= 1)) ||
		fail "$(ls -l /proc/$pid/fd)"
	exec {lock}>&-
	flock --nonblock "$R/run/lock" true
	: >"$T.fifo"
}

@test "a process number that another process has got since does not count as a reader" {
	silent
	mkdir -p "$R/run/ramraid/.locks"
	printf '%s 1\n' "$$" >"$R/run/ramraid/.locks/silent.${T//\//!}.img"
	build 8
	image "$T.img"
	[[ $(superblock_facts "$T.img") == sb=ok* ]]
}

@test "a look for which no process could be made counts as unreadable, and prints no line without a key" {
	superblock_facts() { return 1; }
	sleep() { :; }
	[[ $(superblock_facts_patiently sda) == sb=unreadable ]] ||
		fail "$(superblock_facts_patiently sda)"
}
