# The same made by ramraid, with the SSD as the RAM leg: no write-behind, and a blank one is rebuilt.
needs='SSD NET' measures='randread read randwrite'
up() {
	ramraid_up --ram="$SSD" "$NET"
	file_on "$md"
}
down() {
	no_file "$md"
	ramraid_down "$NET" # the release has made the SSD blank
}
