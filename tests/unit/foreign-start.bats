#!/usr/bin/env bats
# What the verbs that only show or plan say about an array that something else has started, or
# stopped: on a fake array, as tests/unit/change.bash has it.

setup() {
	load helper
	load change
	begin
}
begin() {
	change_world
	put metadata_version 1.2
	printf 'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n' >"$R/proc/meminfo"
}
record() { # LEGS EVENTS
	printf '%s\n' "uuid=$ID" "legs=$1" "events=$2" filled=40 ram_slot=0 ram_number=0 \
		generation=3 "seen=$(uuid_of a) $(uuid_of b) $(uuid_of c)" \
		>"$R/etc/ramraid/state/data.witness"
}
# The RAM leg was the only good copy; then somebody stopped the array, and started it from the
# disks. The unit is still up, and says what it said last.
only_ramdisk() {
	leaves rd0
	put degraded 1
	rm "$R/run/ramraid/data.watched"
	record '' 60
	systemctl() { [[ $* != *StatusText* ]] || echo 'whole: RAM leg rd0 and 2 disk legs'; }
}
# Somebody has started the array from disks that were not in sync.
stale() {
	leaves rd0
	put degraded 1
	rm "$R/run/ramraid/data".{watched,ram}
	record "$(uuid_of c)" 90
}
# A shutdown has saved the RAM leg, and something else has started the array from its disks.
image() {
	local folder=$R/var/lib/ramraid/data/rescue-41.abcdefgh
	mkdir -p "$folder"
	echo x >"$folder/image"
	printf '%s\n' "uuid=$ID" "image=$folder/image" bytes=102400000 \
		"sha256=$(printf '%064d' 0)" events=50 generation=1 "legs=$(uuid_of a):41" \
		>"$R/etc/ramraid/state/data.rescue"
	leaves rd0
	put degraded 1
	rm "$R/run/ramraid/data".{watched,ram}
}
GO_ON='mdadm --stop /dev/md127; mdadm --assemble --run /dev/md/data /dev/rd0; ramraid start data'

@test "status raises the alarm, with the way out, if the only good copy is in a ramdisk beside the array" {
	only_ramdisk
	verb status data
	assert_failure 1
	assert_line '  THE RAMDISK rd0 HAS THE ONLY GOOD COPY: do not cut the power'
	assert_line -p 'why:    something else has started md127 without the ramdisk rd0'
	assert_line "  action: to go on with the ramdisk: $GO_ON"
	refute_output -p 'all data is on the disks'
	verb status --json data
	assert_line -p '"only_good_copy_in_ram": true'
	untouched_calls
}
untouched_calls() { [[ -z $(calls) ]] || fail "called: $(calls)"; }

@test "status raises the same alarm while such an array is stopped, or half assembled" {
	only_ramdisk
	put array_state inactive
	verb status data
	assert_failure 3
	assert_line '  THE RAMDISK rd0 HAS THE ONLY GOOD COPY: do not cut the power'
	assert_line "  action: to go on with the ramdisk: $GO_ON"
	leaves sda
	leaves sdb
	rm -r "$R/sys/block/md127" "$R/dev/md127" "$R/dev/md/data"
	verb status data
	assert_failure 3
	assert_line '  THE RAMDISK rd0 HAS THE ONLY GOOD COPY: do not cut the power'
	assert_line "  action: to go on with the ramdisk: ${GO_ON#*; }"
}

@test "the same if the record does not say so yet, but the superblock of the ramdisk does" {
	local state
	for state in active absent; do
		rm -rf "$R"
		begin
		only_ramdisk
		record "$(uuid_of a) $(uuid_of b)" 40
		echo alone >"$R/dev/rd0"
		[[ $state == active ]] || {
			leaves sda
			leaves sdb
			rm -r "$R/sys/block/md127" "$R/dev/md127" "$R/dev/md/data"
		}
		verb status data
		assert_line '  THE RAMDISK rd0 HAS THE ONLY GOOD COPY: do not cut the power'
		verb check data
		assert_line -p 'problem only-copy: expected the ramdisk rd0, which alone has what was'
		verb metrics
		assert_line 'ramraid_only_good_copy_in_ram{array="data"} 1'
		echo ours >"$R/dev/rd0"
		verb status data
		refute_output -p 'HAS THE ONLY GOOD COPY'
	done
	grep -q events=40 "$R/etc/ramraid/state/data.witness"
}

@test "check and the metrics say that the only good copy is in a ramdisk beside the array" {
	only_ramdisk
	verb check data
	assert_failure 1
	assert_line -p 'problem only-copy: expected the ramdisk rd0, which alone has what was'
	assert_line "    action: $GO_ON"
	assert_line -p 'action: what the findings above say, then: ramraid attach data'
	verb metrics
	assert_line 'ramraid_only_good_copy_in_ram{array="data"} 1'
	untouched_calls
}

@test "start, attach and mend with --dry-run say that they would refuse an array that was started without the ramdisk, or from old legs" {
	local way verbs
	for way in only_ramdisk stale; do
		rm -rf "$R"
		change_world
		"$way"
		for verbs in start attach mend; do
			verb "$verbs" --dry-run data
			assert_success
			assert_line 'action: refuse'
			assert_line -p 'why:    something else has started md127'
		done
		untouched_calls
	done
}

@test "status and check say that something else has started the array from old legs" {
	stale
	verb status data
	assert_failure 1
	assert_line -p 'why:    something else has started md127, from legs that were not in sync'
	assert_line '  impact: reads are as slow as the disks'
	assert_line '  action: what the reason says, then: ramraid start data'
	verb check data
	assert_line -p 'problem foreign-start: expected ramraid to have started md127'
	assert_line -p '    action: Stop it (mdadm --stop /dev/md127) and let ramraid judge'
	# / is on it, so it can't be stopped: another remedy, apart from the reason as well.
	echo ROOT=yes >>"$R/etc/ramraid/data.conf"
	verb check data
	assert_line -p "found that something else has started md127, from legs that were not in sync \
when it last ran, or are older now: writes may be missing from it"
	assert_line -p '    action: / is on it: power off, take out the disks that it runs from'
	verb metrics
	assert_line 'ramraid_only_good_copy_in_ram{array="data"} 0'
}

@test "status says so even if all legs are in sync, and if a person has taken the RAM leg out" {
	record "$(uuid_of c)" 90
	rm "$R/run/ramraid/data.watched"
	verb status data
	assert_success
	assert_line -p 'data: whole'
	assert_line -p 'why:    something else has started md127, from legs that were not in sync'
	leaves rd0
	put degraded 1
	rm "$R/run/ramraid/data.ram"
	: >"$R/run/ramraid/data.detached"
	verb status data
	assert_line -p 'why:    something else has started md127, from legs that were not in sync'
}

@test "status does not say that all data is on the disks while there is a rescue image" {
	image
	verb status data
	assert_line '  impact: reads are as slow as the disks'
	assert_line '  action: ramraid stop data && ramraid restore data'
}

@test "nothing is said about an array that a start of ours has judged, or whose legs were in sync" {
	record "$(uuid_of c)" 90
	verb status data
	assert_success
	refute_output -p 'something else'
	record '' 60
	leaves rd0
	put degraded 1
	verb status data
	refute_output -p 'something else'
	refute_output -p 'ONLY GOOD COPY'
	assert_output -p 'impact: all data is on the disks'
	record "$(uuid_of a) $(uuid_of b)" 40
	rm "$R/run/ramraid/data.watched"
	verb status data
	refute_output -p 'something else'
	assert_output -p 'impact: all data is on the disks'
}

@test "status of a whole array reads no superblock, and a user who may read none is told to ask root" {
	superblock_facts() { called read "$1"; }
	verb status data
	assert_success
	untouched_calls
	eval "root_$(declare -f fakes)"
	fakes() {
		root_fakes
		! declare -F foreign_start_can_read >/dev/null ||
			eval 'foreign_start_can_read() { false; }'
		! declare -F summary_detail >/dev/null || declare -F detail_ >/dev/null || {
			eval "$(declare -f summary_detail | sed '1s/summary_detail/detail_/')"
			summary_detail() { detail_ && F[root]=no; }
		}
	}
	export -f root_fakes
	stale
	verb status data
	assert_line -p 'only root can read the superblocks of the disks'
	assert_line '  impact: reads are as slow as the disks'
	untouched_calls
}
