# A slower hard disk (the SSD and HDD article, 2015).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='OLD1' measures='randread read randwrite'
up() { target=$OLD1; }
down() { :; }
