# ramraid help: shows the manual page of a verb, or its usage; and what "ramraid --help" prints.
# VERBS in ramraid(8) has the same lines.
# shellcheck shell=bash

need core/cli core/log

readonly HELP_USAGE='usage: ramraid help [VERB]

Read the manual page of the verb, ramraid-VERB(8). On a terminal, ramraid opens the page. To a
pipe or a file, and where the page is not installed, it prints the same as "ramraid VERB --help".
Without VERB it lists the verbs.'

cmd_help() {
	cli_parse "$HELP_USAGE" '' "$@"
	((${#ARGS[@]} <= 1)) ||
		cli_usage "$HELP_USAGE" "expected one verb at most, got ${#ARGS[@]} words"
	if ((${#ARGS[@]} == 0)); then
		help_usage
		return
	fi
	cli_find_verb "${ARGS[0]}" || die "$(cli_unknown_verb "${ARGS[0]}")" "$EX_USAGE"
	if [[ -t 1 ]] && help_has_page_ "${ARGS[0]}"; then
		# sudo may allow this verb alone, and a pager starts a shell when the user asks it
		# to.
		LESSSECURE=1 man 8 "ramraid-${ARGS[0]}"
	else
		[[ ! -t 1 ]] || log_notice "the manual page ramraid-${ARGS[0]}(8) can't be shown \
(is man installed?); this is the short form:"
		need "$VERB_FILE"
		"cmd_${ARGS[0]}" --help
	fi
}

help_has_page_() { command -v man && man -w 8 "ramraid-$1"; } >/dev/null 2>&1 # VERB

help_usage() {
	cat <<'EOT'
usage: ramraid VERB [OPTION…] [NAME…]

Make a mirror, or end it:
  create NAME DISK…     make a mirror of disks and a RAM leg
  adopt NAME ARRAY|DISK…  give an existing RAID1 a leg in RAM
  release NAME          make such a mirror a plain RAID1 again
  destroy NAME          wipe the array, and all that is on it

Look at arrays:
  list [NAME…]          one line for each array
  status [NAME…]        the state of arrays and legs, and what to do
  check [NAME…]         what would go wrong at the next boot
  wait NAME             wait until the array is whole
  events NAME           what has happened to the array
  config show [NAME]    each key, its value, and where it is set
  metrics               the state of all arrays, for Prometheus
  estimate PATH|DEVICE|NAME  how much memory a RAM leg would take
  bench NAME            what the array and its legs read in a second
  scrub NAME            make md compare the legs
  selftest              try the copy to a RAM leg on this kernel

Start and stop:
  start NAME            start the array, and rebuild its RAM leg
  stop NAME             take the RAM leg out, and stop the array
  attach NAME           give the running array its RAM leg
  detach NAME           take the RAM leg out, and free its memory
  restore NAME          put a rescue image back onto the disks

Change the disks:
  replace NAME OLD [NEW]  replace a disk leg with another disk
  apply NAME            make the disk legs those that are configured
  resize NAME           use the room that all disk legs have gained
  claim [NAME…]         keep other programs from assembling the arrays

Learn more:
  help [VERB]           the manual page of a verb

"ramraid VERB --help" is shorter; ramraid(8) is the place to begin.
-n is --dry-run, -y is --yes, wherever a verb takes these.
Configuration: /etc/ramraid/NAME.conf, ramraid.conf(5).
Guides: /usr/share/doc/ramraid/docs.
EOT
}
