# The network disk alone, with ext4 (the EC2 article, 2014).
needs='NET' measures='randread read randwrite'
up() { file_on "$NET"; }
down() { no_file "$NET"; }
