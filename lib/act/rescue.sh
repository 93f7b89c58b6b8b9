# The rescue image: a file with what only the RAM leg had, from a shutdown at which no disk leg
# could take it. Its record is beside the witness; as long as that is there, nothing starts a disk
# leg without being told to.
# shellcheck shell=bash

need config/conf core/act core/bounded core/lock core/log core/paths core/text core/trust
need notes/legs-seen notes/rescue-record observe/rescue-place world/disk world/superblock

declare -gA F # the facts: decide/facts.list

# beside an image: its record, and the name of the record once the image was put back, or given up
readonly RESCUE_RECORD=record RESCUE_RESTORED=record.restored RESCUE_GIVEN=record.given-up

# rescue_why_not FOLDER MD: makes the folder, and prints why no image can be written there
# (rescue_place_why_not). Returns 1 when the look has failed, BOUNDED_SILENT when the file system
# does not answer.
rescue_why_not() {
	[[ $1 != none ]] || {
		printf 'RESCUE=none\n'
		return
	}
	bounded "$1" rescue_why_not_ "$@"
}
rescue_why_not_() { # FOLDER MD
	local why
	why=$(rescue_place_why_not "$1" "$2") || return 1
	if [[ -n $why ]]; then
		printf '%s\n' "$why"
	elif [[ $1 != none ]] && ! mkdir -p -- "$1" 2>/dev/null; then
		printf '%s does not exist or cannot be written\n' "$1"
	fi
}

# rescue_unknown CODE: sets the caller's why to what rescue_why_not means with that CODE.
rescue_unknown() {
	why=$TEXT_UNKNOWN
	(($1 != BOUNDED_SILENT)) || why="${CONF[RESCUE]} does not answer"
}

# rescue_turn FOLDER: takes the turn to write an image to that file system: two arrays that write at
# once could fill it, and neither image would be whole. Returns 1 while another array has the turn.
# Without a place for locks, everybody has it.
rescue_turn() {
	local number code=0
	RESCUE_TURN=''
	number=$(bounded "$1" stat -L -c %d -- "$1") && paths_run || return 0
	lock_take RESCUE_TURN "$LOCKS/rescue.$number" --nonblock || code=$?
	((code != 1))
}
rescue_turn_end() {
	[[ -z $RESCUE_TURN ]] || exec {RESCUE_TURN}>&-
	RESCUE_TURN=''
}

# rescue_check: opens the image of RESCUE for rescue_put_back (act/rescue-put-back). Returns 1 when
# it is not as it was recorded, or when somebody else could have changed it. It is opened only here,
# so that what was checked is what is written. It reads the whole image, before anything is done to
# a disk.
RESCUE_CHECKED='' # the file descriptor
rescue_check() {
	local why sum
	trust_into why "${RESCUE[image]}"
	[[ -z $why ]] || {
		log_error "${RESCUE[image]} may not be what was saved: $why. Look at it; to \
restore it all the same, move it into a folder that only root can write to, and write that path \
into ${RESCUE[file]} (image=)"
		return 1
	}
	{ exec {RESCUE_CHECKED}<"${RESCUE[image]}"; } 2>/dev/null || {
		log_error "${RESCUE[image]} can't be read"
		return 1
	}
	[[ $(stat -L -c %s -- "/proc/self/fd/$RESCUE_CHECKED") == "${RESCUE[bytes]}" ]] || {
		log_error "${RESCUE[image]} does not have the ${RESCUE[bytes]} bytes that were \
recorded"
		return 1
	}
	log_info "comparing ${RESCUE[image]} with its recorded SHA-256"
	sum=$(sha256sum -- "/proc/self/fd/$RESCUE_CHECKED")
	[[ ${sum%% *} == "${RESCUE[sha256]}" ]] || {
		log_error "${RESCUE[image]} is damaged: its SHA-256 is not the \
recorded ${RESCUE[sha256]}"
		return 1
	}
}

# rescue_note_restored IMAGE: notes that the image has been put back. rescue_note_given_up IMAGE:
# notes that a start has gone on without it, because a person said so. If a record of the image
# turns up again, with an old /etc, it must not be followed (rescue_was_restored,
# rescue_was_given_up). Nothing is done beside an image that is not in its own folder. Returns 1
# when the note can't be made durable; rescue_note_given_up also when there is nothing that could be
# marked, as when the image's file system is not mounted.
rescue_note_restored() {
	[[ ! -e ${1%/*}/$RESCUE_RECORD ]] || rescue_note_ "$1" "$RESCUE_RESTORED"
}
rescue_note_given_up() {
	[[ -n $DRY_RUN ]] || rescue_was_restored "$1" || rescue_was_given_up "$1" || {
		[[ $1 == */rescue-*.*/* && -e ${1%/*}/$RESCUE_RECORD ]] &&
			rescue_note_ "$1" "$RESCUE_GIVEN"
	}
}
rescue_note_() { # IMAGE NAME
	local folder=${1%/*}
	[[ $folder == */rescue-*.* ]] || return 0
	act mv -T -- "$folder/$RESCUE_RECORD" "$folder/$2" && act sync "$folder"
}

# rescue_was_restored IMAGE
rescue_was_restored() { [[ ${1%/*} == */rescue-*.* && -e ${1%/*}/$RESCUE_RESTORED ]]; }
rescue_was_given_up() { [[ ${1%/*} == */rescue-*.* && -e ${1%/*}/$RESCUE_GIVEN ]]; }

# rescue_delete IMAGE: deletes an image that has been put back, and the folder that was made for it.
rescue_delete() {
	act rm -f -- "$1" && {
		[[ ${1%/*} != */rescue-*.* ]] || {
			act rm -f -- "${1%/*}/$RESCUE_RECORD" "${1%/*}/$RESCUE_RESTORED" \
				"${1%/*}/$RESCUE_GIVEN" && act rmdir -- "${1%/*}"
		}
	}
}

# rescue_warn MD: warns at a start that a shutdown could not save the RAM leg, so that people learn
# it before the emergency. The worker of hot-plug must not write there, so it can't tell.
rescue_warn() {
	local why code=0
	[[ ${F[ram.state]} == in_sync && ${CONF[RESCUE]-none} != none && ${F[mend]-} != yes ]] ||
		return 0
	why=$(rescue_why_not "${CONF[RESCUE]}" "$1") || code=$?
	((code == 0)) || rescue_unknown "$code"
	[[ -z $why ]] ||
		log_warning "${F[name]}: if all disks failed, \
a shutdown could not save the RAM leg: $why (RESCUE in ramraid.conf(5))"
}
