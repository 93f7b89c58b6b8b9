# One SSD, read from one end to the other by one thread (the far2 article, 2014).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='FAST1' measures='stream'
up() { target=$FAST1; }
down() { :; }
