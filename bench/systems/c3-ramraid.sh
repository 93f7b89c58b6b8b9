# The same made by ramraid, with the SSD as the RAM leg: no write-behind, and a blank one is rebuilt.
needs='SSD NET' measures='randread read randwrite'
up() { ramraid_up --ram="$SSD" "$NET" && file_on "$md"; }
down() { no_file && ramraid_down "$SSD" "$NET"; }
