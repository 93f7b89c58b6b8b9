# Two of them in RAID1 (2014).
needs='FAST1 FAST2' measures='stream'
up() { mirror 1 2 --bitmap=none "$FAST1" "$FAST2"; }
down() { no_mirror "$FAST1" "$FAST2"; }
