# Common ground of the unit tests: a world of their own below RAMRAID_ROOT, and no way to the machine's disks.
# shellcheck shell=bash

export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin BATS_LIB_PATH=/usr/lib/bats:/usr/lib
# What script(1) runs its command with. The least of shells, as where nobody has logged in: it passes on no functions.
export SHELL=/bin/sh

# bats-assert costs more than most tests: loaded by the first assertion.
for assertion in assert_success assert_failure assert_output refute_output assert_line refute_line; do
	eval "$assertion() { bats_load_library bats-support && bats_load_library bats-assert && $assertion \"\$@\"; }"
done
fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# RAMRAID_PROJECT: another tree to test, such as an unpacked package with the same folders.
PROJECT=${RAMRAID_PROJECT:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
FIXTURES=$BATS_TEST_DIRNAME/../fixtures

# How long something waits goes by what a faked sleep adds to SECONDS; drive.bats has the clock itself.
# shellcheck source=lib/clock.sh
source "$PROJECT/lib/clock.sh"
fake_clock() { clock() { NOW=$SECONDS; }; }
fake_clock

# world: an empty root. Every test is a process of its own, so the libraries' readonly variables may be set in each anew.
world() {
	export RAMRAID_ROOT=$BATS_TEST_TMPDIR/root
	R=$RAMRAID_ROOT
	mkdir -p "$R"/etc/ramraid "$R"/{dev,run,proc/1} "$R"/sys/{block,class/block}
	: >"$R/proc/1/mountinfo"
	echo "Filename Type Size Used Priority" >"$R/proc/swaps"
	umask 022
	unset DRY_RUN NOTIFY_SOCKET JOURNAL_STREAM SYSTEMD_EXEC_PID MAINPID
}

# libs NAME…: sources libraries, which only define.
libs() {
	local name
	for name; do
		# shellcheck source=/dev/null
		source "$PROJECT/lib/$name.sh"
	done
	fake_clock
}

# Libraries that load others only when they are needed find them here: each test file names all of its own.
need() { :; }

# libs_work [NAME…]: what every verb has that acts on an array, as bin/ramraid lists it, and further libraries.
libs_work() {
	# shellcheck source=bin/ramraid
	source "$PROJECT/bin/ramraid"
	declare -gA LOADED=()
	need paths log
	need_work
	need "$@"
	fake_clock
}

# untouched: nothing was called that changes anything, and /etc is as $R/etc.before.
untouched() {
	[[ -z $(calls) ]] || fail "called: $(calls)"
	diff -r "$R/etc" "$R/etc.before" || fail 'files were written'
}

# not COMMAND…: bash does not end a test for a bare "! COMMAND".
not() { ! "$@"; }

# fake_disk NODE BYTES [LINK…]: a block device as the libraries see one. It is a plain file; links are relative to /dev.
fake_disk() {
	local node=$1 bytes=$2 link
	shift 2
	mkdir -p "$R/sys/class/block/$node/holders"
	echo $((bytes / 512)) >"$R/sys/class/block/$node/size"
	echo 0 >"$R/sys/class/block/$node/ro"
	printf '%8192s' '' >"$R/dev/$node" # long enough to have no superblock
	for link; do
		mkdir -p "$R/dev/${link%/*}"
		ln -s "$R/dev/$node" "$R/dev/$link"
	done
}

# Programs that could change the machine are replaced in every test; each call is written down, and fails unless the test file has a
# function of that name.
for program in mdadm modprobe rmmod wipefs lsblk systemctl logger systemd-run systemd-notify update-initramfs; do
	declare -F "$program" >/dev/null || eval "$program() { called $program \"\$@\"; return 99; }"
done
called() { printf '%s\n' "$*" >>"$BATS_TEST_TMPDIR/calls"; }
calls() { [[ ! -e $BATS_TEST_TMPDIR/calls ]] || cat "$BATS_TEST_TMPDIR/calls"; }

# facts_print: all of F, sorted, as the fixtures have it.
facts_print() {
	local key
	for key in "${!F[@]}"; do printf '%s=%s\n' "$key" "${F[$key]}"; done | sort
}

# facts_read: the reverse, from stdin.
facts_read() {
	local key value
	F=()
	while IFS='=' read -r key value; do [[ -z $key || $key == '#'* ]] || F[$key]=$value; done
}
