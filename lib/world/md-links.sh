# The links in /dev/md that have the name of an array, or of one of its partitions. They may lead to
# somebody else's device: an array, or a logical volume in a group called md, takes its name from
# what is written on its disks.
# shellcheck shell=bash

need core/act core/log core/paths

# md_links_take NAME LINK: removes LINK, which leads to something other than array NAME.
md_links_take() {
	local node shown
	node=$(readlink -f -- "$2")
	node=${node#"$ROOT"}
	printf -v shown '%q' "$node"
	if [[ $node == */md* ]]; then
		log_warning "$1: $2 led to another array, $node, which has the name ${2##*/} as \
well; see: mdadm --detail $shown"
	else
		log_warning "$1: $2 led to $node, which does not belong to the array; is there a \
volume group called md? See: lsblk $shown"
	fi
	act rm -f -- "$2"
}

# md_links_free_partitions NAME: for an array that does not run and has partitions: removes links
# that have the names of these partitions and lead to logical volumes (dm-*). A link to an array
# stays: somebody may have another array with that name.
md_links_free_partitions() {
	local link node
	for link in "$DEV/md/$1"*; do
		[[ -L $link && ${link#"$DEV/md/$1"} =~ ^p?[0-9]+$ &&
			! -e $ETC/${link##*/}.conf ]] || continue
		node=$(readlink -f -- "$link")
		[[ ${node##*/} != dm-* ]] || md_links_take "$1" "$link"
	done
}

# md_links_mislead MD NAME: does the link of a partition that the kernel has found on the array lead
# to something else?
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
