#!/usr/bin/env bats
# ramraid selftest: what it refuses, what it records and how that is read, what it uses, and how
# it takes away what a test has left behind, in a sysfs of files. The test itself, on a real md, is
# the case "selftest" of the bench.

readonly RELEASE=7.1.1-amd64 ID=01234567-89ab-4cde-8f01-23456789abcd

setup() {
	load helper
	world
	libraries
	lib=$PROJECT/lib
	mkdir -p "$R/proc/sys/kernel/random" "$R/run/ramraid/.locks" "$R/lib/modules/$RELEASE" \
		"$R/sys/module/loop"
	echo "$RELEASE" >"$R/proc/sys/kernel/osrelease"
	echo "$ID" >"$R/proc/sys/kernel/random/uuid"
	printf 'MemTotal: 2000000 kB\nMemFree: 1 kB\nMemAvailable: 1000000 kB\n' >"$R/proc/meminfo"
	md A1 B2
	sleep() { SECONDS=$((SECONDS + 1)); }
	modprobe() { :; }
	COPY_DIRECT=''
	SELFTEST_FOLDER=$R/run/ramraid/.selftest
}

md() { # MD_MOD RAID1: checksums of the modules that are loaded
	local module
	for module in "md_mod $1" "raid1 $2"; do
		mkdir -p "$R/sys/module/${module% *}"
		echo "${module#* }" >"$R/sys/module/${module% *}/srcversion"
	done
}
record() { selftest_record_write "$RELEASE" "${2-A1-B2}" "$1" 5 0.2.0 "${3-}" 2>/dev/null; }
word() { # WORD [RELEASE]
	selftest_record_word "${2-$RELEASE}"
	[[ $SELFTEST_WORD == "$1" ]] || fail "not $1, but: $SELFTEST_WORD"
}

# The test itself passes, fails, or can't be done.
came_to() { # RESULT WHY
	CAME_TO=$1 CAME_WHY=$2
	selftest_run() {
		called run "$1"
		SELFTEST_RESULT=$CAME_TO SELFTEST_WHY=$CAME_WHY SELFTEST_ROUND=$1 SELFTEST_WRITES=7
		[[ $CAME_TO == passed ]]
	}
	selftest_place_room_() { echo $((1 << 30)); }
}
ends() { # CODE ARG…
	local code=$1
	shift
	run cmd_selftest "$@"
	assert_failure "$code"
}

@test "a pass is recorded with its rounds, version and modules, and counts for this build of md only" {
	came_to passed ''
	run cmd_selftest --rounds=3
	assert_success
	assert_output -p "The self-test has passed on Linux $RELEASE: 3 rounds, 7 writes"
	[[ $(calls) == 'run 3' ]]
	selftest_record_read "$RELEASE"
	[[ "${SELFTEST[result]} ${SELFTEST[rounds]} ${SELFTEST[version]} \
${SELFTEST[modules]}" == "passed 3 $(<"$PROJECT/lib/VERSION") A1-B2" ]]
	[[ ${SELFTEST[time]} == 20[0-9][0-9]-*T* && ! -v SELFTEST[why] ]]
	word passed
	word '' 6.12.1
	md A1 OTHER
	word ''
	rm -r "$R/sys/module/raid1"
	word ''
	[[ ! -e $R/run/ramraid/.selftest ]]
}

@test "a failure is recorded with its reason, is reported loudly, and also counts while md is not loaded" {
	came_to failed 'round 2: md has found 128 sectors'
	ends 1
	assert_output \
		-p "THE SELF-TEST HAS FAILED on Linux $RELEASE: round 2: md has found 128 sectors"
	word failed
	selftest_record_read "$RELEASE"
	[[ ${SELFTEST[why]} == 'round 2: md has found 128 sectors' ]]
	rm -r "$R/sys/module"
	word failed
	mkdir -p "$R/sys/module"
	md A1 OTHER
	word ''
}

@test "a self-test that could not be done records nothing, and the earlier result stays" {
	record passed
	came_to '' 'there is no ramdisk'
	ends 1
	assert_output -p 'the self-test could not be done: there is no ramdisk; nothing is recorded'
	word passed
	[[ ! -e $R/run/ramraid/.selftest ]]
}

@test "md's build is known by the modules' checksums, by their build IDs, or by the kernel's ID if built in" {
	local module first
	for module in md_mod raid1; do
		rm "$R/sys/module/$module/srcversion"
		mkdir "$R/sys/module/$module/notes"
		echo "$module" >"$R/sys/module/$module/notes/.note.gnu.build-id"
	done
	kernels_md_build "$RELEASE"
	first=$KERNEL_MD
	[[ ${#first} == 49 ]] || fail "$first"
	echo rebuilt >"$R/sys/module/raid1/notes/.note.gnu.build-id"
	kernels_md_build "$RELEASE"
	[[ $KERNEL_MD != "$first" && ${KERNEL_MD%-*} == "${first%-*}" ]]
	rm -r "$R/sys/module/raid1"
	kernels_md_build "$RELEASE"
	[[ -z $KERNEL_MD ]]
	echo kernel/drivers/md/raid1.ko >"$R/lib/modules/$RELEASE/modules.builtin"
	mkdir -p "$R/sys/kernel"
	echo id >"$R/sys/kernel/notes"
	kernels_md_build "$RELEASE"
	[[ ${#KERNEL_MD} == 49 ]]
}

@test "there is one record for each installed kernel, and a damaged one counts as none" {
	local release
	mkdir -p "$R/lib/modules/6.12.1"
	for release in 6.12.1 5.10.0 "$RELEASE"; do
		selftest_record_write "$release" x passed 1 0.2.0 '' 2>/dev/null
	done
	word passed 6.12.1
	word '' 5.10.0
	selftest_record_write 6.12.1 x failed 1 0.2.0 $'two\nlines=3' 2>/dev/null
	word failed 6.12.1
	selftest_record_read "$RELEASE"
	[[ ${SELFTEST[result]} == passed &&
		$(grep -c ^kernel= "$R/etc/ramraid/state/selftest") == 2 ]]
	sed -i 's/result=.*/result=$(reboot)/' "$R/etc/ramraid/state/selftest"
	word '' 6.12.1
	: >"$R/etc/ramraid/state/selftest"
	word ''
}

# fills BASE-CHANGE… WANTED: how the RAM leg of a running array is filled.
fills() { # REBUILD LISTED RESULT ACTION
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[ram.state]=attached F[array.degraded]=1 F[conf.rebuild]=$1 F[kernel.selftest]=$3
	COPY_WHY_NOT='not listed'
	[[ $2 == no ]] || COPY_WHY_NOT=''
	F[copy.why_not]=$COPY_WHY_NOT
	action_choose
	[[ $ACTION == "$4" ]] || fail "$*: $ACTION, $WHY"
}

@test "REBUILD=auto copies on a listed kernel and after a pass, and nothing overrides a failure" {
	fills auto yes '' copy-ram
	fills auto no '' add-ram
	fills auto no passed copy-ram
	fills auto yes passed copy-ram
	fills auto no failed add-ram
	fills auto yes failed add-ram
	[[ $WHY == *'the self-test of the copy has failed on this kernel; to repeat it: ramraid selftest' ]]
	fills copy yes failed add-ram
	fills kernel yes passed add-ram
}

@test "the facts of an array have the self-test result of this kernel" {
	conf_keys_builtin
	CONF[UUID]=$ID
	record passed
	before_look_configured data
	[[ ${F[kernel.selftest]} == passed &&
		${F[copy.why_not]} == *'to test it here: ramraid selftest'* ]]
	record failed A1-B2 why
	before_look_configured data
	[[ ${F[kernel.selftest]} == failed ]]
	rm "$R/etc/ramraid/state/selftest"
	before_look_configured data
	[[ -z ${F[kernel.selftest]} ]]
}

@test "--once does nothing on a kernel that has been tried, whatever came out" {
	local result
	came_to passed ''
	for result in passed failed; do
		record "$result"
		run cmd_selftest --once
		assert_success
		assert_output -p "has $result on Linux $RELEASE already"
	done
	[[ -z $(calls) ]]
	md A1 OTHER
	run cmd_selftest --once
	assert_success
	[[ $(calls) == 'run 5' ]]
}

@test "--once waits for an array that is being started, which has its memory first" {
	came_to passed ''
	: >"$R/etc/ramraid/data.conf"
	exec 8>"$R/run/ramraid/.locks/work.data"
	flock 8
	sleep() { SECONDS=$((SECONDS + 1000)); }
	ends 75 --once
	assert_output -p 'data has been worked on for longer than 3600 s'
	[[ -z $(calls) ]]
	exec 8>&-
	run cmd_selftest --once
	assert_success
	[[ $(calls) == 'run 5' ]]
}

@test "wrong arguments, a user who is not root, and a second self-test are refused" {
	came_to passed ''
	ends 2 data
	ends 2 --rounds=0
	ends 2 --rounds=ten
	ends 2 --rounds=10000
	exec 8>"$R/run/ramraid/.locks/work._selftest"
	flock 8
	ends 75
	assert_output -p 'another self-test runs'
	ends 75 --clean
	exec 8>&-
	[[ -z $(calls) ]]
	cli_root() { die 'only root can do this' 1; }
	ends 1
	assert_output -p 'only root'
}

@test "without loop devices or md, or with its name taken, nothing is made, and nothing recorded" {
	came_to passed ''
	loop_device_can_be_had() { return 1; }
	ends 1
	assert_output -p 'no loop devices'
	loop_device_can_be_had() { :; }
	md_modules() { return 1; }
	ends 1
	assert_output -p 'no md'
	md_modules() { :; }
	mkdir -p "$R/dev/md"
	: >"$R/dev/md/ramraid-selftest"
	ends 4
	assert_output -p 'exists, and is not the array of a self-test'
	rm "$R/dev/md/ramraid-selftest"
	[[ -z $(calls) && ! -e $R/etc/ramraid/state && ! -e $R/run/ramraid/.selftest ]]
}

@test "on a kernel on which a copy may hang the array, nothing is tried, unless that is accepted" {
	came_to passed ''
	echo 6.6.30 >"$R/proc/sys/kernel/osrelease"
	ends 1
	assert_output -p 'CVE-2024-43855'
	assert_output -p 'nothing was tried'
	[[ -z $(calls) && ! -e $R/etc/ramraid/state ]]
	mkdir -p "$R/etc/ramraid"
	echo ACCEPT_KERNEL_FLAW=yes >"$R/etc/ramraid/ramraid.conf"
	run cmd_selftest
	assert_success
}

@test "short memory: try again later; a small /run: the state folder is used; both small: it fails" {
	came_to passed ''
	sed -i 's/MemAvailable.*/MemAvailable: 60000 kB/' "$R/proc/meminfo"
	sed -i 's/MemTotal.*/MemTotal: 400000 kB/' "$R/proc/meminfo"
	ends 75
	assert_output -p 'of memory are available'
	sed -i 's/MemAvailable.*/MemAvailable: 150000 kB/' "$R/proc/meminfo"
	selftest_place_make 10%
	[[ $SELFTEST_FOLDER == "$R/etc/ramraid/state/.selftest" &&
		$(stat -c %a "$SELFTEST_FOLDER") == 700 && $(<"$SELFTEST_FOLDER/uuid") == "$ID" ]]
	rm -r "$SELFTEST_FOLDER"
	sed -i 's/MemAvailable.*/MemAvailable: 390000 kB/' "$R/proc/meminfo"
	selftest_place_make 10%
	[[ $SELFTEST_FOLDER == "$R/run/ramraid/.selftest" &&
		$(stat -c %a "$SELFTEST_FOLDER") == 700 ]]
	rm -r "$SELFTEST_FOLDER"
	selftest_place_room_() { echo 1000000; }
	ends 1
	assert_output -p 'neither'
	[[ -z $(calls) ]]
}

@test "the self-test is refused where mdadm's monitor would send mail, or run a program" {
	came_to passed ''
	systemd_is_running() { :; }
	systemd_show() { printf 'LoadState=loaded\nExecStart=/sbin/mdadm --monitor --scan\n'; }
	mkdir -p "$R/etc/mdadm" "$R/usr/sbin"
	echo 'MAILADDR root' >"$R/etc/mdadm/mdadm.conf"
	run cmd_selftest
	assert_success
	: >"$R/usr/sbin/sendmail"
	chmod 755 "$R/usr/sbin/sendmail"
	ends 4
	assert_output -p 'would send mail to root about the array of the self-test'
	echo 'PROGRAM /bin/x' >"$R/etc/mdadm/mdadm.conf"
	ends 4
	systemd_show() { printf 'LoadState=masked\nExecStart=/sbin/mdadm --monitor --scan\n'; }
	run cmd_selftest
	assert_success
}

@test "a reader of the output that goes away ends the test, and nothing is left" {
	came_to passed ''
	selftest_run() {
		: >"$R/running"
		for _ in {1..100}; do
			echo line
			command sleep 0.05
		done
	}
	ramdisk_drop() { [[ ! -e $R/running ]] || log_info "+ $1" || :; }
	(trap - ERR && cmd_selftest) 2>&1 | head -n 1 || :
	[[ -e $R/running ]] || fail 'it did not run'
	[[ ! -e $R/run/ramraid/.selftest ]] || fail "left: $(ls -R "$R/run/ramraid")"
}

@test "what others may wait for is not done at idle priority" {
	engine
	POLICY=SCHED_IDLE
	chrt() {
		[[ $1 != --pid ]] || {
			echo "pid $2's current scheduling policy: $POLICY" && return
		}
		called chrt "$1"
	}
	ionice() { called ionice "$2"; }
	selftest_make_
	[[ $(calls) == $'chrt --other\nionice 2\nmake\nchrt --idle\nionice 3' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	selftest_take_out_
	[[ $(calls) == $'drop-leg rd1\nchrt --other\nionice 2\ndrop\nchrt --idle\nionice 3' ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	run cmd_selftest --clean
	assert_success
	[[ $(calls) == $'chrt --other\nionice 2\ndrop\ndrop\nchrt --idle\nionice 3' ]] ||
		fail "$(calls)"
	POLICY=SCHED_OTHER
	mkdir "$SELFTEST_FOLDER"
	rm "$BATS_TEST_TMPDIR/calls"
	selftest_make_
	[[ $(calls) == make ]]
	grep -qx 'LimitNICE=+0' "$PROJECT/units/ramraid-selftest.service"
	not grep -q ^Nice= "$PROJECT/units/ramraid-selftest.service"
}

@test "the self-test is refused where a POLICY of mdadm could give its array a disk" {
	local line
	came_to passed ''
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	for line in 'POLICY domain=all action=spare' $'pol type=disk\n  path=* domain=x' \
		'Policy path=a "domain=b c"'; do
		echo "$line" >"$R/etc/mdadm/mdadm.conf.d/mine.conf"
		ends 4
		assert_output -p "$R/etc/mdadm/mdadm.conf.d/mine.conf has a POLICY with a domain"
	done
	[[ -z $(calls) ]]
	for line in '#POLICY domain=all' 'POLICY action=ignore' $'POLICY path=x\n# domain=x' \
		$'POLICY path=x\nARRAY /dev/md0 domain=x'; do
		echo "$line" >"$R/etc/mdadm/mdadm.conf.d/mine.conf"
		run cmd_selftest
		assert_success
	done
}

@test "if md's build can't be determined, a pass is not recorded, but a failure is" {
	rm -r "$R/sys/module"/{md_mod,raid1}
	modprobe() { :; }
	md_modules() { :; }
	came_to passed ''
	ends 1
	assert_output -p "which build of md that was can't be determined"
	word ''
	came_to failed why
	ends 1
	word failed
	md A1 B2
	word ''
}

# loop NUMBER FILE: a loop device, of a file of that path; node BYTES: any device.
loop() {
	fake_disk "loop$1" $((32 << 20))
	mkdir -p "$R/sys/block/loop$1/loop"
	echo "$2" >"$R/sys/block/loop$1/loop/backing_file"
}
# A test that was killed with its array running: on loop1 and loop2, and rd1.
killed() { # FOLDER
	mkdir -p "$1"
	echo "$ID" >"$1/uuid"
	loop 0 "$R/root/mine"
	loop 1 "$1/A"
	loop 2 /state/.selftest/B
	: >"$1/A"
	: >"$1/B"
	for leg in loop1 loop2; do : >"$R/sys/class/block/$leg/holders/md127"; done
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	: >"$R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf"
	superblock_facts() { printf 'sb=ok\nuuid=%s\n' "$UUID"; }
	md_stop() {
		called stop "$1"
		rm -f "$R"/sys/class/block/*/holders/"$1"
	}
	FOLDER=$1
	losetup() {
		case "$1 ${*: -1}" in
		*/loop1) stat -c '%Hd:%Ld %i' "$FOLDER/A" ;;
		*/loop2) stat -c '%Hd:%Ld %i' "$FOLDER/B" ;;
		esac
		[[ $1 != --list ]] || return 0
		called losetup "$@"
		rm -r "$R/sys/block/${2#/dev/}"
	}
	ramdisk_drop() { called drop "$1"; }
}

@test "what a killed test has left is removed in order, wherever it was; what is somebody else's stays" {
	local folder
	UUID=$ID
	for folder in "$R/run/ramraid/.selftest" "$R/etc/ramraid/state/.selftest"; do
		killed "$folder"
		mkdir -p "$R/run/ramraid"
		: >"$R/run/ramraid/_selftest.returns"
		: >"$R/run/ramraid/.locks/check.md127"
		: >"$R/run/ramraid/data.ram"
		run cmd_selftest --clean
		assert_success
		[[ $(calls) == $'stop md127\ndrop _selftest\nlosetup --detach /dev/loop1\nlosetup --detach /dev/loop2\ndrop _selftest' ]] || fail "$(calls)"
		[[ ! -e $folder && ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf &&
			! -e $R/run/ramraid/_selftest.returns &&
			! -e $R/run/ramraid/.locks/check.md127 ]]
		[[ -e $R/sys/block/loop0 && -e $R/run/ramraid/data.ram ]]
		rm -r "$BATS_TEST_TMPDIR/calls" "${R:?}/sys" "${R:?}/dev"
		mkdir -p "$R/sys/block" "$R/sys/class/block" "$R/dev"
	done
}

@test "a loop device is known by its file, not by a path, which may be that of another mount namespace" {
	local folder=$R/etc/ramraid/state/.selftest LOOP_DEVICE_NODES
	mkdir -p "$folder"
	: >"$folder/A"
	: >"$folder/B"
	: >"$R/other"
	loop 1 /state/.selftest/A
	loop 2 "$folder/B"
	loop 3 /state/.selftest/A
	# Any user can have one that is called so.
	loop 4 "$folder/A"
	loop 5 "$folder/x"
	losetup() {
		case ${*: -1} in
		/dev/loop1) stat -c '%Hd:%Ld %i' "$folder/A" ;;
		/dev/loop2) stat -c '%Hd:%Ld %i' "$folder/B" ;;
		*) stat -c '%Hd:%Ld %i' "$R/other" ;;
		esac
	}
	loop_device_of "$folder"
	[[ ${LOOP_DEVICE_NODES[*]} == 'loop1 loop2' ]] || fail "${LOOP_DEVICE_NODES[*]}"
}

@test "an array without members that a killed test has left is stopped; any other in mdadm's map stays" {
	local map=$R/run/mdadm/map folder=$R/run/ramraid/.selftest
	md_stop() {
		called stop "$1"
		rm -r "$R/sys/block/$1"
	}
	ramdisk_drop() { :; }
	mkdir -p "$folder" "$R/run/mdadm" "$R"/sys/block/md12{3,4,5,6,7}/md
	mkdir "$R/sys/block/md124/md/dev-loop7"
	echo in_sync,write_mostly >"$R/sys/block/md124/md/dev-loop7/state"
	echo "$ID" >"$folder/uuid"
	# Of the same UUID in both byte orders; one has a member; one has another name, one another
	# UUID; one is gone.
	printf '%s\n' "md127 1.2 67452301:de4cab89:4523018f:cdab8967 /dev/md/ramraid-selftest" \
		"md126 1.2 01234567:89ab4cde:8f012345:6789abcd /dev/md/ramraid-selftest" \
		"md125 1.2 01234567:89ab4cde:8f012345:6789abcd /dev/md/data" \
		"md124 1.2 01234567:89ab4cde:8f012345:6789abcd /dev/md/ramraid-selftest" \
		"md123 1.2 11234567:89ab4cde:8f012345:6789abcd /dev/md/ramraid-selftest" \
		"md122 1.2 01234567:89ab4cde:8f012345:6789abcd /dev/md/ramraid-selftest" >"$map"
	run cmd_selftest --clean
	assert_success
	[[ $(calls) == $'stop md127\nstop md126' && ! -e $folder ]] || fail "$(calls)"
	# One that somebody holds: said, and the folder that tells whose it is stays.
	rm "$BATS_TEST_TMPDIR/calls"
	mkdir -p "$folder" "$R/sys/block/md127/md"
	echo "$ID" >"$folder/uuid"
	md_stop() { return 1; }
	ends 1 --clean
	assert_output -p 'the empty array of the self-test, md127, could not be stopped'
	[[ -e $folder/uuid ]]
}

@test "another array on a loop device of the self-test is left alone, and named" {
	UUID=99999999-89ab-4cde-8f01-23456789abcd
	killed "$R/run/ramraid/.selftest"
	: >"$R/run/ramraid/.locks/check.md127"
	ends 1 --clean
	assert_output \
		-p '/dev/loop1 of the self-test is in md127, which is another array: it is left alone'
	[[ -z $(calls) && -e $R/run/ramraid/.selftest/uuid &&
		-e $R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf ]]
	[[ -e $R/run/ramraid/.locks/check.md127 ]]
	# And no test begins beside it.
	came_to passed ''
	ends 1
	[[ -z $(calls) ]]
}

@test "a link in place of the test's folder is not followed" {
	mkdir "$R/precious"
	: >"$R/precious/file"
	ln -s "$R/precious" "$R/run/ramraid/.selftest"
	run cmd_selftest --clean
	assert_success
	[[ -e $R/precious/file ]]
}

@test "nothing is removed while a program of a killed test still runs" {
	UUID=$ID
	killed "$R/run/ramraid/.selftest"
	exec 8>"$R/run/ramraid/.locks/selftest.alive"
	flock --shared 8
	flock() { command flock "${@/60/0}"; }
	ends 1 --clean
	assert_output -p 'a program of an earlier self-test does not end'
	[[ -z $(calls) && -e $R/run/ramraid/.selftest/uuid ]]
	exec 8>&-
}

@test "a ramdisk that was made but not noted is found by its size, if it was not there before" {
	mkdir -p "$SELFTEST_FOLDER"
	disk() { # NODE BYTES DISKSEQ
		fake_disk "$1" "$2"
		mkdir -p "$R/sys/block/$1"
		echo "$3" >"$R/sys/block/$1/diskseq"
	}
	ramdisk_drop_node() { called drop "$1"; }
	disk rd0 33558528 3
	selftest_place_expect 33558528
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ -z $(calls) ]]
	disk rd1 33554432 7
	disk rd2 33558528 8
	disk rd3 33558528 9
	echo 'rapiddisk rd2 33558528 8 used' >"$R/run/ramraid/data.ram"
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ $(calls) == 'drop rd3' ]]
	# The number of one that was there is another's now.
	echo 12 >"$R/sys/block/rd0/diskseq"
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ $(calls) == $'drop rd3\ndrop rd0\ndrop rd3' ]]
}

@test "a brd that a killed test has loaded is unloaded, and no other" {
	mkdir -p "$SELFTEST_FOLDER"
	ramdisk_brd_drop() { called brd; }
	: >"$R/run/ramraid/brd"
	selftest_place_expect 33558528
	selftest_place_strays_ "$SELFTEST_FOLDER"
	rm "$R/run/ramraid/brd"
	selftest_place_expect 33558528
	selftest_place_strays_ "$SELFTEST_FOLDER"
	: >"$R/run/ramraid/brd"
	echo 'brd ram0 33558528 8 used' >"$R/run/ramraid/data.ram"
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ -z $(calls) ]]
	rm "$R/run/ramraid/data.ram"
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ $(calls) == brd ]]
}

@test "a brd stays if a start notes a device of it meanwhile" {
	mkdir -p "$SELFTEST_FOLDER"
	ramdisk_brd_drop() { called brd; }
	selftest_place_expect 33558528
	: >"$R/run/ramraid/brd"
	# It had the lock until now.
	ramdisk_lock() { echo 'brd ram0 33558528 8 used' >"$R/run/ramraid/data.ram"; }
	ramdisk_unlock() { :; }
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ -z $(calls) ]]
}

@test "the brd that a test was killed while loading is unloaded, if it is new and has the test's size" {
	mkdir -p "$SELFTEST_FOLDER"
	brd() { # KIB
		mkdir -p "$R/sys/module/brd/parameters"
		echo "$1" >"$R/sys/module/brd/parameters/rd_size"
		echo 0 >"$R/sys/module/brd/parameters/max_part"
	}
	rmmod() { called rmmod "$1"; }
	selftest_place_expect 33558528
	brd 16384
	selftest_place_strays_ "$SELFTEST_FOLDER"
	brd 2000000
	echo 1 >"$R/sys/module/brd/parameters/max_part"
	selftest_place_strays_ "$SELFTEST_FOLDER"
	brd 2000000
	selftest_place_expect 33558528
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ -z $(calls) ]]
	rm -r "$R/sys/module/brd"
	selftest_place_expect 33558528
	brd 2000000
	selftest_place_strays_ "$SELFTEST_FOLDER"
	[[ $(calls) == 'rmmod brd' ]]
}

@test "brd is loaded with a device for each array, and one for the self-test" {
	local i
	for i in a b c d e; do : >"$R/etc/ramraid/$i.conf"; done
	modprobe() { called "$@"; }
	not ramdisk_brd_make 4096 2>/dev/null
	[[ $(calls) == 'brd rd_nr=6 rd_size=2000000 max_part=0' ]]
}

@test "the test's array is claimed before it is made, and has a name, a host and a UUID of its own" {
	mkdir -p "$SELFTEST_FOLDER"
	echo "$ID" >"$SELFTEST_FOLDER/uuid"
	losetup() {
		called losetup "${@:1:4}"
		echo "/dev/loop$(calls | wc -l)"
	}
	fake_disk loop1 $((32 << 20))
	fake_disk loop2 $((32 << 20))
	mdadm() { called mdadm "$@" "$(ls "$R/etc/mdadm/mdadm.conf.d")"; }
	unset RANDOM
	RANDOM=0
	selftest_place_array 512 2>/dev/null
	[[ "${MEMBERS[*]}" == '/dev/loop1 /dev/loop2' ]]
	[[ $(calls) == $'losetup --find --show --sector-size 512\nlosetup --find --show --sector-size 512\nmdadm --create /dev/md/ramraid-selftest --run --metadata=1.2 --name=ramraid-selftest --homehost=selftest --uuid='"${ID//-/} --level=1 --raid-devices=3 --bitmap=internal --bitmap-chunk=1024K missing --write-mostly /dev/loop1 /dev/loop2 ramraid-_selftest.conf" ]] || fail "$(calls)"
	grep -qx 'ARRAY <ignore> UUID=01234567:89ab4cde:8f012345:6789abcd' \
		"$R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf"
	[[ $(stat -c %s "$SELFTEST_FOLDER/A") == "$(stat -c %s "$SELFTEST_FOLDER/B")" &&
		$(stat -c %s "$SELFTEST_FOLDER/A") -ge $((32 << 20)) ]]
	(($(stat -c %s "$SELFTEST_FOLDER/A") % (1 << 20) > 0))
	not conf_name_ok "$SELFTEST_NAME"
}

@test "the writer knows what it writes and discards, and a leg that lacks one block is recognised" {
	local NUMBER size=$((2 << 20))
	mkdir -p "$SELFTEST_FOLDER" "$R/sys/block/md9/queue"
	echo 4096 >"$R/sys/block/md9/queue/discard_max_bytes"
	truncate -s "$size" "$R/dev/md9"
	blkdiscard() {
		called discard
		dd if=/dev/urandom of="$5" bs=4096 seek=$(($2 / 4096)) count=$(($4 / 4096)) \
			conv=notrunc status=none
	}
	sleep() { command sleep 0.05; }
	selftest_writer_begin md9 "$size"
	cmp "$R/dev/md9" "$SELFTEST_FOLDER/model"
	cp "$R/dev/md9" "$R/first"
	selftest_writer_start md9 "$size" 1
	selftest_writer_await 12 1000
	selftest_writer_stop md9
	cmp -n $((1 << 20)) "$R/first" "$R/dev/md9" || fail 'the even MiB was written to'
	not cmp "$R/first" "$R/dev/md9"
	text_number_in "$SELFTEST_FOLDER/writes" 0
	((NUMBER >= 12))
	selftest_writer_compare md9 0 "$size"
	# A leg has its data further on.
	{ head -c 8192 /dev/zero && cat "$R/dev/md9"; } >"$R/dev/leg"
	selftest_writer_compare leg 8192 "$size"
	printf '\1\2\3' |
		dd of="$R/dev/leg" bs=1 seek=$((8192 + 100 * 4096 + 5)) conv=notrunc status=none
	not selftest_writer_compare leg 8192 "$size"
	[[ $SELFTEST_BLOCK == 100 ]]
	truncate -s $((8192 + 50 * 4096)) "$R/dev/leg"
	not selftest_writer_compare leg 8192 "$size"
}

@test "the writer ends when the array does not take a write, and says why" {
	mkdir -p "$SELFTEST_FOLDER" "$R/dev/gone"
	: >"$SELFTEST_FOLDER/model"
	head -c 2097152 /dev/zero >"$SELFTEST_FOLDER/pool"
	sleep() { command sleep 0.05; }
	selftest_writer_start gone $((2 << 20)) 0 2>/dev/null
	selftest_writer_await 1 1000
	not selftest_writer_stop gone
	[[ $SELFTEST_WHY == 'gone at block '*' could not be written' ]]
	# Then a round has no result, however well the copy went.
	eval "real_$(declare -f selftest_writer_stop)"
	engine
	selftest_writer_stop() { SELFTEST_WRITER=x && real_selftest_writer_stop "$@"; }
	selftest_writer_end() { :; }
	hindered "$SELFTEST_WHY"
	ram_leg_readd() { LOOP_ERROR='md did not take it' && return 1; }
	hindered "$(<"$SELFTEST_FOLDER/failed")"
}

# A round, with these instead of the functions of the engine.
engine() {
	MEMBERS=(/dev/loop1 /dev/loop2) SELFTEST_BYTES=1048576 SELFTEST_ROUND=1 STATE_OF_COPY='done'
	mkdir -p "$SELFTEST_FOLDER" "$R/run/ramraid/_selftest.copy"
	: >"$R/run/ramraid/_selftest.copy/superblock"
	echo 'rapiddisk rd1 1048576 - blank' >"$R/run/ramraid/_selftest.ram"
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[ram.state]=in_sync F[ram.node]=rd1 F[array.sync]=idle F[array.pending]=no
	mkdir -p "$R/sys/block/rd1" "$R/sys/block/${F[array.md]}/md"
	BITS=''
	superblock_dirty_bits() { printf '%s' "$BITS"; }
	ramdisk_drop() { called drop; }
	facts_observe() { :; }
	selftest_writer_start() { called writer "$3"; }
	selftest_writer_stop() { called end; }
	selftest_writer_await() { called await "$1"; }
	selftest_writer_compare() { [[ $1 != "${BAD-}" ]] || { SELFTEST_BLOCK=9 && return 1; }; }
	md_state_leg_bytes() { echo 1; }
	ram_leg_make() { called make; }
	ram_leg_copy() { called copy "$LOOP_GATE"; }
	ram_leg_readd() {
		called readd
		F[ram.state]=in_sync
	}
	copy_state() { COPY_STATE=$STATE_OF_COPY COPY_WHY='why' DONE=1; }
	md_drop() { called drop-leg "$2"; }
	md_readd() { called readd-leg "$2"; }
	md_check() {
		called check "$2" "$3"
		MISMATCHES=${DIFFER-0}
	}
}
faulty() { # TEXT
	not selftest_round_
	[[ "$SELFTEST_RESULT $SELFTEST_WHY" == "failed round $SELFTEST_ROUND: $1" ]] ||
		fail "$SELFTEST_RESULT $SELFTEST_WHY"
}

hindered() { # TEXT
	not selftest_round_
	[[ -z $SELFTEST_RESULT && $SELFTEST_WHY == "$1" ]] || fail "$SELFTEST_RESULT $SELFTEST_WHY"
}
# need_again FILE: the functions as they are in lib, instead of a test's.
need_again() {
	local text
	text=$(grep -v ^readonly "$lib/$1.sh")
	eval "$text"
}

@test "a round: in the first of three a disk leg leaves and returns, in the third the copy is as fast as at boot" {
	local begin=$'drop-leg rd1\ndrop\nmake\ncopy '
	engine
	selftest_round_
	[[ $(calls) == $'writer 1\n'"$begin"$'open\ndrop-leg loop2\nawait 2\nreadd-leg loop2\nawait 4\nreadd\nend\ncheck 0 2048' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	SELFTEST_ROUND=2
	selftest_round_
	[[ $(calls) == $'writer 0\n'"$begin"$'open\nawait 4\nreadd\nend\ncheck 0 2048' ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	SELFTEST_ROUND=3
	selftest_round_
	[[ $(calls) == $'writer 1\n'"$begin"$'hold\nawait 4\nreadd\nend\ncheck 0 2048' ]] ||
		fail "$(calls)"
}

@test "a ramdisk that keeps what the round before wrote is overwritten before the copy" {
	local disk=$R/dev/rd1
	engine
	md_state_leg_bytes() { echo 8191; }
	mkdir -p "$R/dev" "$R/run/ramraid"
	head -c 8192 /dev/zero >"$disk"
	# What was never written to is left as it is: the copy has to know that.
	echo 'rapiddisk rd1 8192 - blank' >"$R/run/ramraid/_selftest.ram"
	COPY_DIRECT='' selftest_spoil_
	cmp "$disk" <(head -c 8192 /dev/zero)
	echo 'brd rd1 8192 - used' >"$R/run/ramraid/_selftest.ram"
	COPY_DIRECT='' selftest_spoil_
	cmp "$disk" <(head -c 4096 /dev/zero | tr '\0' '\245'; head -c 4096 /dev/zero)
	ram_leg_copy() { called copy "$(head -c 1 "$DEV/rd1" | od -An -tx1)"; }
	printf '\0' | dd of="$disk" conv=notrunc status=none
	COPY_DIRECT='' selftest_round_
	[[ $(calls) == *'copy  a5'* ]] || fail "$(calls)"
	rm "$disk"
	COPY_DIRECT='' hindered 'its ramdisk could not be overwritten'
}

@test "a round begins only when md has cleared all bits; the first RAM leg is filled by md itself" {
	engine
	sleep() { SECONDS=$((SECONDS + 100)); }
	BITS='3 17-20'
	not selftest_round_
	[[ -z $SELFTEST_RESULT && $SELFTEST_WHY == 'md does not clear the bits of its bitmap' &&
		-z $(calls) ]]
	ram_leg_add() { called add; }
	selftest_first_
	[[ $(calls) == $'make\nadd' ]]
	ram_leg_add() { LOOP_ERROR='mdadm could not' && return 1; }
	not selftest_first_
	[[ -z $SELFTEST_RESULT &&
		$SELFTEST_WHY == 'md has not filled its first RAM leg: mdadm could not' ]]
}

# begins: fakes for what comes before the rounds.
begins() {
	selftest_place_array() { called array "$1"; }
	facts_of_conf() { called conf "$1"; }
	selftest_writer_begin() { called begin "$2"; }
	md_make_writable() { called writable; }
	md_speed() { called speed "$2"; }
	md_set_bitmap_pace() { called pace "$2"; }
	md_bytes() { echo 1048576; }
	selftest_is_equal_() { :; }
	selftest_first_() { called first; }
	selftest_kind_() { echo "$KIND"; }
	declare -gA CONF=()
	KIND=rapiddisk
	selftest_record_uuid() { SELFTEST_UUID=$ID; }
}

@test "the test: its array is made, filled and given a RAM leg, then the rounds, then an old superblock" {
	engine
	begins
	selftest_round_() { called round "$SELFTEST_ROUND"; }
	selftest_old_() { called old; }
	F[array.readauto]=yes
	selftest_run 2
	[[ $SELFTEST_RESULT == passed && $(calls) == $'array 512\nconf _selftest\nwritable\n'\
$'speed fast\npace 1\nbegin 1048576\nfirst\nround 1\nround 2\nold' ]] || fail "$(calls)"
	[[ ${CONF[RAM]} == rapiddisk && ${CONF[REBUILD]} == copy && ${CONF[UUID]} == "$ID" ]]
	selftest_old_() { selftest_fault_ 'md took it'; }
	not selftest_run 1
	[[ $SELFTEST_RESULT == failed && $SELFTEST_WHY == 'round 1: md took it' ]]
	selftest_round_() { selftest_hindered_ 'no memory'; }
	not selftest_run 1
	[[ -z $SELFTEST_RESULT && $SELFTEST_WHY == 'no memory' ]]
	# Blocks as large as those of zram, if that is the kind.
	rm "$BATS_TEST_TMPDIR/calls"
	KIND=zram F[array.readauto]=no
	not selftest_run 1
	[[ $(calls) == $'array 4096\nconf _selftest\nspeed fast'* ]] || fail "$(calls)"
}

@test "a test whose array can't be made, does not run, or can't be filled has no result" {
	engine
	begins
	begun() { # WHY
		not selftest_run 1
		[[ -z $SELFTEST_RESULT && $SELFTEST_WHY == "$1" ]] ||
			fail "$SELFTEST_RESULT $SELFTEST_WHY"
	}
	sleep() { SECONDS=$((SECONDS + 100)); }
	selftest_is_equal_() { return 1; }
	begun 'its array could not be filled'
	selftest_is_equal_() { :; }
	md_bytes() { return 1; }
	begun 'its array could not be filled'
	F[array.state]=inactive
	begun 'its array does not run'
	selftest_place_array() { return 1; }
	begun 'its array could not be made'
}

@test "the test takes the kind of ramdisk that RAM=auto would take" {
	ramdisk_has_rapiddisk() { :; }
	ramdisk_brd_can_be_had() { :; }
	[[ $(selftest_kind_) == rapiddisk ]]
	ramdisk_has_rapiddisk() { return 1; }
	[[ $(selftest_kind_) == brd ]]
	ramdisk_brd_can_be_had() { return 1; }
	[[ $(selftest_kind_) == zram ]]
}

@test "what the copy or md does wrong is a failure; a copy or ramdisk that can't be had only hinders the test" {
	engine
	DIFFER=128 faulty 'md has found 128 sectors that differ between the legs'
	BAD=loop2 faulty 'block 9 (of 4 KiB) of loop2 is not what was written to the array'
	ram_leg_readd() { LOOP_ERROR='md did not take it' && return 1; }
	faulty 'md did not take it'
	STATE_OF_COPY=failed hindered 'the copy has failed: why'
	ram_leg_copy() { F["failed.copy-ram"]='no bitmap'; }
	hindered 'the copy could not be begun: no bitmap'
	rm -r "$R/run/ramraid/_selftest.copy"
	faulty 'the copy did not begin: no bitmap'
	ram_leg_make() { LOOP_ERROR='no memory' && return 75; }
	hindered 'there is no ramdisk: no memory'
	[[ $(calls | tail -n 1) == end ]]
}

@test "what a leg lacks that has failed, has bad blocks, or is gone is no failure of the copy" {
	engine
	local leg=$R/sys/block/${F[array.md]}/md/dev-loop2
	mkdir "$leg"
	echo faulty,write_mostly >"$leg/state"
	DIFFER=8 hindered "md has found 8 sectors that differ between the legs; but loop2 of its \
array has failed"
	echo in_sync,write_mostly >"$leg/state"
	echo '128 8' >"$leg/bad_blocks"
	BAD=loop2 hindered "block 9 (of 4 KiB) of loop2 is not what was written to the array; but \
md has bad blocks of loop2 in its list"
	rm "$leg/bad_blocks"
	BAD=loop2 faulty 'block 9 (of 4 KiB) of loop2 is not what was written to the array'
	ram_leg_readd() { LOOP_ERROR='md did not take it' && return 1; }
	rmdir "$R/sys/block/rd1"
	hindered 'md did not take it; but its ramdisk is gone'
	rm -r "$R/sys/block/${F[array.md]}"
	hindered 'md did not take it; but its array is gone'
}

@test "running out of time, as after a suspend, is a failure only if md is not at work" {
	engine
	sleep() { SECONDS=$((SECONDS + 100)); }
	selftest_writer_start() { F[ram.state]=recovering F[array.sync]=recover; }
	ram_leg_readd() { :; }
	selftest_is_clean_() { :; }
	SELFTEST_ROUND=2
	hindered 'md has not filled the RAM leg within 300 s'
	selftest_writer_start() { F[ram.state]=recovering F[array.sync]=idle; }
	faulty 'the RAM leg is recovering after 300 s'
	SELFTEST_ROUND=1
	md_readd() { F[leg.1.state]=recovering F[array.sync]=recover; }
	hindered 'md has not filled a disk leg within 300 s'
	md_readd() { F[leg.1.state]=recovering F[array.sync]=idle; }
	faulty 'a disk leg was not in sync again after 300 s'
}

@test "a leg that can't be read to its end, or a writer that was killed, only hinders the test" {
	local size=$((1 << 20))
	engine
	unset -f selftest_writer_compare selftest_writer_stop selftest_writer_start
	need_again act/selftest-writer
	selftest_writer_await() { :; }
	truncate -s "$size" "$SELFTEST_FOLDER/model" "$R/dev/rd1" "$R/dev/loop1"
	selftest_writer_work_() { :; }
	hindered 'loop2 could not be read'
	truncate -s $((size / 2)) "$R/dev/loop2"
	hindered 'loop2 could not be read'
	truncate -s "$size" "$R/dev/loop2"
	selftest_round_
	selftest_writer_work_() { kill -KILL "$BASHPID"; }
	hindered 'its writer was ended'
}

@test "a writer that can't be asked to end is ended all the same" {
	engine
	unset -f selftest_writer_stop selftest_writer_start
	need_again act/selftest-writer
	selftest_writer_work_() { exec sleep 60; }
	selftest_writer_start md9 "$SELFTEST_BYTES" 0
	mkdir "$SELFTEST_FOLDER/stop"
	not selftest_writer_stop md9 2>/dev/null
	[[ $SELFTEST_WHY == 'its writer was ended' ]]
}

@test "an old superblock that md takes back is a failure; one that it refuses is not" {
	engine
	F[ram.node]=rd1
	truncate -s 65536 "$R/dev/rd1"
	head -c 4096 /dev/urandom >"$SELFTEST_FOLDER/old"
	selftest_writer_copy() { called write "$2"; }
	md_readd() { called readd-leg "$2" && return 1; }
	selftest_old_
	[[ $(calls) == $'write 0\ndrop-leg rd1\nwrite 1\nreadd-leg rd1' ]]
	cmp "$SELFTEST_FOLDER/old" <(dd if="$R/dev/rd1" bs=4096 skip=1 count=1 status=none)
	md_readd() { :; }
	not selftest_old_
	[[ $SELFTEST_RESULT == failed && $SELFTEST_WHY == *'older than what the bitmap remembers' ]]
}

@test "adopt --find does not offer the array of a self-test, and claim leaves its claim alone" {
	mkdir -p "$SELFTEST_FOLDER" "$R/sys/block/md127/md/dev-loop1" "$R/etc/mdadm/mdadm.conf.d"
	echo "$ID" >"$SELFTEST_FOLDER/uuid"
	echo clean >"$R/sys/block/md127/md/array_state"
	echo in_sync >"$R/sys/block/md127/md/dev-loop1/state"
	echo raid1 >"$R/sys/block/md127/md/level"
	echo 1.2 >"$R/sys/block/md127/md/metadata_version"
	UUID=$ID
	superblock_facts() { printf 'uuid=%s\nlevel=1\nraid_disks=3\n' "$UUID"; }
	run unadopted_table
	refute_output -p md127
	UUID=99999999-89ab-4cde-8f01-23456789abcd
	run unadopted_table
	assert_output -p md127
	: >"$R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf"
	cmd_claim --no-initramfs
	[[ -e $R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf ]]
}

@test "a start loads md before it asks which build of md that is, if there is a result at all" {
	local name
	for name in conf_need_keep block_size_tidy before_look_times old_name_take copy_stop; do
		eval "$name() { :; }"
	done
	before_look_configured() { called look && facts_read <"$FIXTURES/decide/whole-2.facts"; }
	md_modules() { called modules "$1" && return 1; }
	rm -f "$STATE/selftest"
	loop_begin_ data
	[[ $(calls) == look ]] || fail "$(calls)"
	mkdir -p "$STATE"
	: >"$STATE/selftest"
	rm "$BATS_TEST_TMPDIR/calls"
	loop_begin_ data
	[[ $(calls) == $'modules mirror\nlook' ]] || fail "$(calls)"
}

@test "a test that was stopped ends with 130, or with 1 if something of it stays" {
	local code
	for code in 0:130 1:1; do
		run bash -c "lib=$PROJECT/lib; source \"\$lib/core/load.sh\"; need cmd/selftest
selftest_place_clean() { return ${code%:*}; }; trap cmd_selftest_end_ EXIT; exit 130"
		assert_failure "${code#*:}"
	done
}

@test "after a test that has failed, the clean-up runs to its end, and none of its programs is left" {
	selftest_place_clean() {
		taken a && taken b && flock --nonblock "$ALIVE" echo 'nobody is left'
	}
	taken() { echo "taken: $1" && return; }
	export ALIVE=$BATS_TEST_TMPDIR/alive
	run bash -c "lib=$PROJECT/lib; source \"\$lib/core/load.sh\"; need cmd/selftest
$(declare -f selftest_place_clean taken); exec {SELFTEST_ALIVE}>\"\$ALIVE\"
flock --shared \$SELFTEST_ALIVE; trap cmd_selftest_end_ EXIT; exit 1"
	[[ $status == 1 ]]
	assert_line 'taken: b'
	assert_line 'nobody is left'
}
