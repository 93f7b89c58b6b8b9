# Two of them in RAID10, near layout (2014).
needs='FAST1 FAST2' measures='stream'
up() { mirror 10 2 --bitmap=none --layout=n2 "$FAST1" "$FAST2"; }
down() { no_mirror "$FAST1" "$FAST2"; }
