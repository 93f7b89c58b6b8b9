# An SSD (2015).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SSD' measures='randread read randwrite'
up() { target=$SSD; }
down() { :; }
