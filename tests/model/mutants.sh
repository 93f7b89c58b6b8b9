# Planted mistakes: each function spoils the decision in one way, by redefining functions. The model
# has to find every one of them; those named deep_… need long histories.
# shellcheck shell=bash
# lib/decide/action.sh calls what is defined in here.
# shellcheck disable=SC2317,SC2329

declare -gA F

# keep FUNCTION: keeps its definition under the name kept_FUNCTION.
keep() {
	local body
	body=$(declare -f "$1")
	eval "kept_$body"
}

mutant_ignores-the-recovery-offset() {
	keep leg_kind
	leg_kind() {
		F[leg.$1.recovery]=''
		kept_leg_kind "$1"
	}
}

mutant_starts-legs-with-one-that-calls-them-missing() {
	histories_superseded_() { return 1; }
	histories_has_later_events() { return 1; }
}

mutant_merges-legs-that-disown-each-other() { safe_start_divergent_() { return 1; }; }

mutant_trusts-the-leg-that-is-there() { safe_start_without_ok_() { return 0; }; }

mutant_tolerates-a-lag-of-five-events() {
	histories_equal() {
		local newest=$1 leg=$2
		shift 2
		((${F[leg.$newest.events]} - ${F[leg.$leg.events]} <= 5)) &&
			! histories_superseded_ "$leg" "$@"
	}
}

mutant_takes-any-leg-for-one-that-the-witness-knows() { histories_witness_agrees() { return 0; }; }

mutant_skips-the-event-count() { safe_start_stale_() { return 1; }; }

mutant_believes-a-missing-witness() {
	keep safe_start_witness_why_
	safe_start_witness_why_() {
		DOUBT=''
		[[ -z ${F[witness.events]} ]] || kept_safe_start_witness_why_ "$1"
	}
}

mutant_puts-back-a-leg-with-a-history-of-its-own() {
	keep readd_may
	readd_may() {
		[[ -z ${F[leg.$1.view]} ]] ||
			F[leg.$1.view]=AAAAA F[leg.$1.roles]='0:0 1:1 2:2 3:3 4:3 14:0'
		kept_readd_may "$1"
	}
}

mutant_starts-what-nothing-vouches-for-beside-a-leg-that-was-in-sync() {
	strangers_unvouched_() { return 1; }
}

mutant_adds-the-RAM-leg-before-the-resync-has-ended() {
	keep action_running_
	action_running_() {
		F[array.sync]=idle F[array.pending]=no
		kept_action_running_
	}
}

mutant_puts-a-disk-back-while-the-RAM-leg-recovers() {
	keep readd_disk_legs
	readd_disk_legs() {
		local ram=${F[ram.state]} code=0
		F[ram.state]=in_sync
		kept_readd_disk_legs || code=$?
		F[ram.state]=$ram
		return "$code"
	}
}

mutant_ignores-that-legs-were-given-up() { give_up_is_given() { return 1; }; }

mutant_puts-back-a-leg-that-was-given-up() {
	keep readd_may
	readd_may() {
		F[witness.given]=''
		kept_readd_may "$1"
	}
}

mutant_ignores-that-only-the-RAM-leg-was-good() {
	keep safe_start_stale_
	safe_start_stale_() { [[ -n ${F[witness.legs]} ]] && kept_safe_start_stale_ "$1"; }
}

# The model itself found the mistakes below.

deep_mutant_refuses-for-what-a-leg-that-was-given-up-says() {
	keep histories_find_successor
	histories_find_successor() {
		local - code=0 given=${F[witness.given]}
		F[witness.given]=''
		kept_histories_find_successor "$1" || code=$?
		F[witness.given]=$given
		return "$code"
	}
}

deep_mutant_accepts-a-lag-of-one-from-any-leg() {
	histories_equal() {
		local newest=$1 leg=$2
		shift 2
		((${F[leg.$newest.events]} - ${F[leg.$leg.events]} <= 1)) &&
			! histories_superseded_ "$leg" "$@"
	}
}

# md accepts such a lag. But a re-add that a crash cut off looks the same once the witness was set
# back.
deep_mutant_accepts-a-lag-of-one-from-legs-that-the-witness-knows() {
	keep histories_equal
	histories_equal() {
		local code=0 events=${F[leg.$2.events]}
		[[ -z ${F[witness.events]} ]] || ((${F[leg.$1.events]} - events != 1)) ||
			F[leg.$2.events]=${F[leg.$1.events]}
		kept_histories_equal "$@" || code=$?
		F[leg.$2.events]=$events
		return "$code"
	}
}

deep_mutant_ignores-what-a-leg-that-was-being-rebuilt-says-of-the-others() {
	histories_find_successor() { return 1; }
}

deep_mutant_puts-back-any-leg-to-the-RAM-leg() { readd_may_to_ram() { return 0; }; }

deep_mutant_goes-by-the-higher-count-whatever-the-witness-says() {
	histories_is_newer_() { [[ -z $2 ]] || ((${F[leg.$1.events]} > ${F[leg.$2.events]})); }
	histories_ran_separately() { return 1; }
}

deep_mutant_believes-what-an-old-leg-says-of-the-others() {
	histories_current() { CURRENT=("$@"); }
}

deep_mutant_takes-a-leg-that-was-just-left-behind-for-one-with-a-history() {
	histories_is_old() {
		histories_calls_missing "$1" "$2" && ! histories_calls_missing "$2" "$1" &&
			histories_has_later_events "$1" "$2"
	}
}

deep_mutant_overlooks-that-a-disk-has-gone-back-in-time() { safe_start_gone_back_() { return 1; }; }

# Mistaking a slot for a device, as ramraid 0.1.0 did in each of its comparisons.

mutant_takes-a-slot-for-the-disk-that-a-leg-calls-missing() {
	histories_calls_missing() { [[ ${F[leg.$1.view]:${F[leg.$2.role]}:1} != A ]]; }
}

mutant_puts-back-by-the-slots-of-those-in-sync() {
	readd_may() {
		local i=$1 j slot alone=yes
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok &&
			${F[leg.$i.uuid]} == "${F[uuid]}" ]] ||
			return 1
		[[ ${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[failed.readd.$i]-} &&
			-z ${F[leg.$i.removed]-} ]] ||
			return 1
		! give_up_is_given "$i" && [[ ${F[leg.$i.elsewhere]-} != yes ]] || return 1
		! readd_left_this_run_ "$i" || return 0
		for ((j = 0; j < ${F[members]}; j++)); do
			slot=${F[leg.$j.slot]-}
			[[ ${F[leg.$j.state]} == in_sync ]] || continue
			[[ $slot =~ ^[0-9]+$ && ${F[leg.$i.view]:slot:1} == A ]] || return 1
			alone=no
		done
		[[ $alone == no ]] || readd_may_to_ram "$i"
	}
}

mutant_takes-a-leg-in-the-RAM-legs-slot-for-one-that-calls-it-active() {
	keep safe_start_stale_
	safe_start_stale_() {
		[[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]] &&
			((${F[leg.$1.events]} > ${F[witness.events]})) &&
			[[ ${F[witness.ram_slot]} =~ ^[0-9]+$ &&
				${F[leg.$1.view]:${F[witness.ram_slot]}:1} == A ]] &&
			return 1
		kept_safe_start_stale_ "$1"
	}
}

# It goes by number and slot, which a RAM leg made elsewhere has as well.
mutant_takes-any-RAM-leg-for-the-one-that-was-the-only-good-copy() {
	keep safe_start_stale_
	safe_start_stale_() {
		[[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]] &&
			((${F[leg.$1.events]} > ${F[witness.events]})) &&
			histories_calls_ram_active "$1" && return 1
		kept_safe_start_stale_ "$1"
	}
}

mutant_takes-two-legs-in-one-slot-for-separate-histories() {
	mutant_takes-a-slot-for-the-disk-that-a-leg-calls-missing
	keep safe_start_divergent_
	safe_start_divergent_() {
		local i j
		for i in "${@:2}"; do
			for j in "${@:2}"; do
				[[ $i -lt $j && ${F[leg.$i.role]} == "${F[leg.$j.role]}" ]] ||
					continue
				choice_is refuse "${F[leg.$i.dev]} and ${F[leg.$j.dev]} have been used without each other"
				return 0
			done
		done
		kept_safe_start_divergent_ "$@"
	}
}

# It goes by the slots that the newest leg calls active, and the RAM leg's.
mutant_knows-those-that-are-missing-by-their-slots() {
	histories_newest_knows() {
		local i view=${F[leg.$1.view]} slot=${F[witness.ram_slot]} known=0
		for ((i = 0; i < ${F[members]}; i++)); do
			[[ ${F[leg.$i.role]-} =~ ^[0-9]+$ && ${F[leg.$i.uuid]} == "${F[uuid]}" ]] ||
				continue
			view=${view:0:${F[leg.$i.role]}}.${view:${F[leg.$i.role]}+1} \
				known=$((known + 1))
		done
		((known < ${F[members]})) || return 0
		[[ -z $slot ]] || view=${view:0:slot}.${view:slot+1}
		[[ $view != *A* ]]
	}
}

# Other mistakes of 0.1.0.

mutant_leaves-it-to-a-clock-whether-a-leg-was-used-elsewhere() {
	readd_may_to_ram() {
		local view=${F[leg.$1.view]} slot=${F[ram.slot]}
		[[ ! $slot =~ ^[0-9]+$ ]] || view=${view:0:slot}A${view:slot+1}
		[[ $view != *.* ||
			" ${F[witness.legs]} ${F[witness.left]-} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
	}
}

mutant_counts-no-leg-whose-name-is-gone() {
	health_disk_in_sync() {
		local i
		for ((i = 0; i < ${F[members]}; i++)); do
			[[ ${F[leg.$i.state]} != in_sync ]] || return 0
		done
		return 1
	}
}

mutant_forgets-its-record-with-the-name-of-the-configuration() {
	keep witness_facts
	witness_facts() {
		if [[ $8 == other ]]; then
			kept_witness_facts - - - - - - - same
		else
			kept_witness_facts "$@"
		fi
	}
}

mutant_acts-on-one-of-two-arrays() {
	keep action_running_
	action_running_() {
		F[array.twin]=''
		kept_action_running_
	}
}
