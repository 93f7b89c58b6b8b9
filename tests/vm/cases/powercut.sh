# Power cuts in every phase, on disks whose write cache is lost with the power: the short form of
# "make campaign".
checked_on forky
# shellcheck source=tests/vm/campaign.sh disable=SC2154
source "$here/campaign.sh"
load_disks

steps() {
	campaign_setup
	guest '
		head -c 4k /dev/zero | tr "\0" F >/root/flushed
		head -c 4k /dev/zero | tr "\0" U >/root/unflushed; sync
		dd if=/root/flushed of=$(leg D) bs=4k seek=100 oflag=direct conv=fsync status=none
		dd if=/root/unflushed of=$(leg D) bs=4k seek=200 oflag=direct status=none
		cmp -n 4096 -i $((200 * 4096)):0 $(leg D) /root/unflushed'
	campaign_run 1:idle:0:0
	check 'the disks have an honest cache: what was flushed is there, what was not is lost' '
		cmp -n 4096 -i $((100 * 4096)):0 $(leg D) /root/flushed
		cmp -n 4096 -i $((200 * 4096)):0 $(leg D) /dev/zero'
	campaign_run 4:recovery:1500:0
	short ||
		campaign_run 2:writes:1500:50 3:boot-before:800:30 5:readd:2200:60 \
			6:shutdown:1500:20 7:boot-after:800:0
}
