# What status, its JSON and the metrics say is what the kernel says: how much was read and written,
# when the array was whole, how it was rebuilt.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M

readonly tools='
	json() {
		ramraid status --json data | jq -e "$@" >/dev/null || {
			ramraid status --json data; return 1
		}
	}
	stat_of() { awk "{ print \$$2 }" /sys/class/block/$1/stat; } # NODE FIELD
	# Noted by the start after it has let everything else go on.
	noted() {
		for i in $(seq 100); do
			grep -q "$(cat /proc/sys/kernel/random/boot_id)" \
				/etc/ramraid/state/data.lately &&
				return
			sleep 0.2
		done
		cat /etc/ramraid/state/data.lately; return 1
	}
	'

steps() {
	boot
	check 'whole: every leg, since when, and how it was rebuilt' "$tools"'
		ramraid wait data; noted; ramraid status data | tee /root/out
		grep "^data: whole (/dev/$(md data))$" /root/out
		grep "slot 0    in_sync .* RAM leg $(ram data)$" /root/out
		grep "slot 1    in_sync .* 0  $(leg A) (" /root/out
		grep "slot 2    in_sync .* 0  $(leg B) (" /root/out
		grep "whole since: $(date +%Y)" /root/out
		grep "last rebuild: $(date +%Y).* by copy, [0-9]* s, [0-9]* MiB/s" /root/out'
	check 'list: one line, for people and for scripts; --problems is silent of what is whole' '
		ramraid list | tee /root/out
		grep "^NAME  *STATE  *DEVICE  *LEGS  *RAM  *SIZE$" /root/out
		grep "^data  *whole  */dev/$(md data)  *3/3  *in_sync " /root/out
		test "$(ramraid list -H)" = "$(printf "data\twhole\t/dev/%s\t3/3\tin_sync\t%s" \
			$(md data) $(blockdev --getsize64 /dev/$(md data)))"
		ramraid status --problems >/root/out; test ! -s /root/out'
	check 'what is read comes from memory, and md counts it, while the ramdisk does not' "$tools"'
		before=$(stat_of $(md data) 3); echo 3 >/proc/sys/vm/drop_caches
		cat /srv/data/file* >/dev/null; after=$(stat_of $(md data) 3)
		echo "$before $after"; test $((after - before)) -ge $((16 * 2048))
		ram=$(basename $(ram data)); test "$(stat_of $ram 1) $(stat_of $ram 5)" = "0 0"
		ramraid status data | grep "reads served by RAM: 100 %"
		json ".arrays[0].reads_from_ram == {percent: 100, exact: true}"'
	check 'JSON and the counts of the disks are those of sysfs' "$tools"'
		a=$(basename $(node A)); b=$(basename $(node B)); sync; sleep 1
		json --arg a "$(leg A)" --arg n $a --argjson r $(stat_of $a 1) \
			--argjson w $(stat_of $a 5) ".arrays[0].legs[1] |
			.role == \"disk\" and .device == \$a and .node == \$n and .slot == 1 and
			.reads >= \$r and .reads <= \$r + 50 and .writes >= \$w and
			.writes <= \$w + 50 and .errors == 0 and .write_mostly"
		json ".arrays[0] | .state == \"whole\" and .legs[0].reads == null and
			.activity == null and .last_rebuild.engine == \"copy\" and
			.action == null and (.only_good_copy_in_ram | not)"
		writes=$(ramraid status --json data | jq .arrays[0].legs[2].writes)
		head -c 1M /dev/urandom >/srv/data/new; sync
		json --argjson w $writes ".arrays[0].legs[2].writes > \$w"'
	check 'without root it is the same' '
		ramraid status data >/root/root
		runuser -u nobody -- ramraid status data >/root/nobody; cat /root/nobody
		test "$(awk "{ \$4 = \$5 = \"\" } 1" /root/root)" = \
			"$(awk "{ \$4 = \$5 = \"\" } 1" /root/nobody)"'
	check 'on a terminal: 80 columns, colours, and --watch leaves it as it was' '
		TERM=xterm script -qec "ramraid status data" /dev/null </dev/null |
			tr -d "\r" >/root/out
		cat -v /root/out
		grep "$(printf "^data: \033\[32mwhole\033\[0m")" /root/out
		test -z "$(sed "s/$(printf "\033")\[[0-9;]*m//g" /root/out | awk "length > 80")"
		TERM=dumb script -qec "ramraid status data" /dev/null </dev/null >/root/out
		fails grep "$(printf "\033")" /root/out
		printf "%s\n" "before=\$(stty -g)" "ramraid status --watch=1 data" \
			"echo ended with \$?" \
			"test \"\$(stty -g)\" = \"\$before\" && echo modes kept" >/root/watch
		(sleep 5; printf q) | TERM=xterm script -qec "bash /root/watch" /dev/null >/root/out
		cat -v /root/out | tail -n 5
		grep "ended with 0" /root/out; grep "modes kept" /root/out'
	check 'md compares the legs: shown, and the share is a lower bound from then on' "$tools"'
		# More than md is going to read of the disk legs: a share of at least nothing is not
		# shown.
		for i in 1 2 3 4; do
			dd if=/dev/md/data of=/dev/null bs=1M iflag=direct status=none
		done
		echo check >/sys/block/$(md data)/md/sync_action
		ramraid status data | tee /root/out; grep "^data: whole" /root/out
		while [ "$(cat /sys/block/$(md data)/md/sync_action)" != idle ]; do sleep 0.2; done
		json "(.arrays[0].reads_from_ram.exact | not)"
		ramraid status data | grep "reads served by RAM: at least"'
	check 'bench: the array reads as its RAM leg does, its disks are not read meanwhile, and nothing is left of what was written' '
		# A look reads superblocks, which counts, too.
		rests
		ramraid bench --seconds=1 --writes=/srv/data --json data >/root/out; cat /root/out
		jq -e ".disk_reads_while_the_array_was_read == 0 and
			(.reads | map(.role)) ==
				[\"array\", \"RAM leg\", \"disk leg 1\", \"disk leg 2\"] and
			([.reads[].measured[], .writes[0].measured[]] |
				all(.operations_per_second > 0))" /root/out >/dev/null
		test -z "$(find /srv/data -name ".ramraid-bench*")"
		fails ramraid bench --seconds=1 --writes=/root data'
	check 'detached: since when it is not whole; attached, by md this time: rebuilt anew' \
		"$tools"'
		mkdir -p /etc/ramraid/data.conf.d
		echo REBUILD=kernel >/etc/ramraid/data.conf.d/test.conf
		ramraid detach data; ramraid status data >/root/out || test $? = 1; cat /root/out
		grep "^data: disks-only" /root/out; grep "last whole: $(date +%Y)" /root/out
		fails grep "or later" /root/out
		grep "action: ramraid attach data" /root/out; sleep 2
		ramraid attach data; ramraid status data | tee /root/out
		grep "last rebuild: .* by kernel, " /root/out; grep "whole since:" /root/out
		json ".arrays[0] | .whole_since <= .last_rebuild.time and .whole_until == null"
		echo 3 >/proc/sys/vm/drop_caches; cat /srv/data/file* >/dev/null
		ramraid status data | grep "reads served by RAM: 100 %"'
	check 'metrics: off until somebody wants them, then twice a minute, as a whole, and without a word in the journal' '
		test "$(systemctl is-enabled ramraid-metrics.timer || :)" = disabled
		ramraid metrics | grep -x "ramraid_array_state{array=\"data\",state=\"whole\"} 1"
		systemctl start ramraid-metrics.service; test ! -e /var/lib/prometheus
		mkdir -p /var/lib/prometheus/node-exporter
		chown nobody:nogroup /var/lib/prometheus/node-exporter
		systemctl enable --now ramraid-metrics.timer
		f=/var/lib/prometheus/node-exporter/ramraid.prom
		for i in $(seq 450); do [ -e $f ] && break; sleep 0.2; done
		cat $f; test "$(stat -c %a:%U $f)" = 644:nobody; test "$(ls ${f%/*})" = ramraid.prom
		grep -x "ramraid_legs_in_sync{array=\"data\"} 3" $f
		# The kernel does not tell what a ramdisk of brd takes.
		used="^ramraid_ram_leg_used_bytes{array=\"data\"} [1-9]"
		case $(ram data) in
		/dev/ram*) fails grep "$used" $f ;;
		*) grep "$used" $f ;;
		esac
		grep "^ramraid_array_read_bytes_total{array=\"data\"} [1-9]" $f
		fails journalctl -b -u ramraid-metrics.service -o cat -g "write .*prom"
		systemctl disable --now ramraid-metrics.timer'
	check 'a disk vanishes: degraded, until when it was whole, and it counts' "$tools"'
		gone B
		for i in $(seq 100); do
			ramraid status data >/root/out || :; grep -q "last whole" /root/out && break
			sleep 0.2
		done
		cat /root/out
		grep "^data: degraded" /root/out; code=0
		ramraid status --problems >/root/problems || code=$?; test $code = 1
		grep "^data: degraded" /root/problems
		ramraid list -H | grep "^data.degraded./dev/$(md data).2/3.in_sync."
		grep "missing .*$(leg B)" /root/out; grep "last whole: $(date +%Y)" /root/out
		grep "impact: reads come from memory, and every write is on 1 of 2 disks" /root/out
		ramraid metrics | grep -x "ramraid_leg_state{array=\"data\",role=\"disk\",\
leg=\"$(leg B)\",state=\"missing\"} 1"
		back B; attach data; test "$(slots data)" = UUU
		json ".arrays[0] | .state == \"whole\" and .whole_until == null"'
	check 'stopped: said, with when it was whole last' "$tools"'
		systemctl stop srv-data.mount; ramraid stop data
		ramraid status data >/root/out || test $? = 3; cat /root/out
		grep "^data: stopped$" /root/out; grep "last whole: $(date +%Y)" /root/out
		fails grep "or later" /root/out; grep "action: ramraid start data" /root/out
		test "$(ramraid list -H)" = "$(printf "data\tstopped\t-\t0/3\tmissing\t-")"
		ramraid events data | tee /root/out; grep "info .*Stopped ramraid@data.service" /root/out
		runuser -u nobody -- ramraid status data >/root/out || test $? = 3
		grep "only root can read the superblocks" /root/out
		ramraid start data 2>/root/said
		grep "not in use again yet: srv-data.mount. " /root/said
		systemctl start local-fs.target; mountpoint -q /srv/data; ramraid status data'
}
