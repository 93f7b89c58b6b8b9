# The network disk alone, with ext4 (the EC2 article, 2014).
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='NET' measures='randread read randwrite'
up() { file_on "$NET"; }
down() { no_file "$NET"; }
