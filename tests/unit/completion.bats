#!/usr/bin/env bats
# The completions of bash and zsh, as they are made for the package.

setup_file() {
	load helper
	"$PROJECT/generate/completion" bash >"$BATS_FILE_TMPDIR/ramraid"
	"$PROJECT/generate/completion" zsh >"$BATS_FILE_TMPDIR/_ramraid"
}

setup() {
	load helper
	world
	touch "$R/etc/ramraid/"{ramraid,data,db-1,'x y'}.conf
	fake_disk sda 104857600 disk/by-id/ata-A disk/by-id/wwn-0x1
	fake_disk sdb 104857600 disk/by-id/nvme-B:2
	fake_disk md127 104857600 disk/by-id/md-uuid-1:2:3:4 md/old
	# shellcheck source=/dev/null
	source "$BATS_FILE_TMPDIR/ramraid"
	complete -p ramraid >/dev/null
}

compopt() { :; } # only bash's own call of a completion may use it

# completes LINE WORD…: what may come at the end of LINE, in any order, is these words and no
# others.
completes() {
	COMP_LINE=$1 COMP_POINT=${#1}
	_ramraid
	shift
	[[ $(printf '%s\n' "${COMPREPLY[@]}" | sort) == "$(printf '%s\n' "$@" | sort)" ]] ||
		fail "$COMP_LINE: $(printf '%q ' "${COMPREPLY[@]}")"
}

@test "completion offers every verb" {
	local verbs
	mapfile -t verbs < <(basename -s .sh "$PROJECT"/lib/cmd/{,internal/}*.sh)
	completes 'ramraid ' "${verbs[@]}" --help --version
	completes 'ramraid st' start status stop
	completes 'ramraid --v' --version
	completes 'ramraid nonsense'
	completes 'ramraid nonsense x'
}

@test "completion offers the configured arrays, as many as the verb takes" {
	completes 'ramraid start ' data db-1
	completes 'ramraid start --dry-run da' data
	completes 'ramraid stop data '
	completes 'ramraid status data ' data db-1
	completes 'ramraid status data db-1 d' data db-1
	completes 'ramraid stop -n da' data
	completes 'ramraid witness '
	completes 'ramraid help st' start status stop
	completes 'ramraid create '
	completes 'ramraid config ' show
	completes 'ramraid config show d' data db-1
	rm "$R"/etc/ramraid/*.conf
	completes 'ramraid start '
}

@test "completion offers each option once" {
	completes 'ramraid stop -' --dry-run --help
	completes 'ramraid create --' --dry-run --yes --force --no-wait --ram= --layout= --help
	completes 'ramraid create --dry-run --ram=brd data --' --yes --force --no-wait --layout= \
		--help
	completes 'ramraid wait --t' --timeout=
	completes 'ramraid config show --j' --json
}

@test "completion works after an option's equals sign, where bash begins a new word" {
	completes 'ramraid create --ram=' auto rapiddisk brd zram none
	completes 'ramraid create --ram=r' rapiddisk
	completes 'ramraid create --ram=/dev/disk/by-id/a' /dev/disk/by-id/ata-A
	completes 'ramraid create --layout=' far2
	completes 'ramraid wait --timeout='
	completes 'ramraid start --force-leg=/dev/disk/by-id/a' /dev/disk/by-id/ata-A
	completes 'ramraid create --no-wait='
}

@test "completion offers disks and arrays, also those with a colon, where bash begins a new word" {
	completes 'ramraid create data ' /dev/disk/by-id/{ata-A,wwn-0x1,nvme-B:2,md-uuid-1:2:3:4}
	completes 'ramraid create data /dev/disk/by-id/ata-A /dev/disk/by-id/w' \
		/dev/disk/by-id/wwn-0x1
	completes 'ramraid create data /dev/disk/by-id/nvme-B:' 2
	completes 'ramraid adopt data ' /dev/md/old \
		/dev/disk/by-id/{ata-A,wwn-0x1,nvme-B:2,md-uuid-1:2:3:4}
}

@test "completion works with the cursor in the middle of the line" {
	COMP_LINE='ramraid sta data' COMP_POINT=11
	_ramraid
	[[ ${COMPREPLY[*]} == 'status start' ]] || fail "${COMPREPLY[*]}"
}

@test "completion works after a tab in an interactive bash" {
	printf 'source %q\nset +o history\nPS1=\nramraid() { printf "<%%s>" "$@"; }\nramraid detach da\t --dry\t\nexit\n' "$BATS_FILE_TMPDIR/ramraid" >"$BATS_TEST_TMPDIR/typed"
	run script -qec 'bash --norc --noprofile -i' /dev/null <"$BATS_TEST_TMPDIR/typed"
	assert_output -p '<detach><data><--dry-run>'
}

@test "completion offers every option of every verb" {
	local verb flags flag words
	while IFS=$'\t' read -r verb _ _ flags; do
		words=(--help)
		for flag in $flags; do words+=("--$flag"); done
		completes "ramraid $verb --" "${words[@]}"
	done < <("$PROJECT/generate/verbs")
}

@test "zsh can parse its completion, which has every verb" {
	local verb
	for verb in "$PROJECT"/lib/cmd/{,internal/}*.sh; do
		verb=$(basename "$verb" .sh)
		grep -q "^	'$verb:" "$BATS_FILE_TMPDIR/_ramraid" ||
			fail "not described: $verb"
		grep -q "^	$verb) _arguments " "$BATS_FILE_TMPDIR/_ramraid" ||
			fail "not completed: $verb"
	done
	if command -v zsh >/dev/null; then
		zsh -n "$BATS_FILE_TMPDIR/_ramraid"
	else
		echo '# zsh is not here: whether it can read its completion is not known' >&3
	fi
}

@test "zsh: an option with an optional value is listed once" {
	run bash -c 'source "$1/generate/completion"; SHORTS=""; zsh_specs --json --watch --watch=SECONDS' - "$PROJECT"
	assert_output " '(- *)--help[what it does]' '--json' '--watch=-::SECONDS: '"
}

@test "zsh: the short form of an option is listed beside it" {
	run bash -c 'source "$1/generate/completion"; SHORTS="declare -grA CLI_SHORT=([n]=dry-run [y]=yes)"; zsh_specs --yes --dry-run' - "$PROJECT"
	assert_output \
		" '(- *)--help[what it does]' '(-y --yes)'{-y,--yes} '(-n --dry-run)'{-n,--dry-run}"
	grep -F "stop) _arguments '(- *)--help[what it does]' '(-n --dry-run)'{-n,--dry-run}" \
		"$BATS_FILE_TMPDIR/_ramraid"
}
