# The promises of docs/dev/model.md, and the exceptions that it names.
use strict;
use warnings;
our ( $n, $kind, $CONF, $AWAY, $WEV, $WLEGS, $WGIVEN, $WNUM, $UNNOTED, $FORGOT, $ROLLED, $GIVE,
	$UNSEEN, $COLS, $DISKS );

our ( @found, %counted, %known, $here );
my %kinds;

sub violation {
	my ( $kind, $label ) = @_;
	return if $kinds{$kind}++;
	push @found, [ $kind, $here, $label ];
}

# What superblocks and witness can't tell, as docs/dev/model.md says: each kind is counted, and
# shown once.
sub known {
	my ( $kind, $label ) = @_;
	$counted{$kind}++;
	$known{$kind} //= [ $here, $label ];
}

# Does each of these legs call all the others active?
sub all_active {
	my ( $s, $legs ) = @_;
	for my $i ( legs_in($legs) ) {
		return 0 if grep { !calls_active( $s, $i, $_ ) } legs_in($legs);
	}
	return 1;
}

# Does any superblock of these legs show that two were used without each other? Either each calls
# the other missing, or one calls the other missing, which has outrun it.
sub look_apart {
	my ( $s, $legs ) = @_;
	for my $i ( legs_in($legs) ) {
		for my $j ( grep { $_ != $i && !calls_active( $s, $i, $_ ) } legs_in($legs) ) {
			return 1
				if !calls_active( $s, $j, $i ) ||
					$s->[ leg($j) ] > $s->[ leg($i) ] + 1;
		}
	}
	return 0;
}

# May exactly the legs LEGS be started while those in THERE are attached? Marks what a start gives
# up. Returns 0 where a known exception ends the history.
sub check_start {
	my ( $s, $legs, $there, $degraded, $label ) = @_;
	my ( $missing, $lost ) = ( 0, 0 );
	my ($freshest) = sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] } legs_in($legs);
	my $dirty = $s->[ leg($freshest) + FLAGS ] & DIRTY;
	for my $i ( legs_in($legs) ) {
		violation( 'a leg that was still being rebuilt is started', $label )
			if $s->[ leg($i) + FLAGS ] & RECOVERY;
		violation( 'a leg that was given up is started', $label )
			if $s->[$WGIVEN] >> $i & 1;
		for my $j ( grep { $_ > $i } legs_in($legs) ) {
			known( 'two legs claim one slot or number, and mdadm leaves one of them out', $label ) if $s->[ leg($i) + NUM ] == $s->[ leg($j) + NUM ] || own_slot( $s, $i ) == own_slot( $s, $j );
		}
	}
	# Without a witness, or with one that was set back, a re-add that a crash has cut off makes
	# superblocks of separate histories look like one.
	my $blind  = ( !$s->[$WEV] || $s->[$ROLLED] ) &&
		( all_active( $s, $there ) || $s->[$AWAY] && !look_apart( $s, $there ) ) &&
			diverged($s);
	my $forgot = $s->[$FORGOT] & $legs && all_active( $s, $legs );
	my $over   = 0;
	my $record = $s->[$WEV] ? 'the witness was set back' : 'no witness';
	my $known  = $blind ? "$record, and a re-add cut off by a crash has made separate histories look alike" : 'started as equal, with writes that an earlier start gave up, and no witness knows it';
	my $wrong  = $blind || $forgot ? sub { $over = 1; known( $known, $_[1] ) } : \&violation;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my ( $t, $have ) = ( type($c), holders($c) & $legs );
		next if $t == META || $have == $legs;
		if ( $t == ACKED && !$have ) {
			$missing = 1;
			$lost    = 1 if !holders($c);
			# A leg that was being rebuilt is not complete. But if it is ahead, that is
			# proof enough.
			my @elsewhere = grep { holders($c) >> $_ & 1 &&
				!( $s->[ leg($_) + FLAGS ] & RECOVERY &&
					$s->[ leg($_) ] <= $s->[ leg($freshest) ] ) } legs_in( $there & ~$legs );
			$wrong->( 'started without a write that an attached leg holds', $label )
				if @elsewhere;
		}
		elsif ( $t == ELSEWHERE && !$have ) {
			if   ( holders($c) & $there & ~$s->[$WGIVEN] ) {
				$wrong->( 'started without what was written elsewhere to a leg that is attached', $label );
			}
			else                                             { known( 'started while a leg that was used elsewhere is absent', $label ) }
		}
		elsif ($have) {
			$wrong->( $t == IN_FLIGHT
				? 'started as equal, but a write in flight differs and no resync is due' : 'legs with different writes are started as equal', $label ) unless $t == IN_FLIGHT && $dirty;
		}
	}
	return 0 if $over;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		$c = column( ACKED, holders($c), bitmaps($c) )
			if type($c) == ELSEWHERE && holders($c) & $legs;
	}
	return 1 unless $missing;
	if ( in_window( $s, $legs ) ) {
		known( 'started on a leg that md had dropped and the monitor not yet noted',
			$label );
	}
	elsif ( $degraded eq 'always' && !( $lost && $s->[$WEV] && !$s->[$WLEGS] ) ) {
		known( 'START_DEGRADED=always: started without writes that no attached leg holds',
			$label );
	}
	elsif ( $s->[$ROLLED] ) {
		known( 'the witness was set back, and what it forgot is missing', $label );
	}
	elsif ( !$s->[$WEV] && $lost ) {
		known( 'no witness, and writes were in the RAM leg only when the power failed',
			$label );
	}
	elsif ( !$s->[$WEV] && diverged($s) ) {
		known( 'no witness, and a leg with a history of its own is absent', $label );
	}
	else { $wrong->( 'acknowledged writes are missing', $label ) }
	$s->[$FORGOT] |= $DISKS & ~$legs & ~$s->[$GIVE] unless $s->[$GIVE] && $s->[$WEV];
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		$c = column( GIVEN_UP, holders($c), bitmaps($c) )
			if type($c) == ACKED && !( holders($c) & $legs );
	}
	$s->[$UNNOTED] = 0;
	return 1;
}

# Has md dropped these legs since the witness was written? Yes, if the witness knows all of them, or
# if md has also dropped all that the witness knows.
sub in_window {
	my ( $s, $legs ) = @_;
	return $s->[$WEV] && !( $legs & ~$s->[$UNNOTED] ) &&
		( !( $legs & ~$s->[$WLEGS] ) || !( $s->[$WLEGS] & ~$s->[$UNNOTED] ) );
}

# The administrator has chosen leg I: from now on, what it holds is what was acknowledged, and
# nothing else.
sub choose {
	my ( $s, $i ) = @_;
	$s->[$UNNOTED] = 0;
	$s->[$FORGOT] |= $DISKS & ~( 1 << $i ) & ~$s->[$GIVE] unless $s->[$GIVE] && $s->[$WEV];
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next unless type($c) == ACKED || type($c) == GIVEN_UP || type($c) == ELSEWHERE;
		$c = column( holders($c) >> $i & 1 ? ACKED : GIVEN_UP, holders($c), bitmaps($c) );
	}
}

# The legs that nobody has given up.
sub kept { my $s = shift; $s->[$CONF] & known_legs($s) & ~$s->[$WGIVEN] }

# Were acknowledged writes in the RAM leg only?
sub lost_writes {
	my $s = shift; scalar grep { type($_) == ACKED && !holders($_) } @$s[ $COLS .. $#$s ];
}

# Has no leg been made equal since the witness said that only the RAM leg was good?
sub only_ram {
	my $s = shift;
	return $s->[$WEV] && !$s->[$WLEGS] &&
		!grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) &&
			$s->[ leg($_) ] > $s->[$WEV] } legs_in( kept($s) & ~$s->[$AWAY] );
}

# Do the legs have histories that do not fit in one line? That is so if each of two legs has updates
# of superblocks that the other lacks.
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

# Is there a complete leg that no other leg calls missing? If not, the leg that is right is being
# rebuilt, or was lost with the RAM leg.
sub startable {
	my $s = shift;
	my @legs = legs_in( kept($s) );
	for my $i (@legs) {
		next if $s->[ leg($i) + FLAGS ] & RECOVERY;
		return 1 unless grep { !calls_active( $s, $_, $i ) } @legs;
	}
	return 0;
}

# Is leg I more than one event ahead of all complete legs?
sub outran {
	my ( $s, $i ) = @_;
	return !grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) &&
		$s->[ leg($_) ] + 1 >= $s->[ leg($i) ] } legs_in( kept($s) );
}

# Has a leg been made equal that is not written down yet?
sub ran_on_unnoted { my $s = shift; $s->[$WEV] && !$s->[$WLEGS] && !only_ram($s) }

# Has a leg that the witness does not know counted on beyond one that it knows, or does any leg call
# the known one missing?
sub contradicted {
	my $s = shift;
	for my $i ( legs_in( $s->[$WLEGS] ) ) {
		return 1 if grep { !calls_active( $s, $_, $i ) } legs_in( kept($s) );
		return 1 if grep { !( $s->[$WLEGS] >> $_ & 1 ) &&
			$s->[ leg($_) ] > $s->[ leg($i) ] + 1 } legs_in( kept($s) );
	}
	return 0;
}

# May a superblock that names a leg's number mean another device? It may if two devices have that
# number, or if the slot that it names is not the one that the leg itself names.
sub ambiguous {
	my $s    = shift;
	my %seen = $s->[$WNUM] ? ( $s->[$WNUM] - 1 => 1 ) : ();
	my @legs = legs_in( $s->[$CONF] & known_legs($s) );
	for my $j (@legs) {
		my $number = $s->[ leg($j) + NUM ];
		return 1 if $seen{$number}++;
		for my $i (@legs) {
			my $slot = slot_of( $s->[ leg($i) + ROLES ], $number );
			return 1 if $slot >= 0 && $slot != own_slot( $s, $j );
		}
	}
	return 0;
}

# Without a witness: does a leg call another one active whose number md may have handed out again,
# and which does not know that leg? Then the number may be that of the RAM leg, which came after a
# disk had left (histories_is_ram_instead_ in lib/decide/histories.sh).
sub may_be_the_ram_legs {
	my $s = shift;
	return 0 if $s->[$WEV];
	my @legs = legs_in( kept($s) );
	for my $i (@legs) {
		for my $j (@legs) {
			my $number = $s->[ leg($j) + NUM ];
			return 1 if $i != $j && $number >= $s->[ leg($i) + RD ] &&
				slot_of( $s->[ leg($i) + ROLES ], $number ) == own_slot( $s, $j ) &&
					slot_of( $s->[ leg($j) + ROLES ], $s->[ leg($i) + NUM ] ) < 0;
		}
	}
	return 0;
}

# Promise 2.
sub must_start {
	my $s = shift;
	return 0 if $kind eq 'image' || $s->[$CONF] & ~known_legs($s) ||
		grep { $s->[ leg($_) + FLAGS ] & WHOLE } legs_in( $s->[$CONF] );
	return !lost_writes($s) && !diverged( $s, kept($s) ) && startable($s);
}

# Names the known exceptions that may prevent such a start.
sub explain_refusal {
	my ( $s, $label ) = @_;
	if ( grep { $s->[ leg($_) + FLAGS ] & RECOVERY && outran( $s, $_ ) } legs_in( kept($s) ) ) {
		known( 'refused because only a leg that was being rebuilt knows the last events',
			$label );
	}
	elsif ( only_ram($s) ) {
		known( 'refused because only the RAM leg was good, though nothing had been written since', $label );
	}
	elsif ( contradicted($s) ) {
		known( 'refused because witness and superblocks contradict each other', $label );
	}
	elsif ( $s->[$UNNOTED] || ran_on_unnoted($s) ) {
		known( 'refused because the monitor had not yet noted a change', $label );
	}
	elsif ( $s->[$ROLLED] ) { known( 'refused because the witness was set back', $label ) }
	elsif ( ambiguous($s) ) {
		known( 'refused because two devices had the same number', $label );
	}
	elsif ( may_be_the_ram_legs($s) ) {
		known( 'refused because there is no witness, and a number may be that of the RAM leg', $label );
	}
	else {
		violation( 'all legs are there, none has a history of its own, and yet: refused',
			$label );
	}
}

1;
