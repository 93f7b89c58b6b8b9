# The links below /dev/md that have the name of an array, or of a partition of it, and may lead to
# somebody else's: what an array, or a logical volume in a group called md, calls itself is written
# on its disks.
# shellcheck shell=bash

need core/act core/log core/paths

# md_links_take NAME LINK: takes the link away, which leads to something else than array NAME.
md_links_take() {
	local node shown
	node=$(readlink -f -- "$2")
	node=${node#"$ROOT"}
	printf -v shown '%q' "$node"
	if [[ $node == */md* ]]; then
		log_warning "$1: $2 led to another array, $node, which calls itself ${2##*/} as \
well; see: mdadm --detail $shown"
	else
		log_warning "$1: $2 led to $node, which is none of the array: a volume group is \
called md? See: lsblk $shown"
	fi
	act rm -f -- "$2"
}

# md_links_free_partitions NAME: of an array that does not run and has partitions: takes away the
# links of their names that lead to logical volumes (dm-*). An array that is called so may be one
# that somebody has beside it.
md_links_free_partitions() {
	local link node
	for link in "$DEV/md/$1"*; do
		[[ -L $link && ${link#"$DEV/md/$1"} =~ ^p?[0-9]+$ &&
			! -e $ETC/${link##*/}.conf ]] || continue
		node=$(readlink -f -- "$link")
		[[ ${node##*/} != dm-* ]] || md_links_take "$1" "$link"
	done
}

# md_links_mislead MD NAME: does the link of a partition of it, which the kernel has found, lead to
# something else?
md_links_mislead() {
	local folder link
	for folder in "$SYS/class/block/$1/$1"p*; do
		link=$DEV/md/$2
		[[ $2 != *[0-9] ]] || link+=p
		link+=${folder##*p}
		[[ ! -e $folder || ! -e $link || $link -ef $DEV/${folder##*/} ]] || return 0
	done
	return 1
}
