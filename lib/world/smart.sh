# What disks say about their own health: the only file that calls smartctl.
# shellcheck shell=bash

need core/bounded core/paths

readonly SMART_BOUND=30 # seconds that a disk has to answer

smart_is_there() { command -v smartctl >/dev/null; }

# smart_health NODE: sets SMART to "failing", or to "unknown" in every other case: the disk is
# healthy, is asleep (and is left asleep), does not answer, or has no SMART (a virtual disk). In
# smartctl's exit code, 8 stands for "the disk says that it is failing", and 16 for "an attribute
# that predicts failure is at its threshold" (smartctl(8)).
smart_health() {
	local BOUNDED=$((SMART_BOUND + 2)) code=0
	SMART=unknown
	# This has a bound under a name of its own, because it may take long on a disk whose
	# superblock is read at once.
	bounded "smart-$1" timeout "$SMART_BOUND" smartctl --quietmode=silent --nocheck=standby \
		--health "$DEV/$1" >/dev/null || code=$?
	((code >= 124 || !(code & 24))) || SMART=failing
}
