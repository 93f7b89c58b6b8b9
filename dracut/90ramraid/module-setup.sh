#!/bin/bash
# dracut module: keeps the initramfs from assembling the arrays that ramraid starts, as
# initramfs/hook does where initramfs-tools is used. dracut's own module "mdraid" copies mdadm.conf,
# and of the two folders that mdadm may read beside it only /etc/mdadm.conf.d.
# dracut sources this file and calls its functions (dracut.modules(7)); initdir and dracutsysrootdir
# are dracut's.
# shellcheck disable=SC2154

# Prints the claims, as they are named in the real root. "ramraid claim" writes to the one or to the
# other of these folders.
ramraid_claims() {
	local claim
	for claim in "${dracutsysrootdir-}"/etc/mdadm/mdadm.conf.d/ramraid-*.conf \
		"${dracutsysrootdir-}"/etc/mdadm.conf.d/ramraid-*.conf; do
		[[ ! -f $claim ]] || printf '%s\n' "${claim#"${dracutsysrootdir-}"}"
	done
}

# 255: only if somebody asks for it (dracut.modules(7)).
check() { [[ -n $(ramraid_claims) ]] || return 255; }

depends() { return 0; }

# mdadm reads one of the two folders: which one depends on the mdadm.conf that is there and on how
# it was built (load_conffile() in mdadm's config.c). So the claims go to both. Nothing is appended
# to a file that dracut has copied: it may be a link.
install() {
	local claim folder code=0
	while IFS= read -r claim; do
		for folder in /etc/mdadm.conf.d /etc/mdadm/mdadm.conf.d; do
			inst_dir "$folder"
			inst -H "$claim" "$folder/${claim##*/}" || code=1 # said by dracut
		done
		ramraid_do_not_wait "${dracutsysrootdir-}$claim"
	done < <(ramraid_claims)
	return "$code"
}

# ramraid_do_not_wait CLAIM: an initramfs for this host alone waits for every array that swap lies
# on ("mdraid", cmdline()), which nobody starts there, and then ends in its emergency shell.
# "mdraid" is installed before this module: modules are taken in the order of their names.
ramraid_do_not_wait() {
	local array what word uuid='' file
	while read -r array what word; do
		[[ "$array $what $word" != 'ARRAY <ignore> UUID='* ]] || uuid=${word#UUID=}
	done <"$1"
	[[ $uuid =~ ^[0-9a-f:]{35}$ ]] || return 0
	for file in "$initdir"/etc/cmdline.d/*.conf; do
		[[ ! -f $file || -L $file ]] || sed -i "s/ *rd\.md\.uuid=$uuid//g" "$file"
	done
}
