#!/usr/bin/env bats
# Small things that bash does with text.

setup() {
	load helper
	libraries
}

@test "text_unmangle takes three octal digits after each backslash of a mount's name, whatever follows" {
	local name
	text_unmangle name 'DISK\0401'
	[[ $name == 'DISK 1' ]]
	text_unmangle name 'a\134040b\011\012c'
	[[ $name == $'a\\040b\t\nc' ]]
}
