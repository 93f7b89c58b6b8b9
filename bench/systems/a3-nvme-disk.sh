# A fast disk with a write-mostly hard disk (ADMIN 62/2021).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='NVME HDD1' measures='randread randwrite'
up() { mirror 1 2 --bitmap=none "$NVME" --write-mostly "$HDD1"; }
down() { no_mirror "$NVME" "$HDD1"; }
