# The observing ring: fills F (its keys are listed in decide.sh) from the configuration, sysfs, superblocks, the witness and memory.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# facts_configured NAME: what does not change during a start. After conf_load.
facts_configured() {
	local i
	F=()
	F[name]=$1 F[uuid]=${CONF[UUID]} F[members]=${#MEMBERS[@]}
	F[conf.ram]=${CONF[RAM]} F[conf.wait]=${CONF[WAIT]} F[conf.on_timeout]=${CONF[ON_TIMEOUT]}
	F[conf.start_degraded]=${CONF[START_DEGRADED]} F[conf.write_behind]=$((10#${CONF[WRITE_BEHIND]}))
	for ((i = 0; i < ${F[members]}; i++)); do F[leg.$i.dev]=${MEMBERS[i]}; done
	F[conf.wait_timeout]=infinity F[conf.member_timeout]=infinity F[waited]=0
	facts_witness
	rescue_read "$1" "${F[uuid]}"
	F[rescue.image]=${RESCUE[image]-}
	facts_kernel_
}

facts_kernel_() {
	local KERNEL_FLAW='' release=''
	{ read -r release <"$PROC/sys/kernel/osrelease"; } 2>/dev/null || :
	[[ ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] || md_kernel_flaw "$release"
	F[kernel.flaw]=$KERNEL_FLAW
}

# facts_times: the time spans, in seconds; apart, because only a start needs them and they cost a process. Returns 1 when one is no span.
facts_times() {
	local text seconds
	text=$(time_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || return 1
	mapfile -t seconds <<<"$text"
	F[conf.wait_timeout]=${seconds[0]} F[conf.member_timeout]=${seconds[1]}
}

facts_witness() {
	F[witness.why]='' F[witness.legs]='' F[witness.events]='' F[witness.ram_slot]='' F[witness.left]='' F[witness.given]=''
	if witness_read "${F[name]}" "${F[uuid]}"; then
		F[witness.legs]=${WITNESS[legs]} F[witness.events]=${WITNESS[events]} F[witness.ram_slot]=${WITNESS[ram_slot]-}
		F[witness.left]=${WITNESS[left]-} F[witness.given]=${WITNESS[given]-}
	else
		F[witness.why]=$WITNESS_WHY
	fi
}

# facts_observe: what can change at any moment. Looked at twice a second while the boot waits, so: as few processes as possible.
facts_observe() {
	local i md='' NODE NODES=() ARRAY_STATE
	F[array.twin]=''
	for ((i = 0; i < ${F[members]}; i++)); do
		disk_find "${F[leg.$i.dev]}" || NODE=''
		facts_leg_blank_ "$i" "$NODE"
		[[ -z $NODE ]] || facts_leg_holder_ "$i"
		NODES+=("$NODE")
		[[ ${F[leg.$i.in]} == md* ]] || continue
		[[ -n $md ]] || md=${F[leg.$i.in]}
		[[ ${F[leg.$i.in]} == "$md" ]] || F[array.twin]=${F[leg.$i.in]}
	done
	[[ -n $md ]] || facts_find_array_
	F[array.md]=$md
	md_state "$md"
	F[array.state]=$ARRAY_STATE
	facts_array_
	for ((i = 0; i < ${F[members]}; i++)); do [[ -n ${F[leg.$i.in]} ]] || facts_leg_superblock_ "$i"; done
}

# facts_find_array_: sets md to the running array of that UUID when no configured disk is in it: with all of them gone, the RAM leg is the
# array.
facts_find_array_() {
	local folder RAM_PROVIDER RAM_NODE RAM_BYTES holder
	for folder in "$SYS"/block/md*/md; do
		[[ -e $folder/array_state ]] || continue
		folder=${folder%/md}
		! facts_is_ours_ "${folder##*/}" '' || md=${folder##*/}
	done
	[[ -z $md ]] || return 0
	ram_of "${F[name]}"
	for holder in "$SYS/class/block/${RAM_NODE:-none}"/holders/md*; do
		[[ ! -e $holder ]] || md=${holder##*/}
	done
}

facts_leg_blank_() { # I NODE
	local i=$1
	F[leg.$i.node]=$2 F[leg.$i.in]='' F[leg.$i.state]='' F[leg.$i.slot]='' F[leg.$i.writemostly]=''
	F[leg.$i.sb]='' F[leg.$i.uuid]='' F[leg.$i.role]='' F[leg.$i.view]='' F[leg.$i.events]=0 F[leg.$i.recovery]='' F[leg.$i.device_uuid]='' F[leg.$i.level]='' F[leg.$i.data_offset]=0 F[leg.$i.data_size]=0 F[leg.$i.sectors]=''
}

# What holds leg I: our array (leg.I.in = its node), or something else ("other").
facts_leg_holder_() {
	local i=$1 node=${F[leg.$1.node]} holder
	for holder in "$SYS/class/block/$node"/holders/* "$SYS/class/block/$node/$node"*/holders/*; do
		[[ -e $holder ]] || continue
		holder=${holder##*/}
		F[leg.$i.in]=other
		[[ $holder != md* ]] || ! facts_is_ours_ "$holder" "$node" || F[leg.$i.in]=$holder
		return 0
	done
}

# facts_is_ours_ MD LEG: is this the configured array? Kernels without md/uuid in sysfs: the superblock of the leg, if one is known, is asked, once.
declare -gA FACTS_UUID=()
facts_is_ours_() {
	local VALUE key
	md_read "$1" uuid
	if [[ -z $VALUE && -n $2 && -z ${FACTS_UUID["$1 $2"]-} ]]; then
		while IFS='=' read -r key VALUE; do [[ $key != uuid ]] || FACTS_UUID["$1 $2"]=$VALUE; done < <(sb_facts "$DEV/$2")
		# Without the right to read it: taken for ours, since the configuration says so; only "status" runs like this.
		[[ -n ${FACTS_UUID["$1 $2"]-} || $EUID == 0 ]] || FACTS_UUID["$1 $2"]=${F[uuid]}
		VALUE=''
	fi
	[[ ${VALUE:-${FACTS_UUID["$1 $2"]-}} == "${F[uuid]}" ]]
}

facts_leg_superblock_() {
	local i=$1 key value
	[[ -n ${F[leg.$i.node]} ]] || return 0
	while IFS='=' read -r key value; do F[leg.$i.$key]=$value; done < <(sb_facts "$DEV/${F[leg.$i.node]}")
	{ read -r "F[leg.$i.sectors]" <"$SYS/class/block/${F[leg.$i.node]}/size"; } 2>/dev/null || :
}

# The array's own state, its members, and which of them is the RAM leg.
facts_array_() {
	local SYNC=idle DONE=0 TOTAL=0 RATE=0 md=${F[array.md]} leg state slot writemostly i line RAM_NODE RAM_PROVIDER VALUE LEGS
	F[array.strangers]='' F[array.backlog]=0 F[array.readauto]=no F[array.pending]=no
	ram_of "${F[name]}"
	F[ram.node]=$RAM_NODE F[ram.slot]='' F[ram.state]=none
	[[ -z $RAM_NODE ]] || F[ram.state]=attached
	if [[ -n $md ]]; then
		md_sync "$md"
		md_read "$md" level
		F[array.level]=${VALUE:-raid1}
		md_read "$md" degraded
		F[array.degraded]=${VALUE:-1}
		md_read "$md" bitmap/backlog
		F[array.backlog]=${VALUE:-0}
		! md_is_readauto "$md" || F[array.readauto]=yes
		! md_is_pending "$md" || F[array.pending]=yes
		md_members "$md"
		for line in "${LEGS[@]}"; do
			read -r leg state slot writemostly <<<"$line"
			for ((i = 0; i < ${F[members]}; i++)); do [[ ${NODES[i]} != "$leg" ]] || break; done
			if ((i < ${F[members]})); then
				F[leg.$i.state]=$state F[leg.$i.slot]=$slot F[leg.$i.writemostly]=$writemostly
			elif ram_is_node "$leg"; then
				F[ram.node]=$leg F[ram.state]=$state F[ram.slot]=$slot
			else
				F[array.strangers]+="${F[array.strangers]:+ }$leg"
			fi
		done
	fi
	F[array.sync]=$SYNC F[array.done]=$DONE F[array.total]=$TOTAL F[array.rate]=$RATE
}

# facts_print: all of them, sorted, as the fixtures of the tests have them.
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
