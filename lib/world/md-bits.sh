# The bitmap's bits: where the legs of a running array may differ.
# shellcheck shell=bash

need core/act core/paths world/md-state

# md_bits_set_all MD: says that the legs may differ everywhere. Without a bitmap md builds each leg
# whole anyway.
md_bits_set_all() {
	local VALUE kib
	md_state_read "$1" component_size
	[[ $VALUE =~ ^[1-9][0-9]*$ ]] || return
	kib=$VALUE
	md_state_read "$1" bitmap/chunksize # bytes
	[[ ! $VALUE =~ ^[1-9][0-9]*$ ]] || md_bits_set "$1" "0-$(((kib * 1024 - 1) / VALUE))"
}

# md_bits_set MD BITS: says that the legs may differ there; BITS as superblock_dirty_bits prints
# them.
md_bits_set() { act_write "$SYS/block/$1/md/bitmap_set_bits" "$2"; }
