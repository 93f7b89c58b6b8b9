#!/usr/bin/perl
# fuzz.pl KIND SEED COUNT FOLDER: hostile input for tests/unit/fuzz.bats, all of it from one
# process; the same for the same SEED.
#   conf     FOLDER/fN.conf, COUNT files
#   witness  FOLDER/fN.witness
#   gate     FOLDER/N/{fstab,crypttab,contents,conf}
#   sb       to stdout, COUNT lines "EXPECTED|WORD WORD …"; FOLDER holds *.bin to start from.
#            EXPECTED: what superblock_parse has to print, its lines joined by ",", worked out here
#            a second time, from the kernel's description and with numbers that have no sign.
use strict;
use warnings;

my ($kind, $seed, $count, $folder) = @ARGV;
srand($seed);
sub any { return $_[rand @_] }
sub chance { return rand() < $_[0] }
sub bytes { return join '', map { chr int rand 256 } 1 .. $_[0] }

sub put {
	my ($file, $text) = @_;
	open my $out, '>:raw', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
}

# What bash, systemd, printf or a terminal could misunderstand.
my @pieces = ('$(touch X)', '`touch X`', '$((X=1))', 'a[$(touch X)]', 'F[a[$(touch X)]]',
	'<(touch X)', ';touch X;', '&&touch X', "\n", "\n\n", "\r\n",
	"\0", "\e[2J", "\x7f", "\xff", "\xc3\xa4", "\xe2\x80\xa8", '"', "'", '\\', '\\x0a', '\\0',
		'%', '%s', '%n', '%i', '$', '${X:=1}', '*', '?', '[', ']', '[x]',
	'{a,b}', '~', '!', '#', ';', '|', '&', '(', ')', '((', '<', '>X', ' ', "\t", '=', '==', ',',
		'.', '..', '/', '//', '/../', '-', '--', '-x', ':', '@', '+', '0', '1', '-1',
	'08', '0x10', '010', '9999999999999999999', '18446744073709551616', '1e9', 'a', 'x' x 100,
		'PATH=', 'BASH_ENV=X', 'IFS=/', 'IFS=', 'LC_ALL=', 'F[x]=1',
	'a[$(touch X)]=1', 'EUID=0', 'MEMBERS=', 'export ', 'source X', 'none', 'yes', 'no', 'auto',
		'infinity', '10%', '30s', '999999999y');
sub soup { return join '', map { any(@pieces) } 1 .. 1 + rand($_[0]) }

# One change of a text: a piece put in, taken out or exchanged, a byte changed, the end cut off.
sub mutate {
	my ($text) = @_;
	my $at = int rand(1 + length $text);
	my $how = int rand 7;
	if ($how < 3) { substr($text, $at, 0) = soup(2) }
	elsif ($how == 3) { substr($text, $at, int rand 12) = '' if $at < length $text }
	elsif ($how == 4) { substr($text, $at, int rand 8) = soup(1) if $at < length $text }
	elsif ($how == 5) { substr($text, $at, 1) = chr int rand 256 if $at < length $text }
	else { $text = substr $text, 0, $at if chance(0.3) }
	return $text;
}

# --- configurations

my $uuid = '11111111-2222-3333-4444-555555555555';
my %values = (
	UUID => [$uuid, '11111111:22223333:44445555:55555555', "\U$uuid"],
		RAM => [qw(auto rapiddisk brd none tape)],
			RAM_RESERVE => [qw(10% 512M 0 1T 999999% 999999999999T)],
	WAIT => [qw(yes no maybe)],
		WAIT_TIMEOUT => ['30min', '1h 30min', 'infinity', '1.5h', '999999999y'],
			ON_TIMEOUT => [qw(degraded fail)], MEMBER_TIMEOUT => [qw(30s 0 infinity)],
	START_DEGRADED => [qw(witness always never)], REBUILD => [qw(auto kernel)],
		WRITE_BEHIND => [qw(0 256 16383 16384 010)], ACCEPT_DATA_LOSS => [qw(yes no)],
	MEMBER => [map { "/dev/disk/by-id/ata-$_" } qw(A B C)],
		REQUIRED_BY => ['/srv', '/srv/my data', 'x.service', '/%i', '$(touch X).mount']);
my @keys = sort keys %values;

sub conf_line {
	my $key = any(@keys);
	my $value = any(@{ $values{$key} });
	$value = any("\"$value\"", "'$value'", " $value ") if chance(0.1);
	# An unstable name of a disk costs a process that looks for a better one: few of them.
	$value = soup(3) if chance(0.15) && ($key ne 'MEMBER' || chance(0.1));
	return "$key=$value\n";
}

sub conf {
	my $text = "UUID=$uuid\nMEMBER=/dev/disk/by-id/ata-A\n";
	$text = '' if chance(0.1);
	$text .= conf_line() for 1 .. rand 4;
	if (chance(0.5)) { $text = mutate($text) for 1 .. 1 + rand 3 }
	$text .= soup(6) if chance(0.1);
	$text = bytes(rand 200) if chance(0.03);
	$text .= any('WAIT=', 'x', 'REQUIRED_BY=/')
		. any('y', ' ', '"', "\0") x any(4090, 4096, 5000) . "\n" if chance(0.003);
	$text .= "x\n" x 33000 if chance(0.0003);
	return $text;
}

# --- witnesses

sub witness {
	my @lines = ("uuid=$uuid",
		'legs=' . join(' ', map { "aaaaaaaa-0000-0000-0000-00000000000$_" } 1 .. 1 + rand 3), 'events=' . any(0, 1, 42, 10**17, int rand 1e9),
		'ram_slot=' . any('', 0, 1, 9999), 'generation=' . any(1, 7, 10**16));
	push @lines, 'departed=' . join(any(' ', ' ', ' ', '', '  '),
		map { "aaaaaaaa-0000-0000-0000-00000000000$_:" . any(0, 42, 10**17, '7+', (int rand 1e9) x 6, '+', '7++', '08', '1a', '') } 1 .. 1 + rand 2)
		if chance(0.5);
	splice @lines, 1, 3, 'void=1', 'was=' . any('', 'a-1') if chance(0.1);
	if (chance(0.4)) {
		my $i = rand @lines;
		my ($key) = split /=/, $lines[$i];
		$lines[$i] = "$key=" . any(soup(2), '08', '-1', '9' x 19, '0x1', '1 1', 'a',
			'a[$(touch X)]', ' ', '1 ', '00', '5-3', 'b', '2#1', '16#f', '');
	}
	splice @lines, rand @lines, 1, () if chance(0.1);
	splice @lines, rand @lines, 0, soup(3) if chance(0.1);
	my $text = join("\n", @lines) . (chance(0.9) ? "\n" : '');
	$text = mutate($text) if chance(0.3);
	$text = bytes(rand 300) if chance(0.03);
	$text .= $text x 500 if chance(0.005);
	return $text;
}

# --- fstab, crypttab and what lies on an array. One line of each is whole, wherever it stands: it
# has to be found.

sub fields { return join any(' ', "\t", '  '), map { chance(0.3) ? soup(2) : $_ } @_ }

sub lines {
	my ($good, @lines) = @_;
	s/\n/ /g for @lines;
	splice @lines, rand(1 + @lines), 0, $good;
	return join "\n", @lines, '';
}

sub gate {
	my ($to) = @_;
	mkdir $to or die "$to: $!";
	my @names = ('LABEL=x', 'UUID=0A1B-2C3D', '/dev/md/data', '/dev/md/data1', '/dev/mapper/c',
		'/dev/disk/by-label/x', '/dev/vg/lv', "LABEL=\xc3\xa4", 'LABEL=a/b', '"LABEL=x"');
	put("$to/fstab", lines('LABEL=x /good ext4 defaults 0 2',
		map { fields(any(@names),
			any('/a', '/a\\040b', '/50%i', '/../x', 'none', '/', '/a/b/../c',
				'/' . 'y' x any(90, 300)), any('ext4', 'swap', 'auto'), 'defaults',
					0, 2) } 1 .. 6));
	put("$to/crypttab", lines('good UUID=0A1B-2C3D',
		map { fields(any('c', 'd', '%i', '../x', 'e' x 300), any(@names), 'none',
			'luks') } 1 .. 4));
	put("$to/contents", lines('LABEL=x', 'UUID=0A1B-2C3D',
		map { any(soup(3), @names) } 1 .. 4));
	my $line = conf_line();
	$line =~ s/[^\n\t -~\x80-\xff]//g; # the file would not be read at all
	put("$to/conf", "UUID=$uuid\nMEMBER=/dev/disk/by-id/ata-A\nREQUIRED_BY=/mine\n$line");
}

# --- superblocks, as arrays of 1024 little-endian words

sub checksum {
	my ($w) = @_;
	my $bytes = 256 + 2 * $w->[55];
	my $sum = 0;
	for my $i (0 .. int($bytes / 4) - 1) { $sum += $w->[$i] if $i != 54 }
	$sum += $w->[ int($bytes / 4) ] & 0xffff if $bytes % 4;
	return (($sum & 0xffffffff) + ($sum >> 32)) & 0xffffffff;
}

sub role { my ($w, $i) = @_; return $w->[ 64 + int($i / 2) ] >> 16 * ($i % 2) & 0xffff }
sub hexadecimal { return unpack 'H*', pack 'V*', @_ }
sub uuid {
	my $text = hexadecimal(@_);
	$text =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/;
	return $text;
}
sub u64 { my ($w, $i) = @_; return $w->[ $i + 1 ] << 32 | $w->[$i] }

sub expected {
	my ($w) = @_;
	return 'sb=none' if @$w != 1024 || $w->[0] != 0xa92b4efc;
	my ($roles, $disks, $number) = @$w[ 55, 23, 40 ];
	return 'sb=corrupt'
		if $w->[1] != 1 || $roles < 1 || $roles > 1920 || $disks < 1 || $disks > $roles ||
			$number >= $roles || $w->[54] != checksum($w);
	for (20, 32, 34, 50) { return 'sb=corrupt' if u64($w, $_) >= 1 << 56 }
	my $view = '.' x $disks;
	for my $i (0 .. $roles - 1) {
		substr($view, role($w, $i), 1) = 'A' if role($w, $i) < $disks;
	}
	my @active = map { role($w, $_) < $disks ? "$_:" . role($w, $_) : () } 0 .. $roles - 1;
	my $role = role($w, $number);
	$role = $role == 65534 ? 'faulty' : $role >= $disks ? 'spare' : $role;
	return join ',', 'sb=ok', 'uuid=' . uuid(@$w[ 4 .. 7 ]),
		'device_uuid=' . uuid(@$w[ 42 .. 45 ]), "level=$w->[18]", "raid_disks=$disks",
			'size=' . u64($w, 20),
		'data_offset=' . u64($w, 32), 'data_size=' . u64($w, 34), 'events=' . u64($w, 50),
			'time=' . (u64($w, 48) & ((1 << 40) - 1)), "number=$number", "role=$role",
				"roles=@active", "view=$view",
					'recovery=' . ($w->[2] & 2 ? u64($w, 38) : ''),
		'dirty=' . (u64($w, 52) == ~0 ? 'no' : 'yes'),
			'bitmap=' . ($w->[2] & 1 ? 'yes' : 'no'),
				'writemostly=' . ($w->[46] & 1 ? 'yes' : 'no');
}

sub sb {
	my ($from) = @_;
	my @w = @{ any(@$from) };
	my $how = rand;
	if ($how < 0.02) { @w = (any(0, 0xffffffff, 0xa92b4efc, 0xfffefffe)) x 1024 }
	elsif ($how < 0.05) { @w = map { int rand 2**32 } 1 .. 1024 }
	elsif ($how < 0.07) { @w = unpack 'N*', pack 'V*', @w }
	elsif ($how < 0.10) { $#w = any(-1, 0, 1, 54, 63, 64, 1022) }
	elsif ($how < 0.12) { push @w, 0 }
	else {
		my @numbers = (0, 1, 2, 3, 8, 0xff, 127, 128, 129, 1919, 1920, 1921, 0xfffd, 0xfffe,
			0xffff, 0x10000, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xfffffffe,
				0xffffffff);
		for (1 .. 1 + rand 4) {
			my $what = rand;
			if ($what < 0.5) {
				$w[ any(2, 18, 20, 21, 23, 32, 33, 36, 38, 39, 40, 46, 50, 51, 52,
					53, 55) ] = any(@numbers, int rand 2**32);
			}
			elsif ($what < 0.75) {
				$w[ 64 + rand 8 ] = any(0 .. 4, 0xfffd .. 0xffff,
					int rand 65536) << 16 | any(0 .. 4, 0xfffd .. 0xffff,
						int rand 65536);
			}
			elsif ($what < 0.85) {
				@w[ 55, 23, 40 ] = (1 + int(rand 1920), 1 + int(rand 9),
					int(rand 9));
			}
			elsif ($what < 0.95) { $w[ rand 128 ] ^= 1 << rand 32 }
			else { @w[ 64 .. 1023 ] = map { int rand 2**32 } 64 .. 1023 }
		}
	}
	# Most are sealed again, so that what was changed is looked at.
	$w[54] = checksum(\@w) if @w >= 1024 && $w[55] <= 1920 && chance(0.85);
	return \@w;
}

sub leg {
	my ($file) = @_;
	open my $in, '<:raw', $file or die "$file: $!";
	read $in, my $text, 8192;
	return [ unpack 'V1024', substr $text, 4096 ];
}

if ($kind eq 'sb') {
	my @from = map { leg($_) } sort glob "$folder/*.bin";
	for (1 .. $count) {
		my $w = sb(\@from);
		print expected($w), '|', join(' ', map { sprintf '%08x', $_ } @$w), "\n";
	}
} elsif ($kind eq 'gate') {
	gate("$folder/$_") for 1 .. $count;
} else {
	put("$folder/f$_.$kind", $kind eq 'conf' ? conf() : witness()) for 1 .. $count;
}
