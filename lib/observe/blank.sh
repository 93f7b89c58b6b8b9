# The facts while nothing is known: a value for every key of decide/facts.list, so that whoever
# reads one need not ask whether it is there. "make lint" holds the two lists together.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list
# KEY is empty until somebody sets it, KEY=VALUE is VALUE. failed.ACTION and conf.error.N are left
# out: of these the key itself is what is known.
readonly BLANK_FACTS='
	name uuid members=0 conf.layout=mirror conf.root=no conf.block=auto conf.ram conf.rebuild=kernel conf.hotplug=no
	conf.auto_replace=no conf.wait conf.wait_timeout conf.on_timeout conf.member_timeout
	conf.start_degraded conf.write_behind waited=0 forced retry mend root boot unit.text
	unfinished unfinished.undone lately kernel.flaw kernel.selftest copy.why_not copy.state=none copy.why record.from record.why rescue.image
	witness.legs witness.events witness.filled witness.ram_slot witness.ram_number
	witness.left witness.given witness.seen witness.was witness.why witness.copy witness.give_up
	witness.generation witness.counts array.md array.state array.level=raid1 array.sync=idle array.done
	array.total array.rate array.readauto array.pending array.slots=0 array.degraded=1
	array.backlog=0 array.twin array.known array.gone array.strangers array.unconfigured
	array.foreign array.copy array.copy_known array.events array.link array.stat array.block clones clones_known disks.lack
	ram.node ram.state ram.slot ram.number ram.out ram.bytes ram.taken ram.data ram.limit ram.full ram.refill
	ram.algorithm ram.stat ram.errors
	change.left change.used change.block
'
readonly BLANK_LEG='
	dev node in holder state slot writemostly lacks sb silent uuid device_uuid number role roles view
	raid_disks level events=0 time=0 recovery dirty size data_offset=0 data_size=0 sectors
	member_uuid joined left_with noted elsewhere moved alien removed returns stat errors kind
	why block badblocks dropin force is_ram leaving
'

# blank_facts: sets each fact that F does not have, those of leg.0 to leg.(members - 1) and of
# leg.ram as well.
blank_facts() {
	local i
	# shellcheck disable=SC2086 # words
	blank_fill_ '' $BLANK_FACTS
	# shellcheck disable=SC2086 # words
	for ((i = 0; i < F[members]; i++)); do blank_fill_ "leg.$i." $BLANK_LEG; done
	# shellcheck disable=SC2086 # words
	blank_fill_ leg.ram. $BLANK_LEG
}

blank_fill_() { # PREFIX KEY[=VALUE]…
	local word key prefix=$1
	for word in "${@:2}"; do
		key=$prefix${word%%=*} word=${word#"${word%%=*}"}
		[[ -v F[$key] ]] || F[$key]=${word#=}
	done
}
