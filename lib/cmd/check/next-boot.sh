# The check, what the next boot depends on: the claim, in the real root and in every initramfs; the
# kernels and their modules; the unit; the memory; an adoption or a release that has not ended.
# After conf_load. Each function asks one thing and reports with findings_problem or findings_note.
# shellcheck shell=bash

need act/block-size cmd/check/findings config/conf config/conf-where core/paths core/quantity
need decide/health notes/claim notes/memory-floor notes/selftest-record observe/summary
need report/states world/disk-find world/initramfs world/kernels world/md-state world/ramdisk
need world/ramdisk-memory world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

# The real root must have our ARRAY line, and no other about the array.
check_next_boot_claim() {
	local file
	while IFS= read -r file; do
		findings_can_read "$file" || {
			findings_unseen claim 'to see whether the array is claimed' \
				"no right to read $file"
			return 0
		}
	done < <(claim_others)
	claim_is_made "$CHECK_ARRAY" "${CONF[UUID]}" || findings_problem not-claimed \
		"\"$(check_next_boot_claim_line_)\" in $(claim_file "$CHECK_ARRAY"), \
and no other ARRAY line about the array" "$(check_next_boot_claim_found_)" 'ramraid claim'
}
check_next_boot_claim_line_() {
	if [[ ${CONF[ROOT]} == yes ]]; then
		printf 'ARRAY /dev/md/%s UUID=…' "$CHECK_ARRAY"
	else
		printf 'ARRAY <ignore> UUID=…'
	fi
}

check_next_boot_claim_found_() {
	local file
	file=$(claim_file "$CHECK_ARRAY")
	if [[ ! -e $file ]]; then
		printf 'no such file\n'
	elif [[ $(claim_wanted "$CHECK_ARRAY" "${CONF[UUID]}") != "$(cat "$file")" ]]; then
		printf 'something else in it\n'
	else
		printf 'such a line\n'
	fi
}

# ramraid starts nothing in an initramfs that another program makes: see observe/adoptable.
check_next_boot_root() {
	[[ ${CONF[ROOT]} != yes || -n $(initramfs_generator) ]] ||
		findings_problem root-initramfs \
			'an initramfs of initramfs-tools or dracut, since ROOT=yes' \
			'something else, so that the next boot may not start the array' \
			"install initramfs-tools, or: ramraid release $CHECK_ARRAY"
}

# Looks at each kernel that may be started next.
check_next_boot_kernels() {
	local release
	for release in "${KERNELS[@]}"; do
		check_next_boot_initramfs "$release"
		check_next_boot_blocks "$release"
		[[ ${CONF[RAM]} == @(none|/*) ]] || check_next_boot_modules "$release"
		[[ ${CONF[RAM]} == none || ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] ||
			check_next_boot_flaw "$release"
		[[ ${CONF[RAM]} == none || ${CONF[REBUILD]} == kernel ]] ||
			check_next_boot_tried "$release"
	done
}

# An initramfs without mdadm assembles nothing.
check_next_boot_initramfs() { # RELEASE
	local file how
	if kernels_is_in_boot "$1" && ! initramfs_file "$1" >/dev/null &&
		how=$(initramfs_command "$1"); then
		# An interrupted installation leaves such a kernel, for example one that DKMS ended.
		findings_problem no-initramfs "Linux $1 to have an initramfs" \
			"none in $BOOT, so that this kernel may not boot" \
			"$how; if that fails, see: dpkg --audit" "$1"
		return
	elif ! initramfs_open "$1"; then
		check_next_boot_unseen_initramfs_ "$1"
		return
	fi
	initramfs_has_mdadm || return 0
	while IFS= read -r file; do
		! claim_stands "$file" "${CONF[UUID]}" || return 0
	done < <(initramfs_confs)
	findings_problem not-claimed-initramfs "the initramfs of Linux $1 to \
$([[ ${CONF[ROOT]} == yes ]] && echo start the array ||
		echo leave the array alone) \
(\"$(check_next_boot_claim_line_)\" in its mdadm.conf)" \
		"no such line in $(initramfs_file "$1")" \
		"$(check_next_boot_initramfs_cure_ "$1")" "$1"
}

check_next_boot_unseen_initramfs_() { # RELEASE
	local cure='see INITRAMFS in ramraid-concepts(7)'
	[[ $INITRAMFS_WHY != 'no right'* ]] || cure="sudo ramraid check $CHECK_ARRAY"
	findings_note unseen-initramfs "to see whether the initramfs of Linux $1 leaves the array \
alone" "$INITRAMFS_WHY" "$cure" "$1"
}

check_next_boot_initramfs_cure_() { # RELEASE
	initramfs_command "$1" ||
		printf '%s\n' 'make a new one, with the claim: see INITRAMFS in ramraid-concepts(7)'
}

# Without zram, a start can't give the array larger blocks than its disks have, and is refused
# (act/block-size.sh). The initramfs gives it none.
check_next_boot_blocks() { # RELEASE
	[[ ${CONF[ROOT]} != yes && $(kernels_module "$1" zram) == none ]] &&
		check_next_boot_is_raised_ || return 0
	findings_problem no-block-module "Linux $1 to have the module zram, since BLOCK=4096" \
		'none, so that the array would not start' "remove that kernel, or install its \
package with that module; if there is no partition table on the array, BLOCK=auto will do \
(LARGER BLOCKS in ramraid-concepts(7))" "$1"
}
check_next_boot_is_raised_() {
	local member nodes=() NODE
	for member in "${MEMBERS[@]}"; do
		! disk_find "$member" || nodes+=("$NODE")
	done
	block_size_is_raised "${nodes[@]}"
}

# Looks for the module that makes the RAM leg. A brd that is built in was there before us and may
# hold anything, so world/ramdisk.sh does not use it.
check_next_boot_modules() { # RELEASE
	local rapiddisk brd cure="apt install rapiddisk-dkms linux-headers-$1; then see: \
dkms status"
	[[ ${CONF[RAM]} != zram* ]] || {
		check_next_boot_zram_ "$1"
		return
	}
	rapiddisk=$(kernels_module "$1" rapiddisk) brd=$(kernels_module "$1" brd)
	[[ $rapiddisk == none || ${CONF[RAM]} == brd ]] || return 0
	[[ ${CONF[RAM]} == brd ]] || check_next_boot_dkms_ "$1"
	case ${CONF[RAM]}:$brd in
	brd:module) ;;
	auto:module)
		# Some distributions do not have rapiddisk, and brd serves as well.
		! kernels_any_has rapiddisk ||
			findings_note no-rapiddisk "Linux $1 to have the module rapiddisk" \
				'none; brd will be used' "$cure" "$1"
		;;
	*:module) findings_problem no-ram-module \
		"Linux $1 to have the module rapiddisk, since RAM=rapiddisk" \
		'none, so that there will be no RAM leg; brd could be used' \
		"$cure; or write RAM=auto" "$1" ;;
	brd:*) findings_problem no-ram-module "Linux $1 to have the module brd, since RAM=brd" \
		"$(check_next_boot_brd_ "$brd"), so that there will be no RAM leg" \
		'write RAM=auto' "$1" ;;
	*)
		# Not every distribution has a package of rapiddisk.
		[[ $(kernels_module "$1" zram) == none ]] || cure+='; or write RAM=zram'
		findings_problem no-ram-module "Linux $1 to have a module for the RAM leg" "no \
rapiddisk, and $(check_next_boot_brd_ "$brd"): neither can be used" "$cure" "$1"
		;;
	esac
}
check_next_boot_zram_() { # RELEASE
	[[ $(kernels_module "$1" zram) == none ]] && ! check_next_boot_is_raised_ || return 0
	findings_problem no-ram-module "Linux $1 to have the module zram, since RAM=${CONF[RAM]}" \
		'none, so that there will be no RAM leg' 'write RAM=auto' "$1"
}

# If the source of rapiddisk is there, installing the package once more changes nothing. Sets the
# caller's cure.
check_next_boot_dkms_() { # RELEASE
	local DKMS DKMS_LOG found='no module, and no log of an attempt'
	kernels_dkms "$1" rapiddisk
	[[ -n $DKMS ]] || return 0
	cure="dkms install rapiddisk/$DKMS -k $1"
	if ! kernels_headers "$1"; then
		found='no module: the headers of that kernel are not installed' \
			cure="apt install linux-headers-$1; then see: dkms status"
	elif [[ -n $DKMS_LOG ]]; then
		found="no module: the build has failed; its log is $DKMS_LOG"
	fi
	findings_note dkms-failed "DKMS to have built rapiddisk $DKMS for Linux $1" "$found" \
		"$cure" "$1"
}
check_next_boot_brd_() {
	if [[ $1 == builtin ]]; then
		echo 'a brd that is built in, which ramraid does not use'
	else echo 'no brd'; fi
}

# A flaw that ramraid works around in whatever it does on that kernel is no fault, but good to know.
check_next_boot_flaw() { # RELEASE
	local KERNEL_FLAW KERNEL_FLAW_COPY='' KERNEL_FLAW_SLOTS \
		what='a kernel without a known flaw' \
		cure='apt full-upgrade, and start the newer kernel'
	kernels_flaw "$1"
	if [[ -n $KERNEL_FLAW ]]; then
		findings_problem kernel-flaw "$what" "$KERNEL_FLAW" "$cure" "$1"
		return
	fi
	[[ ${CONF[REBUILD]} == kernel ]] || kernels_flaw_copy "$1"
	kernels_flaw_slots "$1"
	[[ -z $KERNEL_FLAW_COPY$KERNEL_FLAW_SLOTS ]] || findings_note kernel-flaw "$what" \
		"that $KERNEL_FLAW_COPY${KERNEL_FLAW_COPY:+; and that }$KERNEL_FLAW_SLOTS" \
		"$cure" "$1"
}

# An older kernel may be started again some day, and would not start the array.
check_next_boot_superblocks() {
	local release old=() i
	for release in "${KERNELS[@]}"; do
		! kernels_is_before "$release" 6 19 || old+=("$release")
	done
	((${#old[@]} > 0)) || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		findings_can_read "$DEV/${F[leg.$i.node]}" || continue
		superblock_is_new "$DEV/${F[leg.$i.node]}" || continue
		findings_problem kernel-too-old \
			'every installed kernel to be able to start the array' \
			"that Linux ${old[*]} can't: a newer kernel has written the size of the \
array's logical blocks into the superblock of ${F[leg.$i.dev]}, \
and kernels before 6.19 refuse that" \
			"start the newer kernel only, and remove the other: \
apt remove linux-image-${old[0]}" \
			"${old[0]}"
		return
	done
}

# check_next_boot_bad_blocks: from Linux 7.0 on, a leg fails if md can't record a bad block on it,
# and a rebuild that can't read a block of the last disk leg in sync takes that leg out of use
# (rdev_set_badblocks() in linux drivers/md/md.c). Before, only the rebuild ended.
check_next_boot_bad_blocks() {
	local release new='' i
	for release in "${KERNELS[@]}"; do
		kernels_is_before "$release" 7 0 || new=$release
	done
	[[ -n $new ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		findings_can_read "$DEV/${F[leg.$i.node]}" || continue
		superblock_lacks_bad_block_list "$DEV/${F[leg.$i.node]}" || continue
		findings_note no-bad-block-list \
			"${F[leg.$i.dev]} to have room for md's list of bad blocks" \
			"none, so that on Linux $new one block that can't be read, when no other \
disk leg has it, makes md refuse all writes" \
			"$(check_next_boot_make_room_)" "$new"
		return
	done
}

# Prints what to type to have md make room for the list. mdadm judges no leg as a start by ramraid
# does, so this is only for an array that has all its disk legs in sync, with all that was written.
check_next_boot_make_room_() {
	local i legs='' LOST LACKING
	health_lost
	if [[ ${F[array.state]} != active || -n $LOST$LACKING ]] || health_only_copy; then
		printf '%s\n' "ramraid check $CHECK_ARRAY says how to make room, once the array \
runs with all its disk legs in sync"
		return
	fi
	for ((i = 0; i < ${F[members]}; i++)); do legs+=" ${F[leg.$i.dev]}"; done
	printf '%s\n' "ramraid stop $CHECK_ARRAY && \
mdadm --assemble --update=bbl /dev/md/$CHECK_ARRAY$legs && \
mdadm --stop /dev/md/$CHECK_ARRAY && ramraid start $CHECK_ARRAY"
}

# A kernel that nobody has tried is no fault: md itself then rebuilds the RAM leg, from one disk. A
# kernel on which the self-test has failed is one, whatever the list says.
check_next_boot_tried() { # RELEASE
	local SELFTEST_WORD KERNEL_FLAW_COPY='' action='ramraid selftest'
	local -A SELFTEST=()
	selftest_record_word "$1"
	if [[ $SELFTEST_WORD == failed ]]; then
		findings_problem kernel-selftest-failed \
			"a kernel on which the RAM leg can be copied from all disks" \
			"that the self-test has failed on Linux $1 (${SELFTEST[why]-}, \
${SELFTEST[time]-}), so that md itself rebuilds the RAM leg, at the speed of one disk" \
			"apt full-upgrade, and start the newer kernel; to repeat the test on that \
one: ramraid selftest" "$1"
	elif [[ ${CONF[REBUILD]} == auto && -z $SELFTEST_WORD ]] && ! kernels_is_tried "$1"; then
		# On such a kernel, the self-test would refuse to try it.
		[[ ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] || kernels_flaw_copy "$1"
		[[ -z $KERNEL_FLAW_COPY ]] || return 0
		[[ $1 == "$(kernels_running)" ]] || action="start that kernel, then: $action"
		findings_note kernel-untried "a kernel on which copying from all disks has been \
tested (Linux $(kernels_copy_text or), or by ramraid selftest)" \
			"Linux $1, which has not been tried, so that md itself rebuilds the RAM \
leg, at the speed of one disk" "nothing, if that is fast enough; else: $action" "$1"
	fi
}

check_next_boot_enabled() {
	local state
	state=$(systemd_enablement "$CHECK_ARRAY")
	case $state in
	enabled | static | alias | generated) ;;
	'')
		findings_note unseen-unit \
			"to see whether $(systemd_unit "$CHECK_ARRAY") is enabled" \
			'that systemctl does not say' \
			"systemctl is-enabled $(systemd_unit "$CHECK_ARRAY")"
		;;
	masked*)
		findings_problem not-enabled "$(systemd_unit "$CHECK_ARRAY") to be enabled" \
			"it $state" "systemctl unmask $(systemd_unit "$CHECK_ARRAY")"
		;;
	*)
		findings_problem not-enabled "$(systemd_unit "$CHECK_ARRAY") to be enabled" \
			"it $state" "systemctl enable $(systemd_unit "$CHECK_ARRAY")"
		;;
	esac
}

check_next_boot_half_done() {
	local UNFINISHED UNFINISHED_EXPECTED UNFINISHED_FOUND UNFINISHED_ACTION
	summary_unfinished "$CHECK_ARRAY"
	states_unfinished
	[[ -z $UNFINISHED ]] || findings_problem "$UNFINISHED" "$UNFINISHED_EXPECTED" \
		"$UNFINISHED_FOUND" "$UNFINISHED_ACTION"
}

# After a boot nearly all memory is available, but never more than the machine has. After
# facts_observe; adds to CHECK_RAM_BYTES (all ramdisks together), and raises CHECK_RAM_RESERVE (the
# largest), for check_machine_memory_of_all.
check_next_boot_memory() {
	local bytes total MEMORY_RESERVE MEMORY_RESERVE_BY
	bytes=$(check_next_boot_ram_bytes_)
	[[ -n $bytes ]] || return 0
	bytes=$(ramdisk_need "${CONF[RAM]}" "$bytes" "${CONF[RAM_LIMIT]}")
	total=$(ramdisk_memory_total)
	memory_floor_reserve
	CHECK_RAM_BYTES=$((CHECK_RAM_BYTES + bytes))
	((MEMORY_RESERVE <= CHECK_RAM_RESERVE)) || CHECK_RAM_RESERVE=$MEMORY_RESERVE
	((bytes + MEMORY_RESERVE > total)) || return 0
	CHECK_RAM_SAID=yes
	findings_problem memory "memory for the ramdisk ($(quantity_show_bytes "$bytes")) and for \
$MEMORY_RESERVE_BY=${CONF[$MEMORY_RESERVE_BY]} ($(quantity_show_bytes "$MEMORY_RESERVE"))" \
		"$(quantity_show_bytes "$total") in all, so that there will be no RAM leg" \
		"lower $MEMORY_RESERVE_BY in $(conf_where "$CHECK_ARRAY" \
			"$MEMORY_RESERVE_BY"), or write RAM=none"
}

# Prints how large the ramdisk has to be; nothing when there will be none, or when nobody knows.
check_next_boot_ram_bytes_() {
	local i
	[[ ${CONF[RAM]} != @(none|/*) ]] || return 0
	[[ -z ${F[array.md]} ]] || ! md_state_leg_bytes "${F[array.md]}" || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} == ok && ${F[leg.$i.uuid]} == "${F[uuid]}" ]] || continue
		printf '%s\n' $(((${F[leg.$i.size]} + ${F[leg.$i.data_offset]}) * 512))
		return
	done
}
