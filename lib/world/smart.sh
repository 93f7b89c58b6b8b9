# What disks say of themselves: the only file that calls smartctl.
# shellcheck shell=bash

need core/paths

smart_is_there() { command -v smartctl >/dev/null; }

# smart_health NODE: sets SMART to failing, or to "unknown" for everything else: a disk that is
# well, that sleeps and is left asleep, or that knows no SMART (a virtual one). Of smartctl's exit
# code 8 is "the disk says that it fails" and 16 "an attribute that foretells it is at its
# threshold" (smartctl(8)).
smart_health() {
	local code=0
	SMART=unknown
	timeout 30 smartctl --quietmode=silent --nocheck=standby --health "$DEV/$1" >/dev/null \
		2>&1 || code=$?
	((code >= 124 || !(code & 24))) || SMART=failing
}
