#!/usr/bin/perl
# The programs of "make clients", in the guest: each writes items 1, 2, 3, … and is told when an item
# is safe; then the item is reported, a line each, to descriptor 9 (the port to the host, which
# outlives the guest):   CLIENT NUMBER
# Between two items a client rests up to $PAUSE seconds.
#   clients.pl write CLIENT FIRST   items from number FIRST on
#   clients.pl check LIST           LIST has such lines: each item must be there, byte for byte, and
#                                   what each program has to check its data with must find nothing.
#                                   Prints what is wrong, and as its last line
#                                   "POSTGRESQL SQLITE GIT MAIL LOST WRONG": the items found, and
#                                   those lost and wrong; exit code 1 if anything is wrong
# postgresql: a row and a commit. sqlite: the same, WAL, synchronous=FULL. git: a push to a bare
# repository, whose hook syncs it. mail: a message that dovecot-lda has delivered to a maildir.
use strict;
use warnings;
use Digest::SHA 'sha256_hex';

my $data = '/srv/data';
my $work = '/run/clients';    # a clone, and what is on its way; it need not survive
my @git = ('git', "--git-dir=$data/git");
my @deliver = qw(runuser -u reader -- /usr/lib/dovecot/dovecot-lda -c /etc/dovecot/items.conf);
my %client = (
	postgresql => {begin => \&postgresql_begin, add => \&row_add, all => \&postgresql_all},
	sqlite => {begin => \&sqlite_begin, add => \&row_add, all => \&sqlite_all},
	git => {begin => \&git_begin, add => \&git_add, all => \&git_all},
	mail => {begin => \&mail_begin, add => \&mail_add, all => \&mail_all},
);

# What the item with this number is: 64 to 4,096 bytes of text.
sub item {
	my $number = shift;
	my $sum = sha256_hex($number);
	return $sum x (1 + hex(substr $sum, 0, 2) % 64);
}

sub run { system(@_) == 0 or die "@_: exit $?\n" }
sub output {
	open my $pipe, '-|', @_ or die "@_: $!\n";
	my @lines = <$pipe>;
	close $pipe or die "@_: exit $?\n";
	chomp @lines;
	return @lines;
}

sub postgresql {
	require DBI;    # in the guest alone
	return DBI->connect('dbi:Pg:dbname=postgres', 'postgres', '', {RaiseError => 1,
		PrintError => 0});
}

sub postgresql_begin {
	my $db = postgresql();
	die "synchronous_commit or fsync is off\n" if grep { $_ ne 'on' }
		map { $db->selectrow_array("SHOW $_") } qw(fsync synchronous_commit full_page_writes);
	return $db;
}

sub sqlite {
	require DBI;
	return DBI->connect("dbi:SQLite:dbname=$data/sqlite/items.db", '', '', {RaiseError => 1,
		PrintError => 0});
}

sub sqlite_begin {
	my $db = sqlite();
	die "no WAL\n" if $db->selectrow_array('PRAGMA journal_mode=WAL') ne 'wal';
	$db->do('PRAGMA synchronous=FULL');
	return $db;
}

sub row_add { $_[0]->do('INSERT INTO items VALUES (?, ?)', undef, $_[1], item($_[1])) }

sub rows {
	return map { $_->[0] => $_->[1] } @{shift->selectall_arrayref('SELECT number, item FROM items')};
}

# amcheck compares the indexes with the tables; the sums of the pages are looked at as all are read.
# The sums of pgbench's tables are equal in every state that it has committed.
sub postgresql_all {
	my ($amcheck) = glob '/usr/lib/postgresql/*/bin/pg_amcheck' or die "no pg_amcheck\n";
	run(qw(runuser -u postgres --), $amcheck, qw(--all --install-missing --heapallindexed),
		'--parent-check');
	my $db = postgresql();
	my @sums = map { $db->selectrow_array("SELECT coalesce(sum($_->[0]), 0) FROM $_->[1]") }
		['abalance', 'pgbench_accounts'], ['bbalance', 'pgbench_branches'],
		['tbalance', 'pgbench_tellers'], ['delta', 'pgbench_history'];
	die "the sums of pgbench differ: @sums\n" if grep { $_ != $sums[0] } @sums;
	return rows($db);
}

sub sqlite_all {
	my $db = sqlite();
	my ($found) = $db->selectrow_array('PRAGMA integrity_check');
	die "sqlite: $found\n" if $found ne 'ok';
	return rows($db);
}

sub git_begin {
	mkdir $work;
	run('rm', '-rf', "$work/git");
	# A push that the power has ended may leave a lock, and git refuses all others until somebody
	# removes it.
	unlink glob "$data/git/*.lock $data/git/refs/heads/*.lock";
	run('git', 'clone', '-q', "$data/git", "$work/git");
	chdir "$work/git" or die;
	run(qw(git config user.name clients));
	run(qw(git config user.email clients@localhost));
	return;
}

sub git_add {
	my $number = $_[1];
	open my $file, '>', "item-$number" or die "item-$number: $!\n";
	print $file item($number);
	close $file or die "item-$number: $!\n";
	run('git', 'add', "item-$number");
	run('git', 'commit', '-q', '-m', $number);
	run(qw(git push -q origin HEAD:refs/heads/items));
}

sub git_all {
	run(@git, qw(fsck --full --strict --no-dangling));
	my %is;
	for (output(@git, qw(ls-tree items))) {
		my ($blob, $number) = / blob ([0-9a-f]+)\titem-(\d+)$/ or die "git: $_\n";
		$is{$number} = join '', output(@git, qw(cat-file blob), $blob);
	}
	return %is;
}

sub mail_begin { mkdir $work; return }

sub mail_add {
	my $number = $_[1];
	open my $message, '>', "$work/message" or die "$work/message: $!\n";
	printf $message "From: clients\@localhost\nTo: reader\@localhost\nSubject: item %s\n\n%s\n",
		$number, item($number);
	close $message or die "$work/message: $!\n";
	open STDIN, '<', "$work/message" or die;
	run(@deliver);
}

sub mail_all {
	my %is;
	for my $path (glob "$data/mail/new/* $data/mail/cur/*") {
		open my $file, '<', $path or die "$path: $!\n";
		my $text = do { local $/; <$file> };
		my ($head, $body) = split /\n\n/, $text, 2;
		my ($number) = $head =~ /^Subject: item (\d+)$/m or die "$path: no item\n";
		$is{$number} = $body =~ s/\n\z//r;
	}
	return %is;
}

sub write_items {
	my ($name, $number) = @_;
	my $do = $client{$name} or die "no client $name\n";
	my $handle = $do->{begin}->();
	open my $told, '>&=', 9 or die "9: $!\n";
	for (;; $number++) {
		$do->{add}->($handle, $number);
		my $line = "$name $number\n";
		syswrite($told, $line) == length $line or die "9: $!\n";
		select undef, undef, undef, rand $ENV{PAUSE} if $ENV{PAUSE};
	}
}

sub check {
	my (%expected, %found, $lost, $wrong);
	open my $list, '<', shift or die;
	/^(\w+) (\d+)$/ and $expected{$1}{$2} = 1 while <$list>;
	($lost, $wrong) = (0, 0);
	for my $name (sort keys %client) {
		my %is;
		eval { %is = $client{$name}{all}->(); 1 } or do { print "WRONG: $name: $@"; $wrong++ };
		$found{$name} = keys %is;
		for (grep { !exists $is{$_} } sort { $a <=> $b } keys %{$expected{$name}}) {
			$lost++;
			print "LOST: $name: item $_ was acknowledged and is not there\n";
		}
		for (grep { $is{$_} ne item($_) } sort { $a <=> $b } keys %is) {
			$wrong++;
			print "WRONG: $name: item $_ is not what was written\n";
		}
	}
	print join(' ', @found{qw(postgresql sqlite git mail)}, $lost, $wrong), "\n";
	return $lost + $wrong > 0;
}

my $what = shift // '';
if ($what eq 'write' && @ARGV == 2) { write_items(@ARGV) }
elsif ($what eq 'check' && @ARGV == 1) { exit check(@ARGV) }
else { die "usage: clients.pl write CLIENT FIRST | check LIST\n" }
