# Mistakes to plant in the product, as 0.1.0 had them: the worlds have to find each of them.
# plant_NAME is called once, after the libraries have been read.
# shellcheck disable=SC2317 # the functions of a plant are called by the product
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# plant_after_ FUNCTION COMMAND: calls COMMAND after each call of FUNCTION.
plant_after_() {
	eval "planted_$(declare -f "$1")"
	eval "$1() { local code=0; planted_$1 \"\$@\" || code=\$?; $2; return \$code; }"
}

# Legs are told apart by their slots: the leg in a slot is mistaken for the one that was there
# before.
plant_takes-slots-for-disks() { plant_after_ facts_observe plant_slots_; }
plant_slots_() {
	local i slot view roles
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.roles]-} ]] || continue
		F[leg.$i.number]=${F[leg.$i.slot]:-${F[leg.$i.role]}} roles='' \
			view=${F[leg.$i.view]}
		for ((slot = 0; slot < ${#view}; slot++)); do
			[[ ${view:slot:1} != A ]] || roles+="${roles:+ }$slot:$slot"
		done
		F[leg.$i.roles]=$roles
	done
	F[ram.number]=${F[ram.slot]} F[witness.ram_number]=${F[witness.ram_slot]}
}

# A leg is believed about a number that md may have handed out again, whenever it left.
plant_trusts-a-number-that-md-hands-out-again() {
	histories_used_since() { return 1; }
	histories_is_another_() {
		[[ -n ${F[witness.events]} && ${F[witness.ram_number]} == "${F[leg.$2.number]}" ]] &&
			histories_witness_agrees "$1" && ! histories_witness_agrees "$2"
	}
}

# A leg is put back when it calls the slots of those in sync active, whatever was in them then.
plant_puts-back-by-slots() {
	readd_may() {
		local i=$1 j slot
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok &&
			${F[leg.$i.uuid]} == "${F[uuid]}" ]] ||
			return 1
		[[ ${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[failed.readd.$i]-} &&
			-z ${F[leg.$i.removed]-} ]] ||
			return 1
		! give_up_is_given "$i" || return 1
		for ((j = 0; j < ${F[members]}; j++)); do
			slot=${F[leg.$j.slot]-}
			[[ ${F[leg.$j.state]} != in_sync ]] ||
				[[ $slot =~ ^[0-9]+$ && ${F[leg.$i.view]:slot:1} == A ]] || return 1
		done
	}
}

# The clock says whether a leg that left this run of the array was used elsewhere.
plant_believes-clocks() {
	readd_may() {
		local i=$1
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok &&
			${F[leg.$i.uuid]} == "${F[uuid]}" ]] ||
			return 1
		[[ ${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[failed.readd.$i]-} &&
			-z ${F[leg.$i.removed]-} ]] ||
			return 1
		! give_up_is_given "$i" || return 1
		plant_joined_ "$i"
		[[ $PLANT_JOINED == yes ]]
	}
}
plant_joined_() { # I: as 0.1.0 had it
	local leg=leg.$1 known=() line left MD_RUN
	PLANT_JOINED=''
	md_state_run "${F[array.md]:-none}"
	[[ -n $MD_RUN && -e $RUN/${F[name]}.joined ]] || return 0
	mapfile -t known <"$RUN/${F[name]}.joined"
	[[ ${known[0]-} == "$MD_RUN" ]] || return 0
	for line in "${known[@]:1}"; do
		[[ ${line%% *} == "${F[$leg.device_uuid]}" ]] || continue
		left=${line#"${F[$leg.device_uuid]}"} left=${left# } left=${left%% *}
		[[ $left =~ ^[0-9]+$ ]] && ((${F[$leg.time]} > left)) || PLANT_JOINED=yes
	done
}

# A member in sync counts for nothing while its configured name is gone.
plant_forgets-members-without-a-name() { plant_after_ facts_observe "F[array.unconfigured]=''"; }

# What was written down under another name of the configuration is not looked for.
plant_forgets-a-renamed-configuration() {
	old_name_look() { F[record.from]=''; }
	old_name_take() { :; }
}

# The record counts for nothing: whatever is here is started.
plant_ignores-the-record() {
	plant_after_ before_look_witness \
		"F[witness.events]='' F[witness.legs]='' F[conf.start_degraded]=always"
}

# A disk is put back by bitmap, no matter what md may have cleared in it meanwhile.
plant_trusts-the-bitmap-of-a-filled-array() { readd_is_forgotten() { return 1; }; }

# A disk is put back without a slot.
plant_puts-back-without-a-slot() { readd_slot_is_free() { return 0; }; }

# A slot counts as filled only when its member is in sync, not while that is being rebuilt.
plant_counts-only-members-in-sync() {
	witness_update_filled_() {
		local VALUE SLOTS LEGS_IN_ALL
		health_legs
		filled=yes
		md_state_read_slots "${F[array.md]}"
		md_state_read "${F[array.md]}" degraded
		((SLOTS < LEGS_IN_ALL)) || [[ $VALUE == 0 ]] || filled=''
	}
}

# Forgets what the superblocks of an array say, before md's first write to it, about a disk that is
# not among its members: such a disk may come back as an image of itself.
plant_trusts-an-image-of-a-leg() { witness_called_absent() { return 1; }; }
