# What mdadm treats a device as when nobody names a format: mdadm believes the superblock that was
# made last (guess_super_type() in its util.c). ramraid judges legs by the superblock of metadata
# 1.2, at their beginning. Superblocks of 1.0 and 0.90 are where the data end, so a file on the
# array may contain one.
# shellcheck shell=bash

need core/bounded core/paths

# how often to ask mdadm when it says nothing, and the seconds in between
readonly MD_FORMAT_TRIES=3 MD_FORMAT_AGAIN=1

# md_format_why NAME UUID LEG…: prints why these legs of the array must not be given to mdadm, and
# what to do; nothing when there is no reason. The reason is that mdadm treats one of them as a
# member of something other than the array UUID with metadata 1.2. Returns 1, and prints that as the
# reason, when mdadm says nothing about a leg, though each has a superblock that ramraid has read.
# Naming the format would not help: "mdadm --assemble --metadata=1.2" of mdadm 4.4 starts the array,
# and then crashes on memory that it has freed (case "formats").
md_format_why() {
	local uuid=${2//-/} leg version array try
	for leg in "${@:3}"; do
		for ((try = 1; try <= MD_FORMAT_TRIES; try++)); do
			md_format_of_ "$leg"
			[[ -z $version ]] || break
			sleep "$MD_FORMAT_AGAIN"
		done
		[[ $version:$array != "1.2:$uuid" ]] || continue
		# Not to be erased: a superblock of metadata 1.2 would be the leg's own, and one in
		# another maker's format belongs to another program.
		case $version in
		'')
			printf '%s' "mdadm does not say what /dev/$leg is; see: mdadm --examine \
/dev/$leg; then: ramraid start $1"
			;;
		0.90 | 1.0)
			printf '%s' "mdadm reads /dev/$leg as a member of another array (metadata \
$version), because of a superblock in the data at its end. If there is no such array: mdadm \
--zero-superblock --metadata=$version /dev/$leg; ramraid start $1"
			;;
		*)
			printf '%s' "mdadm reads /dev/$leg as a member of another array (metadata \
$version); see: mdadm --examine /dev/$leg"
			;;
		esac
		printf '\n'
		[[ -n $version ]]
		return
	done
}

# md_format_of_ LEG: sets version and array to the first value that mdadm prints of each, or to ''
# when it prints none. The name of the array comes after these. mdadm prints it as it is in the
# superblock, with line breaks in it (examine_super1() in its super1.c, examine_super0() in
# super0.c). "--export" has no version.
md_format_of_() {
	local line
	version='' array=''
	while read -r line; do
		case $line in
		'Version : '*) : "${version:=${line#*: }}" ;;
		'Array UUID : '* | 'UUID : '*)
			line=${line#*: } line=${line%% *}
			: "${array:=${line//:/}}"
			;;
		esac
	done < <(bounded "$DEV/$1" mdadm --examine "$DEV/$1")
	version=${version%.00}
}
