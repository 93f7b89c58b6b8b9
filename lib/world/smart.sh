# What disks say of themselves: the only file that calls smartctl.
# shellcheck shell=bash

need core/bounded core/paths

readonly SMART_BOUND=30 # seconds that a disk has to answer

smart_is_there() { command -v smartctl >/dev/null; }

# smart_health NODE: sets SMART to failing, or to "unknown" for everything else: a disk that is
# well, that sleeps and is left asleep, that does not answer, or that knows no SMART (a virtual
# one). Of smartctl's exit code 8 is "the disk says that it fails" and 16 "an attribute that
# foretells it is at its threshold" (smartctl(8)).
smart_health() {
	local BOUNDED=$((SMART_BOUND + 2)) code=0
	SMART=unknown
	# Under a name of its own: it may take long where a superblock is read at once.
	bounded "smart-$1" timeout "$SMART_BOUND" smartctl --quietmode=silent --nocheck=standby \
		--health "$DEV/$1" >/dev/null || code=$?
	((code >= 124 || !(code & 24))) || SMART=failing
}
