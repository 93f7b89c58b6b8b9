# The promises of README.md, and the exceptions that it names.
use strict;
use warnings;
our ( $n, $WLEGS, $UNNOTED, $COLS );

our ( @found, %counted, %known, $here );
my %kinds;

sub violation {
	my ( $kind, $label ) = @_;
	return if $kinds{$kind}++;
	push @found, [ $kind, $here, $label ];
}

# What superblocks and witness cannot tell, and README.md names: counted, and shown once.
sub known {
	my ( $kind, $label ) = @_;
	$counted{$kind}++;
	$known{$kind} //= [ $here, $label ];
}

# Does each of these legs call all the others active?
sub all_active {
	my ( $s, $legs ) = @_;
	return !grep { $legs << 1 & ~$s->[ leg($_) + VIEW ] } legs_in($legs);
}

# May exactly these legs be started, with those attached? Marks what a start gives up. Returns 0 where a known exception ends the history.
sub check_start {
	my ( $s, $legs, $there, $degraded, $label ) = @_;
	my ( $missing, $mixed ) = ( 0, 0 );
	my ($freshest) = sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] } legs_in($legs);
	my $dirty = $s->[ leg($freshest) + FLAGS ] & DIRTY;
	for my $i ( legs_in($legs) ) {
		violation( 'a leg that was still being rebuilt is started', $label ) if $s->[ leg($i) + FLAGS ] & RECOVERY;
	}
	# Without a witness, a re-add that a crash has cut off makes superblocks of separate histories look like one.
	my $blind = !$s->[$WLEGS] && all_active( $s, $there ) && diverged($s);
	my $over  = 0;
	my $wrong = $blind ? sub { $over = 1; known( 'no witness, and a re-add cut off by a crash has made separate histories look alike', $_[1] ) } : \&violation;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my ( $t, $have ) = ( type($c), holders($c) & $legs );
		next if $t == META || $have == $legs;
		if ( $t == ACKED && !$have ) {
			$missing = 1;
			my @elsewhere = grep { holders($c) >> $_ & 1 } legs_in( $there & ~$legs );
			$wrong->( 'started without a write that an attached leg holds', $label ) if @elsewhere;
		}
		elsif ( $have && $t == GIVEN_UP && all_active( $s, $legs ) ) { $over = 1; known( 'started as equal, with writes that an earlier start gave up', $label ) }
		elsif ($have) { $wrong->( $t == IN_FLIGHT ? 'started as equal, but a write in flight differs and no resync is due' : 'legs with different writes are started as equal', $label ) unless $t == IN_FLIGHT && $dirty }
	}
	return 0 if $over;
	return 1 unless $missing;
	if ( $degraded eq 'always' ) { known( 'START_DEGRADED=always: started without writes that no attached leg holds', $label ) }
	elsif ( $s->[$WLEGS] && !( $legs & ~$s->[$UNNOTED] ) ) { known( 'started on a leg that md had dropped and the monitor not yet noted', $label ) }
	elsif ( !$s->[$WLEGS] && diverged($s) ) { known( 'no witness, and a leg with a history of its own is absent', $label ) }
	else { $wrong->( 'acknowledged writes are missing', $label ) }
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		$c = column( GIVEN_UP, holders($c), bitmaps($c) ) if type($c) == ACKED && !( holders($c) & $legs );
	}
	$s->[$UNNOTED] = 0;
	return 1;
}

# Has every leg's history a place in one line? Each leg with updates of superblocks that the other lacks: a history of its own.
sub diverged {
	my $s = shift;
	for my $i ( 0 .. $n - 1 ) {
		for my $j ( $i + 1 .. $n - 1 ) {
			my ( $only_i, $only_j ) = ( 0, 0 );
			for my $c ( @$s[ $COLS .. $#$s ] ) {
				my ( $hi, $hj ) = ( holders($c) >> $i & 1, holders($c) >> $j & 1 );
				$only_i = 1 if $hi && !$hj;
				$only_j = 1 if $hj && !$hi;
			}
			return 1 if $only_i && $only_j;
		}
	}
	return 0;
}

# Is a complete leg there that no other leg calls missing? If not, whoever is right is being rebuilt, or was lost with the RAM leg.
sub startable {
	my $s = shift;
	for my $i ( 0 .. $n - 1 ) {
		next if $s->[ leg($i) + FLAGS ] & RECOVERY;
		return 1 unless grep { !( $s->[ leg($_) + VIEW ] >> ( $i + 1 ) & 1 ) } 0 .. $n - 1;
	}
	return 0;
}

# Is leg I more than a step ahead of all complete ones?
sub outran {
	my ( $s, $i ) = @_;
	return !grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) && $s->[ leg($_) ] + 1 >= $s->[ leg($i) ] } 0 .. $n - 1;
}

# Do two legs call each other missing, though a third has been with both?
sub left_in_turn {
	my $s = shift;
	for my $i ( 0 .. $n - 1 ) {
		return 1 if grep { !( $s->[ leg($i) + VIEW ] >> ( $_ + 1 ) & 1 ) && !( $s->[ leg($_) + VIEW ] >> ( $i + 1 ) & 1 ) } $i + 1 .. $n - 1;
	}
	return 0;
}

# Has a leg that the witness does not know counted on beyond one that it knows, or does any leg call that one missing?
sub contradicted {
	my $s = shift;
	for my $i ( legs_in( $s->[$WLEGS] ) ) {
		return 1 if grep { !( $s->[ leg($_) + VIEW ] >> ( $i + 1 ) & 1 ) } 0 .. $n - 1;
		return 1 if grep { !( $s->[$WLEGS] >> $_ & 1 ) && $s->[ leg($_) ] > $s->[ leg($i) ] + 1 } 0 .. $n - 1;
	}
	return 0;
}

1;
