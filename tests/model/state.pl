# A state is a flat list of small numbers. Writes are not counted but told apart by who holds them: all acknowledged writes that the same
# legs hold and that the same bitmaps still mark are one "column" (type, holders, bitmaps). A column that every disk leg holds tells
# nothing any more and is dropped, and event counts are only kept relative to each other: that makes the number of states finite.
use strict;
use warnings;
our ( $n );

# For each disk leg: event count, view (bit 0: the RAM leg's slot), flags, events_cleared of its bitmap.
use constant { EV => 0, VIEW => 1, FLAGS => 2, EC => 3, SIZE => 4 };
use constant { RECOVERY => 1, DIRTY => 2 };
my $LEGS_AT = 1;
our $W       = $LEGS_AT + SIZE * $n;
# The witness: events (0: there is none), legs (none: only the RAM leg was good), left, given; then what it does not know: the legs that md
# dropped since it was written, and those that a start gave up without its knowing.
our ( $WEV, $WLEGS, $WLEFT, $WGIVEN, $UNNOTED, $FORGOT ) = map { $W + $_ } 0 .. 5;
# The running array. GIVE: what the next witness calls given up; GATE: may anybody write?
our ( $INS, $RCV, $RAM, $RO, $ACT, $PEND, $EVA, $DEC, $ECA, $PRESENT, $FAILED, $GIVE, $GATE ) = map { $W + 6 + $_ } 0 .. 12;
our $COLS  = $GATE + 1;
our $DISKS = ( 1 << $n ) - 1;
our $RBIT  = 1 << $n;                                # the RAM leg among holders and bitmaps
our $GAP   = 3;                                      # a larger difference of event counts behaves like this one
use constant { RUN => 0 };                          # index 0: does the array run?
use constant { NONE => 0, RECOVERING => 1, IN_SYNC => 2 };    # the RAM leg

# Types of a column: a write that was acknowledged (with no holder left: only the RAM leg had it), one that was given up by a forced start,
# START_DEGRADED=always or a known exception, one that was in flight at a crash, and an update of superblocks.
use constant { ACKED => 0, GIVEN_UP => 1, IN_FLIGHT => 2, META => 3 };

sub leg { $LEGS_AT + SIZE * $_[0] }
sub column { $_[0] | $_[1] << 2 | $_[2] << 7 }      # TYPE HOLDERS BITMAPS
sub type { $_[0] & 3 }
sub holders { $_[0] >> 2 & 31 }
sub bitmaps { $_[0] >> 7 & 31 }
our @LETTER = ( 'A', 'B', 'C' );
sub names { my $m = shift; join '', map { $m >> $_ & 1 ? $LETTER[$_] : () } 0 .. $n - 1 }
sub legs_in { my $m = shift; grep { $m >> $_ & 1 } 0 .. $n - 1 }
our @ONES = map { my $m = $_; scalar grep { $m >> $_ & 1 } 0 .. 4 } 0 .. 31;

# canonical STATE: the same state in its one form, packed.
sub canonical {
	my $s = shift;
	my %seen;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my ( $t, $h, $b ) = ( type($c), holders($c), bitmaps($c) );
		$h &= $DISKS if $t == META || $s->[$RAM] != IN_SYNC;
		$b = 0       if $t == META;
		$b &= $DISKS if $s->[$RAM] == NONE;
		next if !$h && $t != ACKED || ( $h & $DISKS ) == $DISKS;
		$b = 0 if !$h;
		$seen{ column( $t, $h, $b ) } = 1;
	}
	$s->[$FORGOT] = 0 unless %seen;
	my @at = map { leg($_) } 0 .. $n - 1;
	my ($low) = sort { $a <=> $b } map { $s->[$_] } @at;
	$s->[$WEV] = $low if $s->[$WLEGS] && $s->[$WEV] < $low;    # but "below" when only the RAM leg was good: have they run on since?
	my @values = ( @at, map( { $_ + EC } @at ), $s->[$WEV] ? $WEV : (), $s->[RUN] ? ( $EVA, $ECA ) : () );
	# events_cleared below every leg's count is all the same, but not the same as equal to it: md_bitmap_load asks that.
	for (@values) { $s->[$_] = $low - 1 if $s->[$_] < $low }
	my ( %to, $last, $new );
	for my $v ( sort { $a <=> $b } map { $s->[$_] } @values ) {
		next if defined $last && $v == $last;
		$new = !defined $last ? ( $v < $low ? 1 : 2 ) : $new + ( $v - $last > $GAP ? $GAP : $v - $last );
		$last = $v;
		$to{$v} = $new;
	}
	$s->[$_] = $to{ $s->[$_] } for @values;
	return pack 'C' . $COLS . 'S*', @$s[ 0 .. $COLS - 1 ], sort { $a <=> $b } keys %seen;
}

sub unpacked { [ unpack 'C' . $COLS . 'S*', $_[0] ] }

# The array as "create" leaves it: whole once, stopped clean, with its witness.
sub initial {
	my @s = (0) x $COLS;
	for my $i ( 0 .. $n - 1 ) { @s[ leg($i), leg($i) + VIEW, leg($i) + EC ] = ( 2, ( $RBIT << 1 ) - 1, 1 ) }
	@s[ $WEV, $WLEGS ] = ( 2, $DISKS );
	return \@s;
}

1;
