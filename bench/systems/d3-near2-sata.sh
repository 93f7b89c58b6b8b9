# Two of them in RAID10, near layout (2014).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SATA1 SATA2' measures='stream'
up() { mirror 10 2 --bitmap=none --layout=n2 "$SATA1" "$SATA2"; }
down() { no_mirror "$SATA1" "$SATA2"; }
