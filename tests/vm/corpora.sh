#!/usr/bin/env bash
# shellcheck disable=SC2016 # single quotes hold what the other system expands
# Makes the data that "make bench-zram" compresses, once, from Debian packages alone: prints the
# folder that holds, each as an ext4 file system of some 160 MB without anything else on it,
#   database.img   a cluster of PostgreSQL after pgbench has filled it and worked on it
#   libraries.img  programs and libraries: /usr/bin and /usr/lib of a small system
#   source.img     the headers of Linux: C, many files of some KiB
#   mail.img       entries of packages' changelogs, each a file with a head and some lines of text
#   packed.img     packages (.deb): compressed already
# All of it happens in a system of its own below the cache.
set -Eeuo pipefail
shopt -s inherit_errexit

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
readonly here
readonly cache=${RAMRAID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ramraid-vm}
readonly names=(database libraries source mail packed) megabytes=160
readonly packages=postgresql,linux-headers-amd64,python3,perl,git,libc6-dev,gcc

# Packages stay where apt puts them, and changelogs are kept: both are data here.
corpora_system() { # FOLDER
	mmdebstrap --quiet --variant=apt --components=main --include="$packages" \
		--aptopt='Apt::Install-Recommends "false"' \
		--aptopt='APT::Keep-Downloaded-Packages "true"' \
		--skip=cleanup/apt/cache \
		--customize-hook='cp -a "$1/var/cache/apt/archives" "$1/packed"' trixie "$1"
}

corpora_database() { # SYSTEM: fills /database of it
	chroot "$1" /bin/sh -eu -c '
		bin=$(echo /usr/lib/postgresql/*/bin); mkdir /database /run/pg; chown postgres /database /run/pg
		as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
		as $bin/initdb -D /database -E UTF8 --locale=C
		as $bin/pg_ctl -w -D /database -o "-k /run/pg -c listen_addresses= -c max_wal_size=32MB -c min_wal_size=32MB" -l /run/pg/log start
		as $bin/pgbench -h /run/pg -i -q -s 6 postgres; as $bin/pgbench -h /run/pg -n -c 2 -t 4000 postgres
		as $bin/pg_ctl -w -D /database -m fast stop'
}

# One entry a file: from its first line, which names the package, to the line with who and when.
corpora_mail() { # SYSTEM: fills /mail of it
	mkdir "$1/mail"
	find "$1/usr/share/doc" -name 'changelog*.gz' -exec zcat {} + |
		awk -v folder="$1/mail" '
			/^[a-z0-9][a-z0-9+.-]* \(/ { if (file != "") close(file); file = sprintf("%s/%03d/%06d", folder, n / 200, n); if (n % 200 == 0) system("mkdir -p " folder sprintf("/%03d", n / 200)); n++ }
			file != "" { print >file }'
}

corpora_image() { # FOLDER IMAGE: as much of the folder as there is room for
	local bytes=0 list
	list=$(mktemp)
	(cd "$1" && find . -type f -printf '%s %p\n' | LC_ALL=C sort -k 2) |
		awk -v room=$((megabytes * 900000)) '{ n += int(($1 + 4095) / 4096) * 4096 + 256; if (n <= room) { sub(/^[0-9]+ /, ""); print } }' >"$list"
	mkdir "$2.tree"
	tar -C "$1" -cf - --no-recursion -T "$list" | tar -C "$2.tree" -xf - --no-same-owner
	mke2fs -q -t ext4 -b 4096 -i 8192 -m 0 -O ^has_journal,^resize_inode -d "$2.tree" "$2" \
		"${megabytes}000k"
	rm -rf "$2.tree" "$list"
}

main() {
	local out name
	out=$cache/corpora-$(sha256sum <"$here/corpora.sh" | cut -c1-16)
	if [[ ! -e $out ]]; then
		mkdir -p "$cache"
		# global: the EXIT trap outlives this function
		work=$(mktemp -d "$cache/build.XXXXXX")
		trap 'rm -rf "$work"' EXIT
		{
			corpora_system "$work/system"
			corpora_database "$work/system"
			corpora_mail "$work/system"
			mkdir "$work/system/libraries" "$work/out"
			mv "$work/system/usr/src" "$work/system/source"
			cp -a "$work/system/usr/lib" "$work/system/usr/bin" \
				"$work/system/libraries/"
			for name in "${names[@]}"; do
				corpora_image "$work/system/$name" "$work/out/$name.img"
			done
		} >&2
		mv "$work/out" "$out"
	fi
	printf '%s\n' "$out"
}

main "$@"
