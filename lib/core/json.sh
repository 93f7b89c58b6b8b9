# Writes JSON for programs: the caller opens an object or a list, fills it, and closes it. The whole
# text is in JSON_TEXT.
# shellcheck shell=bash

need core/log

declare -g JSON_TEXT='' JSON_STRING=''
declare -ga JSON_CLOSERS=()

# json_document: opens the object that every --json prints. All verbs share one version number,
# which does not change when keys are added.
readonly JSON_VERSION=2
json_document() {
	JSON_TEXT='' JSON_CLOSERS=()
	json_open '' object
	json_number version "$JSON_VERSION"
}

# json_open KEY KIND: opens an "object" or a "list". KEY is '' for the whole document, and inside a
# list.
json_open() {
	if [[ $2 == list ]]; then
		json_put_ "$1" '['
		JSON_CLOSERS+=(']')
	else
		json_put_ "$1" '{'
		JSON_CLOSERS+=('}')
	fi
}

# json_close: closes what was opened last.
json_close() {
	local closer=${JSON_CLOSERS[-1]} indent
	unset 'JSON_CLOSERS[-1]'
	case $JSON_TEXT in
	*['[{']) JSON_TEXT+=$closer ;;
	*)
		printf -v indent '\n%*s' $((2 * ${#JSON_CLOSERS[@]})) ''
		JSON_TEXT+=$indent$closer
		;;
	esac
}

# json_text KEY TEXT, json_number KEY NUMBER, json_bool KEY yes|no, json_null KEY: add one value;
# inside a list, KEY is ''. A value that is not known is null, never '' or 0: an empty NUMBER is
# written as null.
json_text() {
	json_string "$2"
	json_put_ "$1" "$JSON_STRING"
}
json_number() { json_put_ "$1" "${2:-null}"; }
json_bool() { if [[ $2 == yes ]]; then json_put_ "$1" true; else json_put_ "$1" false; fi; }
json_null() { json_put_ "$1" null; }

# json_string TEXT: sets JSON_STRING to TEXT in quotes. JSON is UTF-8; a text that is not (a
# device's serial number, a line of a broken file) is treated as Latin-1, so that it can be read at
# all. Characters that log_printable would escape become \uNNNN, because a terminal may show the
# JSON.
json_string() {
	local LC_ALL=C text=$1 char code i utf8=0
	if [[ $text == *[^\ -~]* ]]; then
		! iconv -f UTF-8 -t UTF-8 < <(printf '%s\n' "$text") >/dev/null 2>&1 || utf8=1
	fi
	text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//$'\n'/\\n} text=${text//$'\t'/\\t}
	JSON_STRING=$text
	if [[ $text == *[^\ -~]* ]]; then
		JSON_STRING=
		for ((i = 0; i < ${#text}; i++)); do
			char=${text:i:1}
			printf -v code '%d' "'$char"
			# In the C locale, bash gives bytes from 128 on either as they are or as
			# negative numbers.
			code=$((code & 255))
			if ((utf8 == 1)) && [[ $char == [$'\xc2\xe2'] ]] &&
				[[ ${text:i:3} =~ $PRINTABLE_ODD ]]; then
				json_point_ "${BASH_REMATCH[0]}"
				i=$((i + ${#BASH_REMATCH[0]} - 1))
			elif ((code >= 32 && code != 127 && (code < 128 || utf8 == 1))); then
				JSON_STRING+=$char && continue
			fi
			printf -v char '\\u%04x' "$code"
			JSON_STRING+=$char
		done
	fi
	JSON_STRING="\"$JSON_STRING\""
}

# json_point_ BYTES: sets the caller's code to the code point that BYTES encode, two or three bytes
# of UTF-8.
json_point_() {
	local i byte
	for ((i = 0; i < ${#1}; i++)); do
		printf -v byte '%d' "'${1:i:1}"
		byte=$((byte & 255))
		if ((i > 0)); then
			code=$((code << 6 | byte & 63))
		else
			code=$((${#1} == 2 ? byte & 31 : byte & 15))
		fi
	done
}

json_put_() { # KEY VALUE, as it is written
	local indent
	case $JSON_TEXT in
	'') ;;
	*['[{']) JSON_TEXT+=$'\n' ;;
	*) JSON_TEXT+=$',\n' ;;
	esac
	printf -v indent '%*s' $((2 * ${#JSON_CLOSERS[@]})) ''
	JSON_TEXT+=$indent
	[[ -z $1 ]] || JSON_TEXT+="\"$1\": "
	JSON_TEXT+=$2
}
