# One SSD, read from one end to the other by one thread (the far2 article, 2014).
needs='FAST1' measures='stream'
up() { target=$FAST1; }
down() { :; }
