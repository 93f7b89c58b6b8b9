# Planted mistakes: each function spoils the decision in one way, by defining functions anew. The model has to find every one of them; those
# named deep_… need long histories.
# shellcheck shell=bash
# What is defined in here is called by lib/decide.sh.
# shellcheck disable=SC2317,SC2329

declare -gA F

# keep FUNCTION: its definition goes on under the name kept_FUNCTION.
keep() {
	local body
	body=$(declare -f "$1")
	eval "kept_$body"
}

mutant_ignores-the-recovery-offset() {
	keep decide_leg_kind_
	decide_leg_kind_() {
		F[leg.$1.recovery]=''
		kept_decide_leg_kind_ "$1"
	}
}

mutant_starts-legs-with-one-that-calls-them-missing() {
	decide_superseded_() { return 1; }
	decide_counted_on_() { return 1; }
}

mutant_merges-legs-that-disown-each-other() { decide_divergent_() { return 1; }; }

mutant_trusts-the-leg-that-is-there() { decide_without_ok_() { return 0; }; }

mutant_tolerates-a-lag-of-five-events() {
	decide_equal_() {
		local newest=$1 leg=$2
		shift 2
		((${F[leg.$newest.events]} - ${F[leg.$leg.events]} <= 5)) && ! decide_superseded_ "$leg" "$@"
	}
}

mutant_takes-any-leg-for-one-that-the-witness-knows() { decide_witness_agrees_() { return 0; }; }

mutant_skips-the-event-count() { decide_stale_() { return 1; }; }

mutant_believes-a-missing-witness() {
	keep decide_witness_why_
	decide_witness_why_() {
		DOUBT=''
		[[ -z ${F[witness.events]} ]] || kept_decide_witness_why_ "$1"
	}
}

mutant_puts-back-a-leg-with-a-history-of-its-own() {
	keep decide_can_readd_
	decide_can_readd_() {
		[[ -z ${F[leg.$1.view]} ]] || F[leg.$1.view]=AAAAA
		kept_decide_can_readd_ "$1"
	}
}

mutant_adds-the-RAM-leg-before-the-resync-has-ended() {
	keep decide_running_
	decide_running_() {
		F[array.sync]=idle F[array.pending]=no
		kept_decide_running_
	}
}

mutant_puts-a-disk-back-while-the-RAM-leg-recovers() {
	keep decide_disk_legs_
	decide_disk_legs_() {
		local ram=${F[ram.state]} code=0
		F[ram.state]=in_sync
		kept_decide_disk_legs_ || code=$?
		F[ram.state]=$ram
		return "$code"
	}
}

mutant_ignores-that-legs-were-given-up() { decide_is_given_up_() { return 1; }; }

mutant_puts-back-a-leg-that-was-given-up() {
	keep decide_can_readd_
	decide_can_readd_() {
		F[witness.given]=''
		kept_decide_can_readd_ "$1"
	}
}

mutant_ignores-that-only-the-RAM-leg-was-good() {
	keep decide_stale_
	decide_stale_() { [[ -n ${F[witness.legs]} ]] && kept_decide_stale_ "$1"; }
}

# These are what the model itself found.

deep_mutant_refuses-for-what-a-leg-that-was-given-up-says() {
	keep decide_find_outrunner_
	decide_find_outrunner_() {
		local - code=0 given=${F[witness.given]}
		F[witness.given]=''
		kept_decide_find_outrunner_ "$1" || code=$?
		F[witness.given]=$given
		return "$code"
	}
}

deep_mutant_accepts-a-lag-of-one-from-any-leg() {
	decide_equal_() {
		local newest=$1 leg=$2
		shift 2
		((${F[leg.$newest.events]} - ${F[leg.$leg.events]} <= 1)) && ! decide_superseded_ "$leg" "$@"
	}
}

deep_mutant_ignores-what-a-leg-that-was-being-rebuilt-says-of-the-others() { decide_find_outrunner_() { return 1; }; }

deep_mutant_puts-back-any-leg-to-the-RAM-leg() { decide_can_readd_to_ram_() { return 0; }; }

deep_mutant_goes-by-the-higher-count-whatever-the-witness-says() {
	decide_is_newer_() { [[ -z $2 ]] || ((${F[leg.$1.events]} > ${F[leg.$2.events]})); }
	decide_strayed_() { return 1; }
}

deep_mutant_believes-what-an-old-leg-says-of-the-others() { decide_current_() { CURRENT=("$@"); }; }

deep_mutant_takes-a-leg-that-was-just-left-behind-for-one-with-a-history() {
	decide_is_old_() { decide_calls_missing_ "$1" "$2" && ! decide_calls_missing_ "$2" "$1" && decide_counted_on_ "$1" "$2"; }
}

deep_mutant_overlooks-that-a-disk-has-gone-back-in-time() { decide_gone_back_() { return 1; }; }
