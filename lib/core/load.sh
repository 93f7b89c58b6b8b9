# How a file gets those that it needs. Each begins with "need FILE…", which names every file that
# it calls; files only define, so that the order does not matter, and two may need each other. A
# file that few runs want is needed where it is called.
# shellcheck shell=bash

# need FILE…: lib/FILE.sh, each once. $lib is where lib/ is: the program that begins sets it.
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
