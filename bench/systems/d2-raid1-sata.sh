# Two of them in RAID1 (2014).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SATA1 SATA2' measures='stream'
up() { mirror 1 2 --bitmap=none "$SATA1" "$SATA2"; }
down() { no_mirror "$SATA1" "$SATA2"; }
