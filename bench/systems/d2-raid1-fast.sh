# Two of them in RAID1 (2014).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='FAST1 FAST2' measures='stream'
up() { mirror 1 2 --bitmap=none "$FAST1" "$FAST2"; }
down() { no_mirror "$FAST1" "$FAST2"; }
