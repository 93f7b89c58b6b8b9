# A slower hard disk (the SSD and HDD article, 2015).
needs='OLD1' measures='randread read randwrite'
up() { target=$OLD1; }
down() { :; }
