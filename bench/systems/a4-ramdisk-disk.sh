# A ramdisk with a write-mostly hard disk (ADMIN 62/2021).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='fill randread randwrite'
up() {
	ramdisk 7 $((MB + 4))
	mirror 1 2 --bitmap=none "$rd" --write-mostly "$HDD1"
}
down() {
	no_mirror "$HDD1"
	no_ramdisk 7
}
