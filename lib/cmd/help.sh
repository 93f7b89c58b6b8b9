# ramraid help: the manual page of a verb, or what the verb takes.
# shellcheck shell=bash

need core/cli core/log core/usage core/verb

readonly HELP_USAGE='usage: ramraid help [VERB]

Read the manual page of the verb, ramraid-VERB(8). On a terminal, ramraid opens the page. To a
pipe or a file, and where the page is not installed, it prints the same as "ramraid VERB --help".
Without VERB it lists the verbs.'

cmd_help() {
	cli_parse "$HELP_USAGE" '' "$@"
	((${#ARGS[@]} <= 1)) ||
		cli_usage "$HELP_USAGE" "expected one verb at most, got ${#ARGS[@]} words"
	if ((${#ARGS[@]} == 0)); then
		usage
		return
	fi
	verb_find "${ARGS[0]}" || die "$(verb_unknown "${ARGS[0]}")" "$EX_USAGE"
	if [[ -t 1 ]] && help_has_page_ "${ARGS[0]}"; then
		man 8 "ramraid-${ARGS[0]}"
	else
		[[ ! -t 1 ]] || log_notice "there is no manual page ramraid-${ARGS[0]}(8) to be \
shown (is man installed?); this is the short form:"
		need "$VERB_FILE"
		"cmd_${ARGS[0]}" --help
	fi
}

help_has_page_() { command -v man && man -w 8 "ramraid-$1"; } >/dev/null 2>&1 # VERB
