# Two hard disks in RAID1 (ADMIN 62/2021).
needs='HDD1 HDD2' measures='randread randwrite'
up() { mirror 1 2 --bitmap=none "$HDD1" "$HDD2"; }
down() { no_mirror "$HDD1" "$HDD2"; }
