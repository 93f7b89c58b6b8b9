#!/usr/bin/env bats
# The claim, and the ARRAY lines of others that it contradicts.

readonly UUID=01234567-89ab-4cde-8f01-23456789abcd
readonly \
	MARK='# Not in force while ramraid starts this array; "ramraid release data" puts it back: '

setup() {
	load helper
	world
	libraries
	declare -gA CONF=([ROOT]=no)
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	FILE=$R/etc/mdadm/mdadm.conf MORE=$R/etc/mdadm/mdadm.conf.d/mine.conf
}
before() { cp -a "$R/etc" "$R/before"; }
as_before() { diff -r "$R/before" "$R/etc"; }
claims() { claim_write data "$UUID" 2>/dev/null; }

@test "a claim comments out ARRAY lines about the array in any form and file, and its removal restores them exactly" {
	printf "arr /dev/md/0 name=x uuid=0123456789AB4CDE8F0123456789ABCD\n# a comment\n\
\tspares=1\n\nPOLICY action=re-add" >"$FILE"
	printf 'HOMEHOST x\nArray /dev/md9 UUID=01234567.89ab4cde.8f012345.6789abcd\n\n\n' >"$MORE"
	chmod 640 "$FILE"
	before
	not claim_is_made data "$UUID"
	claims
	claim_is_made data "$UUID"
	printf "%sarr /dev/md/0 name=x uuid=0123456789AB4CDE8F0123456789ABCD\n# a comment\n\
%s\tspares=1\n\nPOLICY action=re-add" "$MARK" "$MARK" |
		cmp - "$FILE"
	[[ $(<"$MORE") == \
		$'HOMEHOST x\n'"${MARK}Array /dev/md9 \
UUID=01234567.89ab4cde.8f012345.6789abcd" ]] ||
		fail "$(<"$MORE")"
	claims # again changes nothing
	[[ $(grep -c Not.in.force "$FILE") == 2 ]]
	claim_remove dat.
	not as_before
	claim_remove data 2>/dev/null
	as_before
	[[ $(stat -c %a "$FILE") == 640 ]]
}

@test "with ROOT=yes the claim has the name under which the initramfs starts the array" {
	CONF[ROOT]=yes
	printf 'ARRAY /dev/md/0 name=x UUID=%s\n' "$UUID" >"$FILE"
	claims
	claim_is_made data "$UUID"
	[[ $(<"$FILE") == "$MARK"* &&
		$(grep ^ARRAY "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf") == \
			'ARRAY /dev/md/data UUID=01234567:89ab4cde:8f012345:6789abcd' ]]
	claim_stands "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf" "$UUID"
	CONF[ROOT]=no
	not claim_is_made data "$UUID"
	not claim_stands "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf" "$UUID"
	claims
	CONF[ROOT]=yes
	not claim_stands "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf" "$UUID"
}

@test "a claim leaves ARRAY lines about other arrays alone" {
	printf '# ARRAY UUID=%s\nARRAY /dev/md1 UUID=11111111:89ab4cde:8f012345:6789abcd\nARRAY /dev/md2 name=x\nDEVICE uuid=%s\n ARRAY x uuid=%s\nAR uuid=%s\nARRAY  "<ignore>" UUID=%s\n' \
		"$UUID" "$UUID" "$UUID" "$UUID" "$UUID" >"$FILE"
	before
	claims
	rm "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	as_before
}

@test "a claim edits the file to which a link leads, and keeps the link" {
	printf 'ARRAY /dev/md0 UUID=%s\n' "$UUID" >"$R/etc/real"
	ln -s ../real "$FILE"
	before
	claims
	[[ -L $FILE && $(<"$R/etc/real") == "$MARK"* ]]
	claim_remove data 2>/dev/null
	as_before
}

# two: another array, with a line of its own in the same file.
two() {
	OTHER=11234567-89ab-4cde-8f01-23456789abcd
	printf 'ARRAY /dev/md/data UUID=%s\nARRAY /dev/md/other UUID=%s\n' "$UUID" "$OTHER" >"$FILE"
}
# while_written N COMMAND: COMMAND runs while FILE is written for the Nth time; each time if N is 0.
while_written() {
	WHEN=$1 MEANWHILE=$2
	dd() {
		local code=0
		command dd "$@" || code=$?
		[[ $* != *"$FILE".* ]] || {
			echo >>"$R/written"
			[[ $WHEN != 0 && $WHEN != "$(wc -l <"$R/written")" ]] || $MEANWHILE
		}
		return "$code"
	}
}
# The lock is not waited for.
hasty() {
	flock() {
		[[ $1 != --timeout ]] || set -- --nonblock "${@:3}"
		command flock "$@"
	}
}

@test "two verbs that change mdadm.conf at once do not undo each other" {
	two
	claims
	# The other one ends meanwhile, unless it waits for the first.
	meanwhile() {
		local i
		: >"$R/writing"
		for ((i = 0; i < 20; i++)); do [[ -e $R/removed ]] || command sleep 0.05; done
	}
	(
		while_written 1 meanwhile
		claim_write other "$OTHER" 2>/dev/null
	) &
	while [[ ! -e $R/writing ]]; do command sleep 0.02; done
	claim_remove data 2>/dev/null
	: >"$R/removed"
	wait "$!"
	[[ $(sed -n 1p "$FILE") == "ARRAY /dev/md/data UUID=$UUID" ]] || fail "$(<"$FILE")"
	[[ $(sed -n 2p "$FILE") == "${MARK/data/other}ARRAY /dev/md/other UUID=$OTHER" ]] ||
		fail "$(<"$FILE")"
}

@test "what somebody else writes into mdadm.conf while a claim is made or dropped stays" {
	two
	add() { sed -i '1i MAILADDR me' "$FILE"; }
	(while_written 1 add && claims)
	[[ $(<"$FILE") == "MAILADDR me
${MARK}ARRAY /dev/md/data UUID=$UUID
ARRAY /dev/md/other UUID=$OTHER" ]] || fail "$(<"$FILE")"
	rm "$R/written"
	(while_written 1 add && claim_remove data 2>/dev/null)
	[[ $(<"$FILE") == "MAILADDR me
MAILADDR me
ARRAY /dev/md/data UUID=$UUID
ARRAY /dev/md/other UUID=$OTHER" ]] || fail "$(<"$FILE")"
	[[ $(ls "$R/etc/mdadm") == $'mdadm.conf\nmdadm.conf.d' ]]
	# Again and again: it gives up, and what is there is theirs.
	claims
	rm "$R/written"
	while_written 0 add
	run claim_remove data
	assert_failure 1
	assert_output -p "mdadm.conf was changed each time"
	[[ $(wc -l <"$R/written") == 5 && $(grep -c MAILADDR "$FILE") == 7 &&
		-e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
	[[ $(ls "$R/etc/mdadm") == $'mdadm.conf\nmdadm.conf.d' ]]
}

@test "a claim waits for another ramraid that changes mdadm.conf, but not for ever; no program inherits the lock" {
	local held
	two
	before
	paths_run
	exec {held}>"$LOCKS/claims"
	command flock "$held"
	hasty
	run claim_write data "$UUID"
	assert_failure 1
	assert_output -p "changes mdadm's configuration, and has not ended within 1min 0s"
	run claim_remove data
	assert_failure 1
	as_before
	exec {held}>&-
	claims
	# No program that it runs has the lock.
	sync() { bash -c 'ls -l /proc/self/fd' >>"$R/fds"; }
	claim_remove data 2>/dev/null
	[[ -s $R/fds ]] && not grep claims "$R/fds"
	as_before
}

@test "a verb that ends in the middle of a claim takes it back at once, though it has the lock itself" {
	two
	before
	hasty
	(
		trap 'act_apart claim_remove data 2>/dev/null' EXIT
		claim_hide_() { exit 130; }
		claims
	) || :
	as_before
	claims
}

@test "a claim that was dropped does not come back after a power cut" {
	claims
	sync() { called sync "$* $(ls "$2")"; }
	claim_remove data 2>/dev/null
	[[ $(calls) == "sync -- $R/etc/mdadm/mdadm.conf.d " ]] || fail "$(calls)"
}

@test "a line that is kept as a comment names the array until the claim is gone, and no longer" {
	two
	claims
	claim_names data "$UUID"
	not claim_names_now "$UUID"
	# As two verbs at once could leave it.
	rm "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	claim_is_left data
	claim_remove data 2>/dev/null
	not claim_is_left data
	claim_names_now "$UUID"
}

@test "ramraid claim comments out ARRAY lines, and --remove restores them" {
	printf 'ARRAY /dev/md0 UUID=%s\n' "$UUID" >"$FILE"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	before
	"$PROJECT/bin/ramraid" claim --no-initramfs 2>/dev/null
	[[ $(<"$FILE") == "$MARK"* ]]
	# As a run that was killed between the two steps has left it.
	cp "$R/before/mdadm/mdadm.conf" "$FILE"
	"$PROJECT/bin/ramraid" claim --no-initramfs 2>/dev/null
	[[ $(<"$FILE") == "$MARK"* ]]
	"$PROJECT/bin/ramraid" claim --remove --all --no-initramfs 2>/dev/null
	as_before
}

@test "ramraid claim: an initramfs that could not be made is made by the next run, and only once" {
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	libraries
	need() { :; }
	cli_root() { :; }
	# claim_initramfs: where the program would end
	claim_initramfs() { called initramfs && [[ ! -v FAILS ]] || exit 1; }
	FAILS=yes run cmd_claim
	assert_failure 1
	cmd_claim
	cmd_claim
	cmd_claim --remove --all 2>/dev/null
	[[ $(calls) == $'initramfs\ninitramfs\ninitramfs' ]] || fail "$(calls)"
	[[ -z $(ls "$R/etc/ramraid/state") ]] || fail "$(ls "$R/etc/ramraid/state")"
}

@test "after an upgrade that changes what goes into the initramfs, claim makes it again, once" {
	local hook=$R/usr/share/initramfs-tools/hooks/ramraid note=$R/etc/ramraid/state/initramfs-parts
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	need() { :; }
	cli_root() { :; }
	initramfs_generator() { echo "$GENERATOR"; }
	initramfs_make() { INITRAMFS_BY_HAND='' && called made && [[ -z ${FAILS-} ]] || exit 1; }
	made() { # TIMES: so often since the last time
		[[ $(calls | grep -c made) == "$1" ]] || fail "$1: $(calls)" "$said"
		rm -f "$BATS_TEST_TMPDIR/calls"
	}
	claim() { said=$(cmd_claim "$@" 2>&1); }
	GENERATOR=initramfs-tools
	mkdir -p "${hook%/*}" "$R/usr/share/initramfs-tools/scripts/local-block"
	echo 1 >"$hook"
	claim
	made 1
	[[ $said != *'as after an upgrade'* && -s $note ]] || fail "$said"
	claim
	made 0
	# The package has another hook, or the first of a new kind.
	echo 2 >"$hook"
	claim --no-initramfs
	claim --remove --all --dry-run
	claim --dry-run
	made 2
	[[ ! -e ${note%/*}/initramfs-due ]]
	FAILS=yes
	claim && fail 'it should have failed'
	FAILS=''
	made 1
	[[ $said == *'as after an upgrade'* && -e ${note%/*}/initramfs-due ]] || fail "$said"
	claim
	made 1
	echo 1 >"$R/usr/share/initramfs-tools/scripts/local-block/ramraid"
	claim
	made 1
	[[ $said == *'are not those with which it was made, as after an upgrade'* ]] || fail "$said"
	claim
	made 0
	# The version before kept no such note.
	rm "$note"
	claim data
	made 1
	# dracut makes none of these images.
	mkdir -p "$R/usr/lib/dracut/modules.d/90ramraid"
	echo 1 >"$R/usr/lib/dracut/modules.d/90ramraid/module-setup.sh"
	claim
	made 0
	GENERATOR=dracut
	claim
	made 1
	# Nobody makes them.
	GENERATOR=''
	claim
	made 0
	# Nothing is claimed any more.
	claim --remove --all
	made 1
	[[ ! -e $note ]]
	rm "$R/etc/ramraid/data.conf"
	GENERATOR=dracut
	claim
	made 0
}

@test "ramraid claim --remove keeps a claim whose lines can't be restored, removes the others, and can be repeated" {
	local other=99999999-89ab-4cde-8f01-23456789abcd
	printf 'ARRAY /dev/md0 UUID=%s\nARRAY /dev/md1 UUID=%s\n' "$UUID" "$other" >"$FILE"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-B\n' "$other" >"$R/etc/ramraid/more.conf"
	before
	"$PROJECT/bin/ramraid" claim --no-initramfs 2>/dev/null
	libraries
	need() { :; }
	cli_root() { :; }
	claim_initramfs() { called initramfs; }
	eval "real_$(declare -f act_text)"
	# No room for the file that has the lines of the first.
	act_text() { [[ $1 != "$FILE" || -n ${ROOM-} ]] && real_act_text "$@"; }
	ROOM='' run cmd_claim --remove --all
	assert_failure 1
	assert_output \
		-p "data: its claim $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf is still there"
	[[ -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf &&
		-e $R/etc/mdadm/mdadm.conf.d/ramraid-more.conf &&
		$(grep -c "Not in force" "$FILE") == 2 ]]
	# That file has nothing about the other one.
	sed -i '$d' "$FILE"
	ROOM='' run cmd_claim --remove --all
	assert_failure 1
	[[ -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf &&
		! -e $R/etc/mdadm/mdadm.conf.d/ramraid-more.conf ]]
	ROOM=yes cmd_claim --remove --all 2>/dev/null
	[[ $(<"$FILE") == "ARRAY /dev/md0 UUID=$UUID" && -z $(ls "$R/etc/mdadm/mdadm.conf.d") ]]
}

@test "the claim of the array that / is on stays as it is when the configuration has lost ROOT=yes" {
	local claim=$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf conf=$R/etc/ramraid/data.conf
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\nROOT=yes\n' "$UUID" >"$conf"
	claim() { run "$PROJECT/bin/ramraid" claim --no-initramfs "$@"; }
	claim
	[[ $(grep ^ARRAY "$claim") == 'ARRAY /dev/md/data '* ]]
	sed -i /ROOT/d "$conf"
	before
	# It does not run, so nothing but the claim tells. The package's scripts go on.
	claim
	assert_success
	assert_output -p 'its claim stays as it is, because / is on this array'
	assert_output -p "Write ROOT=yes in $conf, then: ramraid claim data"
	claim data
	assert_failure 1
	as_before
	# It runs, and / is on it, whether it is claimed or not.
	fake_disk md127 1000000
	mkdir -p "$R/dev/md"
	ln -s ../md127 "$R/dev/md/data"
	echo 9:127 >"$R/sys/class/block/md127/dev"
	echo '1 0 9:127 / / rw - ext4 /dev/md127 rw' >"$R/proc/1/mountinfo"
	claim
	as_before
	rm "$claim"
	claim
	assert_output -p 'because / is on this array'
	[[ ! -e $claim ]]
	cp "$R/before/mdadm/mdadm.conf.d/ramraid-data.conf" "$claim"
	# It runs, and / is elsewhere: that was meant.
	echo '1 0 8:1 / / rw - ext4 /dev/sda1 rw' >"$R/proc/1/mountinfo"
	mkdir -p "$R/sys/block/md127/md"
	# But not if the name leads to another array, or the kernel does not say to which.
	claim
	assert_output -p 'or, if / is not on it any more: ramraid claim --remove data; ramraid claim data'
	echo "${UUID/0/f}" >"$R/sys/block/md127/md/uuid"
	claim
	as_before
	echo "$UUID" >"$R/sys/block/md127/md/uuid"
	claim
	assert_success
	[[ $(grep ^ARRAY "$claim") == 'ARRAY <ignore> '* ]] || fail "$(<"$claim")"
}

@test "ramraid claim takes one array or all; --remove needs a name or --all" {
	local file
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	printf 'UUID=99999999-89ab-4cde-8f01-23456789abcd\nMEMBER=/dev/disk/by-id/ata-B\n' \
		>"$R/etc/ramraid/more.conf"
	claim() { run "$PROJECT/bin/ramraid" claim --no-initramfs "$@"; }
	there() { [[ $(cd "$CLAIMED" && echo *) == "$*" ]] || fail "$(ls "$CLAIMED")"; }
	CLAIMED=$R/etc/mdadm/mdadm.conf.d
	mkdir -p "$CLAIMED"
	claim data
	assert_success
	there ramraid-data.conf
	claim
	there ramraid-data.conf ramraid-more.conf
	for file in '--remove' '--all' '--remove --all data'; do
		# shellcheck disable=SC2086
		claim $file
		assert_failure 2
	done
	claim --remove
	assert_output -p 'expected the names of arrays after --remove, or --all for every claim'
	claim --remove dtaa
	assert_failure 3
	assert_output -p 'did you mean "data"?'
	claim --remove ../more
	assert_failure 2
	there ramraid-data.conf ramraid-more.conf
	claim --remove more
	assert_success
	there ramraid-data.conf
	claim --remove more
	assert_success
	# One that is not configured any more, but still claimed.
	claim
	rm "$R/etc/ramraid/more.conf"
	claim data
	there ramraid-data.conf ramraid-more.conf
	claim --remove more
	assert_success
	there ramraid-data.conf
	claim --remove --all
	there '*'
}

@test "ramraid claim --remove voids what the witness vouches for, and keeps which legs were given up" {
	local one=aaaaaaaa-0000-0000-0000-000000000001 two=aaaaaaaa-0000-0000-0000-000000000002
	local state=$R/etc/ramraid/state boot=$R/boot/ramraid name
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "$UUID" >"$R/etc/ramraid/data.conf"
	mkdir -p "$state" "$boot"
	"$PROJECT/bin/ramraid" claim --no-initramfs 2>/dev/null
	printf '%s\n' '21 1 8:1 / / rw - ext4 /dev/sda1 rw' \
		'22 21 8:2 / /boot rw - ext4 /dev/sda2 rw' >"$R/proc/1/mountinfo"
	for name in data gone ram; do
		printf '%s\n' "uuid=$UUID" "legs=$one" events=101 filled=101 ram_slot=0 generation=4 \
			"given=$two" "seen=$two $one" >"$state/$name.witness"
	done
	sed -i "s/^uuid=.*/uuid=99999999-89ab-4cde-8f01-23456789abcd/" "$state/gone.witness"
	sed -i "s/^uuid=.*/uuid=99999999-89ab-4cde-8f01-23456789abce/; s/^legs=.*/legs=/" "$state/ram.witness"
	cp "$state/data.witness" "$boot/$UUID.witness"
	cp -r "$state" "$R/before.state"
	"$PROJECT/bin/ramraid" claim --remove data --dry-run --no-initramfs >/dev/null 2>&1
	diff -r "$state" "$R/before.state"
	"$PROJECT/bin/ramraid" claim --remove data --no-initramfs 2>/dev/null
	cmp "$state/gone.witness" "$R/before.state/gone.witness"
	for name in "$state/data.witness" "$boot/$UUID.witness"; do
		grep -qx void=2 "$name" && grep -qx was= "$name" && grep -qx "given=$two" "$name" &&
			grep -qx "seen=$two $one" "$name" && not grep -q '^legs=' "$name" ||
			fail "$name: $(<"$name")"
	done
	# Of an array without a configuration; and that only the RAM leg was good, stays.
	"$PROJECT/bin/ramraid" claim --remove --all --no-initramfs 2>/dev/null
	grep -qx void=2 "$state/gone.witness"
	cmp "$state/ram.witness" "$R/before.state/ram.witness"
	# A start with the other disk away is refused, and says how to go on.
	libraries
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[uuid]=$UUID F[leg.0.uuid]=$UUID F[leg.0.device_uuid]=$one F[leg.0.events]=130
	F[leg.1.node]='' F[leg.1.sb]='' F[leg.1.uuid]='' F[leg.1.role]='' F[waited]=99
	declare -gA CONF=([WITNESS_COPY]=auto)
	before_look_witness
	action_choose
	[[ $ACTION == refuse && $WHY == *'nothing shows that '*' is up to date'* &&
		$WHY == *START_DEGRADED=always* ]] || fail "$ACTION $WHY"
}

# watched: the array runs with two disks, a start has judged it, and its record vouches for both.
watched() {
	ONE=aaaaaaaa-0000-0000-0000-000000000001 TWO=aaaaaaaa-0000-0000-0000-000000000002
	W=$R/etc/ramraid/state/data.witness
	mkdir -p "$R"/{sys/block/md127/md,run/ramraid,proc/sys/kernel/random} "${W%/*}"
	echo 01234567-89ab-cdef-0123-456789abcdef >"$R/proc/sys/kernel/random/uuid"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B\n' "$UUID" \
		>"$R/etc/ramraid/data.conf"
	printf '%s\n' "uuid=$UUID" "legs=$ONE $TWO" events=101 filled=101 ram_slot=0 generation=4 \
		"seen=$ONE $TWO" doubted= >"$W"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	cli_root() { :; }
	sleep() { :; }
	initramfs_has_() { [[ $1 == update-initramfs ]]; }
	update-initramfs() { :; }
	CONF[WITNESS_COPY]=none
	claims
}
# A look of the monitor, after the RAM leg has been taken out.
monitor() (
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[uuid]=$UUID
	F[ram.state]=none F[ram.node]='' F[ram.slot]=''
	before_look_witness
	facts_observe() { :; }
	complete_legs_find() { NODES=(sda sdb) COMPLETE=(sda sdb); }
	superblock_facts() {
		printf 'sb=ok\nevents=120\ndevice_uuid=%s\n' "$([[ $1 == */sda ]] && echo "$ONE" || echo "$TWO")"
	}
	witness_update
) >/dev/null 2>&1
vouches() { grep -q '^legs=..*' "$W"; }

@test "after claim --remove, the monitor does not make the witness vouch for a disk again" {
	watched
	update-initramfs() { monitor; }
	cmd_claim --remove data 2>/dev/null
	not vouches || fail "$(<"$W")"
	cp "$W" "$W.before"
	monitor
	cmp "$W" "$W.before"
	# That only the RAM leg is good vouches for none, and is written.
	(
		witness_write data "$UUID" '' 130 0 '' '' ''
		grep -qx legs= "$W"
	) 2>/dev/null
	cp "$W.before" "$W"
	# Who gives legs up starts it.
	witness_write data "$UUID" '' 130 0 '' '' "$TWO" "$ONE" 2>/dev/null
	grep -qx "given=$TWO" "$W"
}

@test "claim --remove voids the witness even if the initramfs can't be made" {
	watched
	update-initramfs() { monitor && return 1; }
	(
		set -Eeuo pipefail
		shopt -s inherit_errexit
		cmd_claim --remove --all
	) 2>"$BATS_TEST_TMPDIR/log" & # bash ignores errexit before && and ||
	wait $! && fail 'it should have said so'
	[[ ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]] || fail 'the claim stays'
	not vouches || fail "$(<"$W")"
	# Only the RAM leg was good when it began.
	watched
	update-initramfs() { monitor && return 1; }
	sed -i 's/^legs=.*/legs=/' "$W"
	(
		set -Eeuo pipefail
		cmd_claim --remove --all
	) 2>"$BATS_TEST_TMPDIR/log" &
	wait $! && fail 'it should have said so'
	not vouches || fail "$(<"$W")"
}

@test "after a new claim or a start, the monitor makes the witness vouch for disks again" {
	watched
	cmd_claim --remove data 2>/dev/null
	cmd_claim data 2>/dev/null
	not vouches
	grep -qx void=1 "$W"
	monitor
	vouches || fail "$(<"$W")"
	watched
	cmd_claim --remove data 2>/dev/null
	for way in mend no yes; do
		loop_look_() { ACTION=refuse WHY=x; }
		loop_gate_() { return 4; }
		before_look_configured() {
			facts_read <"$FIXTURES/decide/whole-2.facts" && F[uuid]=$UUID && before_look_witness
		}
		conf_need_keep() { :; }
		before_look_times() { :; }
		loop_run data "$way" 2>/dev/null || :
		if [[ $way == mend ]]; then grep -qx void=2 "$W"; else grep -qx void=1 "$W"; fi ||
			fail "$way: $(<"$W")"
		sed -i s/void=1/void=2/ "$W"
	done
}

# put_aside: an array that is claimed, whose record vouches for two disks, in both copies; its
# configuration is put aside.
put_aside() {
	watched
	mkdir -p "$R/boot/ramraid"
	printf '%s\n' '21 1 8:1 / / rw - ext4 /dev/sda1 rw' \
		'22 21 8:2 / /boot rw - ext4 /dev/sda2 rw' >"$R/proc/1/mountinfo"
	COPY=$R/boot/ramraid/$UUID.witness
	cp "$W" "$COPY"
	cp "$W" "$R/before.witness"
	CLAIM=$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf
	OFF=$R/etc/ramraid/data.conf.off
	mv "$R/etc/ramraid/data.conf" "$OFF"
	claim() { run "$PROJECT/bin/ramraid" claim --no-initramfs "$@"; }
}
left() { ! grep -q '^legs=' "$1" && grep -qx void=2 "$1"; }

@test "claim without --remove voids the record of an array whose configuration was put aside, with its copy" {
	put_aside
	claim --dry-run
	claim more
	assert_failure 3
	cmp "$W" "$R/before.witness"
	[[ -e $CLAIM ]]
	claim
	assert_success
	[[ ! -e $CLAIM ]]
	left "$W" || fail "$(<"$W")"
	left "$COPY" || fail "$(<"$COPY")"
	mv "$OFF" "$R/etc/ramraid/data.conf"
	claim
	[[ -e $CLAIM ]]
	not vouches && grep -qx void=1 "$W" || fail "$(<"$W")"
	monitor
	vouches
}

@test "claim voids a record without a configuration whose claim an earlier version has dropped" {
	put_aside
	rm "$CLAIM"
	claim
	assert_success
	left "$W" || fail "$(<"$W")"
}

@test "claim voids the record only of an array that the operands mean" {
	put_aside
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-C\n' 99999999-89ab-4cde-8f01-23456789abcd \
		>"$R/etc/ramraid/more.conf"
	claim more
	assert_success
	cmp "$W" "$R/before.witness"
	claim data
	assert_success
	left "$W" || fail "$(<"$W")"
}

@test "claim voids the record before it drops the claim: a kill in between leaves the array to nobody" {
	put_aside
	claim_remove() { kill -KILL "$BASHPID"; }
	(cmd_claim --no-initramfs) 2>/dev/null && fail 'it should have been killed'
	[[ -e $CLAIM ]]
	left "$W" || fail "$(<"$W")"
	# So with --remove.
	put_aside
	mv "$OFF" "$R/etc/ramraid/data.conf"
	(cmd_claim --remove data --no-initramfs) 2>/dev/null && fail 'it should have been killed'
	left "$W" || fail "$(<"$W")"
}

@test "after a rename, claim leaves the record as it is and claims the new name" {
	put_aside
	mv "$OFF" "$R/etc/ramraid/db.conf"
	claim
	assert_success
	[[ ! -e $CLAIM && -e ${CLAIM%data.conf}db.conf ]]
	cmp "$W" "$R/before.witness"
}

@test "after a rename, the old claim stays until the new name is claimed" {
	put_aside
	mv "$OFF" "$R/etc/ramraid/db.conf"
	claim data
	assert_failure 1
	assert_output -p "data: its claim stays"
	[[ -e $CLAIM ]]
	cmp "$W" "$R/before.witness"
	# It has errors now; whether or not its UUID= can be read.
	for line in RAM=x UUID=x; do
		sed -i '/^[UR].*=x/d' "$R/etc/ramraid/db.conf"
		echo "$line" >>"$R/etc/ramraid/db.conf"
		[[ $line != UUID=x ]] || sed -i '/^UUID=0/d' "$R/etc/ramraid/db.conf"
		claim
		assert_success # for the package's script
		assert_output -p "data: its claim stays"
		[[ -e $CLAIM && ! -e ${CLAIM%data.conf}db.conf ]]
		cmp "$W" "$R/before.witness"
	done
}

@test "claim voids no record of a configuration that has errors, or is a link that leads nowhere" {
	put_aside
	echo UUID=x >"$R/etc/ramraid/data.conf"
	claim
	assert_success
	[[ -e $CLAIM ]]
	cmp "$W" "$R/before.witness"
	ln -sf nowhere "$R/etc/ramraid/data.conf"
	claim
	assert_success
	[[ -e $CLAIM ]]
	cmp "$W" "$R/before.witness"
}

@test "claim voids the record of the UUID that a configuration no longer has" {
	put_aside
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-C\n' 99999999-89ab-4cde-8f01-23456789abcd \
		>"$R/etc/ramraid/data.conf"
	claim data
	assert_success
	left "$W" || fail "$(<"$W")"
}

@test "claim voids a damaged record too, whose copy would vouch instead" {
	put_aside
	echo damaged >"$W"
	claim
	assert_success
	left "$COPY" || fail "$(<"$COPY")"
}

@test "claim writes no copy of a record where ramraid.conf says that there is none" {
	put_aside
	rm "$COPY"
	echo WITNESS_COPY=none >"$R/etc/ramraid/ramraid.conf"
	claim
	left "$W" || fail "$(<"$W")"
	[[ ! -e $COPY ]]
}

@test "claim NAME fails if that configuration has errors; without a name it only reports them" {
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\nRAM=x\n' "$UUID" >"$R/etc/ramraid/data.conf"
	claim() { run "$PROJECT/bin/ramraid" claim --no-initramfs "$@"; }
	claim data
	assert_failure 1
	assert_output -p 'data: not claimed, because of these errors'
	claim
	assert_success
	assert_output -p 'data: not claimed, because of these errors'
}

@test "check says how to make a witness vouch again whose claim was removed" {
	watched
	cmd_claim --remove data 2>/dev/null
	facts_blank 0
	F[name]=data F[uuid]=$UUID
	before_look_witness
	findings_problem() { called "$1" "$3" "$4"; }
	check_record_copy() { :; }
	CHECK_ARRAY=data
	check_record
	[[ $(calls) == 'no-witness its claim was removed, '*'ramraid claim data; ramraid witness' ]] ||
		fail "$(calls)"
}

@test "only a removal of the package, not an upgrade, runs what takes claims and witnesses back" {
	sh "$PROJECT/debian/ramraid.prerm" upgrade 0.1.0
	[[ $(grep -c before-removal "$PROJECT/debian/ramraid.prerm") == 1 ]]
	grep -B1 'before-removal' "$PROJECT/debian/ramraid.prerm" | grep -q '"\$1" = remove'
	grep -B3 'before-removal' "$PROJECT/packaging/ramraid.spec" | grep -q '\$1.* 0'
	grep -qx 'Operation *= *Remove' "$PROJECT/packaging/arch/ramraid-removal.hook"
	not grep -q Upgrade "$PROJECT/packaging/arch/ramraid-removal.hook"
}
