#!/usr/bin/perl
# tests/model/explore.pl LEGS DEPTH MODE SECONDS [MUTANT]: walks breadth-first through all histories
# of an array of LEGS disk legs and a RAM leg, up to DEPTH steps, and asks the real action_choose
# (answer.sh) at every boot and after every step. With MUTANT it ends at the first violation. Prints
# "key value" lines, then "violation KIND" with its shortest history, indented.
#   MODE    MADE-WHAT. MADE is how the array came to be (state.pl, prepared in steps.pl); WHAT is
#           what may happen to it: witness (START_DEGRADED=witness or never), mixed (witness, never
#           or always, and forced starts); image: as witness, and while the machine is off a disk
#           may be put back to an old image of itself; elsewhere: with always, and legs are used
#           alone elsewhere; apply: with always, and disks join and leave; records: as witness, with
#           a rename, a witness that is set back, names that vanish, a second array
#   SECONDS to stop after, within a depth if need be; 0: never
use strict;
use warnings;
use FindBin;
use Time::HiRes qw(time);

our ( $n, $depth, $mode, $made, $kind, $seconds, $mutant );

BEGIN {
	( $n, $depth, $mode, $seconds, $mutant ) = @ARGV;
	die "usage: explore.pl LEGS DEPTH MODE SECONDS [MUTANT]\n"
		unless $n && $n =~ /^[123]$/ &&
			$mode =~ /^(create|adopt|last|grown|applied|away|alone)-(witness|mixed|image|elsewhere|apply|records)$/;
	( $made, $kind ) = ( $1, $2 );
	$mutant //= '';
	require "$FindBin::Bin/$_.pl" for qw(state question md promises steps);
}
our ( $asked, %decided, $pid, $questions, %counted, %known, @found, $here, @next );

my ( %label_id, @label_of, $parents, $labels ) = ();
my ( $transitions, $began ) = ( 0, time );
my ( $start, @before ) = prepared($made);
my %seen  = ( $start => 0 );
my @frontier = ($start);
$parents = pack 'L', 0;
$labels  = pack 'S', 0;
push @label_of, '';
my ( $states, $reached ) = ( 1, 0 );

while ( @frontier && $reached < $depth && !( $seconds && time - $began > $seconds ) ) {
	my @further;
	my $complete = 1;
	for my $key (@frontier) {
		if ( $seconds && time - $began > $seconds ) { $complete = 0; last }
		my $s = unpacked($key);
		$here = $seen{$key};
		@next = ();
		$s->[RUN] ? from_running($s) : from_off($s);
		for (@next) {
			my ( $label, $t ) = @$_;
			$transitions++;
			my $new = canonical($t);
			next if exists $seen{$new};
			$seen{$new} = $states++;
			push @further, $new;
			$label_id{$label} //= push( @label_of, $label ) - 1;
			$parents .= pack 'L', $here;
			$labels  .= pack 'S', $label_id{$label};
		}
		last if $mutant && @found;
	}
	last unless $complete;
	$reached++;
	printf STDERR "  depth %d: %d states, %d transitions, %.0f s\n", $reached, $states,
		$transitions, time - $began if $ENV{MODEL_PROGRESS};
	last if $mutant && @found;
	@frontier = @further;
}

sub history {    # STATE-ID LAST-STEP
	my ( $id, $last ) = @_;
	my @steps = $last eq '' ? () : ($last);
	for ( ; $id ; $id = unpack 'L', substr $parents, 4 * $id, 4 ) {
		unshift @steps, $label_of[ unpack 'S', substr $labels, 2 * $id, 2 ];
	}
	return ( @before, @steps );
}

close $questions;
waitpid $pid, 0;
printf "depth %d\nclosed %s\nstates %d\ntransitions %d\nasked %d\nseconds %.0f\n", $reached,
	@frontier ? 'no' : 'yes', $states, $transitions, $asked, time - $began;
print 'decisions ', join( ' ', map { "$_=$decided{$_}" } sort keys %decided ), "\n";
for ( sort keys %counted ) {
	print "known $counted{$_} $_\n";
	print map { "  $_\n" } history( @{ $known{$_} } ) if $known{$_};
}
for (@found) {
	my ( $kind, $id, $label ) = @$_;
	print "violation $kind\n", map { "  $_\n" } history( $id, $label );
}
