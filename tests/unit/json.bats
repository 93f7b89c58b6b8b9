#!/usr/bin/env bats
# The writer of JSON: whatever text there is, jq reads it back.

setup() {
	load helper
	libraries
}

back() { # TEXT: what jq has read
	JSON_TEXT=''
	json_open '' object
	json_text key "$1"
	json_close
	jq -rj .key <<<"$JSON_TEXT"
}

@test "objects and lists can be nested, and can be empty" {
	json_open '' object
	json_open none list
	json_close
	json_open some list
	json_number '' 7
	json_open '' object
	json_close
	json_text '' 'a [ { b'
	json_close
	json_bool yes yes
	json_bool no no
	json_null nothing
	json_number unknown ''
	json_open inner object
	json_text x y
	json_close
	json_close
	run jq -c . <<<"$JSON_TEXT"
	assert_output '{"none":[],"some":[7,{},"a [ { b"],"yes":true,"no":false,"nothing":null,"unknown":null,"inner":{"x":"y"}}'
	# Two blanks a level, as jq writes it.
	[[ $JSON_TEXT == "$(jq . <<<"$JSON_TEXT")" ]] || fail "$JSON_TEXT"
}

@test "texts: quotes, backslashes, control characters and line ends come back unchanged" {
	local text
	for text in '' plain 'a "b" \c\' $'tab\tline\nend\x01\x1f\x7f' '[' '{' 'µ … €' $'µ\x02'; do
		[[ $(
			back "$text"
			echo .
		) == "$text." ]] || fail "${text@Q}: $(back "$text")"
	done
}

@test "texts: characters that control a terminal or its text direction are escaped, and come back unchanged" {
	local code text
	for code in 0080 0085 009b 009f 200e 200f 2028 202a 202e 2066 2069; do
		text=$(jq -nrj "\"x\\u$code.µ\"")
		json_string "$text"
		[[ $JSON_STRING == "\"x\\u$code.µ\"" ]] || fail "$code: $JSON_STRING"
		[[ $(back "$text") == "$text" ]] || fail "$code"
		# As those who write to people do.
		log_printable text
		[[ $text == 'x\x'* ]] || fail "$text"
	done
	for code in 00a0 00e9 2010 2027 202f 2065 206a 20ac; do
		text=$(jq -nrj "\"x\\u$code\"")
		json_string "$text"
		[[ $JSON_STRING == "\"$text\"" ]] || fail "$code: $JSON_STRING"
	done
}

@test "bytes that are not UTF-8 are taken for Latin-1" {
	[[ $(back $'caf\xe9') == café ]] || fail "$(back $'caf\xe9')"
	[[ $(back $'\xff\xc3') == ÿÃ ]]
}
