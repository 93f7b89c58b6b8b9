#!/usr/bin/env bats
# tests/house.pl: the rules of the house, in small houses that break one.

setup() {
	load helper
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p lib/core bin units generate
	touch bin/ramraid units/ramraid-generator lib/impostor
}

# depends FILE FUNCTION…: lib/core/FILE.sh has the function FILE, which calls these.
depends() {
	local file=$1 function
	shift
	{
		printf '# The file %s.\n# shellcheck shell=bash\n' "$file"
		for function; do printf 'need core/%s\n' "$function"; done
		printf '%s() {\n' "${file}_do"
		printf '\t%s_do\n' "$@"
		printf '}\n'
	} >"lib/core/$file.sh"
}
house() { run perl "$BATS_TEST_DIRNAME/../house.pl" check; }

@test "files that call one another in turn are found, however many they are" {
	depends one two
	depends two one
	house
	assert_failure
	assert_line 'core/one: calls two_do of core/two, which calls core/one again'
	assert_line 'core/two: calls one_do of core/one, which calls core/two again'

	depends two three
	depends three one
	house
	assert_failure
	assert_line 'core/one: calls two_do of core/two, which calls core/one again by way of others'
	assert_line 'core/two: calls three_do of core/three, which calls core/two again by way of others'
	assert_line 'core/three: calls one_do of core/one, which calls core/three again by way of others'

	# A file outside, from which one gets in, or to which one gets out, has no part in it.
	depends before one
	depends three one last
	printf '# The last.\n# shellcheck shell=bash\nlast_do() { :; }\n' >lib/core/last.sh
	house
	assert_failure
	((${#lines[@]} == 3)) || fail "$output"
}

@test "files that call one another in one direction are no finding" {
	depends one two three
	depends two three
	printf '# The last.\n# shellcheck shell=bash\nthree_do() { :; }\n' >lib/core/three.sh
	house
	assert_success
	[[ -z $output ]]
}

@test "a file begins with a sentence that says what it is for, in at most 200 columns" {
	local word='a word '
	printf '# The head of this one ends nowhere\n# shellcheck shell=bash\none_do() { :; }\n' \
		>lib/core/one.sh
	printf '# shellcheck shell=bash\ntwo_do() { :; }\n' >lib/core/two.sh
	printf '# Is this a question, or a\n# sentence? It is.\nthree_do() { :; }\n' >lib/core/three.sh
	word=${word}${word}${word}${word}${word}${word}${word}${word}${word}${word}
	printf '# %s\n# %s\n# %s.\nfour_do() { :; }\n' "$word" "$word" "$word" >lib/core/four.sh
	house
	assert_failure
	assert_line 'core/one: the head does not begin with a sentence that says what it is for'
	assert_line 'core/two: the head does not begin with a sentence that says what it is for'
	assert_line -p 'core/four: the first sentence of the head has '
	((${#lines[@]} == 3)) || fail "$output"
	run perl "$BATS_TEST_DIRNAME/../house.pl" heads
	assert_line 'core/three: Is this a question, or a sentence?'
}

# Past a ";", a shell goes on with what the step before was to make safe.
@test "a command that people type stops an array, and goes on past ramraid's judgement only if that has worked" {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	run perl -0777 -ne 's/\\\n//g; s/\n\s*/ /g if $ARGV =~ /md$/;
		$from = qr/(?:mdadm --|ramraid )(?:stop|assemble)|\bcp /;
		$to = qr/mdadm --|ramraid restore|ramraid start --force/;
		print "$ARGV: $1\n" while /($from[^";`]*; *(?:sudo )?$to[^"`]{0,60})/g' \
		lib/*/*.sh lib/cmd/*/*.sh docs/*.md
	assert_success
	[[ -z $output ]] || fail "$output"
}
