# One hard disk, read from one end to the other by one thread (the far2 article, 2014).
needs='SATA1' measures='stream'
up() { target=$SATA1; }
down() { :; }
