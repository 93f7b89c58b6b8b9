# shellcheck shell=bash disable=SC2154 # "here" is case.sh's
# The RAM leg is copied again and again while a writer never rests: after each round md finds no
# difference, and every file is right. make rounds N=100 SEED=7; with RAM=brd or RAM=zram, on such a
# RAM leg.
checked_on trixie
long
from installed
disk A 40M throttling.bps-read=14000000,discard=unmap
disk B 40M throttling.bps-read=10000000,discard=unmap

readonly ROUNDS=${N:-2} ROUNDS_SEED=${SEED:-$((RANDOM % 10000))}

steps() {
	local i
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'a mirror with a file system that discards' '
		mkdir -p /etc/ramraid/ramraid.conf.d
		echo REBUILD=copy >/etc/ramraid/ramraid.conf.d/test.conf
		ramraid create --yes --ram='"${RAM:-auto}"' data $(leg A) $(leg B)
		cat /run/ramraid/data.ram
		mkfs.ext4 -q -b 4096 -E nodiscard,lazy_itable_init=0 /dev/md/data
		mkdir -p /srv/data; mount -o discard /dev/md/data /srv/data
		test "$(slots data)" = UUU'
	printf '# seed %s\n' "$ROUNDS_SEED"
	for ((i = 1; i <= ROUNDS; i++)); do
		# From seeds that are near each other, bash draws numbers that are near each other.
		RANDOM=$(cksum <<<"$ROUNDS_SEED $i" | cut -d ' ' -f 1)
		round "$i" "$((RANDOM % 4))" "$RANDOM" "$((2 + RANDOM % 4)).$((RANDOM % 10))"
	done
}

# Variants: 0 without, 1 with discard; 2 a disk leg is failed in the middle of the copy and put
# back; 3 the copy is stopped in the middle and begun again.
round() { # NUMBER VARIANT SEED DELAY
	check "round $1, variant $2, seed $3" "
		variant=$2 delay=$4"'
		mount -o remount,'"$([[ $2 == 0 ]] && echo nodiscard || echo discard)"' /srv/data
		perl /root/churn.pl write /srv/data /root/list '"$3"' & writer=$!
		trap "kill $writer" EXIT
		ramraid detach data 2>/dev/null
		ramraid attach data >/root/attach.log 2>&1 & attach=$!
		case $variant in
		2)
			sleep $delay
			mdadm -q /dev/md/data --fail $(node B)
			for i in $(seq 50); do
				mdadm -q /dev/md/data --remove $(node B) 2>/dev/null && break
				sleep 0.1
			done
			;;
		3)
			sleep $delay; kill -TERM $attach; wait $attach || :
			ramraid attach data >/root/attach2.log 2>&1 & attach=$!
			;;
		esac
		# A disk that was away may still be on its way back, or come too late for this
		# round.
		wait $attach || {
			cat /root/attach.log; test $variant = 2
			ramraid attach data >>/root/attach.log 2>&1
		}
		cat /root/attach.log
		sleep 0.3
		kill $writer; trap - EXIT; wait $writer
		umount /srv/data; perl /root/churn.pl free /dev/md/data
		test "$(slots data)" = UUU
		different=$(compare data); echo "mismatch_cnt $different"; test "$different" = 0
		echo 3 >/proc/sys/vm/drop_caches; fsck.ext4 -fn /dev/md/data
		mount /dev/md/data /srv/data
		perl /root/churn.pl check /srv/data /root/list
		rm -f /srv/data/c*
		ram=$(ram data); fails grep -- "--add ${ram%%[0-9]*}" /root/attach.log'
}
