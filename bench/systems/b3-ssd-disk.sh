# An SSD and a hard disk in RAID1, neither of them write-mostly (2015).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SSD OLD1' measures='randread read randwrite'
up() { mirror 1 2 --bitmap=none "$SSD" "$OLD1"; }
down() { no_mirror "$SSD" "$OLD1"; }
