# Two of the slower hard disks in RAID1 (2015).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='OLD1 OLD2' measures='randread read randwrite'
up() { mirror 1 2 --bitmap=none "$OLD1" "$OLD2"; }
down() { no_mirror "$OLD1" "$OLD2"; }
