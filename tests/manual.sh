# The manual against the code, both ways: each function prints where they disagree. Sourced by tests/lint.
# shellcheck shell=bash

readonly MANUAL=man/ramraid.8.adoc MANUAL_ROOT=build/manual-root

# plain: asciidoc on stdin without its marks: "*ramraid stop* [*--dry-run*] _NAME_" → "ramraid stop [--dry-run] NAME".
plain() { sed 's/[*_]//g'; }

# section HEAD END: what stands in ramraid(8) between the line HEAD and the next one that the regular expression END fits.
section() { awk -v head="$1" -v end="$2" '$0 == head { inside = 1; next } inside && $0 ~ end { exit } inside' "$MANUAL"; }

# options: what is on stdin, "[--ram=KIND] [--watch[=SECONDS]]", as "--ram=", "--watch", "--watch=", sorted.
options() { sed -E 's/(--[a-z-]+)\[=/\1 \1=/g' | grep -oE -- '--[a-z-]+=?' | sort -u; }

# differ WHAT HERE THERE: two texts that should be one.
differ() {
	local line
	diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | grep '^[<>] .' | while IFS= read -r line; do
		line=${line/#</only in the first}
		printf '%s: %s\n' "$1" "${line/#>/only in the second}"
	done
	return 0
}

verbs_documented() {
	local files verbs=$VERBS verb synopsis text line
	files=$(basename -s .sh lib/cmd/*.sh lib/cmd/internal/*.sh | sort)
	differ 'lib/cmd and --help' "$files" "$(cut -f 1 <<<"$verbs" | sort)"
	differ 'lib/cmd and the sections of VERBS' "$files" "$(section '== VERBS' '^== ' | sed -n 's/^=== //p' | sort)"
	differ 'usage and SYNOPSIS' "$(cut -f 2 <<<"$verbs" | sed 's/…/.../g' | sort)" \
		"$(section '== SYNOPSIS' '^== ' | plain | sed -n 's/^ramraid \([a-z]\)/\1/p' | sort)"
	# In --help only the operands stand beside the verb.
	while IFS=$'\t' read -r verb synopsis text _; do
		line=$(sed -E 's/ \[--[^]]*(\[[^]]*\][^]]*)?\]//g' <<<"$synopsis")
		bin/ramraid --help | grep -qF -e "  $line  " || printf -- '--help should have: %s   %s\n' "$line" "$text"
	done <<<"$verbs"
}

options_documented() {
	local verb synopsis flags code
	while IFS=$'\t' read -r verb synopsis _ flags; do
		# shellcheck disable=SC2086 # words
		code=$([[ -z $flags ]] || printf -- '--%s\n' $flags | sort)
		differ "$verb: cli_parse and usage" "$code" "$(options <<<"$synopsis")"
		differ "$verb: cli_parse and the items of its section" "$code" "$(section "=== $verb" '^===? ' | grep -E '^[*]+--.*::$' | plain | options)"
	done <<<"$VERBS"
}

exits_documented() {
	differ 'lib/core/log.sh and EXIT STATUS' "$(sed -n '/^readonly EX_/p' lib/core/log.sh | grep -oE '=[0-9]+' | tr -d = | sort)" \
		"$(section '== EXIT STATUS' '^== ' | sed -n 's/^\*\([0-9]*\)\*::$/\1/p' | sort)"
}

# Every key in the page, and every word that the pages set as a key, alone or with a value, is one that conf.sh takes.
keys_documented() (
	local key value text
	make -s all
	generate/keys check
	need() { :; }
	# shellcheck source=lib/config/conf.sh
	source lib/config/conf.sh
	for key in "${!CONF_FORM[@]}"; do grep -q "fB$key=" build/man/ramraid.conf.5 || printf 'ramraid.conf(5) lacks the key %s\n' "$key"; done
	while IFS= read -r text; do
		text=${text//\*/} key=${text%%=*} value=${text#"${text%%=*}"}
		[[ $key != @(ARRAY|MAILADDR|PROGRAM) ]] || continue # mdadm.conf(5)
		if [[ -z ${CONF_FORM[$key]-} ]]; then
			printf 'the manual names %s, which is no key\n' "$text"
		else
			[[ ${#value} -lt 2 || ${value#=} =~ ${CONF_FORM[$key]} ]] || printf 'the manual has %s, which conf.sh refuses\n' "$text"
		fi
	done < <(grep -hoE '\*[A-Z][A-Z_]+(=[^*]*)?\*|^[A-Z_]+=.+' man/*.adoc build/keys.adoc | sort -u)
)

# Every file that is installed, but for libraries and documents, has a page of its own or is named in one; and what the pages name is installed.
files_documented() {
	local file name pages
	rm -rf "$MANUAL_ROOT"
	make -s install DESTDIR="$PWD/$MANUAL_ROOT" PREFIX=/usr UNITDIR=/usr/lib/systemd/system \
		GENERATORDIR=/usr/lib/systemd/system-generators UDEVDIR=/usr/lib/udev
	pages=$MANUAL_ROOT/usr/share/man
	while IFS= read -r file; do
		name=${file##*/}
		case $file in
		/usr/share/man/* | /usr/share/doc/* | /usr/lib/ramraid/*) ;;
		*/system/*.d/*) grep -qF "_${name}_" 'man/ramraid@.service.8.adoc' || printf 'no page names %s\n' "$file" ;;
		/usr/sbin/* | */system/* | */system-generators/*) [[ -e $pages/man8/$name.8 ]] || printf '%s has no page\n' "$file" ;;
		*) grep -qF "_${file}_" man/*.adoc || printf 'no page names %s\n' "$file" ;;
		esac
	done < <(find "$MANUAL_ROOT" -type f -printf '/%P\n')
	for file in "$pages"/man8/*.8; do
		name=$(basename "$file" .8)
		[[ -n $(find "$MANUAL_ROOT" -name "$name" ! -path "*/ramraid/$name") ]] || printf '%s has a page, and is not installed\n' "$name"
	done
	while IFS= read -r file; do
		[[ -e $MANUAL_ROOT$file ]] || printf 'the manual names %s, which is not installed\n' "$file"
	done < <(grep -hoE '_/usr/[A-Za-z0-9/._@-]+_' man/*.adoc | sed 's/^_//; s/_$//' | sort -u)
	# ramraid@NAME.service is an instance of ramraid@.service.
	while IFS= read -r name; do
		[[ -e $MANUAL_ROOT/usr/lib/systemd/system/$name ]] || printf 'the manual names %s, which is not installed\n' "$name"
	done < <(grep -hoE '_ramraid[a-z-]*(@[A-Z]*)?\.(service|path|target|timer)_' man/*.adoc | tr -d _ | sed 's/@[A-Z]*/@/' | sort -u)
}
