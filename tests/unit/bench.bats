#!/usr/bin/env bats
# "bench": what is asked of fio, how its answer is read, and how that is shown.

setup() {
	load helper
	world
	libraries
	LOG_JOURNAL=''
	F=([name]=data [array.md]=md127 [array.state]=active [ram.node]=rd0 [ram.state]=in_sync
		[members]=2
		[leg.0.dev]=/dev/disk/by-id/a [leg.0.node]=sda [leg.0.state]=in_sync
		[leg.1.dev]=/dev/disk/by-id/b [leg.1.node]=sdb [leg.1.state]=faulty)
	OPT=()
}

# As fio 3.39 answers, shortened.
fio() {
	called fio "$@"
	printf '{"fio version": "fio-3.39", "jobs": [{"jobname": "bench",
		"read": {"io_bytes": 4096000, "bw_bytes": 819200, "iops": 200.4, "lat_ns": {"min": 1, "max": 9, "mean": 4980000.25}},
		"write": {"bw_bytes": 1048576, "iops": 256.0, "lat_ns": {"mean": 100.5}}}]}\n'
}
# The measurements of a mirror, as if they had been made.
measured() {
	local row test
	BENCH_ROLE=(array 'RAM leg' 'disk leg 1') \
		BENCH_DEVICE=(/dev/md127 /dev/rd0 /dev/disk/by-id/a)
	for row in 0 1 2; do
		for test in "${BENCH_TESTS[@]}"; do
			BENCH["read $row $test"]=$((row == 2 ? 464 : 200000)) \
				BENCH["read $row $test bytes"]=$((1048576 * 150)) \
				BENCH["read $row $test nanoseconds"]=5000
		done
	done
}

@test "fio gets only reads, with direct I/O, and its answer is parsed" {
	bench_measure read 0 random-32 /dev/md127 5
	[[ $(calls) == "fio --name=bench --filename=/dev/md127 --rw=randread --bs=4k --iodepth=32 \
--runtime=5 --time_based --direct=1 --ioengine=libaio --output-format=json --readonly" ]]
	bench_measure read 0 random-1 /dev/disk/by-path/pci-0000:00:07.0 5
	[[ $(calls) == *'--filename=/dev/disk/by-path/pci-0000\:00\:07.0 '* ]] || fail "$(calls)"
	[[ ${BENCH["read 0 random-32"]} == 200 && ${BENCH["read 0 random-32 bytes"]} == 819200 &&
		${BENCH["read 0 random-32 nanoseconds"]} == 4980000 ]]
	bench_measure read 0 sequential-4 /dev/md127 5
	[[ $(calls | tail -n 1) == *'--rw=read --bs=1M --iodepth=4 '*--readonly ]]
}

@test "fio gets a write test without --readonly, with the size of the file" {
	bench_measure write 0 random-1 /srv/data/file 5 --size=64M
	[[ $(calls) == *'--rw=randwrite '*'--size=64M' && $(calls) != *--readonly* ]]
	[[ ${BENCH["write 0 random-1"]} == 256 && ${BENCH["write 0 random-1 bytes"]} == 1048576 ]]
}

@test "a failure of fio is a failure of the measurement" {
	fio() { return 1; }
	not bench_measure read 0 random-1 /dev/md127 5
}

@test "bench measures the array, the RAM leg if it is in sync, and the disk legs that are in sync" {
	cmd_bench_rows
	[[ ${BENCH_ROLE[*]} == 'array RAM leg disk leg 1' &&
		${BENCH_DEVICE[*]} == '/dev/md127 /dev/rd0 /dev/disk/by-id/a' ]]
	F[ram.state]=spare
	cmd_bench_rows
	[[ ${BENCH_ROLE[*]} == 'array disk leg 1' ]]
}

@test "the table and the bars fit into 80 columns" {
	local expected
	measured
	bench_text read 3
	printf '%s' "$SHOWN"
	[[ -z $(awk 'length > 80' <<<"$SHOWN") ]]
	expected='  array            200000     200000     200000          150'
	grep -qxF -- "$expected" <<<"$SHOWN"
	# The longest bar is the largest figure, and a disk beside memory has none.
	grep -qxE '  RAM leg      #{40} 200000' <<<"$SHOWN"
	grep -qxE '  disk leg 1 {44}464' <<<"$SHOWN"
}

@test "the JSON is valid and has every figure" {
	measured
	JSON_TEXT='' JSON_CLOSERS=()
	json_open '' object
	bench_json read 3
	json_close
	[[ $(jq -r '.reads | length' <<<"$JSON_TEXT") == 3 ]]
	[[ $(jq -c '.reads[2].measured[1]' <<<"$JSON_TEXT") == '{"access":"random","depth":8,"operations_per_second":464,"bytes_per_second":157286400,"mean_latency_nanoseconds":5000}' ]]
}

@test "--json matches its schema, with and without writes" {
	local test change
	measured
	for test in "${BENCH_TESTS[@]}"; do
		BENCH["write 0 $test"]=256 BENCH["write 0 $test bytes"]=1048576 \
			BENCH["write 0 $test nanoseconds"]=100
	done
	fits() {
		jq "$1" <<<"$SHOWN" |
			perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/bench.schema.json"
	}
	fio() { echo fio-3.39; }
	NAME=data BENCH_DISK_READS=0 OPT=([json]=yes)
	SHOWN=$(cmd_bench_print 3 5)
	fits . || fail "$SHOWN"
	OPT[writes]=/srv
	SHOWN=$(cmd_bench_print 3 5)
	fits . || fail "$SHOWN"
	[[ $(jq -c '[.version, .name, (.reads | length), (.writes | length)]' <<<"$SHOWN") == \
		'[2,"data",3,1]' ]]
	for change in '.version = 1' 'del(.reads)' '.reads[0].measured[0].access = "x"' \
		'.writes[0].x = 1' '.seconds = "5"'; do
		not fits "$change" >/dev/null || fail "not found: $change"
	done
}

@test "writes go only into a folder on the array, and to no folder of somebody else's" {
	local folder=$R/srv/folder
	mkdir -p "$folder"
	findmnt() { echo /dev/mapper/vg-lv; }
	lsblk() { printf '%s\n' dm-0 md127 sda; }
	cmd_bench_folder "$folder"
	chmod 1777 "$R/srv"
	run cmd_bench_folder "$folder"
	[[ $status == 4 &&
		$output == *"$R/srv is writable by others than root (mode 1777)"* ]] ||
		fail "$output"
	chmod 755 "$R/srv"
	lsblk() { printf '%s\n' dm-0 sdz; }
	run cmd_bench_folder "$folder"
	[[ $status == 4 && $output == *'is on /dev/mapper/vg-lv, not on /dev/md127'* ]]
	run cmd_bench_folder "$BATS_TEST_TMPDIR/none"
	[[ $status == 2 && $output == *'is not a folder that can be written to'* ]]
}

@test "the picture has one bar for each of the array, the RAM leg and the disk legs" {
	measured
	gnuplot() {
		called gnuplot
		cat
	}
	bench_svg data 3 "$BATS_TEST_TMPDIR/x.svg"
	[[ $(<"$BATS_TEST_TMPDIR/x.svg") == '"array" 200000 200000 200000
"RAM leg" 200000 200000 200000
"disk leg 1" 464 464 464' ]] || fail "$(<"$BATS_TEST_TMPDIR/x.svg")"
}

@test "a picture that can't be written is refused before anything is measured" {
	cmd_bench_picture "$BATS_TEST_TMPDIR/x.svg"
	run cmd_bench_picture "$BATS_TEST_TMPDIR/none/x.svg"
	[[ $status == 2 && $output == *"--svg=$BATS_TEST_TMPDIR/none/x.svg: can't be written to"* ]]
	cmd_bench_programs() { :; }
	conf_need() { :; }
	cli_root() { :; }
	before_look_configured() { :; }
	facts_observe() { :; }
	need() { :; }
	bench_measure() { called measured; }
	run cmd_bench --seconds=1 --svg="$BATS_TEST_TMPDIR/none/x.svg" data
	[[ $status == 2 && $output == *"can't be written to"* ]]
	[[ $(calls) != *measured* ]]
}

@test "bench reads, writes to a file of its own, deletes that, and prints the results" {
	mkdir -p "$R/srv/folder"
	cmd_bench_programs() { :; }
	conf_need() { :; }
	cli_root() { :; }
	look_at_running() { :; }
	cmd_bench_folder() { :; }
	bench_measure() {
		called "$1" "$3" "${4%.ramraid-bench.*}"
		[[ $1 != write || -f $4 ]] && measured
	}
	run cmd_bench --seconds=1 --writes="$R/srv/folder" data
	assert_success
	[[ $(calls | grep '^write') == "write random-1 $R/srv/folder/
write random-8 $R/srv/folder/
write random-32 $R/srv/folder/
write sequential-4 $R/srv/folder/" ]] || fail "$(calls)"
	[[ $(calls | head -n 1) == 'read '* && -z $(ls -A "$R/srv/folder") ]] || fail "$(calls)"
	assert_output -p 464
}

@test "a picture is written to no folder of somebody else's, nor through a link there" {
	NAME=data
	mkdir -p "$R/srv/pictures" "$R/root"
	echo precious >"$R/etc/precious"
	ln -s "$R/etc/precious" "$R/srv/pictures/x.svg"
	cmd_bench_picture "$R/srv/pictures/y.svg"
	chown 65534 "$R/srv/pictures"
	run cmd_bench_picture "$R/srv/pictures/x.svg"
	[[ $status == 4 && $output == *"$R/srv/pictures belongs to user 65534"*"name a file \
in a folder that is root's alone, such as /root/data.svg" ]] || fail "$status: $output"
	cd "$R/srv/pictures"
	run cmd_bench_picture z.svg
	[[ $status == 4 && ! -e z.svg ]] || fail "$output"
	chown 0 "$R/srv/pictures"
	chmod 1777 "$R/srv"
	run cmd_bench_picture "$R/srv/new.svg"
	[[ $status == 4 && ! -e $R/srv/new.svg ]] || fail "$output"
}

@test "reads of the disks are counted while the array is measured, but not while the disks are" {
	mkdir -p "$R/sys/class/block/sda" "$R/sys/class/block/sdb"
	echo "10 0 0 0" >"$R/sys/class/block/sda/stat"
	echo "5 0 0 0" >"$R/sys/class/block/sdb/stat"
	cmd_bench_rows
	bench_measure() {
		[[ $2 != 0 ]] || echo "13 0 0 0" >"$R/sys/class/block/sda/stat"
		[[ $2 == 0 ]] || echo "99 0 0 0" >"$R/sys/class/block/sda/stat"
	}
	cmd_bench_reads 3 1
	[[ $BENCH_DISK_READS == 3 ]]
}

@test "missing programs are reported, with the packages to install" {
	command() { [[ $2 != fio && $2 != gnuplot ]]; }
	run cmd_bench_programs
	[[ $status == 1 && $output == *'apt install fio' ]]
	OPT["svg"]=/tmp/x
	run cmd_bench_programs
	[[ $output == *'apt install fio gnuplot-nox' ]]
}

@test "--seconds takes only a whole number above 0" {
	for value in 0 x -1 1.5 ''; do
		run cmd_bench "--seconds=$value" data
		[[ $status == 2 && $output == *"--seconds=$value: write a number of seconds"* ]]
	done
}
