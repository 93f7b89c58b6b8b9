# The ephemeral SSD with the network disk, as published (2014). Two hazards, which is why nobody
# should copy it: --assume-clean makes a blank SSD after a stop of the machine as good as the disk
# that has the data; --write-behind acknowledges what only the ephemeral one has.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='SSD NET' measures='randread read randwrite'
up() {
	quietly mdadm --create "$md" --run --level=1 --raid-devices=2 --size="$((MB + 56))M" \
		--bitmap=internal --write-behind=1024 --assume-clean "$SSD" --write-mostly "$NET"
	udevadm settle
	file_on "$md"
}
down() {
	no_file "$md"
	no_mirror "$SSD" "$NET"
}
