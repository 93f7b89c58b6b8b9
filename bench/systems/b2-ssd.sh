# An SSD (2015).
needs='SSD' measures='randread read randwrite'
up() { target=$SSD; }
down() { :; }
