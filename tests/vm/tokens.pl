#!/usr/bin/perl
# The campaign's writers and its reader, in the guest. What a writer was promised by the kernel it reports, a line each, to descriptor 9 (the
# port to the host, which outlives the guest):   token NAME BYTES SHA256   block FILE NUMBER GENERATION
# Between two promises a writer rests up to $PAUSE seconds, so that the disks' caches may fill.
#   tokens.pl write-tokens FOLDER PREFIX        new files: written, fsynced, renamed, the folder fsynced; then reported
#   tokens.pl write-blocks FILE COUNT FIRST HOW blocks of 4 KiB overwritten in random order, generations from FIRST on; HOW: direct
#                                               (O_DIRECT|O_DSYNC, one at a time), sync (buffered, a few, then fdatasync), or lazy (O_DIRECT,
#                                               never flushed and never reported: it fills the disks' caches)
#   tokens.pl make-blocks FILE COUNT            the file before the first overwriting: generation 0
#   tokens.pl check FOLDER LIST                 LIST holds such lines; everything is read and compared. Prints what is wrong, and as its last
#                                               line "TOKENS BLOCKS BYTES-READ BYTES-LOST BYTES-WRONG"; exit code 1 if anything is
use strict;
use warnings;
use Fcntl;
use IO::Handle;
use Digest::SHA 'sha256_hex';
use constant { BLOCK => 4096, SYS_PWRITE => 18, SYS_FDATASYNC => 75 };

# Every 64 bytes say whose they are: a torn, foreign or old part of a block shows.
sub block { my ($number, $generation) = @_; return sprintf("%-63s\n", "block $number generation $generation") x (BLOCK / 64) }

sub rest { select undef, undef, undef, rand($ENV{PAUSE} // 0) if $ENV{PAUSE} }
sub report { my $line = "@_\n"; syswrite(STDREPORT, $line) == length $line or die "report: $!\n" }
sub flushed { my $file = shift; $file->sync or die "fsync: $!\n"; return $file }

sub write_tokens {
	my ($folder, $prefix) = @_;
	sysopen my $dir, $folder, O_RDONLY or die "$folder: $!\n";
	open my $random, '<:raw', '/dev/urandom' or die;
	for (my $i = 0;; $i++) {
		sysread $random, my $data, 1 + int rand(rand() < 0.2 ? 65536 : 8192);
		my $name = "$prefix.$i";
		sysopen my $file, "$folder/$name.new", O_WRONLY | O_CREAT | O_EXCL or die "$name: $!\n";
		syswrite($file, $data) == length $data or die "$name: $!\n";
		flushed($file)->close;
		rename "$folder/$name.new", "$folder/$name" or die "$name: $!\n";
		flushed($dir);
		report('token', $name, length $data, sha256_hex($data));
		rest();
	}
}

sub make_blocks {
	my ($path, $count) = @_;
	sysopen my $file, $path, O_WRONLY | O_CREAT or die "$path: $!\n";
	syswrite($file, block($_, 0)) == BLOCK or die "$path: $!\n" for 0 .. $count - 1;
	flushed($file);
}

sub write_blocks {
	my ($path, $count, $generation, $how) = @_;
	sysopen my $file, $path, O_WRONLY | {direct => O_DIRECT | O_DSYNC, lazy => O_DIRECT,
		sync => 0}->{$how} or die "$path: $!\n";
	# O_DIRECT wants memory that is aligned.
	my $memory = "\0" x (2 * BLOCK);
	my $address = unpack 'J', pack 'p', $memory;
	my $aligned = ($address + BLOCK - 1) & ~(BLOCK - 1);
	while (1) {
		my @batch = map { int rand $count } 1 .. ($how eq 'sync' ? 1 + int rand 8 : 1);
		for my $number (@batch) {
			substr($memory, $aligned - $address, BLOCK) = block($number, $generation);
			syscall(SYS_PWRITE, fileno $file, $aligned, BLOCK,
				$number * BLOCK) == BLOCK or die "$path: $!\n";
			$number = [$number, $generation++];
		}
		if ($how eq 'lazy') { select undef, undef, undef, 0.005; next }
		syscall(SYS_FDATASYNC, fileno $file) == 0 or die "$path: $!\n" if $how eq 'sync';
		report('block', $path =~ s{.*/}{}r, @$_) for @batch;
		rest();
	}
}

my ($tokens, $blocks, $read, $lost, $wrong) = (0) x 5;
sub content { my $path = shift; open my $file, '<:raw', $path or return; local $/; my $data = <$file> // ''; $read += length $data; return $data }

sub check_token {
	my ($folder, $name, $bytes, $sum) = @_;
	my $data = content("$folder/$name");
	$tokens++;
	if (!defined $data || length $data < $bytes) {
		$lost += $bytes - length($data // '');
		print "LOST: token $name has ", defined $data ? length $data : 'none', " of its $bytes bytes\n";
	} elsif (sha256_hex($data) ne $sum) {
		$wrong += $bytes;
		print "WRONG: token $name ($bytes bytes) is not what was written\n";
	}
}

sub check_blocks {
	my ($folder, $name, $least) = @_;
	my $data = content("$folder/$name") // '';
	for my $number (0 .. (sort { $b <=> $a } keys %$least)[0]) {
		my $found = substr $data, $number * BLOCK, BLOCK;
		$blocks++;
		my ($generation) = $found =~ /\Ablock $number generation (\d+) *\n/;
		if (!defined $generation || $found ne block($number, $generation)) {
			$wrong += BLOCK;
			print "WRONG: block $number of $name: ", join(' | ', map { substr($found,
				$_ * 64, 40) =~ s/[^ -~]+/?/gr } 0, 8, 16, 32, 63), "\n";
		} elsif ($generation < $least->{$number}) {
			$lost += BLOCK;
			print "LOST: block $number of $name has generation $generation, but $least->{$number} was acknowledged\n";
		}
	}
}

sub check {
	my ($folder, $list) = @_;
	my %least;
	open my $lines, '<', $list or die "$list: $!\n";
	while (<$lines>) {
		my ($kind, @words) = split;
		check_token($folder, @words) if $kind eq 'token';
		$least{$words[0]}{$words[1]} = $words[2]
			if $kind eq 'block' && $words[2] >= ($least{$words[0]}{$words[1]} // 0);
	}
	check_blocks($folder, $_, $least{$_}) for sort keys %least;
	print "$tokens $blocks $read $lost $wrong\n";
	exit($lost + $wrong > 0);
}

my %verbs = ('write-tokens' => \&write_tokens, 'write-blocks' => \&write_blocks, 'make-blocks' => \&make_blocks, check => \&check);
my $verb = shift // '';
open STDREPORT, '>&=9' or die "descriptor 9: $!\n" if $verb =~ /^write-/;
($verbs{$verb} // die "unknown verb\n")->(@ARGV);
