# The observing ring, a device that RAM= names (RAM=/dev/…) while it is in no array of ours:
# leg.ram.* are as those of a disk leg (decide/facts.list).
# shellcheck shell=bash

need core/paths notes/hardware observe/facts observe/outside world/disk world/superblock

declare -gA F # the facts: decide/facts.list

# device_facts NODE: before the members are looked at. NODE is that of the note of the RAM leg, or
# empty. Sets RAM_NODE to the device, and DEVICE_TAKEN to yes if this boot has made it blank, or
# found it so, for the array.
device_facts() {
	local NODE
	disk_find "${F[conf.ram]}" || NODE=''
	DEVICE_TAKEN=no
	[[ -z $NODE || $NODE != "$1" ]] || DEVICE_TAKEN=yes
	# It stays the RAM leg when its name leads nowhere any more (facts_member_).
	RAM_NODE=${NODE:-$1}
	F[ram.node]=$NODE F[ram.state]=none F[leg.ram.dev]=${F[conf.ram]} F[leg.ram.moved]='' \
		F[leg.ram.alien]=''
	facts_leg_blank ram "$NODE"
}

# device_outside TAKEN: after them, when it is none of them; TAKEN is what device_facts has found.
# Read at every look: between two of them a person may have wiped it.
device_outside() {
	local i holder key value
	F[array.events]=0
	[[ -n ${F[ram.node]} && ${F[ram.state]} == none ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.node]} != "${F[ram.node]}" ]] || F[leg.ram.in]=${F[leg.$i.dev]}
	done
	for holder in "$SYS/class/block/${F[ram.node]}"/holders/* \
		"$SYS/class/block/${F[ram.node]}/${F[ram.node]}"*/holders/*; do
		[[ ! -e $holder || -n ${F[leg.ram.in]} ]] || F[leg.ram.in]=${holder##*/}
	done
	[[ -z ${F[leg.ram.in]} ]] || return 0
	outside_leg_superblock ram
	hardware_judge ram
	# What has been taken and has a superblock again has been filled, by us or by others: it is
	# judged like any other.
	[[ $1 == no || ${F[leg.ram.sb]} == ok ]] || F[ram.state]=attached
	[[ ${F[array.state]} == active ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		while IFS='=' read -r key value; do
			[[ $key != events ]] || F[array.events]=$value
		done < <(superblock_facts "$DEV/${F[leg.$i.node]}")
		return
	done
}
