#!/usr/bin/perl
# cut.pl PID IMAGE PERCENT SEED: a power cut, seen by a disk. PID is an nbdkit whose cache filter
# holds what was not flushed to IMAGE, and which is stopped. PERCENT of the 4 KiB blocks that
# differ, picked by SEED, still reach the image. Prints how many are lost, and kept.
use strict;
use warnings;
use constant { BLOCK => 4096, SEEK_DATA => 3, SEEK_HOLE => 4 };

my ($pid, $image, $percent, $seed) = @ARGV;
my $number = 7;
$number = ($number * 31 + ord) % 4294967296 for split //, $seed;
srand $number;
my ($file) = grep { -f && (readlink // '') =~ / \(deleted\)$/ } glob "/proc/$pid/fd/*";
die "process $pid has no cache\n" unless defined $file;
open my $cache, '<:raw', $file or die "$file: $!\n";
open my $disk, '+<:raw', $image or die "$image: $!\n";

# What is a hole in the cache's file was never written by the guest.
my ($lost, $kept, $at) = (0, 0, 0);
while (defined(my $from = sysseek $cache, $at, SEEK_DATA)) {
	$at = sysseek $cache, $from, SEEK_HOLE;
	for (my $block = $from - $from % BLOCK; $block < $at; $block += BLOCK) {
		sysseek $_, $block, 0 for $cache, $disk;
		sysread $cache, my $new, BLOCK;
		sysread $disk, my $old, BLOCK;
		next if $new eq $old;
		if (rand(100) >= $percent) { $lost++; next }
		sysseek $disk, $block, 0;
		(syswrite($disk, $new) // 0) == length $new or die "$image: $!\n";
		$kept++;
	}
}
print "$lost $kept\n";
