# A state is a flat list of small numbers. Writes are not counted but told apart by who holds them:
# all acknowledged writes that the same legs hold and that the same bitmaps still mark are one
# "column" (type, holders, bitmaps). A column that every disk leg holds says nothing more and is
# dropped, and event counts are kept only relative to each other. That makes the number of states
# finite.
use strict;
use warnings;
our ( $n, $made, $kind );

# Roles: which device number holds which slot, four bits for each slot, number + 1; 0: nobody.
# For each disk leg: event count (0: blank), device number, roles and raid_disks by its superblock,
# flags, events_cleared of its bitmap.
use constant { EV => 0, NUM => 1, ROLES => 2, RD => 3, FLAGS => 4, EC => 5, SIZE => 6 };
# WHOLE: never in sync yet, so only a rebuild as a whole makes it equal
use constant { RECOVERY => 1, DIRTY => 2, WHOLE => 4 };
use constant { LAST_NUMBER => 14 };
my $LEGS_AT = 1;
my $next = $LEGS_AT + SIZE * $n;
sub fields { my $count = shift; $next += $count; return $next - $count .. $next - 1 }
# CONF: the disks that the configuration names. AWAY: those of them that somebody has used alone,
# elsewhere.
our ( $CONF, $AWAY ) = fields(2);
# The witness: events (0: there is none), legs (none: only the RAM leg was good), left, given, the
# RAM leg's slot and number (+ 1). Then what the witness does not know: the legs that md dropped
# since it was written, and those that a start gave up without noting it there.
our ( $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM, $UNNOTED, $FORGOT ) = fields(8);
# An earlier state of the witness. RENAMED: the configuration was renamed since the witness was
# written. ROLLED: the witness is set back to such an earlier state.
our ( $SEV, $SLEGS, $SLEFT, $SGIVEN, $SSLOT, $SNUM, $RENAMED, $ROLLED ) = fields(8);
# The running array. GIVE: the legs that the next witness calls given up. GATE: may anybody write?
# JOIN: the legs that were in sync in this run. OUTGREW: those of them that left it and have counted
# on beyond it since. UNSEEN: the legs that were used elsewhere before ramraid had noted that they
# had left. NAMELESS: the legs whose name is gone.
our ( $INS, $RCV, $RAM, $RO, $ACT, $PEND, $EVA, $DEC, $ECA, $PRESENT, $FAILED, $GIVE, $GATE,
	$AROLES, $ARD, $RNUM, $JOIN, $OUTGREW, $UNSEEN, $NAMELESS, $TWIN ) = fields(21);
our $COLS  = $next;
our $DISKS = ( 1 << $n ) - 1;
our $RBIT  = 1 << $n;                                # the RAM leg among holders and bitmaps
# a larger difference of event counts behaves like this one
our $GAP   = 3;
use constant { RUN => 0 };                          # index 0: does the array run?
use constant { NONE => 0, RECOVERING => 1, IN_SYNC => 2 };    # the RAM leg

# Types of a column: a write that was acknowledged (with no holder left: only the RAM leg had it),
# one that was given up by a forced start, START_DEGRADED=always or a known exception, one that was
# in flight at a crash, an update of superblocks, and a write that was acknowledged elsewhere.
use constant { ACKED => 0, GIVEN_UP => 1, IN_FLIGHT => 2, META => 3, ELSEWHERE => 4 };

sub leg { $LEGS_AT + SIZE * $_[0] }
sub column { $_[0] | $_[1] << 3 | $_[2] << 8 }      # TYPE HOLDERS BITMAPS
sub type { $_[0] & 7 }
sub holders { $_[0] >> 3 & 31 }
sub bitmaps { $_[0] >> 8 & 31 }
our @LETTER = ( 'A', 'B', 'C' );
sub names { my $m = shift; join '', map { $m >> $_ & 1 ? $LETTER[$_] : () } 0 .. $n - 1 }
sub legs_in { my $m = shift; grep { $m >> $_ & 1 } 0 .. $n - 1 }
our @ONES = map { my $m = $_; scalar grep { $m >> $_ & 1 } 0 .. 4 } 0 .. 31;

# the number that holds the slot, -1: none
sub in_slot { my ( $roles, $slot ) = @_; ( $roles >> 4 * $slot & 15 ) - 1 }
sub slot_of {
	my ( $roles, $number ) = @_;
	for ( 0 .. 3 ) { return $_ if in_slot( $roles, $_ ) == $number } return -1;
}
sub with_slot {
	my ( $roles, $slot, $number ) = @_;
	$roles & ~( 15 << 4 * $slot ) | ( $number + 1 ) << 4 * $slot;
}
sub own_slot { my ( $s, $i ) = @_; slot_of( $s->[ leg($i) + ROLES ], $s->[ leg($i) + NUM ] ) }
# Does leg I's superblock call leg J active? This goes by device number: nothing else in it tells
# legs apart.
sub calls_active {
	my ( $s, $i, $j ) = @_; slot_of( $s->[ leg($i) + ROLES ], $s->[ leg($j) + NUM ] ) >= 0;
}
# The legs that have a superblock.
sub known_legs { my $s = shift; my $m = 0; $s->[ leg($_) ] and $m |= 1 << $_ for 0 .. $n - 1; $m }

# canonical STATE: the same state in its one canonical form, packed.
sub canonical {
	my $s = shift;
	my ( %seen, %types );
	my $there = known_legs($s);
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my ( $t, $h, $b ) = ( type($c), holders($c), bitmaps($c) );
		$h &= $DISKS if $t == META || $s->[$RAM] != IN_SYNC;
		$b = 0       if $t == META;
		$b &= $DISKS if $s->[$RAM] == NONE;
		# The RAM leg may lack what was written elsewhere to all disks.
		my $all = $t == ELSEWHERE && $s->[$RAM] == IN_SYNC ? $there | $RBIT : $there;
		next if !$h && $t != ACKED || ( $h & $all ) == $all;
		$b = 0 if !$h;
		$seen{ column( $t, $h, $b ) } = 1;
		$types{$t} = 1;
	}
	$s->[$FORGOT] = 0 unless %seen;
	$s->[$AWAY] = 0 unless $types{ +IN_FLIGHT } || $types{ +ELSEWHERE } || $s->[$WEV] &&
		!$s->[$WLEGS];
	@$s[ $WSLOT, $WNUM, $RENAMED, $ROLLED ] = (0) x 4 unless $s->[$WEV];
	my @at = map { leg($_) } legs_in($there);
	# A leg that was used elsewhere may be ahead of the running array.
	my ($low) = sort { $a <=> $b } map { $s->[$_] } @at, $s->[RUN] ? $EVA : ();
	# A count below all legs' stays below if only the RAM leg was good: it says whether they
	# have run on since.
	for ( [ $WEV, $WLEGS ], [ $SEV, $SLEGS ] ) {
		$s->[ $_->[0] ] = $low if $s->[ $_->[1] ] && $s->[ $_->[0] ] < $low;
	}
	my @values = ( @at, map( { $_ + EC } @at ), $s->[$WEV] ? $WEV : (), $s->[$SEV] ? $SEV
		: (), $s->[RUN] ? ( $EVA, $ECA ) : () );
	# How far events_cleared is below every leg's count makes no difference. But below is not
	# the same as equal: md_bitmap_load asks for that.
	for (@values) { $s->[$_] = $low - 1 if $s->[$_] < $low }
	my ( %to, $last, $new );
	for my $v ( sort { $a <=> $b } map { $s->[$_] } @values ) {
		next if defined $last && $v == $last;
		$new = !defined $last ? ( $v < $low ? 1 : 2 )
			: $new + ( $v - $last > $GAP ? $GAP : $v - $last );
		$last = $v;
		$to{$v} = $new;
	}
	$s->[$_] = $to{ $s->[$_] } for @values;
	return pack 'S*', @$s[ 0 .. $COLS - 1 ], sort { $a <=> $b } keys %seen;
}

sub unpacked { [ unpack 'S*', $_[0] ] }

# The array as it was made: whole once, stopped clean, with its witness. create: the RAM leg has
# slot 0 and number 0. adopt: a mirror of the disks got one more slot, and then the RAM leg, for
# which mdadm takes a number from there on (Manage_add() in Manage.c). last: the RAM leg was named
# last. grown, applied: as adopt, and a third disk has joined since, with all disks there (grown) or
# while B was away (applied).
our ( $FIRST_ROLES, @FIRST_NUMBER );
# a third disk is named later
my $first = $kind eq 'apply' || $made =~ /^(applied|grown)$/ ? 2 : $n;
my $ram   = $made eq 'create' ? 0 : $first;
$FIRST_ROLES = with_slot( 0, $ram, $made =~ /^(create|last)$/ ? $ram : $first + 1 );
for my $i ( 0 .. $first - 1 ) {
	$FIRST_NUMBER[$i] = $made eq 'create' ? $i + 1 : $i;
	$FIRST_ROLES = with_slot( $FIRST_ROLES, $FIRST_NUMBER[$i], $FIRST_NUMBER[$i] );
}

sub initial {
	my @s = (0) x $COLS;
	for my $i ( 0 .. $first - 1 ) {
		@s[ map { leg($i) + $_ } EV, NUM, ROLES, RD, EC ] =
			( 2, $FIRST_NUMBER[$i], $FIRST_ROLES, $first + 1, 1 );
	}
	my $legs = ( 1 << $first ) - 1;
	@s[ $CONF, $WEV, $WLEGS, $WSLOT, $WNUM ] =
		( $legs, 2, $legs, $ram + 1, in_slot( $FIRST_ROLES, $ram ) + 1 );
	return \@s;
}

1;
