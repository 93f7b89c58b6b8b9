# Two hard disks in RAID1 (ADMIN 62/2021).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1 HDD2' measures='randread randwrite'
up() { mirror 1 2 --bitmap=none "$HDD1" "$HDD2"; }
down() { no_mirror "$HDD1" "$HDD2"; }
