#!/usr/bin/perl
# tests/model/wander.pl LEGS DEPTH MODE SECONDS [MUTANT]: as explore.pl, but at random, in histories
# of DEPTH steps, which are far too long to walk all of them. MODEL_SEED in the environment (a
# number) makes other walks; the same number makes the same ones.
use strict;
use warnings;
use FindBin;
use Time::HiRes qw(time);

our ( $n, $depth, $mode, $made, $kind, $seconds, $mutant );

BEGIN {
	( $n, $depth, $mode, $seconds, $mutant ) = @ARGV;
	die "usage: wander.pl LEGS DEPTH MODE SECONDS [MUTANT]\n"
		unless $n && $n =~ /^[123]$/ &&
			$mode =~ /^(create|adopt|last|grown|applied|away|alone)-(witness|mixed|image|elsewhere|apply|records)$/;
	( $made, $kind ) = ( $1, $2 );
	$mutant //= '';
	require "$FindBin::Bin/$_.pl" for qw(state question md promises steps);
}
our ( $asked, %decided, $pid, $questions, %counted, %known, @found, $here, @next );

# Rare events are rare here, too, so that histories get somewhere.
sub weight {
	local $_ = shift;
	return 2  if /witness is lost|old image/;
	return 3  if /is lost$|forces|crash/;
	return 10 if /boot|monitor|let go|stop/;
	return 30;
}

srand( $ENV{MODEL_SEED} // 1 );
my ( $walks, $steps, $began ) = ( 0, 0, time );
while ( time - $began < $seconds ) {
	$walks++;
	my ( $start, @history ) = prepared($made);
	my $s = unpacked($start);
	for ( 1 .. $depth ) {
		$here = \@history;
		@next = ();
		my $before = @found;
		$s->[RUN] ? from_running($s) : from_off($s);
		$_->[1] = [ @{ $_->[1] } ] for @found[ $before .. $#found ];
		last if @found > $before || !@next;
		my $sum = 0;
		$sum += weight( $_->[0] ) for @next;
		my $at = rand $sum;
		my ($chosen) = grep { ( $at -= weight( $_->[0] ) ) < 0 } @next;
		push @history, $chosen->[0];
		$s = unpacked( canonical( $chosen->[1] ) );
		$steps++;
	}
	last if @found;
}
close $questions;
waitpid $pid, 0;
printf "walks %d\nsteps %d\nasked %d\nseconds %.0f\n", $walks, $steps, $asked, time - $began;
print 'decisions ', join( ' ', map { "$_=$decided{$_}" } sort keys %decided ), "\n";
print "known $counted{$_} $_\n" for sort keys %counted;
for (@found) {
	my ( $kind, $history, $label ) = @$_;
	print "violation $kind\n", map { "  $_\n" } @$history, $label;
}
