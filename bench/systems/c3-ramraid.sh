# The same made by ramraid, with the SSD as the RAM leg: without write-behind, and a blank SSD is
# rebuilt.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SSD NET' measures='randread read randwrite'
up() {
	ramraid_up --ram="$SSD" "$NET"
	file_on "$md"
}
down() {
	no_file "$md"
	ramraid_down "$NET" # the release has made the SSD blank
}
