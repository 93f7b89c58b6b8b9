# The ephemeral SSD with the network disk, as published (2014). Do not copy it: with
# --assume-clean, md treats an SSD that is blank after a stop of the machine as equal to the disk
# that has the data, and --write-behind acknowledges what only the ephemeral SSD has.
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
