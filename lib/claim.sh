# The claim: lines that keep mdadm's own rules from assembling our arrays, in the real root and, through our hook, in the initramfs.
# Without it arrays appear half assembled, which a start takes apart again, or started by somebody who does not judge the legs as we do.
# shellcheck shell=bash

claim_file() { printf '%s/ramraid-%s.conf\n' "$CLAIMS" "$1"; } # NAME

# claim_text UUID: ARRAY <ignore> tells mdadm not to assemble this array automatically (mdadm.conf(5)).
claim_text() {
	local hex=${1//-/}
	printf '# Written by ramraid, which starts this array itself; taken away by removing the package.\n'
	printf 'ARRAY <ignore> UUID=%s:%s:%s:%s\n' "${hex:0:8}" "${hex:8:8}" "${hex:16:8}" "${hex:24:8}"
}

claim_write() { claim_text "$2" | act_file "$(claim_file "$1")"; } # NAME UUID
claim_remove() { act rm -f -- "$(claim_file "$1")"; }              # NAME

# The initramfs of every installed kernel must know. Takes seconds to minutes for each.
claim_initramfs() {
	[[ -x /usr/sbin/update-initramfs ]] || {
		log_warning 'no update-initramfs here: make your initramfs leave this array alone yourself (see ramraid(8), INITRAMFS)'
		return 0
	}
	act update-initramfs -u -k all
}
