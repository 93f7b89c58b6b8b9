# The promises of README.md, and the exceptions that it names.
use strict;
use warnings;
our ( $n, $WEV, $WLEGS, $WGIVEN, $UNNOTED, $FORGOT, $GIVE, $COLS, $DISKS );

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
	my ( $missing, $lost ) = ( 0, 0 );
	my ($freshest) = sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] } legs_in($legs);
	my $dirty = $s->[ leg($freshest) + FLAGS ] & DIRTY;
	for my $i ( legs_in($legs) ) {
		violation( 'a leg that was still being rebuilt is started', $label ) if $s->[ leg($i) + FLAGS ] & RECOVERY;
		violation( 'a leg that was given up is started', $label )            if $s->[$WGIVEN] >> $i & 1;
	}
	# Without a witness, a re-add that a crash has cut off makes superblocks of separate histories look like one.
	my $blind  = !$s->[$WEV] && all_active( $s, $there ) && diverged($s);
	my $forgot = $s->[$FORGOT] & $legs && all_active( $s, $legs );
	my $over   = 0;
	my $known  = $blind ? 'no witness, and a re-add cut off by a crash has made separate histories look alike' : 'started as equal, with writes that an earlier start gave up, and no witness knows it';
	my $wrong  = $blind || $forgot ? sub { $over = 1; known( $known, $_[1] ) } : \&violation;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my ( $t, $have ) = ( type($c), holders($c) & $legs );
		next if $t == META || $have == $legs;
		if ( $t == ACKED && !$have ) {
			$missing = 1;
			$lost    = 1 if !holders($c);
			my @elsewhere = grep { holders($c) >> $_ & 1 } legs_in( $there & ~$legs );
			$wrong->( 'started without a write that an attached leg holds', $label ) if @elsewhere;
		}
		elsif ($have) { $wrong->( $t == IN_FLIGHT ? 'started as equal, but a write in flight differs and no resync is due' : 'legs with different writes are started as equal', $label ) unless $t == IN_FLIGHT && $dirty }
	}
	return 0 if $over;
	return 1 unless $missing;
	if ( in_window( $s, $legs ) ) { known( 'started on a leg that md had dropped and the monitor not yet noted', $label ) }
	elsif ( $degraded eq 'always' && !( $lost && $s->[$WEV] && !$s->[$WLEGS] ) ) { known( 'START_DEGRADED=always: started without writes that no attached leg holds', $label ) }
	elsif ( !$s->[$WEV] && $lost ) { known( 'no witness, and writes were in the RAM leg only when the power failed', $label ) }
	elsif ( !$s->[$WEV] && diverged($s) ) { known( 'no witness, and a leg with a history of its own is absent', $label ) }
	else { $wrong->( 'acknowledged writes are missing', $label ) }
	$s->[$FORGOT] |= $DISKS & ~$legs & ~$s->[$GIVE] unless $s->[$GIVE] && $s->[$WEV];
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		$c = column( GIVEN_UP, holders($c), bitmaps($c) ) if type($c) == ACKED && !( holders($c) & $legs );
	}
	$s->[$UNNOTED] = 0;
	return 1;
}

# Has md dropped these legs since the witness was written? Those that the witness does not know, and all that it does.
sub in_window {
	my ( $s, $legs ) = @_;
	return $s->[$WEV] && !( $legs & ~$s->[$UNNOTED] ) && ( !( $legs & ~$s->[$WLEGS] ) || !( $s->[$WLEGS] & ~$s->[$UNNOTED] ) );
}

# The administrator has chosen leg I: from now on, what it holds is what was acknowledged, and nothing else.
sub choose {
	my ( $s, $i ) = @_;
	$s->[$UNNOTED] = 0;
	$s->[$FORGOT] |= $DISKS & ~( 1 << $i ) & ~$s->[$GIVE] unless $s->[$GIVE] && $s->[$WEV];
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next unless type($c) == ACKED || type($c) == GIVEN_UP;
		$c = column( holders($c) >> $i & 1 ? ACKED : GIVEN_UP, holders($c), bitmaps($c) );
	}
}

# The legs that nobody has given up.
sub kept { my $s = shift; $DISKS & ~$s->[$WGIVEN] }

# Were acknowledged writes in the RAM leg only?
sub lost_writes { my $s = shift; scalar grep { type($_) == ACKED && !holders($_) } @$s[ $COLS .. $#$s ] }

# Has no leg been made equal since the witness said that only the RAM leg was good?
sub only_ram {
	my $s = shift;
	return $s->[$WEV] && !$s->[$WLEGS] && !grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) && $s->[ leg($_) ] > $s->[$WEV] } legs_in( kept($s) );
}

# Has every leg's history a place in one line? Each leg with updates of superblocks that the other lacks: a history of its own.
sub diverged {
	my ( $s, $among ) = @_;
	my @legs = legs_in( $among // $DISKS );
	for my $i (@legs) {
		for my $j ( grep { $_ > $i } @legs ) {
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
	my @legs = legs_in( kept($s) );
	for my $i (@legs) {
		next if $s->[ leg($i) + FLAGS ] & RECOVERY;
		return 1 unless grep { !( $s->[ leg($_) + VIEW ] >> ( $i + 1 ) & 1 ) } @legs;
	}
	return 0;
}

# Is leg I more than a step ahead of all complete ones?
sub outran {
	my ( $s, $i ) = @_;
	return !grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) && $s->[ leg($_) ] + 1 >= $s->[ leg($i) ] } legs_in( kept($s) );
}

# Has a leg been made equal, but not yet been written down?
sub ran_on_unnoted { my $s = shift; $s->[$WEV] && !$s->[$WLEGS] && !only_ram($s) }

# Has a leg that the witness does not know counted on beyond one that it knows, or does any leg call that one missing?
sub contradicted {
	my $s = shift;
	for my $i ( legs_in( $s->[$WLEGS] ) ) {
		return 1 if grep { !( $s->[ leg($_) + VIEW ] >> ( $i + 1 ) & 1 ) } legs_in( kept($s) );
		return 1 if grep { !( $s->[$WLEGS] >> $_ & 1 ) && $s->[ leg($_) ] > $s->[ leg($i) ] + 1 } legs_in( kept($s) );
	}
	return 0;
}

1;
