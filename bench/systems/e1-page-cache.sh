# The page cache alone: ext4 on the hard disk, a file that fits into memory, one thread; first as
# after a boot, then warm.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='cached-first cached-warm cached-randread randwrite'
up() { file_on "$HDD1"; }
down() { no_file "$HDD1"; }
