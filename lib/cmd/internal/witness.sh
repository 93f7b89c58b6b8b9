# ramraid witness: records who is in the running arrays.
# shellcheck shell=bash

need act/array-lock act/hotplug act/transitions act/whole-since act/witness-update config/conf
need config/conf-need core/cli core/clock core/log core/paths decide/health observe/before-look
need observe/facts observe/look world/md-state world/systemd

declare -gA F # the facts: decide/facts.list

readonly WITNESS_BOUND=120 # seconds for all arrays

readonly WITNESS_USAGE='usage: ramraid witness [--twice] [MD]

Record, for every running array, which disk legs are in sync and at which event count
(/etc/ramraid/state/NAME.witness). A start with a disk leg missing goes by this record. Then
report what has happened to each leg since the last report. Every start and stop runs this, and
ramraid-monitor@MD.path does whenever the array changes.
  MD       only the array that the kernel calls so (md127); all, if ramraid has not started it
  --twice  look again after a second: the second look sees what changes during the first'

cmd_witness() {
	local code=0
	cli_parse "$WITNESS_USAGE" 'twice' "$@"
	((${#ARGS[@]} <= 1)) || cli_usage "$WITNESS_USAGE" 'takes one operand at most'
	[[ ${ARGS[0]-md} == md* && ${ARGS[0]-} != */* ]] ||
		cli_usage "$WITNESS_USAGE" "there is no array that the kernel calls ${ARGS[0]}"
	cli_root
	cmd_witness_all_ "${ARGS[@]}" || code=$EX_FAILED
	# Nothing watches the array while the monitor runs this. What the second look has seen
	# counts.
	[[ -z ${OPT[twice]-} ]] || {
		sleep 1
		code=0
		cmd_witness_all_ "${ARGS[@]}" || code=$EX_FAILED
	}
	# Hot-plug's look also sees what changes between now and the moment when the watch is back.
	# With --twice it is asked for whatever HOTPLUG says.
	if [[ -n ${OPT[twice]-} ]]; then hotplug_raise; else hotplug_trigger; fi
	return "$code"
}

# cmd_witness_all_ [MD]: looks once at all of them. Returns 1 when the record of one could not be
# written.
cmd_witness_all_() {
	local name works=()
	while IFS= read -r name; do
		# They run side by side, each in its own process: neither a broken file of one
		# array, nor a disk of one that does not answer, must cost the others their record.
		(cmd_witness_one "$name" || exit "$EX_FAILED") &
		works+=($!)
	done < <(cmd_witness_names_ "$@")
	cmd_witness_wait_ "${works[@]}"
}

# cmd_witness_names_ [MD]: prints the arrays to look at. For MD, that is the array whose start has
# judged this run of MD (watched_note): each array has a monitor of its own, and if many start at
# once, they would look at each other again and again. A run that no start has judged may be
# somebody else's, of a copy, and is left alone. If the kernel does not tell one run from the next,
# it prints all arrays. If MD has been stopped meanwhile, it prints the array whose run last had the
# name MD.
cmd_witness_names_() {
	local file watched found='' gone='' MD_RUN=''
	[[ -z ${1-} ]] || md_state_run "$1"
	[[ -z ${1-} || -e $SYS/block/$1 ]] || gone=yes
	for file in "$RUN"/*.watched; do
		watched=''
		{ read -r watched <"$file"; } 2>/dev/null || :
		[[ (-n $MD_RUN && $watched == "$MD_RUN") ||
			(-n $gone && ${watched%% *} == "$1") ]] || continue
		file=${file##*/} found=yes
		printf '%s\n' "${file%.watched}"
	done
	# This includes arrays whose file has been broken or deleted since they were started.
	[[ -n $found$MD_RUN$gone ]] || {
		conf_names
		for file in "$RUN"/*.started; do
			file=${file##*/}
			[[ $file == '*.started' ]] || printf '%s\n' "${file%.started}"
		done
	} | sort -u
}

# cmd_witness_wait_ PROCESS…: waits until they have ended, WITNESS_BOUND seconds at most. Returns 1
# when one has failed, or did not end. A process that did not end is killed: what it has seen would
# be old by the time that it records it.
cmd_witness_wait_() {
	local pid pids=("$@") code=0 NOW end
	clock
	end=$((NOW + WITNESS_BOUND))
	for pid; do
		# Not with "wait", which has no bound.
		while kill -0 "$pid" 2>/dev/null; do
			clock
			((NOW < end)) || {
				log_error "ramraid: the record of an array was not written in \
time: something does not answer"
				kill -KILL "${pids[@]}" 2>/dev/null || :
				return "$EX_FAILED"
			}
			sleep 0.1
		done
		wait "$pid" || code=$EX_FAILED
		pids=("${pids[@]:1}")
	done
	return "$code"
}

# cmd_witness_one NAME: records and reports about one array. Returns 1 when what it saw last could
# not be written.
cmd_witness_one() {
	local before code run MD_RUN
	[[ -r $RUN/$1.started ]] || conf_load "$1" || return 0
	conf_need_started "$1"
	before_look_configured "$1"
	# The start of the array says why. If the array runs under another name, the record of that
	# name is kept.
	[[ -z ${F[record.why]} ]] || return 0
	facts_observe
	md_state_run "${F[array.md]:-none}"
	run=$MD_RUN
	while :; do
		md_state_run "${F[array.md]:-none}"
		[[ $MD_RUN == "$run" ]] || break
		code=0
		witness_update || code=$EX_FAILED
		before=$(cmd_witness_members)
		# The report is immediate if the RAM leg is the only copy.
		! health_only_copy || {
			transitions_tell "$1"
			systemd_hold "$1"
		}
		# Nothing else reports what has changed meanwhile.
		look_again "$1"
		[[ $(cmd_witness_members) == "$before" ]] || continue
		# Whoever is at work on the array notes that at the end.
		! array_lock_is_free "$1" || whole_since_update
		# This may wait; a leg that leaves meanwhile is not yet in the record.
		transitions_tell "$1"
		look_again "$1"
		[[ $(cmd_witness_members) != "$before" ]] || break
	done
	return "${code:-0}"
}

cmd_witness_members() {
	local i
	printf '%s' "${F[array.md]} ${F[ram.state]} ${F[array.unconfigured]}"
	for ((i = 0; i < ${F[members]}; i++)); do printf ' %s' "${F[leg.$i.state]:--}"; done
}
