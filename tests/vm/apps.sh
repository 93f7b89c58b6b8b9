#!/usr/bin/env bash
# shellcheck disable=SC2016 # single quotes hold what the other system expands
# What "make bench-apps" needs of the machine that it runs on; everything happens in a system of its
# own below the cache.
#   tests/vm/apps.sh data    makes the data once, and prints the folder that holds, each as an ext4
#                            file system with nothing else on it,
#       database.img   a cluster of PostgreSQL, filled by pgbench
#       files.img      tree: the headers of Linux as a git repository with some commits; empty:
#                      200,000 empty files; web: 1,500 files of text; lua: a program's source
#   tests/vm/apps.sh native  prints how many requests a second PostgreSQL serves here, warm
set -Eeuo pipefail
shopt -s inherit_errexit

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
readonly here
readonly cache=${RAMRAID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ramraid-vm}
readonly packages=postgresql,linux-headers-amd64,perl,git
# pgbench's scale: 15 MB each
readonly scale=${APPS_SCALE:-34}

# PostgreSQL, with the settings that it has in the machine
readonly postgresql='
	bin=$(echo /usr/lib/postgresql/*/bin)
	as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
	started() {
		mkdir -p /run/pg; chown postgres /run/pg
		as $bin/pg_ctl -w -D /database -l /run/pg/log start -o "-k /run/pg \
-c listen_addresses= -c shared_buffers=16MB -c max_wal_size=32MB -c min_wal_size=8MB" >/run/pg.out
	}
	ended() { as $bin/pg_ctl -w -D /database -m fast stop >/run/pg.out; }
	'

apps_system() { # FOLDER
	mmdebstrap --quiet --variant=apt --components=main --include="$packages" \
		--aptopt='Apt::Install-Recommends "false"' \
		--customize-hook='echo "deb-src http://deb.debian.org/debian trixie main" \
			>>"$1/etc/apt/sources.list"' \
		--customize-hook='chroot "$1" apt-get update -q' \
		--customize-hook='chroot "$1" sh -c "cd /root && \
			apt-get source -q --download-only --tar-only lua5.4"' \
		trixie "$1"
}

apps_database() { # SYSTEM
	chroot "$1" /bin/sh -eu -c "$postgresql"'
		mkdir /database; chown postgres /database
		as $bin/initdb -D /database -E UTF8 --locale=C --wal-segsize=4
		started; as $bin/pgbench -h /run/pg -i -q -s '"$scale"' postgres; ended'
}

apps_files() { # SYSTEM: fills /files of it
	chroot "$1" /bin/sh -eu -c '
		mkdir /files /files/tree /files/web /files/empty /files/lua
		tar -xf /root/lua5.4_*.orig.tar.* -C /files/lua --strip-components=1
		cd /files/tree; git init -q; git config user.name bench; git config user.email bench@localhost
		for folder in net scsi media crypto; do
			cp -a /usr/src/linux-headers-*-common/include/$folder .
			git add .; git commit -q -m "$folder"
		done
		git rm -rq scsi; git commit -q -m "Remove scsi"; git gc -q
		cd /files
		perl -e '\''
			for my $n (0 .. 199_999) {
				my $folder = sprintf "empty/%03d", $n / 500;
				mkdir $folder or die if $n % 500 == 0;
				open my $file, ">", sprintf "%s/%06d", $folder, $n or die;
			}
			my @text = glob "/usr/src/linux-headers-*-common/include/uapi/linux/*.h";
			for my $n (0 .. 1_499) {
				my $folder = sprintf "web/%02d", $n / 100;
				mkdir $folder or die if $n % 100 == 0;
				open my $in, "<", $text[$n % @text] or die;
				local $/; my $text = <$in>;
				open my $file, ">", sprintf "%s/%04d.txt", $folder, $n or die;
				print $file $text x (1 + 8192 / length $text);
			}'\'''
}

apps_image() { # FOLDER IMAGE MEGABYTES INODES
	mke2fs -q -t ext4 -b 4096 -N "$4" -m 0 -O ^resize_inode -J size=8 -E lazy_itable_init=0 \
		-d "$1" "$2" "$3M"
}

apps_data() {
	local out
	out=$cache/apps-$(cat "$here/apps.sh" - <<<"$scale" | sha256sum | cut -c1-16)
	if [[ ! -e $out ]]; then
		mkdir -p "$cache"
		# global: the EXIT trap outlives this function
		work=$(mktemp -d "$cache/build.XXXXXX")
		trap 'rm -rf --one-file-system "$work"' EXIT
		{
			apps_system "$work/system"
			apps_database "$work/system"
			apps_files "$work/system"
			apps_image "$work/system/database" "$work/database.img" \
				$((scale * 15 + 96)) 4000
			apps_image "$work/system/files" "$work/files.img" 288 220000
			rm -r "$work/system/files"
		} >&2
		trap - EXIT
		mv "$work" "$out"
	fi
	printf '%s\n' "$out"
}

main() {
	local out
	out=$(apps_data)
	case $1 in
	data) printf '%s\n' "$out" ;;
	native)
		chroot "$out/system" /bin/sh -eu -c "$postgresql"'
			started; trap ended EXIT
			cat /database/base/*/* >/run/pg.out; : >/run/pg.out
			as $bin/pgbench -h /run/pg -n -S -M prepared -c 4 -T 10 postgres' |
			sed -n 's/^tps = \([0-9]*\).*/\1/p'
		;;
	*) return 2 ;;
	esac
}

# Read whole before it runs: the file may be edited meanwhile.
{
	main "$@"
	exit
}
