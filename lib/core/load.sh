# How a file loads those that it needs. Each file begins with "need FILE…", which names every file
# that it calls. Files only define, so the order does not matter: no file calls one that calls it,
# not even by way of others, but it may need that file's variables. A function that few runs call
# needs its files itself.
# shellcheck shell=bash

# need FILE…: reads lib/FILE.sh, each file once. $lib is the path of lib/; the program sets it.
need() {
	local file
	for file; do
		[[ ! -v LOADED[$file] ]] || continue
		LOADED[$file]=yes
		# shellcheck source=/dev/null disable=SC2154 # who begins sets it
		source "$lib/$file.sh"
	done
}
declare -gA LOADED
LOADED["core/load"]=yes
