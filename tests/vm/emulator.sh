#!/usr/bin/env bash
# Prints the path of the QEMU that the test bench runs: tests/vm/emulator.sh
# When it emulates, QEMU 10 runs what bash scripts do a good deal faster than the 7.2 of Debian 12.
# So if the system's own is older, this unpacks Debian 13's into the cache, with its libraries,
# once; it installs nothing. If that can't be done, it prints the system's own.
set -Eeuo pipefail
shopt -s inherit_errexit

readonly cache=${RAMRAID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ramraid-vm}
readonly release=trixie wanted=10

emulator_is_new() { # its major version; "QEMU emulator version 7.2.22 (Debian …)"
	local version
	version=$(qemu-system-x86_64 --version | sed -n '1s/.* version \([0-9]*\).*/\1/p')
	((version >= wanted))
}

# Unpacks Debian 13's QEMU and what starts it: its own loader with its own libraries, since those of
# the system are older.
emulator_unpack() { # FOLDER
	local out=$1 new=$1.new
	rm -rf "$new"
	mkdir -p "$new"
	mmdebstrap --quiet --variant=extract --include=qemu-system-x86,qemu-system-data,seabios \
		"$release" "$new/root" >&2 ||
		return
	cat >"$new/qemu-system-x86_64" <<-'END'
		#!/bin/bash
		root=${BASH_SOURCE[0]%/*}/root
		exec "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/qemu-system-x86_64" \
			-L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "$@"
	END
	chmod 755 "$new/qemu-system-x86_64"
	"$new/qemu-system-x86_64" --version >&2 || return
	mv "$new" "$out"
}

main() {
	local out=$cache/qemu-$release own
	own=$(command -v qemu-system-x86_64)
	! emulator_is_new || {
		printf '%s\n' "$own"
		return
	}
	mkdir -p "$cache"
	exec 9>"$out.lock"
	flock 9
	[[ -d $out ]] || emulator_unpack "$out" || {
		printf "emulator.sh: QEMU of %s could not be unpacked: %s is used, \
which is much slower\n" "$release" "$own" >&2
		printf '%s\n' "$own"
		return
	}
	printf '%s\n' "$out/qemu-system-x86_64"
}

main "$@"
