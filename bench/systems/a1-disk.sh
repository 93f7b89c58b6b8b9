# One hard disk (ADMIN 62/2021).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='randread randwrite'
up() { target=$HDD1; }
down() { :; }
