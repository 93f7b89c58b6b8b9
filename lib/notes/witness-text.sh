# The text of a record (notes/witness.sh), in one file: its keys, the form of each value, and what
# counts as damage.
# shellcheck shell=bash

need notes/witness notes/witness-copy

readonly WITNESS_NUMBER='^[1-9][0-9]{0,17}$'
readonly WITNESS_TEXT_LEFT='its claim was removed, and since then nothing records who is in sync'

# The keys of a record, and of a void one: the form of each value. A key that is not there has the
# value "absent".
WITNESS_FORM_NUMBER='(0|[1-9][0-9]{0,17})' WITNESS_FORM_UUIDS='^[0-9a-f -]*$' \
	WITNESS_FORM_SLOT='^(absent|(0|[1-9][0-9]{0,3})?)$' \
	WITNESS_FORM_LIFE='^(absent|[0-9a-f-]{36})$' \
	WITNESS_FORM_DEPARTED='^(absent|([0-9a-f-]+:(0|[1-9][0-9]{0,17})[+]?( |$))*)$'
declare -gA WITNESS_FORM=(
	[void]='^absent$'
	[was]='^absent$'
	[legs]=$WITNESS_FORM_UUIDS
	[events]="^$WITNESS_FORM_NUMBER\$"
	[filled]="^(absent|$WITNESS_FORM_NUMBER?)\$"
	[generation]=$WITNESS_NUMBER
	[life]=$WITNESS_FORM_LIFE
	[departed]=$WITNESS_FORM_DEPARTED
	[ram_slot]=$WITNESS_FORM_SLOT
	[ram_number]=$WITNESS_FORM_SLOT
)
declare -gA WITNESS_FORM_VOID=(
	[void]='^[12]$'
	[was]=$WITNESS_FORM_UUIDS
	[legs]='^absent$'
	[events]='^absent$'
	[generation]=$WITNESS_NUMBER
	[life]=$WITNESS_FORM_LIFE
	[departed]=$WITNESS_FORM_DEPARTED
)
readonly WITNESS_FORM WITNESS_FORM_VOID

# witness_text_has_form_ TABLE: do the values in WITNESS have the forms that TABLE gives their keys?
witness_text_has_form_() {
	local -n witness_form_=$1
	local key
	for key in "${!witness_form_[@]}"; do
		[[ ${WITNESS[$key]-absent} =~ ${witness_form_[$key]} ]] || return 1
	done
}

# witness_text_read FILE UUID: as witness_read (notes/witness.sh), for one file.
witness_text_read() {
	local file=$1 text=() code=0
	WITNESS=() WITNESS_WHY=''
	if [[ $file == "$WITNESS_COPY" ]]; then
		witness_copy_text || code=$?
	elif [[ ! -f $file || -L $file ]]; then
		code=1
	elif [[ ! -r $file ]]; then
		code=2
	else
		# Read all of it: a NUL byte, or more than a witness can hold, is damage. mapfile,
		# because it reads more than a byte at once.
		mapfile -d '' -n 2 text <"$file"
	fi
	((code == 0)) || witness_text_lacks_ "$code" || return
	if ((${#text[@]} != 1)) || ((${#text[0]} >= WITNESS_MAX)) ||
		[[ ${text[0]} != *$'\n' ]]; then
		witness_text_none "$file is damaged" || return
	fi
	if [[ $file == "$WITNESS_COPY" ]]; then
		mapfile -t text < <(printf '%s' "${text[0]}")
	else
		mapfile -t text <"$file"
	fi
	witness_text_lines_ "${text[@]}" || witness_text_none "$file is damaged" || return
	[[ ${WITNESS[uuid]-} == "$2" ]] ||
		witness_text_none "$file is about another array" || return
	if witness_text_has_form_ WITNESS_FORM_VOID; then
		WITNESS_WHY='which legs were in sync could not be recorded'
		[[ ${WITNESS[void]} != 2 ]] || WITNESS_WHY=$WITNESS_TEXT_LEFT
		return 1
	fi
	witness_text_has_form_ WITNESS_FORM || witness_text_none "$file is damaged"
}

witness_text_lacks_() { # CODE: of the caller's file. Returns 1.
	case $1 in
	1) witness_text_none 'there is no record of the last start' ;;
	2) witness_text_none "$file cannot be read" ;;
	*) witness_text_none "$file does not answer" ;;
	esac
}

# witness_text_lines_ LINE…: fills WITNESS. Returns 1 when one of them is not a line of a record, or
# a key occurs twice.
witness_text_lines_() {
	local line
	for line; do
		[[ $line =~ ^(uuid|void|was|legs|events|filled|ram_slot|ram_number|generation|life|left|given|seen|doubted|departed)=([0-9a-f\ :+-]*)$ ]] ||
			return 1
		[[ -z ${WITNESS[${BASH_REMATCH[1]}]+twice} ]] || return 1
		WITNESS[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
	done
}

# witness_text_none WHY: empties WITNESS, since there is none to trust. Returns 1.
witness_text_none() {
	WITNESS=() WITNESS_WHY=$1
	return 1
}

# witness_text_raw FILE: sets TEXT to what is in the file, to nothing when it can't be read.
# witness_text_is FILE TEXT [TEXT]: is one of these in it?
witness_text_raw() {
	TEXT=''
	{ IFS='' read -r -d '' TEXT <"$1"; } 2>/dev/null || :
}
witness_text_is() {
	local TEXT
	witness_text_raw "$1"
	[[ $TEXT == "$2" || $TEXT == "${3-$2}" ]]
}
