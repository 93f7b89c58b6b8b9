#!/usr/bin/env bats
# The rescue image: made whole or not at all, put back only if it is what was recorded.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	mkdir -p "$R/sys/block/md127" "$R/var"
	head -c 3145728 /dev/urandom >"$R/dev/md127"
	truncate -s 8M "$R/dev/md127"
	echo 16384 >"$R/sys/block/md127/size"
	# Plain files on a file system that may not know O_DIRECT.
	dd() { command dd "${@/[io]flag=direct/status=none}"; }
	md_make_writable() { :; }
}
put_back() { rescue_check && rescue_put_back "$@"; }

# Sets IMAGE to where it is.
write() {
	rescue_write data "$ID" md127 77 "$R/var" 2>"$BATS_TEST_TMPDIR/log" ||
		fail "$(<"$BATS_TEST_TMPDIR/log")"
	IMAGE=$(echo "$R"/var/data/rescue-77.????????/image)
}
no_image() {
	[[ -z $(find "$R/var" -name '*rescue-*' -o -name image) ]] || fail "$(find "$R/var")"
}

@test "the image has what was on the array, and the record names it" {
	write
	cmp "$R/dev/md127" "$IMAGE"
	rescue_record_read data "$ID"
	[[ ${RESCUE[image]} == "$IMAGE" && ${RESCUE[bytes]} == 8388608 && ${RESCUE[events]} == 77 &&
		-z ${RESCUE[damaged]-} ]]
	[[ $(stat -c %a "$IMAGE") == 600 && $(stat -c %a "${IMAGE%/*}") == 700 && ! -e $IMAGE.sum ]]
	# Zeros take no room.
	(($(stat -c %b "$IMAGE") < 8192))
}

@test "the record has the events of each disk leg, also of those that are gone" {
	F[name]=data F[array.md]=md127
	mkdir -p "$R/run/ramraid"
	echo 7 >"$R/sys/block/md127/diskseq"
	printf '%s\n' 'md127 7' 'aa-1 events=38 with=bb-2' 'bb-2 events=41 with=' cc-3 \
		'dd-4 events=x[0] with=' >"$R/run/ramraid/data.joined"
	md_state_run md127
	sed -i "1s/.*/$MD_RUN/" "$R/run/ramraid/data.joined"
	write
	rescue_record_read data "$ID"
	[[ ${RESCUE[legs]} == aa-1:38,bb-2:41 ]] || fail "${RESCUE[legs]-none}"
	rescue_record_events aa-1
	[[ $EVENTS_THEN == 38 ]]
	rescue_record_events cc-3
	[[ -z $EVENTS_THEN ]]
}

@test "the image is read back, which systemd is told of, and one that differs is no image" {
	systemd_go_on() { called go_on; }
	systemd_status() { called "$*"; }
	sha256sum() { sleep 1.5 && command sha256sum; }
	# From the disk, not from what the kernel still has in memory of the write.
	dd() {
		command dd "$@" || return
		[[ $* != *nocache* ]] || called 'dropped from memory'
	}
	write
	[[ $(calls) == *'saving it to'*'dropped from memory'* ]] || fail "$(calls)"
	[[ $(calls) == *"reading $IMAGE back"*go_on*"reading $IMAGE back"* &&
		$(calls) == *'saving it to'* ]] ||
		fail "$(calls)"
	# What does not come back as it was written is no image.
	rescue_record_forget data 2>/dev/null
	rm -r "${IMAGE%/*}"
	sha256sum() {
		command sha256sum | if [[ -e $BATS_TEST_TMPDIR/second ]]; then
			tr 0-9a-f a-f0-9
		else
			cat
		fi &&
			: >"$BATS_TEST_TMPDIR/second"
	}
	not rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null
	[[ ! -e $(rescue_record_file data) ]]
	no_image
}

@test "a record of another array counts as none, and a damaged one still stands for data" {
	write
	rescue_record_read data 99999999-2222-3333-4444-555555555555
	[[ ${#RESCUE[@]} == 0 ]]
	echo garbage >"$(rescue_record_file data)"
	rescue_record_read data "$ID"
	[[ ${RESCUE[damaged]} == yes && -n ${RESCUE[image]} ]]
	rescue_record_forget data 2>/dev/null
	rescue_record_read data "$ID"
	[[ ${#RESCUE[@]} == 0 ]]
}

@test "a copy that fails, or that is not what was read, leaves neither image nor record" {
	local code=0
	rescue_copy() { return 1; }
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == 1)) && [[ ! -e $(rescue_record_file data) ]]
	no_image
	rescue_copy() { head -c 8388608 /dev/zero >"$2" && printf '%064d\n' 0; }
	code=0
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == 1)) && [[ ! -e $(rescue_record_file data) ]]
	no_image
}

@test "an image that is put back makes the array the same as it" {
	write
	head -c 8388608 /dev/zero >"$R/dev/md127"
	rescue_record_read data "$ID"
	put_back md127 2>/dev/null
	cmp "$R/dev/md127" "$IMAGE"
}

@test "an image that has changed is not put back, nor is one onto an array of another size" {
	local before
	write
	rescue_record_read data "$ID"
	head -c 8388608 /dev/zero >"$R/dev/md127"
	before=$(sha256sum <"$R/dev/md127")
	echo 16392 >"$R/sys/block/md127/size"
	not put_back md127 2>/dev/null
	echo 16384 >"$R/sys/block/md127/size"
	head -c 64 /dev/urandom | dd of="$IMAGE" bs=64 seek=80 conv=notrunc status=none
	not put_back md127 2>/dev/null
	truncate -s 4M "$IMAGE"
	not put_back md127 2>/dev/null
	[[ $(sha256sum <"$R/dev/md127") == "$before" ]]
}

@test "no image is written where others than root may write, sticky bit or not, and none is put back from there" {
	local folder=$R/srv/images mode why
	mkdir -p "$folder"
	for mode in 1777 777 775; do
		chmod "$mode" "$R/srv"
		why=$(rescue_why_not "$folder" md127)
		[[ $why == "$R/srv is writable by others than root (mode $mode)" ]] ||
			fail "$why"
		not rescue_write data "$ID" md127 77 "$folder" 2>/dev/null
		[[ -z $(ls "$folder") && ! -e $(rescue_record_file data) ]]
	done
	chmod 755 "$R/srv"
	chown 65534 "$folder"
	[[ $(rescue_why_not "$folder" md127) == "$folder belongs to user 65534, not to root" ]]
	not rescue_write data "$ID" md127 77 "$folder" 2>/dev/null
	chown 0 "$folder"
	# The folder of the array's name may be another's already, or a link to one.
	ln -s "$R/tmp" "$folder/data"
	mkdir -m 1777 "$R/tmp"
	not rescue_write data "$ID" md127 77 "$folder" 2>/dev/null
	[[ -z $(ls "$R/tmp") ]]
	rm "$folder/data"
	rescue_write data "$ID" md127 77 "$folder" 2>/dev/null
	rescue_record_read data "$ID"
	put_back md127 2>/dev/null
	chmod 777 "$folder/data"
	run put_back md127
	assert_failure
	assert_output -p "may not be what was saved: $folder/data is writable by others"
}

@test "an image is never written into an existing file, nor read from another file than was checked" {
	local RESCUE_TO RESCUE_FROM before
	echo precious >"$R/other"
	ln -s "$R/other" "$R/var/link"
	for file in "$R/other" "$R/var/link"; do not rescue_copy_open "$file"; done
	[[ $(<"$R/other") == precious ]]
	write
	rescue_record_read data "$ID"
	before=$(sha256sum <"$R/dev/md127")
	# Replaced between the look and the writing.
	md_bytes() {
		head -c 8388608 /dev/urandom >"$R/var/new" && mv "$R/var/new" "$IMAGE"
		echo 8388608
	}
	put_back md127 2>/dev/null
	[[ $(sha256sum <"$R/dev/md127") == "$before" ]]
}

@test "a restore checks the disks against the recorded sum, and says if they do not hold the image" {
	write
	rescue_record_read data "$ID"
	act() { command head -c 8388608 /dev/zero >"$R/dev/md127"; }
	run put_back md127
	assert_failure
	assert_output -p 'do not hold what was written'
}

@test "where only the record can't be written the image stays, with its record beside it" {
	local code=0
	act_file() { return 1; } # as on a read-only /etc
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == 2)) && [[ ! -e $(rescue_record_file data) ]]
	cmp "$R/dev/md127" "$RESCUE_FOLDER/image"
	# By hand, as the message says.
	mkdir -p "$R/etc/ramraid/state"
	cp "$RESCUE_FOLDER/record" "$(rescue_record_file data)"
	rescue_record_read data "$ID"
	[[ ${RESCUE[image]} == "$RESCUE_FOLDER/image" && -z ${RESCUE[damaged]-} ]]
}

@test "an image that was put back once says so, and its record is not followed again" {
	F[witness.generation]=7
	write
	rescue_record_read data "$ID"
	[[ ${RESCUE[generation]} == 7 ]]
	# A damaged count is none, and no arithmetic.
	sed -i 's/^generation=.*/generation=08/; s/^events=.*/events=F/' "$(rescue_record_file data)"
	rescue_record_read data "$ID"
	[[ ! -v RESCUE[generation] && ! -v RESCUE[events] && ${RESCUE[image]} == "$IMAGE" ]]
	not rescue_was_restored "$IMAGE"
	sync() { called sync "$@" && command sync "$@"; }
	rescue_note_restored "$IMAGE" 2>/dev/null
	[[ $(calls) == *"sync ${IMAGE%/*}" ]] || fail "$(calls)"
	rescue_was_restored "$IMAGE"
	NAME=data
	run restore_check
	assert_failure 4
	assert_output -p "$IMAGE has been put back already"
	assert_output -p "rm $R/etc/ramraid/state/data.rescue; ramraid start data"
	# Twice, and of one without a folder of its own: nothing to note.
	rescue_note_restored "$IMAGE" 2>/dev/null
	: >"$R/var/rescue-5"
	rescue_note_restored "$R/var/rescue-5"
	not rescue_was_restored "$R/var/rescue-5"
	rescue_delete "$IMAGE" 2>/dev/null
	[[ ! -e ${IMAGE%/*} ]]
}

@test "a restore begins anew where a killed one has left the array running, but not while it is in use" {
	NAME=data F[name]=data
	write
	rescue_record_read data "$ID"
	facts_observe() {
		F[array.md]=md127 F[array.state]=$ARRAY F[ram.state]=${RAM_IS-none}
	}
	mdadm() { called "$*" && ARRAY=absent; }
	disk_is_unused() { [[ -z ${USED-} ]]; }
	begins() { # yes|no
		ARRAY=active
		rm -f "$BATS_TEST_TMPDIR/calls"
		if [[ $1 == yes ]]; then
			restore_check 2>/dev/null
			[[ $(calls) == '--stop /dev/md127' ]] || fail "$(calls)"
		else
			run restore_check
			assert_failure 4
			assert_output -p 'is running; type: ramraid stop data'
		fi
	}
	# None had begun: something else has started it.
	begins no
	RESCUE[disk]=aaaaaaaa-0000-0000-0000-000000000001
	begins yes
	USED=yes begins no
	# Its RAM leg has what the disk leg has not.
	RAM_IS=in_sync begins no
}

@test "the record has the events of each disk leg that can be read" {
	F[members]=3 F["leg.0.node"]=sda F["leg.1.node"]='' F["leg.2.node"]=sdc
	superblock_facts_patiently() {
		[[ $1 == sda ]] || { echo sb=unreadable && return; }
		printf '%s\n' sb=ok "uuid=$ID" device_uuid=aaaaaaaa-0000-0000-0000-000000000001 \
			level=1 events=70
	}
	write
	rescue_record_read data "$ID"
	[[ ${RESCUE[legs]} == aaaaaaaa-0000-0000-0000-000000000001:70 ]] || fail "${RESCUE[legs]}"
	local EVENTS_THEN
	rescue_record_events aaaaaaaa-0000-0000-0000-000000000001
	[[ $EVENTS_THEN == 70 ]]
	rescue_record_events aaaaaaaa-0000-0000-0000-000000000002
	[[ -z $EVENTS_THEN ]]
	superblock_facts_patiently() { echo sb=silent; }
	write
	rescue_record_read data "$ID"
	[[ ! -v RESCUE[legs] ]]
}

@test "an image given up by a forced start says so, and its record is not followed again" {
	local code=0
	write
	rescue_record_read data "$ID"
	rescue_note_given_up "$IMAGE" 2>/dev/null
	rescue_was_given_up "$IMAGE"
	NAME=data
	run restore_check
	assert_failure 4
	assert_output -p "$IMAGE has been given up by a start without it"
	assert_output -p "rm $R/etc/ramraid/state/data.rescue; ramraid start data"
	# Again: it is noted. Where it can't be, that is told.
	rescue_note_given_up "$IMAGE" 2>/dev/null
	not rescue_note_given_up "$R/var/data/rescue-9.unmounted/image"
	: >"$R/var/rescue-5"
	not rescue_note_given_up "$R/var/rescue-5"
	rescue_delete "$IMAGE" 2>/dev/null
	[[ ! -e ${IMAGE%/*} ]]
}

@test "which disk is being overwritten is in the record before the first byte, and a start says so" {
	F[name]=data
	write
	rescue_record_read data "$ID"
	dd() {
		[[ $* == *of=*/md127* ]] || {
			command dd "$@"
			return
		}
		called dd "$(grep -c '^disk=aa-1$' "$(rescue_record_file data)")"
		return 1
	}
	not put_back md127 aa-1 2>/dev/null
	grep -qx 'dd 1' "$BATS_TEST_TMPDIR/calls" || fail "$(calls)"
	rescue_record_read data "$ID"
	[[ ${RESCUE[disk]} == aa-1 && ${RESCUE[image]} == "$IMAGE" ]]
	# Again, with another one.
	rescue_record_begun data bb-2 2>/dev/null
	rescue_record_read data "$ID"
	[[ ${RESCUE[disk]} == bb-2 && $(grep -c ^disk= "$(rescue_record_file data)") == 1 ]]
	# Where it can't be noted nothing is written.
	rm "$BATS_TEST_TMPDIR/calls"
	act_text() { return 1; }
	run put_back md127 cc-3
	assert_failure
	assert_output -p "that a disk is being overwritten; nothing was written"
	[[ -z $(calls) ]]
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[rescue.image]=$IMAGE F[rescue.disk]=bb-2 F[waited]=99 F[clones_known]=yes
	action_choose
	[[ $ACTION == refuse && $WHY == *'A restore was cut off, and the disk that it was '*'not here' ]] ||
		fail "$WHY"
	F[leg.1.device_uuid]=bb-2
	action_choose
	[[ $WHY == *"A restore was cut off: ${F[leg.1.dev]} is half overwritten" ]] || fail "$WHY"
	F[forced]=1
	OPT=([yes]=yes)
	run start_ask_forced data
	assert_output -p 'is half overwritten'
}

@test "a restore that was cut off goes on with its disk, or gives that one up if it takes another" {
	local RESTORE_GIVE_UP=''
	NAME=data
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[waited]=99 F[clones_known]=yes F[leg.0.device_uuid]=aa-1 F[leg.1.device_uuid]=bb-2
	RESCUE=([image]=/x [disk]=bb-2)
	restore_choose
	[[ ${F[forced]} == 1 ]]
	RESCUE[disk]=aa-1
	restore_choose
	[[ ${F[forced]} == 0 && $RESTORE_GIVE_UP != *aa-1* ]]
	RESCUE[disk]=cc-3
	restore_choose
	[[ $RESTORE_GIVE_UP == *cc-3* ]]
}

@test "an image is deleted with the folder that was made for it; one elsewhere leaves its folder" {
	write
	rescue_delete "$IMAGE" 2>/dev/null
	[[ ! -e ${IMAGE%/*} && -d $R/var/data ]]
	mkdir "$R/var/old" && : >"$R/var/old/rescue-5"
	rescue_delete "$R/var/old/rescue-5" 2>/dev/null
	[[ -d $R/var/old && -z $(ls "$R/var/old") ]]
}

# bad RANGE…: in these parts ("FROM END", in bytes), the array can't be read; dd fails there as on
# md, with nothing of the block that it would have read at once.
bad() {
	BAD=("$@")
	set -o pipefail # as bin/ramraid
	dd() {
		local word from=0 count='' end range
		[[ " $* " == *" if=$R/dev/md127 "* ]] || {
			command dd "${@/[io]flag=direct/status=none}"
			return
		}
		for word; do
			case $word in
			skip=*) from=${word#*=} ;;
			count=*) count=${word#*=} ;;
			esac
		done
		end=$((from + ${count:-8388608 - from}))
		for range in "${BAD[@]}"; do
			((${range% *} < end && ${range#* } > from)) || continue
			end=$(((${range% *} - from) / 1048576 * 1048576))
			((end <= 0)) || tail -c "+$((from + 1))" "$R/dev/md127" | head -c "$end"
			return 1
		done
		command dd "${@/[io]flag=direct/status=none}"
	}
}
# zeros RANGE…: what the image should be: the array, with zeros in these parts.
zeros() {
	local range
	cp "$R/dev/md127" "$R/expected"
	for range; do
		head -c $((${range#* } - ${range% *})) /dev/zero |
			command dd of="$R/expected" bs=512 seek=$((${range% *} / 512)) conv=notrunc \
				status=none
	done
}
lists() { # LEG OFFSET STATE LIST
	mkdir -p "$R/sys/block/md127/md/dev-$1"
	echo "$2" >"$R/sys/block/md127/md/dev-$1/offset"
	echo "$3" >"$R/sys/block/md127/md/dev-$1/state"
	printf "$4" >"$R/sys/block/md127/md/dev-$1/bad_blocks"
}

@test "an array with blocks that can't be read is saved but for these, and the record names them" {
	local code=0 sum
	bad '1052672 1056768' '2097152 2101248' '3145728 4194304'
	write
	zeros "${BAD[@]}"
	cmp "$R/expected" "$IMAGE"
	rescue_record_read data "$ID"
	[[ ${RESCUE[lost]} == '1052672:4096 2097152:4096 3145728:1048576' && ${RESCUE[bytes]} == 8388608 ]] ||
		fail "${RESCUE[lost]}"
	sum=$(sha256sum <"$R/expected")
	[[ ${RESCUE[sha256]} == "${sum%% *}" && $(echo "${IMAGE%/*}"/*) == "$IMAGE ${IMAGE%/*}/record" ]]
	[[ $RESCUE_LOST == '1.1MiB of the array could not be read, and are zeros in the image: bytes 1052672 to 1056767, 2097152 to 2101247, 3145728 to 4194303' ]] ||
		fail "$RESCUE_LOST"
	# What is put back is what was recorded.
	bad
	head -c 8388608 /dev/zero >"$R/dev/md127"
	put_back md127 2>/dev/null
	cmp "$R/expected" "$R/dev/md127"
}

@test "what md lists as bad on every member in sync is left out to the sector, and nothing that can be read" {
	lists rd0 2048 in_sync '4096 3\n10240 8\n12288 8\n'
	lists sda 4096 faulty ''
	bad '1048576 1050112' '4194304 4198400'
	write
	zeros "${BAD[@]}"
	cmp "$R/expected" "$IMAGE"
	rescue_record_read data "$ID"
	[[ ${RESCUE[lost]} == '1048576:1536 4194304:4096' ]] || fail "${RESCUE[lost]}"
	# Another member has them.
	echo in_sync >"$R/sys/block/md127/md/dev-sda/state"
	bad
	rm -r "${IMAGE%/*}"
	write
	cmp "$R/dev/md127" "$IMAGE"
	[[ -z $RESCUE_LOST ]]
	not grep lost= "$(rescue_record_file data)"
}

@test "an image of which nothing can be read, or that can't be written, is none, whatever else can't be read" {
	bad '0 8388608'
	not rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null
	no_image
	bad '1052672 1056768'
	eval "real_$(declare -f dd)"
	dd() { [[ $* != *conv=sparse* ]] && real_dd "$@"; } # the file system is full
	not rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null
	no_image
	[[ ! -e $(rescue_record_file data) ]]
}

@test "an image that lacks blocks is named with them by status, a refused start, check and restore" {
	local line
	bad '2097152 2101248'
	write
	bad
	facts_read <"$FIXTURES/status/rescue-image.facts"
	F[name]=data F[uuid]=$ID F[waited]=99 F[clones_known]=yes
	before_look_remembered
	line="4.0KiB of the array could not be read, and are zeros in the image: bytes 2097152 to 2101247"
	[[ ${F[rescue.lost]} == "$line" ]] || fail "${F[rescue.lost]}"
	action_choose
	[[ $ACTION == refuse && $WHY == *"what it held is in $IMAGE ($line). Put it back: ramraid restore data"* ]] ||
		fail "$WHY"
	SHOWN='' ADVICE_ALARM='' ADVICE_WHY='' ADVICE_IMPACT='' ADVICE_ACTION=''
	advice_show refused
	[[ $SHOWN == *"not saved:    $line"* ]] || fail "$SHOWN"
	NAME=data F[forced]=0 F[witness.legs]=''
	OPT=([yes]=yes)
	run restore_ask
	assert_output -p "data: $line"
	# A damaged line names nothing.
	sed -i 's/^lost=.*/lost=x[$(touch y)]:9/' "$(rescue_record_file data)"
	before_look_remembered
	[[ -z ${F[rescue.lost]} && ${F[rescue.image]} == "$IMAGE" ]]
}

# stalls N: who listens to the writer gives it up after N seconds without a word.
stalls() {
	STALLS=$1
	clock_stalls() {
		local -n said=$1
		said+=x
		((${#said} >= STALLS))
	}
}

@test "a file system that stops answering does not hold the guard: no image, no record, and nothing asks it again" {
	local code=0
	stalls 2
	rescue_copy() {
		echo "$BASHPID" >"$R/group"
		: >"$R/begun"
		command sleep 100 || :
		: >"$R/survived"
	}
	kill() { [[ $1 != -KILL ]] && builtin kill "$@"; } # as for a process that waits in the kernel
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == BOUNDED_SILENT)) && [[ -e $R/begun && -z $RESCUE_FOLDER ]] || fail "$code"
	[[ ! -e $(rescue_record_file data) ]]
	code=0
	rescue_why_not "$R/var" md127 || code=$?
	((code == BOUNDED_SILENT)) || fail "$code"
	[[ $(rescue_place_room "$R/var") == 0 ]]
	# It answers again: what was left behind records nothing, and the next image takes its place.
	builtin kill -KILL -- "-$(ps -o pgid= "$(<"$R/group")" | tr -d ' ')"
	clock_until 5 0.1 rescue_why_not "$R/var" md127
	[[ ! -e $R/survived && ! -e $(rescue_record_file data) && -n $(echo "$R"/var/data/rescue-77.*) ]]
	unset -f rescue_copy kill
	eval "$(sed -n '/^rescue_copy() {/,/^}/p' "$PROJECT/lib/act/rescue-copy.sh")"
	stalls 60
	write
	cmp "$R/dev/md127" "$IMAGE"
	[[ $(ls "$R/var/data") == "$(basename "${IMAGE%/*}")" ]] || fail "$(ls "$R/var/data")"
}

@test "what a writer says just before it ends is heard" {
	local code=0
	rescue_write_apart_() {
		command sleep 1.3
		printf '%s\n' "folder=$R/x/rescue-1.abc" uuid=1 "image=$R/x/rescue-1.abc/image" \
			code=0 >&"$1"
	}
	# It ends after a read has timed out, and before the look at whether it still runs.
	kill() {
		[[ $1 != -0 ]] || command sleep 0.6
		builtin kill "$@"
	}
	rescue_write data uuid md127 120 "$R/var" || code=$?
	((code == 0)) || fail "$code"
	[[ $RESCUE_FOLDER == "$R/x/rescue-1.abc" && -s $R/etc/ramraid/state/data.rescue ]]
}

@test "a writer that is given up is ended, with all that it has started" {
	local code=0
	stalls 1
	rescue_copy() {
		command sleep 100 &
		echo $! >"$R/pid"
		wait
	}
	rescue_write data "$ID" md127 77 "$R/var" 2>/dev/null || code=$?
	((code == BOUNDED_SILENT))
	not bounded_process_began "$(<"$R/pid")"
	rescue_why_not "$R/var" md127
}

@test "an image that takes long is no stall as long as it grows, is read back, or the array is searched" {
	stalls 3
	rescue_copy_store_() {
		local i
		for i in 1 2 3 4 5; do
			head -c 1677721 >&"$RESCUE_TO"
			command sleep 1
		done
		cat >&"$RESCUE_TO"
	}
	write
	cmp "$R/dev/md127" "$IMAGE"
}

@test "each piece of an image is made durable before the next, and its zeros take no room" {
	RESCUE_COPY_PIECE=2
	eval "real_$(declare -f dd)"
	dd() {
		[[ $* != *conv=sparse* ]] || called "$*"
		real_dd "$@"
	}
	write
	cmp "$R/dev/md127" "$IMAGE"
	[[ $(calls | grep -c 'count=2 .*fsync') == 4 ]] || fail "$(calls)"
	(($(stat -c %b "$IMAGE") < 8192))
}

@test "a place for images that does not answer holds up no start" {
	local code=0 RESCUE_BESIDE
	BOUNDED=0.5
	findmnt() { command sleep 100; }
	rescue_why_not "$R/var" md127 || code=$?
	((code == BOUNDED_SILENT)) || fail "$code"
	F[name]=data F[uuid]=$ID F[ram.state]=in_sync
	declare -gA CONF=([RESCUE]=$R/var)
	run rescue_warn md127
	assert_output -p "a shutdown could not save the RAM leg: $R/var does not answer"
	rescue_beside_look_() { called looked; }
	rescue_beside_find data "$ID"
	[[ ${#RESCUE_BESIDE[@]} == 0 && -z $(calls) ]] || fail "$(calls)"
	pid=$(cut -d' ' -f1 "$R"/run/ramraid/.locks/silent.*)
	builtin kill -KILL "$pid"
	clock_until 5 0.1 not bounded_is_silent "$R/var"
	rescue_beside_find data "$ID"
	[[ $(calls) == looked ]] || fail "$(calls)"
}

@test "rescue_why_not says why a folder can't hold an image" {
	[[ $(rescue_why_not none md127) == RESCUE=none ]]
	: >"$R/file"
	[[ $(rescue_why_not "$R/file/x" md127) == "$R/file/x can't be checked" ]]
	[[ $(
		mkdir() { return 1; }
		rescue_why_not "$R/none/x" md127
	) == *'cannot be written' ]]
	[[ -z $(rescue_why_not "$R/var" md127) ]]
}

@test "whether a shutdown can save the only good copy is known beforehand, and looking makes no folder" {
	local conf
	facts_blank 1
	F[name]=data F[array.md]=md127 F[array.state]=active F[ram.state]=in_sync
	rescue_place_may_() { :; }
	outlook() { # RESCUE WHY TIGHT
		CONF[RESCUE]=$1
		rescue_place_look
		[[ ${F[rescue.why_not]} == "$2" && ${F[rescue.tight]} == $3 ]] ||
			fail "$1: ${F[rescue.why_not]}; ${F[rescue.tight]}"
	}
	outlook none RESCUE=none ''
	outlook "$R/var/new/one" '' ''
	[[ ! -e $R/var/new ]]
	rescue_place_room() { echo 4096; }
	outlook "$R/var" '' "$R/var has room for 4.0MiB, and the array has 8.0MiB"
	rescue_place_memory() { echo tmpfs; }
	outlook "$R/var" "$R/var is in memory (tmpfs)" ''
	# What systemd lets the array's unit write to: not yet the folder, or not the one in which
	# it would be made.
	rescue_place_memory() { :; }
	rescue_place_room() { echo 999999; }
	local protect=strict allowed=''
	systemctl() {
		[[ $* == *' ramraid@data.service' ]] &&
			printf '%s\n' "ReadWritePaths=$allowed" "ProtectSystem=$protect"
	}
	mkdir -p "$R/run/systemd/system" "$R/var/there"
	outlook "$R/var/there" "systemd does not yet let the array's unit write to $R/var/there: \
systemctl daemon-reload" ''
	protect=full outlook "$R/var/there" '' ''
	outlook "$R/var/new" "$R/var/new does not exist: mkdir -p $R/var/new; \
systemctl daemon-reload" ''
	allowed="-$R/etc -$R/var/new" outlook "$R/var/new" "$R/var/new does not exist: \
mkdir -p $R/var/new; systemctl daemon-reload" ''
	allowed="-$R/etc -$R/var/the" outlook "$R/var/there" "systemd does not yet let the \
array's unit write to $R/var/there: systemctl daemon-reload" ''
	ln -s there "$R/var/link"
	for allowed in "-$R/etc -$R/var/there" "-$R/var" "+$R/var/link" -/; do
		outlook "$R/var/there" '' ''
		outlook "$R/var/link" '' ''
	done
	# The folder itself is in what the unit may write to, so a shutdown can make it.
	allowed=-$R/var outlook "$R/var/new/one" '' ''
	# In the sandbox of another service everything else is read-only, which says nothing.
	chmod 555 "$R/var/there"
	[[ -w $R/var/there ]] || # unless we are root
		allowed=-$R/var outlook "$R/var/there" \
			"$R/var/there does not exist or cannot be written" ''
	SYSTEMD_EXEC_PID=$$ RAMRAID_UNIT='' allowed=-$R/var outlook "$R/var/there" '' ''
	chmod 755 "$R/var/there"
	rm -r "$R/run/systemd"
	# It does not answer.
	rescue_place_memory() { sleep 9; }
	BOUNDED=0.2 outlook "$R/var" "$R/var does not answer" ''
	# Nobody but root can tell.
	rescue_place_may_() { return 1; }
	outlook "$R/var" '' ''
	outlook none RESCUE=none ''
	# While a disk has all, nothing is looked for.
	F[leg.0.state]=in_sync
	outlook none '' ''
}

# on WHY TYPE SOURCE OPTIONS [UPPER-TYPE UPPER-SOURCE]: the folder is on such a mount, and
# rescue_why_not says that it is in memory (WHY), or nothing.
on() {
	local got mount_type=$2 mount_source=$3 mount_options=$4 upper_type=${5-} upper_source=${6-}
	findmnt() {
		local on=mount
		[[ ${*: -1} != */upper ]] || on=upper
		case $* in
		*FSTYPE*) local -n said=${on}_type ;;
		*OPTIONS*) local -n said=mount_options ;;
		*) local -n said=${on}_source ;;
		esac
		[[ -n $said ]] || return 1
		printf '%s\n' "$said"
	}
	got=$(rescue_why_not "$R/var" md127)
	[[ $got == "${1:+$R/var is in memory ($1)}" ]] || fail "$*: $got"
}

@test "no image where it would go with the memory: tmpfs, ramdisks, an overlay on one of them" {
	local node
	lsblk() { :; }
	for node in sda sda1 ram3 zram1 rd0 dm-0 dm-1 md126; do fake_disk "$node" 1048576; done
	mkdir -p "$R/sys/class/block/dm-0/slaves/zram1" "$R/sys/class/block/md126/slaves/"{ram3,sda1} \
		"$R/sys/class/block/dm-1/slaves/sda1" "$R/dev/mapper"
	ln -s ../dm-0 "$R/dev/mapper/swap"
	ln -s ../dm-1 "$R/dev/mapper/var"
	on tmpfs tmpfs tmpfs rw
	on ramfs ramfs none rw
	on devtmpfs devtmpfs udev rw
	on '' ext4 /dev/sda1 rw,upperdir=/run/upper
	on '' ext4 /dev/mapper/var rw
	on '' ext4 /dev/gone rw
	on '' zfs rpool/var rw
	on 'ext4 on /dev/zram1' ext4 /dev/zram1 rw
	on 'xfs on /dev/ram3' xfs /dev/ram3 rw
	on 'ext4 on /dev/rd0' ext4 /dev/rd0 rw
	on 'ext4 on /dev/mapper/swap' ext4 /dev/mapper/swap rw
	on '' ext4 /dev/md126 rw # a disk has it as well
	on 'overlay on tmpfs' overlay overlayroot rw,lowerdir=/l,upperdir=/run/upper,workdir=/w tmpfs x
	on 'overlay on ext4 on /dev/zram1' overlay x 'rw,lowerdir=/a\,b,upperdir=/a\,b/upper' ext4 \
		/dev/zram1
	on '' overlay overlayroot rw,lowerdir=/l,upperdir=/mnt/upper,workdir=/w ext4 /dev/sda1
	# A path that leads nowhere, or into the overlay itself; none, or one from an unknown folder.
	on overlay overlay overlayroot rw,lowerdir=/l,upperdir=/mnt/upper,workdir=/w
	on overlay overlay overlayroot rw,lowerdir=/l,upperdir=/mnt/upper overlay overlayroot
	on overlay overlay overlayroot ro,lowerdir=/x
	on overlay overlay overlayroot rw,lowerdir=x,upperdir=mnt/upper ext4 /dev/sda1
}

@test "no image on a loop device whose file would go with the memory, or is on the array itself" {
	local node BACK mount_type mount_source mount_options
	lsblk() { :; }
	for node in sda1 zram1 md127 loop1 loop1p1; do fake_disk "$node" 1048576; done
	# The partition of a loop device.
	mkdir -p "$R/sys/block/loop1/loop1p1"
	rm -r "$R/sys/class/block/loop1p1" "$R/sys/class/block/loop1"
	ln -s "$R/sys/block/loop1" "$R/sys/class/block/loop1"
	ln -s "$R/sys/block/loop1/loop1p1" "$R/sys/class/block/loop1p1"
	echo 1 >"$R/sys/block/loop1/loop1p1/partition"
	printf '%s\n' '1 0 8:1 / / rw - ext4 /dev/sda1 rw' '2 1 0:25 / /dev/shm rw - tmpfs tmpfs rw' \
		'3 1 252:1 / /mnt/z rw - xfs /dev/zram1 rw' '4 1 9:127 / /srv rw - ext4 /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
	losetup() { echo "$BACK 77"; }
	for node in loop1 loop1p1; do
		BACK=8:1 on '' ext4 /dev/$node rw
		BACK=0:25 on "ext4 on /dev/$node" ext4 /dev/$node rw
		BACK=252:1 on "ext4 on /dev/$node" ext4 /dev/$node rw
		# Nothing is known of it, as of a subvolume.
		BACK=0:99 on '' ext4 /dev/$node rw
		BACK=9:127 mount_type=ext4 mount_source=/dev/$node mount_options=rw
		[[ $(rescue_place_why_not "$R/var" md127) == "$R/var is on the array itself" ]]
	done
}

@test "of two file systems mounted over one another, the upper one holds the image" {
	printf '%s\n' '1 0 8:1 / / rw - ext4 /dev/sda1 rw' '2 1 0:9 / /tmp rw - tmpfs lower rw' \
		'3 1 0:10 / /tmp rw - xfs /dev/sdb1 rw' >"$R/mounts"
	findmnt() { command findmnt --tab-file "$R/mounts" "$@"; }
	[[ $(mounts_of FSTYPE /tmp) == xfs && $(mounts_of SOURCE /tmp) == /dev/sdb1 ]]
	[[ -z $(rescue_place_memory /tmp) ]]
	printf '%s\n' '4 1 0:11 / /tmp rw - tmpfs upper rw' >>"$R/mounts"
	[[ $(rescue_place_memory /tmp) == tmpfs ]]
}

@test "of an array that holds the images, only members in sync count, not the failed disk or the one being rebuilt" {
	local node state
	lsblk() { :; }
	for node in sda sda1 rd0 md126 md126p1 dm-0; do fake_disk "$node" 1048576; done
	mkdir -p "$R/sys/class/block/"{md126/slaves/{rd0,sda1},dm-0/slaves/md126} \
		"$R/sys/block/md126/md/"{dev-rd0,dev-sda1} "$R/dev/mapper"
	ln -s ../dm-0 "$R/dev/mapper/var"
	echo in_sync >"$R/sys/block/md126/md/dev-rd0/state"
	for state in faulty,write_mostly spare,write_mostly ''; do
		echo "$state" >"$R/sys/block/md126/md/dev-sda1/state"
		on 'ext4 on /dev/md126' ext4 /dev/md126 rw
		on 'ext4 on /dev/mapper/var' ext4 /dev/mapper/var rw
	done
	echo in_sync,write_mostly >"$R/sys/block/md126/md/dev-sda1/state"
	on '' ext4 /dev/md126 rw
	on '' ext4 /dev/mapper/var rw
	echo faulty >"$R/sys/block/md126/md/dev-rd0/state"
	on '' ext4 /dev/md126 rw
	echo faulty >"$R/sys/block/md126/md/dev-sda1/state"
	on 'ext4 on /dev/md126' ext4 /dev/md126 rw
}

@test "kernels that read from the part of a leg that is not rebuilt are recognised" {
	local release KERNEL_FLAW
	for release in 6.9.0 6.9 6.9.12-amd64 6.10 6.10.0-rc3 6.10.6-1 6.10.6+bpo-amd64; do
		kernels_flaw "$release"
		[[ $KERNEL_FLAW == *"$release"*CVE-2024-45023* ]] || fail "$release"
	done
	for release in 6.1.0-30-amd64 6.8.12 6.10.7 6.10.11+bpo-amd64 6.11.0 6.12.57 6.90.1 16.9.1 \
		5.6.9 '' nonsense; do
		kernels_flaw "$release"
		[[ -z $KERNEL_FLAW ]] || fail "$release: $KERNEL_FLAW"
	done
}

@test "kernels that may crash after a change of the number of slots are recognised" {
	local release KERNEL_FLAW_SLOTS
	for release in 5.10.239 6.1.145-1 6.6.98 6.8.12-9-pve 6.12.38+deb13-amd64 6.13.12 6.15.6 \
		6.15-rc3; do
		kernels_flaw_slots "$release"
		[[ $KERNEL_FLAW_SLOTS == *"$release"*CVE-2025-38445* ]] || fail "$release"
	done
	for release in 5.10.240 6.1.146 6.6.99 6.12.39+deb13-amd64 6.15.7 6.16.0 6.16 7.3.4 \
		6.1.0-37-amd64 6.8.0-45-generic '' nonsense; do
		kernels_flaw_slots "$release"
		[[ -z $KERNEL_FLAW_SLOTS ]] || fail "$release: $KERNEL_FLAW_SLOTS"
	done
}

@test "a place that can't be looked at is a failure, and only one on the array itself is refused" {
	mkdir -p "$R/var"
	findmnt() { return 1; }
	not rescue_why_not "$R/var" md127
	# What is no device that is there is not the array.
	for node in sda md127 md127p1; do fake_disk "$node" 1048576; done
	mkdir -p "$R/sys/class/block/md127/md127p1"
	for from in server:/x /dev/mapper/renamed /dev/root /dev/sda; do
		findmnt() { case $* in *FSTYPE*) echo ext4 ;; *) printf '%s\n' "$from" ;; esac; }
		[[ -z $(rescue_why_not "$R/var" md127) ]] || fail "$from"
	done
	for from in /dev/md127 /dev/sda:/dev/md127; do
		[[ $(rescue_why_not "$R/var" md127) == "$R/var is on the array itself" ]] ||
			fail "$from"
	done
}
