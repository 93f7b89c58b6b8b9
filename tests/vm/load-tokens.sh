# The load of "make campaign": new files, and blocks that are overwritten, each promised by an fsync
# or by a synchronous write (tokens.pl). See campaign.sh.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # for campaign.sh; the guest expands

LOAD_WORDS='tokens blocks bytes' LOAD_SLOWER=1

load_disks() {
	from small
	root served
	disk A 40M served
	disk B 40M served
	disk C 24M served
	disk D 24M served
}

load_setup() {
	local i
	vm_send "$here/tokens.pl" /root/tokens.pl
	# "small" has made /srv/data and the sums of what is on it.
	check 'the writers are in place' '
		mkdir -p /srv/data/tokens
		for how in direct sync lazy; do
			perl /root/tokens.pl make-blocks /srv/data/tokens/$how 256
		done
		cat >/root/writers <<"EOT"
export $(cat /run/pause)
exec 9>/dev/virtio-ports/told
for i in 1 2; do perl /root/tokens.pl write-tokens /srv/data/tokens $1.$i & done
for how in direct sync lazy; do
	perl /root/tokens.pl write-blocks /srv/data/tokens/$how 256 $((10#$1 * 1000000)) $how &
done
wait
EOT
		'
	for ((i = 0; i < 256; i++)); do
		printf 'block direct %s 0\nblock sync %s 0\nblock lazy %s 0\n' "$i" "$i" "$i"
	done >"$VM/blocks"
	: >"$VM/tokens"
}

load_told() { # FILE
	grep '^token ' "$1" >>"$VM/tokens" || :
	awk '$1 == "block" && $4 >= seen[$2 " " $3] { seen[$2 " " $3] = $4 }
		END { for (b in seen) print "block", b, seen[b] }' \
		"$VM/blocks" "$1" >"$VM/blocks.new"
	mv "$VM/blocks.new" "$VM/blocks"
	cat "$VM/tokens" "$VM/blocks" >"$VM/expected"
}

load_check() {
	printf '%s\n' 'perl /root/tokens.pl check /srv/data/tokens /root/expected' \
		'(cd /srv/data; sha256sum --quiet -c /root/sums)'
}

# Removes all tokens but a few, which live longer.
load_prune() {
	tail -n 24 "$VM/tokens" >"$VM/tokens.new"
	mv "$VM/tokens.new" "$VM/tokens"
	guest "cd /srv/data/tokens
		ls | grep -vxF -e direct -e sync -e lazy \
			$(awk '{ printf " -e %s", $2 }' "$VM/tokens") | xargs -r rm -f --"
}
