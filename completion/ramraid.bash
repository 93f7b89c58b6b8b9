# bash completion for ramraid(8). In the installed file, the verbs and what each of them accepts
# come before this part: see generate/completion.
# shellcheck shell=bash
# shellcheck disable=SC2154

# _ramraid_offer WORD…: offers the words that begin with what is typed (CUR). For bash, "=" and ":"
# end a word, so it expects only what follows them.
_ramraid_offer() {
	local word typed=${CUR%"${CUR##*[=:]}"}
	for word; do [[ $word != "$CUR"* ]] || COMPREPLY+=("${word#"$typed"}"); done
}

_ramraid_arrays() {
	local file name
	for file in "${RAMRAID_ROOT-}"/etc/ramraid/*.conf; do
		name=${file##*/} name=${name%.conf}
		[[ ! -e $file || $name == ramraid || $name == *[!A-Za-z0-9._-]* ]] ||
			_ramraid_offer "$name"
	done
}

_ramraid_devices() { # PREFIX DEVICE…
	local device
	for device in "${@:2}"; do
		[[ ! -e $device ]] || _ramraid_offer "$1${device#"${RAMRAID_ROOT-}"}"
	done
}

# _ramraid_value KIND PREFIX: offers the values of an operand or, with PREFIX, of an option. It
# can't guess a new name or a time.
_ramraid_value() {
	local dev=${RAMRAID_ROOT-}/dev
	case $1 in
	NAME*) _ramraid_arrays ;;
	PATH*)
		_ramraid_arrays
		compopt -o default
		;;
	DISK*) _ramraid_devices "$2" "$dev"/disk/by-id/* ;;
	VERB) _ramraid_offer "${_ramraid_verbs[@]}" ;;
	ARRAY*) _ramraid_devices "$2" "$dev"/md/* "$dev"/disk/by-id/* ;;
	KIND)
		_ramraid_offer "${_ramraid_kinds[@]/#/$2}"
		[[ $CUR != *=/* ]] ||
			_ramraid_devices "$2" "$dev"/disk/by-id/* "$dev"/disk/by-path/* "$dev"/pmem*
		;;
	[a-z]*) _ramraid_offer "$2$1" ;;
	esac
}

# _ramraid_rest VERB WORD…: offers what may follow these words.
_ramraid_rest() {
	local word options=() operands=() given=0
	for word in $(_ramraid_takes "$1"); do
		if [[ $word == --* ]]; then options+=("$word"); else operands+=("$word"); fi
	done
	shift
	if [[ $CUR == --*=* ]]; then
		for word in "${options[@]}"; do
			[[ $word != "${CUR%%=*}="* ]] || _ramraid_value "${word#*=}" "${word%%=*}="
		done
	elif [[ $CUR == -* ]]; then
		for word in "${options[@]}" --help; do
			[[ " $* " == *" ${word%%=*}"[\ =]* ]] || _ramraid_offer "${word/=*/=}"
		done
	else
		for word; do [[ $word == -* ]] || given=$((given + 1)); done
		[[ ${operands[*]} != *… ]] || ((given < ${#operands[@]})) ||
			given=$((${#operands[@]} - 1))
		_ramraid_value "${operands[given]-}" ''
	fi
}

_ramraid() {
	local IFS=$' \t\n' CUR='' line=${COMP_LINE:0:COMP_POINT} words
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] || CUR=${words[-1]} words=("${words[@]::${#words[@]}-1}")
	COMPREPLY=()
	if ((${#words[@]} > 1)); then
		_ramraid_rest "${words[@]:1}"
	else
		_ramraid_offer "${_ramraid_verbs[@]}" --help --version
	fi
	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
}
complete -F _ramraid ramraid
