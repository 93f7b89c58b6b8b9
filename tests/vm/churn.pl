#!/usr/bin/perl
# A writer that never rests, for the guest: makes, overwrites, lengthens and deletes files of all
# sizes, some with fsync, until SIGTERM.
#   churn.pl write FOLDER LIST SEED at the end LIST says what must be there: NAME SIZE GENERATION…
#   (one for each 4 KiB block)
#   churn.pl check FOLDER LIST reads all of it; exit code 1 if a byte is wrong or a file too many or
#   too few
#   churn.pl free DEVICE writes zeros into every free block of the ext4 on it, which is not mounted:
#   what such a block holds after a
#                                     discard is up to each disk, and the legs are to be compared
#   churn.pl differ MD where the legs of md0 (say), with an ext4 on it, differ; exit code 1 if a
#   block of that is in use.
#                                     A page that is changed while it is on its way to the legs, and
#                                     whose file is deleted before it is written again, can leave a
#                                     free block that differs
use strict;
use warnings;
use Fcntl;
use IO::Handle;
use constant { BLOCK => 4096, MOST => 12 * 1024 * 1024 };

# Every 64 bytes say whose they are, so that an old or foreign part shows.
sub block {
	my ($name, $number, $generation) = @_;
	return sprintf("%-63s\n", "$name $number $generation") x (BLOCK / 64);
}
sub blocks { my $size = shift; return int(($size + BLOCK - 1) / BLOCK) }

my ($verb, $folder, $list, $seed) = @ARGV;
my (%size, %generations);

sub content { # of a file from block FROM on
	my ($name, $from, $to) = @_;
	my $text = join '', map { block($name, $_, $generations{$name}[$_]) } $from .. $to;
	my $end = $size{$name} - $from * BLOCK;
	return length $text > $end ? substr($text, 0, $end) : $text;
}

sub put { # NAME FROM TO: writes these blocks anew
	my ($name, $from, $to) = @_;
	our $generation++;
	$generations{$name}[$_] = $generation for $from .. $to;
	my $data = content($name, $from, $to);
	sysopen my $file, "$folder/$name", O_WRONLY | O_CREAT or die "$name: $!\n";
	sysseek $file, $from * BLOCK, 0;
	syswrite($file, $data) == length $data or die "$name: $!\n";
	rand() < 0.5 || $file->sync or die "fsync: $!\n";
}

sub total { my $sum = 0; $sum += $_ for values %size; return $sum }

sub churn {
	my $stop = 0;
	local $SIG{TERM} = sub { $stop = 1 };
	srand $seed;
	for (my $i = 0; !$stop; $i++) {
		# Time for others, on a machine with one processor.
		select undef, undef, undef, rand 0.02;
		my @names = keys %size;
		my $name = @names ? $names[rand @names] : '';
		my $dice = rand();
		if (!@names || $dice < 0.35 && total() < MOST) {
			$name = "c$i";
			$size{$name} = 1 + int rand(rand() < 0.3 ? 400_000 : rand() < 0.5 ? 30_000
				: 3_000);
			put($name, 0, blocks($size{$name}) - 1);
		} elsif ($dice < 0.75) {
			my $from = int rand blocks($size{$name});
			my $to = $from + int rand 8;
			$to = blocks($size{$name}) - 1 if $to >= blocks($size{$name});
			put($name, $from, $to);
		} elsif ($dice < 0.85) {
			my $last = blocks($size{$name}) - 1;
			$size{$name} += 1 + int rand 20_000;
			put($name, $last, blocks($size{$name}) - 1);
		} else {
			unlink "$folder/$name" or die "$name: $!\n";
			delete $size{$name};
			delete $generations{$name};
		}
	}
	open my $out, '>', $list or die "$list: $!\n";
	print $out "$_ $size{$_} @{$generations{$_}}\n" for sort keys %size;
	close $out or die;
}

sub check {
	my $bad = 0;
	open my $in, '<', $list or die "$list: $!\n";
	while (<$in>) {
		my ($name, $size, @generations) = split;
		$size{$name} = $size;
		$generations{$name} = \@generations;
		open my $file, '<:raw', "$folder/$name" or print("$name: $!\n"), $bad++, next;
		my $got = do { local $/; <$file> };
		next if $got eq content($name, 0, blocks($size) - 1);
		printf "%s: wrong, %d bytes of %d\n", $name, length $got, $size;
		$bad++;
	}
	opendir my $dir, $folder or die;
	for (grep { /^c/ } readdir $dir) { $size{$_} or print("$_: should be gone\n"), $bad++ }
	printf "%d files, %d bytes, %d wrong\n", scalar(keys %size), total(), $bad;
	return $bad ? 1 : 0;
}

# Calls DO with the size of a block, and the first and the last of each range of free ones.
sub free_blocks { # DEVICE DO
	my ($device, $do) = @_;
	my $size;
	open my $in, '-|', 'dumpe2fs', $device or die;
	while (<$in>) {
		$size = $1 if /^Block size:\s+(\d+)/;
		next unless /^\s+Free blocks: (.*)/;
		$do->($size, /^(\d+)-(\d+)$/ ? ($1, $2) : ($_, $_)) for split /, /, $1;
	}
	close $in or die "dumpe2fs failed\n";
	return $size;
}

# What is still on its way would differ as well, so the file system is frozen meanwhile: it writes
# all that it has.
sub frozen { # MD DO
	my ($md, $do) = @_;
	chomp(my $where = qx(findmnt --noheadings --first-only --output TARGET /dev/$md));
	system('fsfreeze', '--freeze', $where) == 0 or die "fsfreeze failed\n" if $where ne '';
	my $code = eval { $do->() };
	my $error = $@;
	system('fsfreeze', '--unfreeze', $where) == 0 or die "fsfreeze failed\n" if $where ne '';
	die $error if $error;
	return $code;
}

sub differ {
	my ($md, %free, %found) = ($folder);
	my $block = free_blocks("/dev/$md", sub {
		my ($size, $from, $to) = @_; $free{$_} = 1 for $from .. $to;
	});
	my ($first, @legs) = map {
		my $node = readlink "$_/block" or die "$_: $!\n";
		$node =~ s,.*/,/dev/,;
		system('blockdev', '--flushbufs', $node) == 0 or die;
		open my $offset, '<', "$_/offset" or die "$_/offset: $!\n";
		open my $leg, '<:raw', $node or die "$node: $!\n";
		sysseek $leg, <$offset> * 512, 0;
		$leg
	} glob "/sys/block/$md/md/dev-*";
	open my $in, '<', "/sys/block/$md/md/component_size" or die;
	for my $at (0 .. <$in> * 1024 / $block - 1) {
		sysread $first, my $right, $block or die;
		for (@legs) {
			sysread $_, my $other, $block or die;
			$found{$at} = 1 if $right ne $other;
		}
	}
	my @used = grep { !$free{$_} } sort { $a <=> $b } keys %found;
	printf "%d blocks of %d bytes differ, %d of them in use: %s\n", scalar keys %found, $block,
		scalar @used, "@used[0 .. ($#used > 20 ? 20 : $#used)]";
	return @used ? 1 : 0;
}

sub zero_free {
	my ($device, $count) = ($folder, 0);
	sysopen my $disk, $device, O_WRONLY or die "$device: $!\n";
	free_blocks($device, sub {
			my ($size, $from, $to) = @_;
			for (my $block = $from; $block <= $to; $block += 256) {
				my $bytes = $size * ($to - $block >= 256 ? 256 : $to - $block + 1);
				sysseek $disk, $block * $size, 0;
				syswrite($disk, "\0" x $bytes) == $bytes or die "$device: $!\n";
			}
			$count += $to - $from + 1;
	});
	$disk->sync or die "fsync: $!\n";
	print "$count free blocks\n";
}

exit($verb eq 'write' ? churn() && 0 : $verb eq 'free' ? !zero_free() : $verb eq 'differ'
	? frozen($folder, \&differ) : check());
