# shellcheck shell=bash
# How much of the processors' time a host above this machine gives to others. Figures taken while
# that is much scatter widely.

# Prints what "stolen" compares: the first line of /proc/stat now.
stolen_since() { head -n 1 /proc/stat; }

# stolen BEFORE AFTER: prints it in percent, between two such lines (proc_stat(5): the eighth figure
# is "steal"; the two after it are already counted in others).
stolen() {
	awk '{ for (i = 2; i <= 9; i++) all[NR] += $i; gone[NR] = $9 }
		END {
			span = all[2] - all[1]
			printf "%d\n", span ? 100 * (gone[2] - gone[1]) / span + 0.5 : 0
		}' <<<"$1"$'\n'"$2"
}
