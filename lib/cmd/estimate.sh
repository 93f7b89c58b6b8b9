# ramraid estimate: how much memory a RAM leg with these data would take.
# shellcheck shell=bash

need config/conf config/conf-need config/conf-where core/bounded core/cli core/json core/log
need core/mounts core/paths core/quantity core/text notes/memory-floor observe/look report/estimate
need world/disk world/disk-find world/kernels world/ramdisk world/ramdisk-memory world/ramdisk-note
need world/ramdisk-zram world/sample
# Other files need these later, when an upgrade of the package may already have taken them away.
need config/conf-faults core/act notes/legs-seen observe/outside

declare -gA F # the facts: decide/facts.list
declare -gA ESTIMATE ESTIMATE_SUM ESTIMATE_SQUARES

readonly ESTIMATE_USAGE='usage: ramraid estimate [--ram=KIND] [--json] PATH|DEVICE|NAME

Say how much memory a RAM leg with these data would take, and whether that fits beside RAM_RESERVE.
estimate reads samples, for a minute at most, and changes nothing. PATH is a folder (its files,
without other file systems) or an image file, DEVICE a block device, NAME an array that runs.
  --ram=KIND  only this kind: rapiddisk, brd, auto, zram, zram:zstd or zram:lz4
  --json      print the answer for programs
Exit code 0: it fits (one kind does); 1: it does not, or may not; 3: no such path,
device or array.'

cmd_estimate() {
	cli_parse "$ESTIMATE_USAGE" 'ram= json' "$@"
	((${#ARGS[@]} == 1)) ||
		cli_usage "$ESTIMATE_USAGE" \
			"expected one folder, device or array, got ${#ARGS[@]} words"
	cmd_estimate_kinds
	cmd_estimate_target "${ARGS[0]}"
	cmd_estimate_sample
	cmd_estimate_measure
	cmd_estimate_judge
	if [[ -n ${OPT[json]-} ]]; then
		estimate_json
		cli_print "$JSON_TEXT"$'\n'
	else
		estimate_text
		cli_print "$SHOWN"
	fi
	[[ -n ${ESTIMATE[takes]} ]] || return "$EX_FAILED"
}

# Sets which kinds to estimate, and which programs that takes.
cmd_estimate_kinds() {
	local program
	ESTIMATE=()
	case ${OPT[ram]-} in
	'') ESTIMATE[rows]="rapiddisk brd zram:lz4 zram:zstd" ;;
	auto) ESTIMATE[rows]="rapiddisk brd" ;;
	rapiddisk | brd | zram:lz4 | zram:zstd) ESTIMATE[rows]=${OPT[ram]} ;;
	zram) ESTIMATE[rows]=zram:$RAMDISK_ZRAM_DEFAULT ;;
	*) die "--ram=${OPT[ram]}: can't be estimated; \
write rapiddisk, brd, auto, zram, zram:zstd or zram:lz4" "$EX_USAGE" ;;
	esac
	ESTIMATE_PROGRAMS=()
	for program in lz4 zstd; do
		[[ " ${ESTIMATE[rows]} " == *" zram:$program "* ]] || continue
		if command -v "$program" >/dev/null; then
			ESTIMATE_PROGRAMS+=("$program")
		elif [[ -n ${OPT[ram]-} ]]; then
			die "$program is not installed; type: apt install $program"
		fi
	done
}

# cmd_estimate_target WORD: finds out what WORD is. Sets ESTIMATE's kind, target and bytes, and
# TARGET to the file to read.
cmd_estimate_target() {
	local kind code=0
	ESTIMATE[target]=$1
	if [[ $1 != */* ]] && conf_name_ok "$1" && [[ -e $ETC/$1.conf || ! -e $1 ]]; then
		cmd_estimate_array_ "$1"
		return
	fi
	conf_defaults || for kind in "${CONF_ERRORS[@]}"; do log_error "$kind"; done
	kind=$(bounded "$1" stat -L -c %F -- "$1") || code=$?
	((code != BOUNDED_SILENT)) || die "$1: does not answer" "$EX_TRY_AGAIN"
	((code == 0)) || die "$1: there is no such folder, device or file" "$EX_INACTIVE"
	IFS= read -r -d '' TARGET < <(realpath -ez -- "$1") || :
	case $kind in
	directory) ESTIMATE[kind]=folder ;;
	'block special file') cmd_estimate_device_ "$1" ;;
	'regular '*) ESTIMATE[kind]=file ESTIMATE[bytes]=$(stat -c %s -- "$TARGET") ;;
	*) die "$1: is a $kind; name a folder, a block device, an image file, or an array" \
		"$EX_USAGE" ;;
	esac
	[[ -r $TARGET ]] || die "$1: can't be read; try: sudo ramraid estimate …"
}

cmd_estimate_device_() { # PATH
	local NODE name
	disk_find "$1" || die "$1: the kernel has no such block device" "$EX_INACTIVE"
	name=$(cmd_estimate_name_of_ "$NODE")
	[[ -z $name ]] || {
		ESTIMATE[target]=$name
		cmd_estimate_array_ "$name"
		return
	}
	ESTIMATE[kind]=device ESTIMATE[node]=$NODE ESTIMATE[bytes]=$(disk_bytes "$NODE")
}

# Prints the name of our array that NODE is, if any: it has settings of its own, and may have a RAM
# leg.
cmd_estimate_name_of_() { # NODE
	local NODE name
	while IFS= read -r name; do
		! disk_find "/dev/md/$name" || [[ $NODE != "$1" ]] || {
			printf '%s\n' "$name"
			return
		}
	done < <(conf_names)
}

cmd_estimate_array_() { # NAME
	conf_need "$1"
	cli_root
	look_at_running "$1"
	ESTIMATE[kind]=array ESTIMATE[node]=${F[array.md]}
	ESTIMATE[bytes]=$(disk_bytes "${F[array.md]}") TARGET=$DEV/${F[array.md]}
}

# Chooses the pages to read.
cmd_estimate_sample() {
	local target=${ESTIMATE[target]} code=0
	trap sample_close EXIT
	trap 'exit 130' INT TERM HUP
	sample_open || die "no folder could be made in /run or /tmp"
	cmd_estimate_progress_ 'looking at the files'
	if [[ ${ESTIMATE[kind]} == folder ]]; then
		sample_folder "$TARGET" || code=$?
	else
		sample_one "$TARGET" "${ESTIMATE[bytes]}"
	fi
	cmd_estimate_progress_
	((code != BOUNDED_SILENT)) ||
		die "$target: its files could not be listed within $SAMPLE_LIST_BOUND s" \
			"$EX_TRY_AGAIN"
	((SAMPLE_PIECES > 0)) ||
		die "$target: there is no data${SAMPLE_UNSEEN:+ that could be read}" "$EX_INACTIVE"
	ESTIMATE[files]=$SAMPLE_FILES ESTIMATE[pieces]=$SAMPLE_PIECES
	ESTIMATE[unseen]=$SAMPLE_UNSEEN
	ESTIMATE[bytes]=$((SAMPLE_PIECES * SAMPLE_PIECE))
}

# Reads the chosen pages in rounds, each spread over all of the data: if the time is up early, what
# has been read by then is still a sample.
cmd_estimate_measure() {
	local rounds=$(((SAMPLE_COUNT + SAMPLE_BATCH - 1) / SAMPLE_BATCH)) round code=0 wanted=0
	local until=$((SECONDS + SAMPLE_READ_BOUND)) zeros
	zeros=$(head -c "$SAMPLE_PIECE" /dev/zero | sha256sum)
	ESTIMATE[looked]=0 ESTIMATE[missed]=0 ESTIMATE[cut]='' ESTIMATE_FULL=0
	ESTIMATE_SUM=() ESTIMATE_SQUARES=()
	sample_zram_classes "$(kernels_running)"
	for ((round = 0; round < rounds; round++)); do
		cmd_estimate_progress_ "reading samples: $((round * 100 / rounds))%"
		sample_read "$TARGET" "$round" "$rounds" "$until" || code=$?
		cmd_estimate_count_ "${zeros%% *}" "${PIECES[@]}"
		((code != BOUNDED_SILENT && SECONDS < until)) || {
			((round + 1 == rounds && code != BOUNDED_SILENT)) || ESTIMATE[cut]=yes
			break
		}
		wanted=$((wanted + (SAMPLE_COUNT - round + rounds - 1) / rounds))
		ESTIMATE[missed]=$((wanted - ESTIMATE[looked]))
	done
	cmd_estimate_progress_
	ESTIMATE[all]=''
	((ESTIMATE[looked] < SAMPLE_PIECES)) || ESTIMATE[all]=yes
	((ESTIMATE[looked] > 0)) || [[ -z ${ESTIMATE[cut]} ]] ||
		die "${ESTIMATE[target]}: does not answer within $SAMPLE_READ_BOUND s" \
			"$EX_TRY_AGAIN"
	((ESTIMATE[looked] > 0)) || die "${ESTIMATE[target]}: could not be read"
}

cmd_estimate_count_() { # HASH-OF-ZEROS FILE…
	local hash file full=() program length square LENGTHS COST
	(($# > 1)) || return 0
	while read -r hash file; do
		[[ $hash == "$1" ]] || full+=("$file")
	done < <(sha256sum -- "${@:2}")
	ESTIMATE[looked]=$((ESTIMATE[looked] + $# - 1))
	ESTIMATE_FULL=$((ESTIMATE_FULL + ${#full[@]}))
	for program in "${ESTIMATE_PROGRAMS[@]}"; do
		sample_zram_lengths "$program" "${full[@]}" ||
			die "$program could not compress a sample; is there room in ${SAMPLE%/*}?"
		for length in "${LENGTHS[@]}"; do
			sample_zram_cost $((length - ZRAM_PAGES_FORMAT[$program]))
			ESTIMATE_SUM[$program]=$((${ESTIMATE_SUM[$program]-0} + COST))
			square=$((${ESTIMATE_SQUARES[$program]-0} + COST * COST))
			ESTIMATE_SQUARES[$program]=$square
		done
	done
}

cmd_estimate_progress_() { # [TEXT]; nothing: the line is cleared
	[[ -t 2 ]] || return 0
	if (($# == 0)); then printf '\r%79s\r' '' >&2; else printf '\r%-79s' "$1" >&2; fi
}

# Sets what each kind takes, and whether there is room for it.
cmd_estimate_judge() {
	local kind freed RAM_ROOM RAM_RESERVED MEMORY_RESERVE MEMORY_RESERVE_BY
	local SPREAD_TOTAL SPREAD_MARGIN
	memory_floor_reserve
	freed=$(cmd_estimate_freed_)
	ramdisk_memory_room "$MEMORY_RESERVE" "$freed"
	ESTIMATE[room]=$RAM_ROOM ESTIMATE[reserved]=$RAM_RESERVED ESTIMATE[by]=$MEMORY_RESERVE_BY
	ESTIMATE[takes]='' ESTIMATE[next]=''
	for kind in ${ESTIMATE[rows]}; do
		cmd_estimate_takes_ "$kind"
		cmd_estimate_fits_ "$kind" "$freed"
		[[ ${ESTIMATE["$kind fits"]} != yes || -n ${ESTIMATE[takes]} ]] ||
			ESTIMATE[takes]=$kind
	done
	[[ -z ${ESTIMATE[takes]} ]] || cmd_estimate_next_ "${ESTIMATE[takes]}"
}

# Prints the bytes that the array's own RAM leg would give back, because a new one replaces it.
cmd_estimate_freed_() {
	local RAM_PROVIDER='' RAM_NODE='' RAM_BYTES=0
	[[ ${ESTIMATE[kind]} != array ]] || ramdisk_note_read "${ESTIMATE[target]}"
	if [[ -n $RAM_NODE ]] && ramdisk_note_gives_back "${ESTIMATE[target]}"; then
		ramdisk_memory_weight
	else
		printf '0\n'
	fi
}

cmd_estimate_takes_() { # KIND
	local program=${1#zram:} least=$((ESTIMATE_FULL * SAMPLE_PIECE))
	local whole=("${ESTIMATE[pieces]}" "${ESTIMATE[looked]}")
	case $1 in
	rapiddisk)
		sample_spread "${whole[@]}" "$least" $((least * SAMPLE_PIECE)) "${ESTIMATE[all]}"
		;;
	brd) SPREAD_TOTAL=${ESTIMATE[bytes]} SPREAD_MARGIN=0 ;;
	*)
		SPREAD_TOTAL='' SPREAD_MARGIN=''
		[[ " ${ESTIMATE_PROGRAMS[*]} " != *" $program "* ]] || {
			sample_spread "${whole[@]}" "${ESTIMATE_SUM[$program]-0}" \
				"${ESTIMATE_SQUARES[$program]-0}" "${ESTIMATE[all]}"
			SPREAD_TOTAL=$((SPREAD_TOTAL + $(ramdisk_zram_table "${ESTIMATE[bytes]}")))
		}
		;;
	esac
	ESTIMATE["$1 takes"]=$SPREAD_TOTAL ESTIMATE["$1 margin"]=$SPREAD_MARGIN
}

# Decides as ramraid does when it makes a RAM leg: what has to be free then is not what the leg
# takes.
cmd_estimate_fits_() { # KIND FREED
	local size=${ESTIMATE[bytes]} why='' fits=yes needs
	needs=$(ramdisk_need "$1" "$size" "${CONF[RAM_LIMIT]}")
	why=$(ramdisk_why_not "$needs" "$MEMORY_RESERVE" "$2") || why=$TEXT_UNKNOWN
	[[ $1 != zram* || ${ESTIMATE[node]-} != md* || -n $why ]] ||
		why=$(ramdisk_zram_why_not "$size" "$(disk_block "${ESTIMATE[node]}")") ||
		why=$TEXT_UNKNOWN
	if [[ -z ${ESTIMATE["$1 takes"]} ]]; then
		fits=unknown why="${1#zram:} is not installed; type: apt install ${1#zram:}"
	elif [[ -n $why ]]; then
		fits=no
	elif [[ $1 == zram* ]]; then
		cmd_estimate_limit_ "$1"
	fi
	# Without a limit, less would be enough at first, but not for these data.
	[[ $1 != zram* || ${CONF[RAM_LIMIT]} != auto || -z ${ESTIMATE["$1 takes"]} ]] ||
		((ESTIMATE["$1 takes"] <= needs)) || needs=${ESTIMATE["$1 takes"]}
	ESTIMATE["$1 needs"]=$needs ESTIMATE["$1 fits"]=$fits ESTIMATE["$1 why"]=$why
}

# Sets the caller's fits and why from how much memory the data of a zram leg may take.
cmd_estimate_limit_() { # KIND
	local takes=${ESTIMATE["$1 takes"]} margin=${ESTIMATE["$1 margin"]} limit by=RAM_LIMIT
	limit=$((RAM_ROOM - RAM_RESERVED))
	if [[ ${CONF[RAM_LIMIT]} == auto ]]; then
		by=$MEMORY_RESERVE_BY
	else
		limit=$(quantity_bytes "${CONF[RAM_LIMIT]}" "$(ramdisk_memory_total)")
		limit=$((limit + $(ramdisk_zram_table "${ESTIMATE[bytes]}")))
	fi
	((takes + margin > limit)) || return 0
	fits=unsure
	((takes - margin <= limit)) || fits=no
	why="$by leaves it $(quantity_show_bytes "$limit")"
}

# Sets the caller's NODE to the device that the folder's file system is on, if there is one.
cmd_estimate_below_() {
	local source
	source=$(bounded "$TARGET" mounts_of SOURCE "$TARGET") ||
		return 0
	[[ $source != /dev/* ]] || disk_find "$source" || :
}

cmd_estimate_next_() { # KIND
	local ram=" --ram=$1" target=${ESTIMATE[target]} name='' NODE=''
	[[ $1 != rapiddisk || -n ${OPT[ram]-} ]] || ram=''
	[[ ${ESTIMATE[kind]} != folder ]] || cmd_estimate_below_
	case ${ESTIMATE[kind]}:${ESTIMATE[node]-$NODE} in
	folder:md*)
		name=$(cmd_estimate_name_of_ "$NODE")
		ESTIMATE[next]="ramraid adopt$ram --dry-run NAME /dev/$NODE"
		[[ -z $name ]] || ESTIMATE[next]="it is on the mirror $name: ramraid status $name"
		;;
	array:*)
		ESTIMATE[next]="with RAM=$1 in $(conf_where "$target" RAM): ramraid check $target"
		;;
	device:md*)
		printf -v target '%q' "$target"
		ESTIMATE[next]="ramraid adopt$ram --dry-run NAME $target"
		;;
	*) ESTIMATE[next]="ramraid create$ram --dry-run NAME DISK…" ;;
	esac
}
