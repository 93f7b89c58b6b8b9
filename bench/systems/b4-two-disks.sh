# Two of the slower hard disks in RAID1 (2015).
needs='OLD1 OLD2' measures='randread read randwrite'
up() { mirror 1 2 --bitmap=none "$OLD1" "$OLD2"; }
down() { no_mirror "$OLD1" "$OLD2"; }
