# An SSD and a hard disk in RAID1, none of them write-mostly (2015).
needs='SSD OLD1' measures='randread read randwrite'
up() { mirror 1 2 --bitmap=none "$SSD" "$OLD1"; }
down() { no_mirror "$SSD" "$OLD1"; }
