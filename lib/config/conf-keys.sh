# The keys of the configuration: the default of each, and the form that its value has to have.
# shellcheck shell=bash

declare -gA CONF_FORM

readonly RE_SIZE='^([0-9]{1,6}%|[0-9]{1,12}[KMGT]?)$'
# systemd.time(7)
readonly RE_TIME='^(infinity|([0-9]{1,9}(\.[0-9]{1,6})? ?(us|usec|µs|μs|ms|msec|s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?|w|weeks?|M|months?|y|years?)? ?)+)$'

# Key → default. UUID has none, because it must be given; lists (MEMBER, REQUIRED_BY) are left out.
# Key → the extended regular expression that its value has to match; conf.sh checks UUID and MEMBER
# more closely. CONF_RENAMED: a word that an earlier release had for a key → the key.
#
# keys.list: made by "make keys" from that file, up to the line that ends it
conf_keys_builtin() {
	CONF=(
		[UUID]=''
		[LAYOUT]=mirror
		[ROOT]=no
		[BLOCK]=auto
		[RAM]=auto
		[RAM_LIMIT]=auto
		[RAM_RESERVE]=10%
		[MEMORY_FLOOR]=0
		[REBUILD]=auto
		[COPY_RATE]=200M
		[VERIFY]=no
		[WAIT]=yes
		[WAIT_TIMEOUT]=30min
		[ON_TIMEOUT]=degraded
		[ACCEPT_KERNEL_FLAW]=no
		[MEMBER_TIMEOUT]=30s
		[START_DEGRADED]=witness
		[WITNESS_COPY]=auto
		[HOTPLUG]=yes
		[AUTO_REPLACE]=no
		[NOTIFY]=none
		[RESCUE]=/var/lib/ramraid
		[WRITE_BEHIND]=0
		[ACCEPT_DATA_LOSS]=no
	)
}
CONF_FORM=(
	[UUID]='^[0-9a-f:-]+$'
	[MEMBER]='^/dev/.'
	[REQUIRED_BY]='^(/.*|[^/]+\.(mount|swap|service|target))$'
	[LAYOUT]='^(mirror|far2)$'
	[ROOT]='^(yes|no)$'
	[BLOCK]='^(auto|4096)$'
	[RAM]='^(auto|rapiddisk|brd|zram|none|zram:[a-z0-9-]{1,20}|/dev/.+)$'
	[RAM_LIMIT]='^(auto|[1-9][0-9]{0,5}%|[1-9][0-9]{0,11}[KMGT]?)$'
	[RAM_RESERVE]=$RE_SIZE
	[MEMORY_FLOOR]=$RE_SIZE
	[REBUILD]='^(auto|copy|kernel)$'
	[COPY_RATE]='^[0-9]{1,12}[KMGT]?$'
	[VERIFY]='^(no|sample|yes)$'
	[WAIT]='^(yes|no)$'
	[WAIT_TIMEOUT]=$RE_TIME
	[ON_TIMEOUT]='^(degraded|fail)$'
	[ACCEPT_KERNEL_FLAW]='^(yes|no)$'
	[MEMBER_TIMEOUT]=$RE_TIME
	[START_DEGRADED]='^(witness|always|never)$'
	[WITNESS_COPY]='^(auto|none|/[A-Za-z0-9._/-]*)$'
	[HOTPLUG]='^(yes|no)$'
	[AUTO_REPLACE]='^(yes|no)$'
	[NOTIFY]='^(none|/[A-Za-z0-9._/+@:-]+)$'
	[RESCUE]='^(none|/[A-Za-z0-9._/-]*)$'
	[WRITE_BEHIND]='^(0|[1-9][0-9]{0,3}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-3])$'
	[ACCEPT_DATA_LOSS]='^(yes|no)$'
)
declare -grA CONF_RENAMED=([MOUNT]=REQUIRED_BY)
# keys.list end
readonly CONF_FORM
