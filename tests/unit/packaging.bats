#!/usr/bin/env bats
# What packages do besides holding files: the step before a removal, and the check before a release.

setup() {
	load helper
	world
	BIN=$BATS_TEST_TMPDIR/bin
	mkdir -p "$BIN"
	PATH=$BIN:$PATH
}
program() { # NAME TEXT: a program of that name, which writes its calls down first
	# "ramraid leave" changes nothing, and has a test of its own.
	printf '#!/bin/bash\n[[ ${1-} != leave ]] || exit 0\necho "%s $*" >>%q\n%s\n' "$1" \
		"$BATS_TEST_TMPDIR/calls" "$2" >"$BIN/$1"
	chmod 755 "$BIN/$1"
}
# What looks after the arrays, in the order in which one starts the other; and what a timer starts.
readonly WATCHERS='systemctl stop ramraid-hotplug.path
systemctl stop ramraid-hotplug.timer
systemctl stop ramraid-remember.path
systemctl stop ramraid-hotplug.service
systemctl stop ramraid-remember.service
systemctl stop ramraid-mend@*
systemctl stop ramraid-monitor@*.path
systemctl stop ramraid-monitor@*.service
systemctl stop ramraid-memory@*'
readonly SELFTESTS='systemctl stop ramraid-selftest.service
systemctl stop ramraid-selftest-clean.service'
readonly TIMERS='systemctl stop ramraid-*.timer
systemctl stop ramraid-metrics.service
systemctl stop ramraid-scrub@*.service'
arrays() { for name; do printf 'UUID=x\n' >"$R/etc/ramraid/$name.conf"; done; }

@test "before a removal every array loses its RAM leg, and then the claims are removed" {
	program ramraid ''
	arrays data more ramraid
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_output --partial 'left as plain RAID1 of disks: data more. '
	assert_output --partial 'may crash after that (CVE-2025-38445)'
	[[ $(calls) == $'ramraid detach data\nramraid detach more\nramraid claim --remove --all' ]]
}

@test "before a removal a self-test is ended and cleaned up; one that can't be blocks the removal" {
	local left
	program ramraid ''
	program systemctl ''
	arrays data
	mkdir -p "$R/run/systemd/system" "$R/run/ramraid" "$R/etc/ramraid/state" \
		"$R/etc/mdadm/mdadm.conf.d"
	for left in "$R/run/ramraid/.selftest" "$R/etc/ramraid/state/.selftest" \
		"$R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf"; do
		mkdir "$left"
		run "$PROJECT/packaging/before-removal"
		assert_success
		[[ $(calls) == "$SELFTESTS"$'\nramraid selftest --clean\nramraid detach data\n'"$WATCHERS"$'\nramraid claim --remove --all\n'"$TIMERS" ]] || fail "$(calls)"
		rm -r "$left" "$BATS_TEST_TMPDIR/calls"
	done
	mkdir "$R/run/ramraid/.selftest"
	program ramraid 'exit 75'
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_output -p 'a self-test is running'
	[[ $(calls | tail -n 1) == 'ramraid selftest --clean' ]]
}

@test "arrays that do not run, or whose configuration has errors, do not block the removal" {
	program ramraid 'case $2 in stopped) exit 3 ;; broken) exit 2 ;; esac'
	arrays broken good stopped
	run "$PROJECT/packaging/before-removal"
	assert_success
	[[ $(calls | tail -n 1) == 'ramraid claim --remove --all' ]]
}

@test "a configuration with errors blocks the removal if the records rule out a start by md alone" {
	program ramraid 'case $1 in detach) exit 2 ;; esac'
	arrays data
	mkdir -p "$R/etc/ramraid/state"
	printf 'uuid=x\nlegs=a\n' >"$R/etc/ramraid/state/data.witness"
	run "$PROJECT/packaging/before-removal"
	assert_success
	printf 'uuid=x\nlegs=\n' >"$R/etc/ramraid/state/data.witness"
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_output -p 'the configuration of data has errors'
	rm "$R/etc/ramraid/state/data.witness"
	: >"$R/etc/ramraid/state/data.rescue"
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
}

@test "an array that must keep its RAM leg blocks the removal, and all claims stay" {
	local code
	for code in 1 4 75; do
		program ramraid "[[ \$2 != data ]] || exit $code"
		arrays data more
		run "$PROJECT/packaging/before-removal"
		assert_failure 1
		assert_output "ramraid: data keeps its RAM leg, so the package stays. See: ramraid \
status data"
		[[ $(calls) == 'ramraid detach data' ]]
		rm "$BATS_TEST_TMPDIR/calls"
	done
}

@test "an array that md has stopped writing to blocks the removal: its RAM leg may be the only good copy" {
	program ramraid 'case $1:$2 in detach:data) exit 3 ;; check:data) echo "  problem broken: expected md to write to md127, found that it has stopped"; exit 1 ;; esac'
	arrays data
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_line --partial 'found that it has stopped'
	[[ $(calls) == $'ramraid detach data\nramraid check data' ]]
}

@test "an array whose large blocks need ramraid blocks the removal, before anything is done to any array" {
	program ramraid ''
	arrays data more
	sed -i 's/^\[\[ .*leave.*/[[ ${1-} != leave ]] || { echo "data: reason $*"; exit 4; }/' \
		"$BIN/ramraid"
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_line 'data: reason leave -- data more'
	assert_line --partial 'so the package stays'
	[[ -z $(calls) ]]
}

@test "an array that md alone would start where ramraid refuses blocks the removal, and all claims stay" {
	program ramraid 'case $1:$2 in detach:stale) exit 3 ;; check:stale) echo "  problem refused: expected /dev/md/stale to run, found that a start is refused: old"; exit 1 ;; esac'
	arrays data stale
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_line --partial 'found that a start is refused: old'
	assert_line --partial 'rm /etc/ramraid/stale.conf'
	[[ $(calls) == $'ramraid detach data\nramraid detach stale\nramraid check stale' ]]
}

@test "an array whose configuration was deleted loses its RAM leg before a removal too, but not a released one" {
	program ramraid 'case $1:$2 in detach:*) cat >/dev/null ;; esac'
	arrays data
	mkdir -p "$R/run/ramraid"
	touch "$R"/run/ramraid/{gone,data,free}.started "$R/run/ramraid/free.released"
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_output --partial 'left as plain RAID1 of disks: data gone. '
	[[ $(calls) == \
		$'ramraid detach data\nramraid detach gone\nramraid claim --remove --all' ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	program ramraid '[[ $2 != gone ]] || exit 4'
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_output \
		'ramraid: gone keeps its RAM leg, so the package stays. See: ramraid status gone'
	# It has been stopped, and what is written down speaks against a start by md alone.
	program ramraid 'case $1:$2 in *:gone) exit 3 ;; esac'
	mkdir -p "$R/etc/ramraid/state"
	printf 'uuid=x\nlegs=\n' >"$R/etc/ramraid/state/gone.witness"
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_output --partial \
		'the configuration of gone is gone, and when it last ran, only its RAM leg was good'
	rm "$R/etc/ramraid/state/gone.witness"
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_line --partial 'left as plain RAID1 of disks: data. '
	assert_line --partial 'not running, and left as they are: gone. '
	assert_line --partial 'mdadm --assemble --run'
}

@test "so does the record of an image, or of an only good copy, whose configuration was renamed" {
	local record
	program ramraid 'case $1:$2 in *:aside) exit 3 ;; esac'
	arrays data
	mkdir -p "$R/etc/ramraid/state"
	printf 'uuid=x\nlegs=a\n' >"$R/etc/ramraid/state/aside.witness"
	run "$PROJECT/packaging/before-removal"
	assert_success
	for record in aside.rescue aside.witness; do
		printf 'uuid=x\nlegs=\n' >"$R/etc/ramraid/state/$record"
		run "$PROJECT/packaging/before-removal"
		assert_failure 1
		assert_output --partial 'the configuration of aside is gone, and when it last ran'
		rm "$R/etc/ramraid/state/$record"
	done
}

@test "a claim that can't be removed blocks the removal, and what was stopped is started again" {
	program ramraid '[[ $1 != claim ]] || exit 1'
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	: >"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	assert_output \
		--partial "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf could not be removed"
	# What went is made again.
	[[ $(calls) == $'ramraid claim --remove --all\nramraid claim' ]] || fail "$(calls)"
	# And those who look after the arrays, which are stopped before, are started.
	rm "$BATS_TEST_TMPDIR/calls"
	mkdir -p "$R/run/systemd/system"
	program systemctl ''
	run "$PROJECT/packaging/before-removal"
	assert_failure 1
	[[ $(calls) == "$SELFTESTS"$'\n'"$WATCHERS"$'\nramraid claim --remove --all\nramraid claim\nsystemctl start ramraid-hotplug.path ramraid-hotplug.timer ramraid-remember.path ramraid-hotplug.service' ]] ||
		fail "$(calls)"
}

@test "if what watches the arrays can't be stopped, that is said, and the removal goes on" {
	program ramraid ''
	program systemctl '[[ $* != *monitor* ]]'
	mkdir -p "$R/run/systemd/system"
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_output -p 'what watches the arrays could not be stopped'
	[[ $(calls) == *$'\nramraid claim --remove --all\n'* ]]
}

@test "before a removal it is said where fstab and crypttab name an array" {
	local said='without a line for it in mdadm.conf it may have another name'
	program ramraid ''
	arrays my.data
	printf "# /dev/md/my.data /srv ext4\nUUID=1 / ext4\n/dev/md/my.dataset /x ext4\n\
/dev/md/myxdata /y ext4\n/dev/md/my.data/ /z\n" >"$R/etc/fstab"
	run "$PROJECT/packaging/before-removal"
	refute_output --partial "$said"
	printf '/dev/md/my.data /srv ext4\n' >>"$R/etc/fstab"
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_line --partial "$R/etc/fstab names /dev/md/my.data: $said"
	arrays tmp1
	printf '/dev/md/tmp1p2 /srv ext4\n/dev/md/tmp12 /x ext4\n/dev/md/my.datap1 /z ext4\n' \
		>"$R/etc/fstab"
	printf 'c "/dev/md/my.data1" none\n' >"$R/etc/crypttab"
	run "$PROJECT/packaging/before-removal"
	assert_line --partial "$R/etc/fstab names /dev/md/tmp1:"
	assert_line --partial "$R/etc/crypttab names /dev/md/my.data:"
	refute_output --partial "$R/etc/fstab names /dev/md/my.data:"
	refute_output --partial "$R/etc/crypttab names /dev/md/tmp1:"
}

@test "without arrays only the claims are removed, and an initramfs that can't be rebuilt blocks nothing" {
	program ramraid 'exit 1'
	run "$PROJECT/packaging/before-removal"
	assert_success
	assert_output --partial 'update-initramfs -u -k all'
	[[ $(calls) == 'ramraid claim --remove --all' ]]
}

# release_tree: what the check of a release looks at, in a folder of its own.
release_tree() {
	T=$BATS_TEST_TMPDIR/tree
	mkdir -p "$T"/{lib,debian,packaging/arch,tests}
	echo 1.2.3 >"$T/lib/VERSION"
	printf "ramraid (1.2.3) unstable; urgency=medium\n\n  * x\n\n\
 -- x <x@example.org>  Fri, 20 Nov 2026 05:00:00 +0000\n" >"$T/debian/changelog"
	printf '## [Unreleased]\n\n## [1.2.3] - 2026-11-20\n- x\n## [1.2.2] - 2025-01-01\n' \
		>"$T/CHANGELOG.md"
	printf 'Version:   1.2.3\n' >"$T/packaging/ramraid.spec"
	printf 'pkgver=1.2.3\n' >"$T/packaging/arch/PKGBUILD"
	cp "$PROJECT/tests/release" "$T/tests"
	program git 'case "$*" in *refs/tags/*) exit "${GIT_TAG-1}" ;; status*) printf "%s" "${GIT_STATUS-}" ;; esac'
}

@test "a tree that can be released: the steps are printed, and nothing is done" {
	release_tree
	cp -a "$T" "$T.before"
	run "$T/tests/release"
	assert_success
	assert_line --partial 'The steps of release 1.2.3'
	assert_line --partial 'v1.2.3'
	diff -r "$T.before" "$T"
	not grep -qvE '^git (rev-parse|status)' "$BATS_TEST_TMPDIR/calls"
}

@test "a file with another version is named" {
	local file
	for file in lib/VERSION debian/changelog CHANGELOG.md packaging/ramraid.spec \
		packaging/arch/PKGBUILD; do
		release_tree
		sed -i 's/1\.2\.3/1.2.4/' "$T/$file"
		run "$T/tests/release" --versions
		assert_failure 1
		[[ $file == lib/VERSION ]] ||
			assert_output --regexp "^$file: expected version 1\.2\.3, found 1\.2\.4\$"
	done
	release_tree
	run "$T/tests/release" --versions
	assert_success
	refute_output
}

@test "no release with dates that differ, unreleased changes, an existing tag or a tree that is not clean" {
	release_tree
	sed -i 's/2026-11-20/2026-11-21/; s/^## \[Unreleased\]/&\n- new/' "$T/CHANGELOG.md"
	GIT_TAG=0 GIT_STATUS='?? x' run "$T/tests/release"
	assert_failure 1
	assert_line --partial '2026-11-21'
	assert_line --partial 'below "Unreleased"'
	assert_line 'the tree is not clean: git status'
	assert_line 'there is a tag v1.2.3 already'
	refute_output --partial 'The steps'
}

# sysinit.target conflicts with emergency.service: with it in the transaction of "ramraid start",
# the shell ends in which that was typed.
@test "no unit that an array's unit pulls in has default dependencies, which pull in half a boot" {
	local unit file checked=0
	for unit in ramraid@.service \
		$(sed -n 's/^\(Wants\|Requires\)=//p' "$PROJECT/units/ramraid@.service"); do
		[[ -e $PROJECT/units/$unit ]] || continue
		for file in "$PROJECT/units/${unit%.path}".{path,service} "$PROJECT/units/$unit"; do
			[[ -e $file ]] || continue
			checked=$((checked + 1))
			grep -qx DefaultDependencies=no "$file" || fail "$file"
		done
	done
	((checked >= 5)) || fail "$checked"
}

@test "isolating another target, such as emergency, ends neither an array nor what watches it" {
	local unit
	for unit in ramraid@.service ramraid-hotplug.path ramraid-hotplug.timer \
		ramraid-remember.path ramraid-monitor@.path ramraid-mend@.service ramraid-memory@.service; do
		grep -qx IgnoreOnIsolate=yes "$PROJECT/units/$unit" || fail "$unit"
	done
}

# systemd hands the limit of a service on to the path unit that starts it, and that then watches no
# more.
@test "services that a path unit starts have no limit of starts" {
	local path checked=0
	for path in "$PROJECT"/units/*.path; do
		checked=$((checked + 1))
		grep -qx StartLimitIntervalSec=0 "${path%.path}.service" || fail "$path"
	done
	((checked >= 3)) || fail "$checked"
	# And one that is started again whenever it is found not to watch.
	grep -qx StartLimitIntervalSec=0 "$PROJECT/units/ramraid-monitor@.path"
}

@test "every array pulls in the timer that finds what no watch has seen" {
	grep -qx Wants=ramraid-hotplug.timer "$PROJECT/units/ramraid@.service"
	grep -qx OnUnitActiveSec=15min "$PROJECT/units/ramraid-hotplug.timer"
	# The first time after it was started, not only after a look.
	grep -qx OnActiveSec=15min "$PROJECT/units/ramraid-hotplug.timer"
}

# It stays in the service's cgroup, and systemd would wait for it, three minutes with its defaults. Of
# the others, nobody waits for the self-test, and metrics starts a reader every 30 seconds, which are
# not to become more and more.
@test "a reader of a disk that does not answer does not keep a service from ending" {
	local unit checked=0
	for unit in "$PROJECT"/units/*.service; do
		[[ $unit != */ramraid-@(metrics|selftest?(-clean)).service ]] || continue
		checked=$((checked + 1))
		[[ $(grep ^KillMode "$unit") == KillMode=process ]] || fail "$unit"
	done
	((checked >= 7)) || fail "$checked"
}

@test "needrestart leaves every service of ramraid alone, and no other" {
	local unit names=()
	for unit in "$PROJECT"/units/*.service; do
		unit=${unit##*/}
		names+=("${unit/@./@data.}")
	done
	((${#names[@]} >= 7))
	# As needrestart reads its files and asks for a service.
	skipped() {
		perl -e 'use strict; our %nrconf = (override_rc => {qr(^dbus) => 0}); my $fn = shift; eval do { local(@ARGV, $/) = $fn; <> }; die $@ if $@;
			for my $rc (@ARGV) { my $restart = 1; for (keys %{$nrconf{override_rc}}) { $restart = $nrconf{override_rc}{$_}, last if $rc =~ /$_/ } print "$rc\n" unless $restart }' \
			"$PROJECT/etc/needrestart/conf.d/ramraid.conf" "$@"
	}
	[[ $(skipped "${names[@]}" ramraidd.service my-ramraid@x.service nginx.service \
		dbus.service) == "$(printf '%s\n' "${names[@]}" dbus.service)" ]] ||
		fail "$(skipped "${names[@]}")"
}

@test "after a removal units are stopped by patterns, because systemctl stop fails for a unit without a file" {
	local file words word
	for file in debian/ramraid.postrm packaging/ramraid.spec packaging/arch/ramraid.install; do
		words=$(sed ':a; /\\$/ { N; s/\\\n//; ba }' "$PROJECT/$file" |
			sed -n "s/^[[:blank:]]*systemctl stop '\(.*'\).*/'\1/p")
		[[ -n $words ]] || fail "$file: no units are stopped"
		for word in $words; do
			[[ $word == *'*'* ]] || fail "$file: $word"
		done
	done
}

@test "a check that is killed, or says nothing, blocks the removal" {
	local how
	for how in 'kill -KILL $$' 'exit 75' 'exit 1'; do
		program ramraid "case \$1 in detach) exit 3 ;; check) $how ;; esac"
		arrays data
		run "$PROJECT/packaging/before-removal"
		assert_failure 1
		assert_output -p 'could not check whether md alone may start data, so the package'
		[[ $(calls) != *claim* ]]
		rm "$BATS_TEST_TMPDIR/calls"
	done
	program ramraid 'case $1 in detach) exit 3 ;; check) echo "  problem no-smart: x"; exit 1 ;; esac'
	run "$PROJECT/packaging/before-removal"
	assert_success
}
