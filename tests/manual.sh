# Compares the manual with the code, both ways: each function prints where they disagree. Sourced by
# tests/lint.
# shellcheck shell=bash

readonly MANUAL_ROOT=build/manual-root MANUAL_LINES=250

# plain: prints the asciidoc on stdin without its marks: "*ramraid stop* [*--dry-run*] _NAME_" →
# "ramraid stop [--dry-run] NAME".
plain() { sed 's/[*_]//g'; }

# page VERB: prints the source of its page. The verbs that nobody types share one.
page() {
	if [[ -e lib/cmd/internal/$1.sh ]]; then
		printf 'man/ramraid-internal.8.adoc\n'
	else
		printf 'man/ramraid-%s.8.adoc\n' "$1"
	fi
}

# section FILE HEAD END: prints what is in FILE between the line HEAD and the next line that matches
# the regular expression END.
section() {
	awk -v head="$2" -v end="$3" \
		'$0 == head { inside = 1; next } inside && $0 ~ end { exit } inside' "$1"
}

# examples FILE: prints the commands in its EXAMPLES, without the prompt.
examples() { section "$1" '== EXAMPLES' '^== ' | sed -n '/^----$/,/^----$/s/^[#$] //p'; }

# options: prints the options on stdin, "[--ram=KIND] [--watch[=SECONDS]]", as "--ram=", "--watch",
# "--watch=", sorted.
options() { sed -E 's/(--[a-z-]+)\[=/\1 \1=/g' | grep -oE -- '--[a-z-]+=?' | sort -u; }

# differ WHAT HERE THERE: prints where two texts differ that should be one.
differ() {
	local line
	diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | grep '^[<>] .' | while IFS= read -r line; do
		line=${line/#</only in the first}
		printf '%s: %s\n' "$1" "${line/#>/only in the second}"
	done
	return 0
}

# Every verb has its page and every page its verb; both have one synopsis. What --help lists is what
# VERBS in ramraid(8) lists, and nothing internal.
verbs_documented() {
	local verb synopsis sections
	make -s all
	differ 'lib/cmd and generate/verbs' \
		"$(basename -s .sh lib/cmd/*.sh lib/cmd/internal/*.sh | sort)" \
		"$(cut -f 1 <<<"$VERBS" | sort)"
	differ 'lib/cmd and --help' "$(basename -s .sh lib/cmd/*.sh | sort)" \
		"$(bin/ramraid --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort)"
	differ 'lib/cmd and the pages of verbs' "$(basename -s .sh lib/cmd/*.sh | sort)" \
		"$(verb_pages | sort)"
	sections=$(section man/ramraid-internal.8.adoc '== DESCRIPTION' '^== ' |
		sed -n 's/^=== //p' | sort)
	differ 'lib/cmd/internal and the sections of ramraid-internal(8)' \
		"$(basename -s .sh lib/cmd/internal/*.sh | sort)" "$sections"
	differ '--help and VERBS of ramraid(8)' "$(bin/ramraid --help | grep '^  ' | sed 's/^  //')" \
		"$(section man/ramraid.8.adoc '== VERBS' '^== ' |
			sed -n '/^\.\.\.\.$/,/^\.\.\.\.$/{/^\.\.\.\.$/d;p}')"
	while IFS=$'\t' read -r verb synopsis _; do
		differ "$verb: usage and SYNOPSIS" "${synopsis//…/...}" \
			"$(section "$(page "$verb")" '== SYNOPSIS' '^== ' | plain |
				sed -n "s/^ramraid \($verb\b\)/\1/p")"
		[[ -e build/man/ramraid-$verb.8 ]] || printf 'there is no ramraid-%s(8)\n' "$verb"
		# --help shows only the operands beside the verb.
		[[ -e lib/cmd/internal/$verb.sh ]] ||
			bin/ramraid --help |
			grep -qF -e "  $(sed -E 's/ \[--[^]]*(\[[^]]*\][^]]*)?\]//g' <<<"$synopsis")  " ||
			printf -- '--help and usage differ in the operands of %s\n' "$verb"
	done <<<"$VERBS"
}

# Prints the verbs that have pages: all pages of section 8 are about a verb, except these two.
verb_pages() {
	basename -s .8.adoc -a man/ramraid-*.8.adoc | sed 's/^ramraid-//' |
		grep -vx -e internal -e generator
}

options_documented() {
	local verb synopsis flags code
	while IFS=$'\t' read -r verb synopsis _ flags; do
		# shellcheck disable=SC2086 # words
		code=$([[ -z $flags ]] || printf -- '--%s\n' $flags | sort)
		differ "$verb: cli_parse and usage" "$code" "$(options <<<"$synopsis")"
		differ "$verb: cli_parse and the items of its page" "$code" \
			"$(options_of "$verb" | grep -E '^[*]+-.*::$' | plain | options)"
	done <<<"$VERBS"
}
options_of() { # VERB
	if [[ -e lib/cmd/internal/$1.sh ]]; then
		section "$(page "$1")" "=== $1" '^===? '
	else
		section "$(page "$1")" '== OPTIONS' '^== '
	fi
}

# ramraid(8) has all codes. The page of a verb has some of these (and 130, of an interrupted one), 0
# and 2 among them, each once and in order.
exits_documented() {
	local file codes all
	all=$(sed -n '/^readonly EX_/p' lib/core/log.sh | grep -oE '=[0-9]+' | tr -d = | sort -n)
	differ 'lib/core/log.sh and EXIT STATUS' "$all" "$(exits man/ramraid.8.adoc)"
	while read -r file; do
		codes=$(exits "$file")
		[[ $codes == "$(sort -nu <<<"$codes")" ]] ||
			printf '%s: the exit codes are not in order\n' "$file"
		grep -vxF -e "$all" -e 130 <<<"$codes" | sed "s|^|$file: no verb ends with |"
		{
			grep -qx 0 <<<"$codes" && grep -qx 2 <<<"$codes"
		} || printf '%s: EXIT STATUS should have 0 and 2\n' "$file"
	done < <(
		verb_pages | sed 's|.*|man/ramraid-&.8.adoc|'
		page witness
	)
}
exits() { section "$1" '== EXIT STATUS' '^== ' | sed -n 's/^\*\([0-9]*\)\*::$/\1/p'; } # FILE

# Every page of a verb has an example of it, and every "ramraid VERB" in any example is one that the
# code takes, with options that it takes.
examples_documented() {
	local verb file line option flags
	while read -r verb; do
		examples "$(page "$verb")" | grep -qE "^ramraid $verb( |\$)" ||
			printf 'ramraid-%s(8) has no example of it\n' "$verb"
	done < <(verb_pages)
	for file in man/*.adoc; do
		[[ $file == man/*.8.adoc ]] || continue
		[[ -n $(examples "$file") ]] || printf '%s has no examples\n' "$file"
		while IFS= read -r line; do
			verb=$(cut -d ' ' -f 2 <<<"$line")
			flags=$(grep "^$verb"$'\t' <<<"$VERBS" | cut -f 4) ||
				printf '%s: there is no verb %s: %s\n' "$file" "$verb" "$line"
			for option in $(options <<<"$line"); do
				[[ " $flags " == *" ${option#--} "* ]] ||
					printf '%s: %s does not take %s: %s\n' "$file" "$verb" \
						"$option" "$line"
			done
		done < <(examples "$file" | grep -oE '^ramraid [a-z]+[^|&]*')
	done
}

# Every reference in a page, a message, a unit or a comment leads somewhere: "*ramraid-create*(8)",
# "START in ramraid-concepts(7)", "man:ramraid@.service(8)", "(see START)".
references_documented() {
	local file name head
	make -s all
	while IFS=: read -r file name; do
		name=${name#man:} name=${name//\*/}
		[[ -e build/man/${name%(*}.${name: -2:1} ]] ||
			printf '%s: there is no page %s\n' "$file" "$name"
	done < <(grep -roE '(man:)?\*?\bramraid[a-z@.-]*\*?\([1-8]\)' man lib bin units etc udev initramfs dracut completion README.md docs/*.md | sort -u)
	# Several heads may go before one "in": START and THE GATE in ….
	while IFS=: read -r file name; do
		head=${name%% in *} name=${name##* in } name=${name//[\*\`]/}
		head_in "$head" "${name%(*}.${name: -2:1}" ||
			printf '%s: %s has no section %s\n' "$file" "$name" "$head"
	done < <(find man lib bin units etc udev initramfs dracut README.md docs/*.md -type f -exec perl -0777 -ne \
		"$MANUAL_JOIN; print \"\$ARGV:\$&\\n\" while /$MANUAL_HEAD in [*\`]?ramraid[a-z@.-]*[*\`]?\([1-8]\)/g" {} + | sort -u)
	for file in man/*.adoc; do
		while IFS= read -r head; do
			head_in "$head" "$(basename "$file" .adoc)" ||
				printf '%s: there is no section %s in it\n' "$file" "$head"
		done < <(perl -0777 -pe "$MANUAL_JOIN" "$file" | sed -E "s/$MANUAL_HEAD( and $MANUAL_HEAD)* in [*][a-z@.-]+[*]\\([0-9]\\)//g" | grep -oE "[sS]ee $MANUAL_HEAD|\\($MANUAL_HEAD\\)" | sed -E 's/^[sS]ee //; s/[()]//g' | sort -u)
	done
}
# Makes each paragraph one line, also in a comment.
readonly MANUAL_JOIN='s/\n[ \t]*(?:# )?(?=[^\n#])/ /g'
readonly MANUAL_HEAD='([A-Z]+ )*[A-Z][A-Z_-]{3,}( [A-Z]+[A-Z-]*)*'
head_in() { # HEAD PAGE: is it a heading of the page as it is built, but for roff's marks, or a key of ramraid.conf(5)?
	[[ $2 != ramraid.conf.5 ]] || ! grep -qF "fB$1=" "build/man/$2" || return 0
	sed -n '/^\.SH/,+1p' "build/man/$2" |
		sed 's/^\.SH *//; s/"//g; s/\\-/-/g; s/\\(aq/'"'"'/g' | grep -qxF -- "$1"
}

# The first page that anybody reads stays short, on a terminal of 80 columns.
length_documented() {
	local lines
	make -s all
	lines=$(LC_ALL=C.UTF-8 MANWIDTH=80 man -l build/man/ramraid.8 | wc -l)
	((lines > 100 && lines <= MANUAL_LINES)) ||
		printf 'ramraid(8) has %s lines; %s are the most\n' "$lines" "$MANUAL_LINES"
}

# asciidoctor mistakes "ramraid-monitor@MD.path" for a mail address, and in a heading turns it into
# something that is not roff. A backslash before it prevents that.
links_documented() {
	make -s all
	grep -n '\.MTO "' build/man/*.[578] || :
}

# Phrases that read as translated, in what is written for the manual. Messages are quoted as they
# are.
phrases_documented() {
	grep -nE 'ave (yourself|somebody) told|comes? to is|as it may be|the price of their|\b(lies|lie) (on|in|below)\b|\bstands? (in|under|below|at)\b|made anew|\b(is|are|was|be) told\b|lets? go of|\bof ours\b|for want of|mailed of' \
		man/*.adoc lib/config/keys.list lib/cmd/help.sh docs/troubleshooting.md |
		grep -v ':> `'
	return 0
}

# Every finding of check has an item in ramraid-diagnostics(7), and every item is a finding.
# shellcheck disable=SC2016 # backquotes here are those of Markdown
codes_documented() {
	differ 'lib/cmd/check and "What check finds"' \
		"$(cat lib/cmd/check/*.sh lib/report/states.sh | perl -0pe 's/\\\n\s*//g' |
			sed '/^#/d' |
			grep -oE 'findings_(problem|note) [a-z]+(-[a-z]+)*|findings_unseen [a-z]+|UNFINISHED=[a-z]+-[a-z]+' |
			sed 's/findings_unseen /x unseen-/; s/.*[ =]//' | sort -u)" \
		"$(sed -n '/^## What `check` finds$/,/^## X/p' docs/troubleshooting.md |
			awk '/^- / { on = 1 } on { print } /: |:$|^$/ { on = 0 }' | sed 's/: .*//' |
			grep -oE '`[a-z-]+`' | tr -d '\140' | sort)"
}

# Every key is in the page, and every word that the pages use as a key, alone or with a value, is
# one that conf.sh takes.
# shellcheck disable=SC2317 # conf-keys.sh calls need
keys_documented() (
	local key value text
	make -s all
	generate/keys check
	need() { :; }
	# shellcheck source=lib/config/conf-keys.sh
	source lib/config/conf-keys.sh
	for key in "${!CONF_FORM[@]}"; do
		grep -q "fB$key=" build/man/ramraid.conf.5 ||
			printf 'ramraid.conf(5) lacks the key %s\n' "$key"
	done
	while IFS= read -r text; do
		text=${text//\*/} key=${text%%=*} value=${text#"${text%%=*}"}
		[[ $key != @(ARRAY|MAILADDR|PROGRAM) ]] || continue # mdadm.conf(5)
		if [[ -z ${CONF_FORM[$key]-} ]]; then
			printf 'the manual names %s, which is no key\n' "$text"
		else
			[[ ${#value} -lt 2 || ${value#=} =~ ${CONF_FORM[$key]} ]] ||
				printf 'the manual has %s, which conf.sh refuses\n' "$text"
		fi
	done < <(grep -hoE '\*[A-Z][A-Z_]+(=[^*]*)?\*|^[A-Z_]+=.+' man/*.adoc build/keys.adoc |
		sort -u)
)

# Every file that is installed, except libraries and documents, has a page of its own or is named in
# one; and what the pages name is installed.
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
		*/system/*.d/*)
			grep -qF "_${name}_" 'man/ramraid@.service.8.adoc' ||
				printf 'no page names %s\n' "$file"
			;;
		/usr/sbin/* | */system/* | */system-generators/*)
			[[ -e $pages/man8/$name.8 ]] || printf '%s has no page\n' "$file"
			;;
		*) grep -qF "_${file}_" man/*.adoc || printf 'no page names %s\n' "$file" ;;
		esac
	done < <(find "$MANUAL_ROOT" -type f -printf '/%P\n')
	for file in "$pages"/man8/*.8; do
		name=$(basename "$file" .8)
		# The pages of verbs are checked by verbs_documented.
		[[ ! -e lib/cmd/${name#ramraid-}.sh && ! -e lib/cmd/internal/${name#ramraid-}.sh &&
			$name != ramraid-internal ]] ||
			continue
		[[ -n $(find "$MANUAL_ROOT" -name "$name" ! -path "*/ramraid/$name") ]] ||
			printf '%s has a page, and is not installed\n' "$name"
	done
	while IFS= read -r file; do
		# The package has no folders for drop-ins: whoever needs one makes it.
		[[ -e $MANUAL_ROOT$file || $file == *.conf.d ]] ||
			printf 'the manual names %s, which is not installed\n' "$file"
	done < <(grep -hoE '_/usr/[A-Za-z0-9/._@-]+_' man/*.adoc | sed 's/^_//; s/_$//' | sort -u)
	# ramraid@NAME.service is an instance of ramraid@.service.
	while IFS= read -r name; do
		[[ -e $MANUAL_ROOT/usr/lib/systemd/system/$name ]] ||
			printf 'the manual names %s, which is not installed\n' "$name"
	done < <(grep -hoE '_ramraid[a-z-]*(@[A-Z]*)?\.(service|path|target|timer)_' man/*.adoc |
		tr -d _ | sed 's/@[A-Z]*/@/' | sort -u)
}
