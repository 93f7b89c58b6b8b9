# The load of "make clients": PostgreSQL, SQLite, a git server and a maildir on one mirror. Each
# client writes without a pause, and its own program tells it what is safe (clients.pl). See
# campaign.sh.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # for campaign.sh; the guest expands

LOAD_WORDS='postgresql sqlite git mail' LOAD_SLOWER=5

load_disks() {
	image clients
	from installed
	memory 2G
	root served
	disk A 256M served
	disk B 256M served
	disk C 24M served
	disk D 24M served
}

# The data of all clients are on the mirror, their programs on the system's disk. With these
# settings, each program promises that what it has acknowledged survives a power cut.
load_setup() {
	vm_send "$here/clients.pl" /root/clients.pl
	check 'a mirror, with a file system' '
		ramraid create --yes data $(leg A) $(leg B)
		make_ext4 /dev/md/data -b 4096; mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount'
	check 'PostgreSQL has its cluster on it' '
		version=$(pg_lsclusters -h | cut -d" " -f1)
		pg_dropcluster --stop $version main
		install -d -o postgres -g postgres /srv/data/postgresql
		pg_createcluster -d /srv/data/postgresql/main $version main -- --data-checksums \
			--wal-segsize=1 --auth-local=trust
		printf "%s\n" "shared_buffers = 16MB" "min_wal_size = 4MB" "max_wal_size = 16MB" \
			"checkpoint_timeout = 30s" \
			>/etc/postgresql/$version/main/conf.d/clients.conf
		mkdir -p /etc/systemd/system/postgresql@.service.d
		printf "[Unit]\nRequiresMountsFor=/srv/data\n[Service]\nTimeoutSec=600\n" \
			>/etc/systemd/system/postgresql@.service.d/clients.conf
		systemctl daemon-reload; systemctl start postgresql@$version-main
		runuser -u postgres -- pgbench -q -i -s 1 postgres
		psql -U postgres -q -c "CREATE TABLE items (number bigint PRIMARY KEY, item text)" \
			-c "CREATE INDEX ON items (md5(item))"'
	check 'SQLite, a git server and a maildir have theirs' '
		mkdir /srv/data/sqlite; perl -e '\''
			use DBI; DBI->connect("dbi:SQLite:dbname=/srv/data/sqlite/items.db", "", "",
				{RaiseError => 1})->do(
				"CREATE TABLE items (number INTEGER PRIMARY KEY, item TEXT)");
		'\''
		git init -q --bare --initial-branch=items /srv/data/git
		git -C /srv/data/git config core.fsync all
		git -C /srv/data/git config receive.fsckObjects true
		# git does not fsync the folders of its references.
		printf "#!/bin/sh\nexec sync -f .\n" >/srv/data/git/hooks/post-receive
		chmod +x /srv/data/git/hooks/post-receive
		useradd -m reader; install -d -o reader -g reader /srv/data/mail
		systemctl --quiet disable --now dovecot.service dovecot.socket || :
		cat >/etc/dovecot/items.conf <<-EOT
			dovecot_config_version = 2.4.0
			dovecot_storage_version = 2.4.0
			base_dir = /run/items
			log_path = /dev/stderr
			mail_driver = maildir
			mail_path = /srv/data/mail
			mail_index_path = MEMORY
			mail_fsync = always
			stats_writer_socket_path =
			namespace inbox {
				inbox = yes
				separator = /
			}
		EOT
		cat >/root/writers <<"EOT"
export $(cat /run/pause)
exec 9>/dev/virtio-ports/told
systemctl start "postgresql@$(pg_lsclusters -h | sed "s/ \+/-/" | cut -d" " -f1)"
for client in postgresql sqlite git mail; do
	perl /root/clients.pl write $client $((10#$1 * 1000000)) &
done
runuser -u postgres -- pgbench -n -c 2 -T 3600 postgres 9>&- >/dev/null &
wait
EOT
		sync'
	: >"$VM/expected"
}

load_told() { grep -E '^(postgresql|sqlite|git|mail) ' "$1" >>"$VM/expected" || :; } # FILE
load_check() {
	printf '%s\n' 'systemctl start \
"postgresql@$(pg_lsclusters -h | sed "s/ \+/-/" | cut -d" " -f1)"' \
		'perl /root/clients.pl check /root/expected'
}
load_prune() { :; }
