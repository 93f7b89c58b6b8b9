# The observing ring: looks at an array, and fills F (decide/facts.list) from the configuration and
# sysfs. observe/outside.sh finds what sysfs does not show, and observe/before-look.sh what is known
# before the first look.
# shellcheck shell=bash

need config/conf core/paths core/text observe/members observe/ram-lacks world/disk-find
need world/md-state world/ramdisk-note

declare -gA F # the facts: decide/facts.list

# facts_of_conf NAME: sets the facts that the configuration gives. After conf_load.
facts_of_conf() {
	local i
	facts_blank "${#MEMBERS[@]}"
	F[name]=$1 F[uuid]=${CONF[UUID]}
	F[conf.ram]=${CONF[RAM]} F[conf.wait]=${CONF[WAIT]} F[conf.on_timeout]=${CONF[ON_TIMEOUT]}
	F[conf.rebuild]=${CONF[REBUILD]} F[conf.hotplug]=${CONF[HOTPLUG]} \
		F[conf.layout]=${CONF[LAYOUT]} F[conf.root]=${CONF[ROOT]}
	F[conf.block]=${CONF[BLOCK]}
	# The root file system is in use before this runs.
	[[ ${CONF[ROOT]} == no ]] || F[conf.wait]=no
	F[conf.start_degraded]=${CONF[START_DEGRADED]} \
		F[conf.write_behind]=$((10#${CONF[WRITE_BEHIND]}))
	for ((i = 0; i < ${F[members]}; i++)); do F[leg.$i.dev]=${MEMBERS[i]}; done
	F[conf.wait_timeout]=infinity F[conf.member_timeout]=infinity
}

# facts_observe: sets the facts that can change at any moment. The boot calls it twice a second
# while it waits, so it starts as few processes as possible.
facts_observe() {
	local try ARRAY_STATE READAUTO
	for try in 1 2 3; do
		facts_look_
		# If the array was started or stopped meanwhile, what was seen before that does not
		# go with what was seen after, so look again.
		[[ -n ${F[array.md]} ]] || break
		md_state "${F[array.md]}"
		[[ $ARRAY_STATE == absent || $ARRAY_STATE != "${F[array.state]}" ]] || break
	done
}

facts_look_() {
	local i md='' outside='' NODE NODES=() ARRAY_STATE READAUTO DISK_LIKELY
	F[array.twin]='' F[array.foreign]='' F[array.events]=0
	md_state_every_leg
	for ((i = 0; i < ${F[members]}; i++)); do
		disk_find "${F[leg.$i.dev]}" || NODE=''
		facts_leg_blank "$i" "$NODE"
		[[ -z $NODE ]] || facts_leg_holder_ "$i"
		NODES+=("$NODE")
		[[ ${F[leg.$i.in]} == md* ]] || continue
		[[ -n $md ]] || md=${F[leg.$i.in]}
		[[ ${F[leg.$i.in]} == "$md" ]] || F[array.twin]=${F[leg.$i.in]}
	done
	[[ -z ${F[array.twin]} ]] || facts_prefer_watched_
	[[ -n $md ]] || {
		need observe/outside
		outside_find_array
	}
	F[array.md]=$md
	md_state "$md"
	F[array.state]=$ARRAY_STATE F[array.readauto]=$READAUTO
	facts_array_
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -z ${F[leg.$i.in]} && -n ${F[leg.$i.node]} ]] || continue
		need notes/hardware notes/legs-seen observe/outside
		outside_leg_superblock "$i"
		legs_seen_joined "$i"
		hardware_judge "$i"
		# Not unset: bash would run code in the kernel name of an array, such as md_$(…).
		FACTS_NUMBER["$md ${F[leg.$i.node]}"]=''
		[[ ${F[leg.$i.sb]} != ok ]] || outside=yes
	done
	[[ ${F[leg.ram.sb]-} != ok ]] || outside=yes
	[[ -z $md || -z $outside ]] || {
		outside_numbers
		outside_events
		outside_holds
	}
}

# If two arrays have legs under the configured names, ours is the one that a start of ours has
# judged: somebody may have given another device the name of a leg since.
facts_prefer_watched_() {
	local other=$md
	need notes/watched
	watched_is "$md" || ! watched_is "${F[array.twin]}" ||
		md=${F[array.twin]} F[array.twin]=$other
}

facts_leg_blank() { # I NODE
	local leg=leg.$1
	F[$leg.node]=$2 F[$leg.in]='' F[$leg.holder]='' F[$leg.state]='' F[$leg.slot]='' \
		F[$leg.writemostly]='' F[$leg.lacks]='' F[$leg.sb]='' F[$leg.uuid]='' \
		F[$leg.role]='' F[$leg.number]='' F[$leg.roles]='' F[$leg.member_uuid]='' \
		F[$leg.holds]=''
	F[$leg.events]=0 F[$leg.recovery]='' F[$leg.device_uuid]='' F[$leg.level]='' \
		F[$leg.data_offset]=0 F[$leg.data_size]=0 F[$leg.sectors]='' F[$leg.array]=''
	# Of a leg that is there, nobody asks.
	[[ -n $2 || ${F[$leg.dev]} != /dev/@(md/|disk/by-id/md-)* ]] || {
		need observe/outside
		outside_leg_array "$1"
	}
}

# What holds leg I: our array (leg.I.in = its node), or something else ("other").
facts_leg_holder_() {
	local i=$1 node=${F[leg.$1.node]} holder
	# An earlier leg has shown that this array is ours, so it is not checked again.
	if [[ -n $md && -e $SYS/class/block/$node/holders/$md ]]; then
		F[leg.$i.in]=$md
		return
	fi
	for holder in "$SYS/class/block/$node"/holders/* \
		"$SYS/class/block/$node/$node"*/holders/*; do
		[[ -e $holder ]] || continue
		holder=${holder##*/}
		F[leg.$i.in]=other F[leg.$i.holder]=$holder
		[[ $holder != md* ]] || ! members_are_ours "$holder" "$node" ||
			F[leg.$i.in]=$holder F[leg.$i.holder]=''
		return 0
	done
}

# facts_device_ NODE: sets the facts of the device that RAM=/dev/… names; see outside_device_facts.
facts_device_() {
	need observe/outside
	outside_device_facts "$1"
	facts_leg_blank ram "${F[ram.node]}"
}

# The array's own state, its members, and which of them is the RAM leg.
facts_array_() {
	local SYNC=idle DONE=0 TOTAL=0 RATE=0 md=${F[array.md]} line RAM_NODE RAM_PROVIDER VALUE \
		SLOTS LEGS DEVICE_TAKEN BITMAP RAMDISK=''
	F[array.strangers]='' F[array.unconfigured]='' F[array.gone]='' F[array.backlog]=0 \
		F[array.behind]=0 F[array.pending]=no F[array.block]='' F[disks.lack]='' \
		F[array.may_leave]=''
	ramdisk_note_read "${F[name]}"
	F[ram.node]=$RAM_NODE F[ram.slot]='' F[ram.number]='' F[ram.state]=none
	F[ram.data]='' F[ram.taken]='' F[ram.limit]='' F[ram.full]='' \
		F[ram.lacks]=''
	# A device from an earlier configuration is the RAM leg only while it is in the array, and
	# is never filled.
	[[ -z $RAM_NODE || $RAM_PROVIDER == device ]] || F[ram.state]=attached
	[[ ${F[conf.ram]} != /* ]] || facts_device_ "$RAM_NODE"
	if [[ -n $md ]]; then
		md_state_sync "$md"
		md_state_read "$md" level
		F[array.level]=${VALUE:-raid1}
		md_state_read "$md" degraded
		F[array.degraded]=${VALUE:-1}
		md_state_read_slots "$md"
		F[array.slots]=$SLOTS
		md_state_bitmap "$md"
		F[array.bitmap]=$BITMAP
		md_state_read "$md" bitmap/backlog
		F[array.backlog]=${VALUE:-0}
		md_state_read "$md" bitmap/max_backlog_used
		F[array.behind]=${VALUE:-0}
		! md_state_is_pending "$md" || F[array.pending]=yes
		{
			read -r 'F[array.block]' <"$SYS/block/$md/queue/logical_block_size"
		} 2>/dev/null || F[array.block]=512
		md_state_members "$md"
		# shellcheck disable=SC2086 # four words each
		for line in "${LEGS[@]}"; do facts_member_ $line; done
		facts_lacking_
		[[ ${F[ram.state]} != attached ]] || facts_ram_twin_
	fi
	[[ ${F[conf.ram]} != /* ]] || outside_device_look "$DEVICE_TAKEN"
	[[ ${F[ram.node]} != zram* ]] || facts_zram_
	F[array.sync]=$SYNC F[array.done]=$DONE F[array.total]=$TOTAL F[array.rate]=$RATE
	F[copy.state]=none F[copy.why]=''
	[[ ! -d $RUN/${F[name]}.copy ]] || {
		need observe/outside
		outside_copy
	}
}

# What a RAM leg of zram holds, and how much memory it takes. One that has hit its limit lacks what
# it could not take, unless md has written that again since.
facts_zram_() {
	local VALUE ZRAM_DATA ZRAM_TAKEN ZRAM_LIMIT ZRAM_MOST
	ramdisk_note_zram "${F[ram.node]}" || return 0
	F[ram.data]=$ZRAM_DATA F[ram.taken]=$ZRAM_TAKEN F[ram.limit]=$ZRAM_LIMIT
	((ZRAM_LIMIT > 0 && ZRAM_MOST > ZRAM_LIMIT)) && [[ ${F[ram.state]} != none ]] || return 0
	if [[ ${F[ram.state]} == in_sync ]]; then
		md_state_read "$md" "dev-${F[ram.node]}/bad_blocks"
		[[ -n $VALUE ]] || return 0
	fi
	facts_zram_full_
}

# Says in words how far the data could be compressed, and what the whole leg would need at that
# rate.
facts_zram_full_() {
	local percent=100 NUMBER
	need core/quantity
	((${F[ram.data]} == 0)) || percent=$((${F[ram.taken]} * 100 / ${F[ram.data]}))
	text_number_in "$SYS/block/${F[ram.node]}/size" 0
	F[ram.full]="its data was compressed only to $percent % \
($(quantity_show_bytes "${F[ram.data]}") take $(quantity_show_bytes "${F[ram.taken]}") of memory), \
and needs more than its limit of $(quantity_show_bytes "${F[ram.limit]}") (RAM_LIMIT); the whole \
leg would need up to $(quantity_show_bytes $((NUMBER * 512 * percent / 100)))"
}

# Finds the disk legs that md keeps in sync although they lack blocks that the RAM leg has, and
# whether there are blocks that none of them has. If the RAM leg is in sync and has those, it is the
# only good copy.
facts_lacking_() {
	local i ram='' legs=()
	[[ ${F[conf.layout]} != far2 ]] || return 0
	for i in ${F[array.unconfigured]}; do legs+=("$i"); done
	[[ ${F[ram.state]} != in_sync ]] || ram=${F[ram.node]}
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		legs+=("${F[leg.$i.node]}")
		[[ -z $ram ]] ||
			! md_state_bad_on_all_but "${F[array.md]}" "$ram" "${F[leg.$i.node]}" ||
			F[leg.$i.lacks]=yes
	done
	! md_state_bad_on_all_but "${F[array.md]}" "$ram" "${legs[@]}" || F[disks.lack]=yes
	[[ -z $ram ]] || ram_lacks_look "${legs[@]}"
}

# Finds which leg a member is: one of the caller's NODES, or RAM_NODE, or gone, or a stranger.
facts_member_() { # NODE STATE SLOT WRITEMOSTLY
	local i
	for ((i = 0; i < ${F[members]}; i++)); do [[ ${NODES[i]} != "$1" ]] || break; done
	if [[ ! -e $SYS/class/block/$1 ]]; then
		F[array.gone]+="${F[array.gone]:+ }$1"
	elif ((i < ${F[members]})); then
		F[leg.$i.state]=$2 F[leg.$i.slot]=$3
		# RAID10 does not support write-mostly.
		[[ ${F[conf.layout]} == far2 ]] || F[leg.$i.writemostly]=$4
	elif ramdisk_note_is_node "$1" || [[ $1 == "$RAM_NODE" ]]; then
		facts_ramdisk_ "$@"
	else
		F[array.strangers]+="${F[array.strangers]:+ }$1"
		# If the device that is to be the RAM leg is absent, this may be that device under
		# another name, unless it is write-mostly, as disk legs are.
		[[ $2 != in_sync || (-n ${F[leg.ram.dev]-} && -z ${F[leg.ram.node]} &&
			$4 != yes) ]] || F[array.unconfigured]+="${F[array.unconfigured]:+ }$1"
	fi
}

# If somebody has added a second ramdisk by hand, the RAM leg is the one in sync; if both are, or
# neither is, the one in this boot's note. The other one is no leg, and no good copy.
facts_ramdisk_() { # NODE STATE SLOT
	local other=$1
	if [[ -z $RAMDISK || ($2 == in_sync && ${F[ram.state]} != in_sync) ||
		($1 == "$RAM_NODE" && ($2 == in_sync || ${F[ram.state]} != in_sync)) ]]; then
		other=$RAMDISK RAMDISK=$1
		F[ram.node]=$1 F[ram.state]=$2 F[ram.slot]=$3
	fi
	[[ -z $other ]] || F[array.strangers]+="${F[array.strangers]:+ }$other"
}

# The RAM leg may be in another array than the disk legs, and that array may be the only copy.
facts_ram_twin_() {
	local holder
	for holder in "$SYS/class/block/${RAM_NODE:-none}"/holders/md*; do
		[[ ! -e $holder || ${holder##*/} == "$md" ]] || F[array.twin]=${holder##*/}
	done
}

# facts_is_ram NODE: is it a ramdisk, or the device in its place, which the configuration or this
# boot's note names?
facts_is_ram() {
	local NODE RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_is_node "$1" || {
		[[ ${CONF[RAM]-} == /* ]] && disk_find "${CONF[RAM]}" && [[ $NODE == "$1" ]]
	} || {
		ramdisk_note_read "${F[name]-}"
		[[ $RAM_NODE == "$1" ]]
	}
}

# facts_served: sets what the array and its legs have served, and the few other facts that only a
# report needs. After facts_observe.
facts_served() {
	local i key md=$SYS/block/${F[array.md]:-none}
	{
		read -r 'F[boot]' <"$PROC/sys/kernel/random/boot_id" || F[boot]=''
		read -r 'F[lately]' <"$STATE/${F[name]}.lately" || F[lately]=''
		read -r 'F[array.stat]' <"$md/stat" || F[array.stat]=''
		for ((i = -1; i < F[members]; i++)); do
			if ((i < 0)); then key=ram; else key=leg.$i; fi
			read -r "F[$key.stat]" <"$SYS/class/block/${F[$key.node]}/stat" ||
				F[$key.stat]=''
			((i >= 0)) ||
				read -r 'F[ram.algorithm]' \
					<"$SYS/block/${F[ram.node]}/comp_algorithm" ||
				F[ram.algorithm]=''
			read -r "F[$key.errors]" <"$md/$MD_LEG${F[$key.node]}/errors" ||
				F[$key.errors]=''
		done
	} 2>/dev/null
	F[ram.algorithm]=${F[ram.algorithm]#*[} F[ram.algorithm]=${F[ram.algorithm]%%]*}
}

# The facts while nothing is known: a value for every key of decide/facts.list, so that readers need
# not check whether a key is set. "make lint" compares the lists. failed.ACTION and conf.error.N are
# left out, because the key itself is the fact. There are hundreds, and each array's look begins
# with them: so those that begin empty are set in the cheapest way.
readonly FACTS_BLANK='
	name uuid conf.ram conf.wait conf.wait_timeout conf.on_timeout conf.member_timeout
	conf.start_degraded conf.write_behind forced retry mend root boot unit.text monitor.state
	unfinished unfinished.undone unfinished.leaving unfinished.new lately kernel.flaw
	kernel.slots kernel.selftest copy.why_not copy.why rescue.file
	record.from record.why rescue.image rescue.disk rescue.lost rescue.why_not rescue.tight
	witness.legs witness.events
	witness.filled witness.ram_slot witness.ram_number witness.left witness.given
	witness.seen witness.was witness.why witness.copy witness.give_up witness.generation
	witness.counts witness.doubted witness.known witness.departed array.md array.state
	array.done array.total array.rate array.readauto array.pending array.twin array.known
	array.judged array.unfit array.unfit_by array.gone array.strangers array.unconfigured
	array.may_leave
	array.foreign array.copy array.copy_known array.link array.stat array.block clones
	clones.loop clones_known disks.lack ram.node ram.state ram.slot ram.number ram.out ram.bytes
	ram.taken ram.data ram.limit ram.full ram.lacks ram.tried ram.refill ram.algorithm
	ram.stat ram.errors change.left change.kept change.used change.block
'
readonly FACTS_BLANK_LEG='
	dev node in holder state slot writemostly lacks sb silent uuid device_uuid number role roles
	raid_disks level recovery dirty size sectors member_uuid joined left_with noted elsewhere
	moved alien removed returns stat errors kind why block badblocks holds dropin force is_ram
	leaving replaces bus loose whose array
	line content
'

# facts_blank MEMBERS: makes F the facts of an array with so many configured legs, of which nothing
# is known, and of leg.ram. The decision only sees an F that begins so, and relies on each key.
# Other code may also see the few keys of an array whose configuration can't be read (summary_conf_
# in observe/summary.sh), or none, in a trap that runs before the first look: ${F[KEY]-} is for
# that.
facts_blank() {
	local key leg legs=(ram) i
	F=(
		[members]=$1
		[conf.layout]=mirror [conf.root]=no [conf.block]=auto [conf.rebuild]=kernel
		[conf.hotplug]=no [conf.auto_replace]=no [waited]=0 [copy.state]=none
		[array.level]=raid1 [array.sync]=idle [array.slots]=0 [array.degraded]=1
		[array.bitmap]=internal [array.backlog]=0 [array.behind]=0 [array.events]=0
	)
	for key in $FACTS_BLANK; do F[$key]=''; done
	for ((i = 0; i < $1; i++)); do legs+=("$i"); done
	for leg in "${legs[@]}"; do
		F[leg.$leg.events]=0 F[leg.$leg.data_offset]=0 F[leg.$leg.data_size]=0
		for key in $FACTS_BLANK_LEG; do F[leg.$leg.$key]=''; done
	done
}
