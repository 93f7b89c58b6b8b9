# What counts of a record and its second copy (witness_read in notes/witness.sh), where the copy is
# the later one, stands alone, or has nothing to do with the record.
# shellcheck shell=bash disable=SC2154 # own is the caller's

need notes/witness notes/witness-copy

declare -gA WITNESS # of notes/witness.sh

# witness_merge_is_of_another_life: does the copy in WITNESS have nothing to do with the caller's
# own record? A copy without a life may be from an earlier version, but not if it is the later one.
witness_merge_is_of_another_life() {
	[[ -n ${own[life]-} && ${own[life]} != "${WITNESS[life]-}" ]] &&
		{ [[ -n ${WITNESS[life]-} ]] || ((${WITNESS[generation]-0} > own[generation])); }
}

# witness_merge_doubt KEY…: sets seen and doubted of the copy in WITNESS. Anybody who can put a file
# there can name any disk in it. So a leg that the copy has under these keys is remembered, but is
# doubted unless the caller's own record knows it.
witness_merge_doubt() {
	local leg key seen=${own[seen]-} doubted=${own[doubted]-}
	for key; do
		for leg in ${WITNESS[$key]-}; do
			[[ " $seen $doubted " != *" $leg "* ]] || continue
			if [[ " $WITNESS_KNOWN " == *" $leg "* ]]; then
				seen+=${seen:+ }$leg
			else
				doubted+=${doubted:+ }$leg
			fi
		done
	done
	WITNESS[seen]=$seen WITNESS[doubted]=$doubted
}

# witness_merge_copy_alone: makes the copy in WITNESS void, because there is no record beside it:
# that may have been deleted, or have moved on, while the copy was out of sight. So a copy alone can
# keep a disk from being started, but vouches for none.
witness_merge_copy_alone() {
	WITNESS[void]=1 WITNESS[was]=${WITNESS[legs]}
	WITNESS_WHY="there is only its second copy, $WITNESS_COPY, which may be older"
	unset -v 'WITNESS[legs]' 'WITNESS[events]' 'WITNESS[filled]' 'WITNESS[ram_slot]' \
		'WITNESS[ram_number]'
}

# witness_merge_two_lives CODE-OF-OWN CODE-OF-COPY: makes one void record of the caller's own and
# the copy in WITNESS: one of them was begun while the other was out of sight, and it is not known
# which was written last. But if one says that only the RAM leg was good, that stays (witness_void);
# if the copy says so, only its event count is kept, from which nothing is started.
witness_merge_two_lives() {
	local key events=''
	WITNESS_SPLIT=yes
	(($2 != 0)) || [[ -n ${WITNESS[legs]} ]] || events=${WITNESS[events]}
	witness_merge_doubt seen doubted legs was left
	# A leg that was given up in either record stays given up.
	own[given]="${own[given]-}${WITNESS[given]:+ ${WITNESS[given]}}"
	own[given]=${own[given]# } own[seen]=${WITNESS[seen]} own[doubted]=${WITNESS[doubted]}
	if (($1 == 0)) && [[ -z ${own[legs]} ]]; then
		WITNESS=()
		for key in "${!own[@]}"; do WITNESS[$key]=${own[$key]}; done
		return 0
	fi
	WITNESS=([uuid]=${own[uuid]} [generation]=${own[generation]} [life]=${own[life]}
		[left]=${own[left]-} [given]=${own[given]} [seen]=${own[seen]}
		[doubted]=${own[doubted]})
	[[ -z $events ]] || {
		WITNESS_COUNTS=copy
		WITNESS[legs]='' WITNESS[events]=$events
		return 0
	}
	WITNESS[void]=${own[void]:-1} WITNESS[was]=${own[legs]:-${own[was]-}}
	WITNESS_WHY="its two copies are unrelated: one was begun while the other could not be seen"
	return 1
}
