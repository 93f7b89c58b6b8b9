# The pure ring's part that checks identities before a start: devices that are not a MEMBER but
# carry the array's UUID, and devices that claim to be the same leg. A name such as by-partuuid
# comes from what is written on a disk, so a copy has it too, and the link leads to the disk that
# appeared last.
# shellcheck shell=bash

need core/paths decide/below decide/choice decide/histories

declare -gA F # the facts: decide/facts.list

# strangers_foreign: sets the refusal and returns 0 if an array of that UUID runs from members none
# of which is configured. It may be a copy that somebody started, into which no disk leg may be put,
# or the disks themselves under other names.
strangers_foreign() {
	[[ -n ${F[array.foreign]} ]] || return 1
	local one md text='' BELOW
	printf -v md '/dev/%q' "${F[array.foreign]%%=*}"
	for one in ${F[array.foreign]}; do text+="${text:+; }${one%%=*} runs from ${one#*=}"; done
	text="another array has its UUID: ${text//,/, }, none of which is a MEMBER or the RAM leg"
	if below_absent 'one of those'; then
		choice_is refuse "$text. Stop it: mdadm --stop $md. $BELOW; then: \
ramraid start ${F[name]}"
	else
		choice_is refuse "$text. If that is a copy: mdadm --stop $md; \
ramraid start ${F[name]}. If those are its disks under other names: name them as MEMBER in \
$ETC/${F[name]}.conf, then: ramraid start ${F[name]}"
	fi
}

# strangers NEWEST LEG…: sets the refusal and returns 0 if nothing shows which device is the leg:
# two MEMBERs carry the same device UUID, or a device that is not a MEMBER is as good as one, or
# newer. Sets STRANGERS to the devices that are only left-overs, and STRANGERS_MADE to the loop
# devices that are not legs, whatever is on them: any user can have one made, with any contents.
# While the record vouches for the newest leg, it need not be compared with these.
strangers() {
	local newest=$1 clone node uuid events STRANGER BELOW
	[[ ${F[clones_known]} != no ]] || {
		choice_is refuse "not all disks of the machine could be examined, and one of them \
may be a copy of a leg, or a newer one; see the journal, then: ramraid start ${F[name]}"
		return 0
	}
	strangers_copies_ "${@:2}" && return
	STRANGERS='' STRANGERS_MADE=''
	for clone in ${F[clones]} ${F[clones.loop]}; do
		node=${clone%%:*} events=${clone##*:} uuid=${clone%:*} uuid=${uuid#*:}
		if [[ -n ${F[witness.events]} && " ${F[clones.loop]} " == *" $clone "* ]] &&
			histories_witness_agrees "$newest"; then
			STRANGERS_MADE+="${STRANGERS_MADE:+ }$node"
			continue
		fi
		strangers_one_ "$newest" "$uuid" "$events"
		[[ $STRANGER != old ]] || {
			STRANGERS+="${STRANGERS:+ }$node"
			continue
		}
		! strangers_above_ "$node" || return 0
		printf -v node '%q' "$node"
		below_or it "If /dev/$node is a copy: take it out of the machine, or make it blank \
(mdadm --zero-superblock /dev/$node). If it is the leg: write its name as MEMBER in \
$ETC/${F[name]}.conf"
		choice_is refuse "/dev/$node (events $events) is no MEMBER and carries the array's \
UUID; $STRANGER. $BELOW. Then: ramraid start ${F[name]}. To start from one MEMBER alone in spite \
of this: ramraid start --force-leg=${F[leg.$newest.dev]} ${F[name]}"
		return 0
	done
	strangers_unvouched_ "$@"
}

# strangers_above_ NODE: sets the refusal and returns 0 if NODE is not a disk, but a device on top
# of a leg, which shows the superblock of that leg.
strangers_above_() {
	local i close node
	printf -v node '%q' "$1"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.holder]} == "$1" ]] || continue
		close="see what it is (lsblk /dev/${F[leg.$i.node]}), and close it"
		[[ $1 != md* ]] || close="stop that: mdadm --stop /dev/$node"
		choice_is refuse "${F[leg.$i.dev]} is in use by $node, which is not this array but \
shows the same superblock; $close; then: ramraid start ${F[name]}"
		return 0
	done
	return 1
}

# strangers_one_ NEWEST DEVICE-UUID EVENTS: sets STRANGER to why such a device, which is not a
# MEMBER, keeps the array from being started, in words; to "old" when it is only a left-over: a disk
# that has been replaced or given up, and is still in the machine.
strangers_one_() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} == ok && ${F[leg.$i.uuid]} == "${F[uuid]}" &&
			${F[leg.$i.device_uuid]} == "$2" ]] || continue
		STRANGER="it has the device UUID of ${F[leg.$i.dev]} (/dev/${F[leg.$i.node]}, \
events ${F[leg.$i.events]}): one of the two is a copy of the other"
		return
	done
	if [[ " ${F[witness.given]} " == *" $2 "* ]] && (($3 < ${F[leg.$1.events]})); then
		STRANGER=old
	elif [[ " ${F[witness.legs]} ${F[witness.was]} " == *" $2 "* ]]; then
		STRANGER="it was in sync when the array last ran"
	elif [[ -z ${F[witness.legs]} && " ${F[witness.left]} " == *" $2 "* ]]; then
		STRANGER="it was in sync until only the RAM leg was"
	elif [[ " ${F[witness.doubted]} " == *" $2 "* &&
		" ${F[witness.legs]} " == *" ${F[leg.$1.device_uuid]} "* ]] &&
		(($3 <= ${F[leg.$1.events]} + 1)); then
		# The device that was the RAM leg, perhaps under another name: the newest leg was in
		# sync with it, and it is not ahead (one event more may be an update that md had
		# half finished).
		STRANGER=old
	elif (($3 >= ${F[leg.$1.events]})); then
		STRANGER="it is no older than ${F[leg.$1.dev]} (/dev/${F[leg.$1.node]}, events \
${F[leg.$1.events]}), the newest MEMBER"
	else
		STRANGER=old
	fi
}

# strangers_copies_ LEG…: sets the refusal and returns 0 if two MEMBERs carry the same device UUID.
strangers_copies_() {
	local i j
	for i; do
		for j; do
			[[ $i -lt $j && -n ${F[leg.$i.device_uuid]} &&
				${F[leg.$i.device_uuid]} == "${F[leg.$j.device_uuid]}" &&
				${F[leg.$i.node]} != "${F[leg.$j.node]}" ]] || continue
			choice_is refuse "${F[leg.$i.dev]} (/dev/${F[leg.$i.node]}, events \
${F[leg.$i.events]}) and ${F[leg.$j.dev]} (/dev/${F[leg.$j.node]}, events ${F[leg.$j.events]}) \
have the same device UUID: one of them is a copy of the other. Make the copy blank (mdadm \
--zero-superblock), or take it out of the machine; then: ramraid start ${F[name]}. To start from \
one of them alone: ramraid start --force-leg=DISK ${F[name]}"
			return 0
		done
	done
	return 1
}

# strangers_unvouched_ NEWEST LEG…: sets the refusal and returns 0 if the newest leg was not in sync
# when the array last ran, and one that was is here, no older than it was then. The newest leg may
# have come into sync beside that one, which may then have left before that could be written down.
# But its superblock looks the same when a crash has interrupted the re-add of the newest leg, which
# has been used elsewhere since; and event counts of separate histories can't be compared.
strangers_unvouched_() {
	local newest=$1 i what
	if histories_witness_agrees "$newest"; then return 1; fi
	for i in "${@:2}"; do
		if ((${F[leg.$i.events]} + 1 < ${F[witness.events]})) ||
			! histories_witness_agrees "$i"; then continue; fi
		what="has gone on since (events ${F[leg.$i.events]}): the former may have been \
written to elsewhere, or have come into sync just before the latter left"
		((${F[leg.$i.events]} > ${F[witness.events]})) ||
			what="is as it was then (events ${F[leg.$i.events]}): the former has been \
written to elsewhere"
		choice_is refuse "${F[leg.$newest.dev]} (events ${F[leg.$newest.events]}) was not \
in sync when the array last ran, and ${F[leg.$i.dev]}, which was, $what. \
Look at both (mdadm --examine), choose one, and start from it alone: \
ramraid start --force-leg=${F[leg.$i.dev]} ${F[name]}, or: \
ramraid start --force-leg=${F[leg.$newest.dev]} ${F[name]}"
		return 0
	done
	return 1
}

# strangers_alien I: sets KIND for a leg that was recorded on other hardware, and is now on
# something that anybody can plug in or make up.
strangers_alien() {
	KIND="(/dev/${F[leg.$1.node]}) may be a copy: ${F[leg.$1.moved]}. \
If you have moved it there yourself: rm $STATE/${F[name]}.hardware; ramraid start ${F[name]}"
}

# strangers_has_left NODE:UUID:EVENTS: is this device, beside the running array, a disk that the
# record lists as given up, while no leg is missing that it could be?
strangers_has_left() {
	local i uuid=${1#*:}
	[[ ${F[array.state]} == active && " ${F[witness.given]} " == *" ${uuid%%:*} "* ]] ||
		return 1
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || return 1
	done
}
