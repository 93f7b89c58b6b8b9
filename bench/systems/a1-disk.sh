# One hard disk (ADMIN 62/2021).
needs='HDD1' measures='randread randwrite'
up() { target=$HDD1; }
down() { :; }
