# The observing ring, what sysfs does not show of an array: legs outside of it, the array without any configured disk, whose it is on kernels that do
# not say, our own copy.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

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
	[[ -n $md || ${F[conf.ram]} != /* ]] || facts_find_by_device_
}

# A device may be in anybody's array.
facts_find_by_device_() {
	local NODE holder
	disk_find "${F[conf.ram]}" || return 0
	for holder in "$SYS/class/block/$NODE"/holders/md*; do
		[[ ! -e $holder ]] || ! facts_is_ours_ "${holder##*/}" "$NODE" || md=${holder##*/}
	done
}

facts_leg_superblock_() { # I
	local i=$1 key value
	need superblock
	while IFS='=' read -r key value; do F[leg.$i.$key]=$value; done < <(sb_facts "$DEV/${F[leg.$i.node]}")
	{ read -r "F[leg.$i.sectors]" <"$SYS/class/block/${F[leg.$i.node]}/size"; } 2>/dev/null || :
}

# facts_joined_ I: was the leg, which is outside, in sync at some time in this very run of the array, and has it been written since it left?
facts_joined_() {
	local MD_RUN leg=leg.$1 known=() line left
	F[$leg.joined]='' F[$leg.elsewhere]=''
	md_run "${F[array.md]:-none}"
	[[ -n $MD_RUN && -n ${F[$leg.device_uuid]} && -e $RUN/${F[name]}.joined ]] || return 0
	mapfile -t known <"$RUN/${F[name]}.joined"
	[[ ${known[0]-} == "$MD_RUN" ]] || return 0
	for line in "${known[@]:1}"; do
		[[ ${line%% *} == "${F[$leg.device_uuid]}" ]] || continue
		F[$leg.joined]=yes left=${line#"${F[$leg.device_uuid]}"}
		[[ -z $left ]] || ((F[$leg.time] <= left)) || F[$leg.elsewhere]=yes
	done
}

# facts_ask_leg_ MD LEG: sets FACTS_UUID of them to what the leg's superblock says.
facts_ask_leg_() {
	local key value
	need superblock
	while IFS='=' read -r key value; do [[ $key != uuid ]] || FACTS_UUID["$1 $2"]=$value; done < <(sb_facts "$DEV/$2")
	# Without the right to read it: taken for ours, since the configuration says so; only "status" runs like this.
	[[ -n ${FACTS_UUID["$1 $2"]-} || $EUID == 0 ]] || FACTS_UUID["$1 $2"]=${F[uuid]}
}

# While md itself has nothing to rebuild, our copy is what goes on: then the caller's SYNC, DONE, TOTAL and RATE are of it.
facts_copy_() {
	local COPY_STATE COPY_WHY='' done=$DONE total=$TOTAL rate=$RATE
	copy_state "${F[name]}"
	F[copy.state]=$COPY_STATE F[copy.why]=$COPY_WHY
	if [[ $COPY_STATE == running && $SYNC == idle ]]; then
		SYNC=copy
	else
		DONE=$done TOTAL=$total RATE=$rate
	fi
}
