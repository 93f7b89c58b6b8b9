# The one place that says whose a device is that the configuration names, and that is no leg of the
# array: another configured array's, another array's, or somebody's whose file system is on it. The
# line that names it may be a mistake, so the first advice is to correct that, never to erase.
# shellcheck shell=bash

need core/paths core/text

declare -gA F # the facts: decide/facts.list

# not_ours I WORD [AGAIN]: after observe/whose.sh has looked at leg I (a number, or "ram"), which is
# outside the array; WORD is its state (decide/leg.sh). Sets NOT_OURS to words that end the sentence
# "DEVICE …", and NOT_OURS_DO to what to do; AGAIN is what to type after the device has been erased.
# Returns 1 if the device is this array's, or blank, so that others say what to do with it.
not_ours() {
	local dev=${F[leg.$1.dev]} whose=${F[leg.$1.whose]} verb=apply again
	[[ $1 != ram ]] || verb=attach
	again=${3-"; ramraid $verb ${F[name]}"}
	NOT_OURS='' NOT_OURS_DO='take another disk'
	[[ -z ${F[leg.$1.line]} ]] ||
		NOT_OURS_DO="correct or delete ${F[leg.$1.line]}, then: ramraid apply ${F[name]}"
	[[ $1 != ram ]] || NOT_OURS_DO="give ${F[name]} another RAM= (ramraid config show \
${F[name]} says where it is), then: ramraid attach ${F[name]}"
	# What can be put back, or may hold what the array lacks, is this array's all the same; and
	# nobody knows what it is that can't be read.
	[[ $2 != @(returned|removed|bouncing|ahead|holding|missing|silent|unreadable|unseen) ]] ||
		return 1
	if [[ $whose == "$TEXT_UNKNOWN" ]]; then
		NOT_OURS="may be another array's: $whose"
	elif [[ -n $whose ]]; then
		NOT_OURS=${whose%%$'\n'*} NOT_OURS_DO+=". ${whose#*$'\n'}"
	elif [[ $2 == foreign ]]; then
		NOT_OURS="belongs to another array (${F[leg.$1.uuid]}), and is left alone"
		NOT_OURS_DO+="; or, if nothing of that one is needed any more: \
mdadm --zero-superblock $dev$again"
	elif [[ $2 == @(blank|occupied) && -n ${F[leg.$1.content]} ]]; then
		NOT_OURS="is not added: ${F[leg.$1.content]}"
		[[ ${F[leg.$1.content]} != signature:* ]] ||
			NOT_OURS_DO+="; or, if nothing on it is needed any more: \
wipefs --all $dev$again"
	fi
	[[ -n $NOT_OURS ]]
}
