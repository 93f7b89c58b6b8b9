# The page cache alone: ext4 on the hard disk, a file that fits into memory, one thread; first as after a boot, then warm.
needs='HDD1' measures='cached-first cached-warm cached-randread randwrite'
up() { file_on "$HDD1"; }
down() { no_file "$HDD1"; }
