# Everything that can happen next: to a machine that is off, and to a running array.
use strict;
use warnings;
our ( $n, $made, $kind, $CONF, $AWAY, $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM, $UNNOTED,
	$FORGOT, $SEV, $SLEGS, $SLEFT, $SGIVEN, $SSLOT, $SNUM, $RENAMED, $ROLLED, $INS, $RCV, $RAM,
		$RO, $ACT, $PEND, $EVA, $ECA, $PRESENT, $FAILED, $GIVE, $GATE, $AROLES, $ARD, $RNUM,
			$JOIN, $OUTGREW, $UNSEEN, $NAMELESS, $TWIN, $COLS, $DISKS, $RBIT,
				$FIRST_ROLES, @LETTER, @ONES );

our ( @next, $preparing );
sub step { push @next, [ @_ ] }    # LABEL STATE

# An update of superblocks, complete or cut off by a crash between any two legs. RUN_ON: what else
# is true once it is complete.
sub update {
	my ( $s, $label, $clean_or_dirty, $run_on ) = @_;
	count_event( $s, $clean_or_dirty );
	my $members = $s->[$INS] | $s->[$RCV];
	for ( my $got = ( $members - 1 ) & $members ; $got ; $got = ( $got - 1 ) & $members ) {
		my $t = [@$s];
		write_superblocks( $t, $got );
		step( "$label; crash when only " . names($got) . ' has the new superblock',
			power_off($t) );
	}
	write_superblocks( $s, $members );
	$run_on->($s) if $run_on;
	step( $label, $s );
}

# witness_update_or_go_on, witness_write.
sub write_witness {
	my $s      = shift;
	my $events = 0;
	note_who_left($s);
	# Legs without a name are copies, too: does the decision know that?
	my $legs = $s->[$NAMELESS] && ask_record($s) ne 'disks' ? 0 : $s->[$INS];
	for my $i ( legs_in($legs) ) { $events = $s->[ leg($i) ] if $s->[ leg($i) ] > $events }
	if ( !$legs ) {
		return unless $s->[$RAM] == IN_SYNC;
		$events = $s->[$EVA];
	}
	my $left  = $legs ? 0 : $s->[$WLEGS] || $s->[$WLEFT];
	my $given = ( $s->[$WGIVEN] | $s->[$GIVE] ) & ~$legs;
	@$s[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $UNNOTED, $GIVE, $RENAMED, $ROLLED ] =
		( $events, $legs, $left, $given, 0, 0, 0, 0 );
	@$s[ $WSLOT, $WNUM ] = ( slot_of( $s->[$AROLES], $s->[$RNUM] ) + 1, $s->[$RNUM] + 1 )
		if $s->[$RAM] != NONE;
	$s->[$FORGOT] &= ~$given;
}

# legs_seen_note_in_sync notes who has left the run, with the array's count; legs_seen_joined sees
# which of them has counted further.
sub note_who_left {
	my $s = shift;
	for my $i ( legs_in( $s->[$JOIN] & $s->[$UNNOTED] & ~$s->[$INS] ) ) {
		$s->[$OUTGREW] |= 1 << $i if $s->[ leg($i) ] > $s->[$EVA];
	}
}

# Leg I as it was when the array was whole, long ago.
sub old_image {
	my ( $s, $i ) = @_;
	my ($low) = sort { $a <=> $b }
		map { ( $s->[ leg($_) ], $s->[ leg($_) + EC ] ) } 0 .. $n - 1;
	if ( $low < 5 ) {    # all counts move up: below them there must be room
		for ( map( { ( leg($_), leg($_) + EC ) } 0 .. $n - 1 ), $WEV ) {
			$s->[$_] += 5 if $s->[$_] || $_ != $WEV;
		}
		$low += 5;
	}
	@$s[ map { leg($i) + $_ } EV, ROLES, FLAGS, EC ] = ( $low - 4, $FIRST_ROLES, 0, $low - 4 );
	$_ = column( type($_), holders($_) & ~( 1 << $i ), bitmaps($_) & ~( 1 << $i ) )
		for @$s[ $COLS .. $#$s ];
	push @$s, column( ACKED, $DISKS & ~( 1 << $i ), 0 ),
		column( META, $DISKS & ~( 1 << $i ), 0 );
	return $s;
}

# The witness is set back to what it was at some time, with the file system that it is on.
sub set_back {
	my $s = shift;
	$s->[$FORGOT] |= $s->[$WGIVEN] & ~$s->[$SGIVEN];
	@$s[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM, $UNNOTED, $ROLLED ] =
		( @$s[ $SEV, $SLEGS, $SLEFT, $SGIVEN, $SSLOT, $SNUM ], 0, 1 );
	@$s[ $SEV, $SLEGS, $SLEFT, $SGIVEN, $SSLOT, $SNUM ] = (0) x 6;
	return $s;
}

# What may happen to the witness and the disks while nothing runs.
sub while_off {
	my $s = shift;
	if ( $s->[$WEV] && $kind ne 'records' ) {
		my $t = [@$s];
		$t->[$FORGOT] |= $t->[$WGIVEN];
		@$t[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM, $UNNOTED ] = (0) x 7;
		step( 'the witness is lost', $t );
	}
	if ( $kind eq 'records' && $s->[$WEV] ) {
		my $t = [@$s];
		$t->[$RENAMED] = 1;
		step( 'the configuration gets another name', $t );
		$t = [@$s];
		@$t[ $SEV, $SLEGS, $SLEFT, $SGIVEN, $SSLOT, $SNUM ] =
			@$s[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM ];
		step( 'a snapshot of the root file system', $t );
		step( 'the root file system is set back', set_back( [@$s] ) ) if $s->[$SEV];
	}
	if ( $kind eq 'image' && $s->[$WEV] ) {
		for my $i ( 0 .. $n - 1 ) {
			step( "$LETTER[$i] is put back to an old image", old_image( [@$s], $i ) );
		}
	}
	elsewhere($s) if $kind eq 'elsewhere';
}

# A leg that is in no array here is used alone on another machine, or by hand.
sub elsewhere {
	my $s = shift;
	my ($most) = sort { $b <=> $a } map { $s->[ leg($_) ] } 0 .. $n - 1;
	for my $i ( legs_in( $s->[$CONF] ) ) {
		next if $s->[ leg($i) + FLAGS ] & RECOVERY || $s->[RUN] &&
			( ( $s->[$INS] | $s->[$RCV] | $s->[$PRESENT] ) >> $i & 1 );
		step( "$LETTER[$i] is used alone elsewhere",
			used_elsewhere( [@$s], $i, $s->[ leg($i) ] + 2 ) );
		my $events = ( $s->[RUN] && $s->[$EVA] > $most ? $s->[$EVA] : $most ) + 4;
		step( "$LETTER[$i] is used alone elsewhere, again and again",
			used_elsewhere( [@$s], $i, $events ) );
		step( "$LETTER[$i] is used elsewhere, with a RAM leg of theirs, again and again",
			used_elsewhere( [@$s], $i, $events, 1 ) ) if $made ne 'create' &&
				$ONES[ $s->[$CONF] ] < 3;
	}
}

sub from_off {
	my $s = shift;
	while_off($s);
	my $all = $s->[$CONF];
	for my $there ( grep { !( $_ & ~$all ) } 1 .. $DISKS ) {
		my $started = 0;
		for my $degraded ( $there == $all || $n < 3 ? 'never'
			: (), 'witness', $kind =~ /mixed|elsewhere|apply/ ? 'always' : () ) {
			last if $started && $degraded eq 'always';    # no other legs than those
			my ( $answer, $late ) = ask_boot( $s, $there, $degraded );
			my ( $action, @nodes ) = split ' ', $answer;
			my $label = "boot with " . names($there) . ", START_DEGRADED=$degraded"
				. ( $late ? ', MEMBER_TIMEOUT over' : '' ) . ": $answer";
			$label =~ s/sd([123])/$LETTER[$1 - 1]/g;
			if ( $action eq 'assemble' ) {
				$started = 1;
				my $legs = legs_named(@nodes);
				my $t    = [@$s];
				$t->[$GIVE] = given_up( $s, $there, $legs )
					if grep { $_ eq 'giving-up' } @nodes;
				if ( !$legs || $legs & ~$there ) {
					violation( 'started from no leg, or from one that is not attached', $label );
					next;
				}
				check_start( $t, $legs, $there, $degraded, $label ) or next;
				$t = assemble( $t, $legs, $there );
				step( $label, $t ) if $t;
				violation( 'mdadm refuses what was decided', $label ) unless $t;
			}
			elsif ( $action ne 'refuse' ) {
				violation( 'neither started nor refused', $label );
			}
			elsif ( $there == $all && must_start($s) ) { explain_refusal( $s, $label ) }
			violation( 'waits although every leg is there', $label )
				if $late && $there == $all;
		}
		next unless $kind eq 'mixed';
		for my $i ( legs_in($there) ) {
			forced_start( $s, $i, $there ) if $there == $all || $there == 1 << $i;
		}
	}
}

sub legs_named { my $legs = 0; /^sd([123])$/ and $legs |= 1 << $1 - 1 for @_; $legs }

# give_up_legs: those that were in sync, or are here, but are not started.
sub given_up {
	my ( $s, $there, $legs ) = @_;
	( $s->[$WLEGS] | $s->[$WLEFT] | $there & known_legs($s) ) & ~$legs;
}

# "ramraid start --force-leg": cmd/start.sh writes the witness before anything else.
sub forced_start {
	my ( $s, $i, $there ) = @_;
	my ( $action, @nodes ) = split ' ', ( ask_boot( $s, $there, 'witness', $i ) )[0];
	my $label = "the administrator forces a start from $LETTER[$i], with " . names($there);
	my $rebuilt = $s->[ leg($i) + FLAGS ] & RECOVERY;
	if ( $action eq 'refuse' ) {
		violation( 'a forced start from a complete leg is refused', $label )
			unless $rebuilt;
		return;
	}
	return violation( 'a forced start starts something else', $label )
		if $rebuilt || $action ne 'assemble' || legs_named(@nodes) != 1 << $i;
	my $t = [@$s];
	$t->[$GIVE] = given_up( $s, $there, 1 << $i ) if grep { $_ eq 'giving-up' } @nodes;
	choose( $t, $i );
	$t = assemble( $t, 1 << $i, $there )
		or return violation( 'mdadm refuses what was decided', $label );
	write_witness($t);
	step( $label, $t );
}

# Would a re-add of leg I by bitmap make it equal?
sub check_readd {
	my ( $s, $i, $label ) = @_;
	violation( 'a disk leg is put back while the RAM leg recovers', $label )
		if $s->[$RAM] == RECOVERING;
	violation( 'a disk leg is put back while a resync is due', $label )      if $s->[$PEND];
	violation( 'a leg that was given up is put back', $label )
		if $s->[$WGIVEN] >> $i & 1;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next if type($c) == META || !!content( $s, $c ) == !!( holders($c) >> $i & 1 ) ||
			marked( $s, $c ) || $s->[ leg($i) + FLAGS ] & WHOLE;
		if ( type($c) == IN_FLIGHT ) {
			if   ( $s->[$AWAY] ) {
				known( 'put back by bitmap after a leg was used elsewhere, where nobody kept the bits of writes in flight', $label );
			}
			else                 { violation( 'put back by bitmap, but a write that was in flight differs', $label ) }
		}
		elsif ( $s->[$UNSEEN] >> $i & 1 ) {
			known( 'put back after it was used elsewhere, with a RAM leg of the same number, before anybody had noted that it had left', $label );
		}
		elsif ( $s->[$FORGOT] & ( $s->[$INS] | 1 << $i ) &&
			!grep { !calls_active( $s, $i, $_ ) } legs_in( $s->[$INS] ||
				$s->[$CONF] & known_legs($s) ) ) {
					known( 'put back by bitmap, with writes that an earlier start gave up, and no witness knows it', $label );
				}
		else { violation( 'a leg with a history of its own is put back', $label ) }
	}
	known( 'a disk leg is put back while the RAM leg is in sync, which md then reads from',
		$label ) if $s->[$RAM] == IN_SYNC;
}

sub ours {
	my ( $s, $waited ) = ( @_, 0 );
	# loop_first_look_, loop_note_
	if ( !$s->[$RO] ) {
		$s = [@$s];
		write_witness($s);
	}
	my ( $action, $argument ) = split ' ', ask_running( $s, $waited );
	if ( $s->[$TWIN] && $action ne 'make-writable' ) {
		violation( "a second array of its legs runs, and yet: $action", 'ours' )
			unless $action =~ /^(refuse|done)$/;
		return;
	}
	$argument = ( legs_in( $s->[$CONF] ) )[$argument]
		if $action =~ /^(readd|add-leg|remove-leg|write-mostly)$/;
	my $t = [@$s];
	if ( $action eq 'wait-members' && !$waited ) {
		# A leg that arrives meanwhile is a separate step.
		violation( 'a disk leg is waited for though one is in sync', 'ours' )
			if $s->[$INS] || $s->[$RAM] != IN_SYNC;
		return ours( $s, 30 );
	}
	if ( $action eq 'make-writable' ) {
		write_witness($t);
		step( 'ours: the witness is written; crash', power_off( [@$t] ) );
		$t->[$RO] = 0;
		step( 'ours: the witness is written, made writable', $t );
	}
	elsif ( $action eq 'readd' ) {
		my $label = "ours: re-add $LETTER[$argument]";
		my ( $number, $slot ) =
			( $s->[ leg($argument) + NUM ],
				free_slot( $s, own_slot( $s, $argument ) ) );
		# super_1_validate; bind_rdev_to_array, for a number that a member has;
		# raid1_add_disk
		if ( $s->[ leg($argument) ] < $s->[$ECA] ||
			slot_of( $s->[$AROLES], $number ) >= 0 || $slot < 0 ) {
			$t->[$FAILED] |= 1 << $argument;
			return step( "$label; md refuses", $t );
		}
		check_readd( $s, $argument, $label );
		$t->[$RCV] |= 1 << $argument;
		$t->[$OUTGREW] &= ~( 1 << $argument );
		enters( $t, $slot, $number );
		# The members' bitmap is this leg's bitmap now.
		for my $c ( @$t[ $COLS .. $#$t ] ) {
			$c = column( type($c), holders($c),
				bitmaps($c) & ~( 1 << $argument ) | ( marked( $s, $c )
					? 1 << $argument : 0 ) );
		}
		update( $t, $label, 0 );
	}
	elsif ( $action eq 'add-leg' ) {    # disk_legs_add_leg: wiped, and added like a new one
		my $bit   = 1 << $argument;
		my $label = "ours: build $LETTER[$argument] as a whole";
		violation( 'a leg with a history of its own is overwritten', $label )
			if grep { type($_) != META && type($_) != IN_FLIGHT && holders($_) & $bit &&
				!content( $s, $_ ) } @$s[ $COLS .. $#$s ];
		violation( 'a leg that was given up is overwritten', $label )
			if $s->[$WGIVEN] & $bit;
		@$t[ $WSLOT, $WNUM ] = ( 0, 0 ) if $t->[$RAM] == NONE;    # witness_update_free_slot
		write_witness($t);
		my ( $slot, $number ) = ( free_slot($t), free_number($t) );
		return violation( 'a leg is built, and no slot is free', $label ) if $slot < 0;
		for my $c ( @$t[ $COLS .. $#$t ] ) {
			$c = column( type($c), holders($c) & ~$bit, bitmaps($c) & ~$bit );
		}
		@$t[ map { leg($argument) + $_ } EV, NUM, ROLES, FLAGS, EC ] =
			( $t->[$EVA], $number, 0, WHOLE | RECOVERY, $t->[$ECA] );
		# all that it lacks
		push @$t, column( ACKED,
			known_legs($s) & ~$bit | ( $t->[$RAM] == IN_SYNC ? $RBIT : 0 ), 0 );
		$_ &= ~$bit for @$t[ $JOIN, $OUTGREW, $UNSEEN ];
		$t->[$RCV] |= $bit;
		enters( $t, $slot, $number );
		update( $t, "$label, slot $slot, number $number", 0 );
	}
	elsif ( $action =~ /^(make|add)-ram$/ ) {
		violation( 'the RAM leg is added while a resync is due or a disk leg recovers',
			'ours: add the RAM leg' ) if $s->[$PEND] || $s->[$RCV];
		for my $c ( @$t[ $COLS .. $#$t ] ) {
			$c = column( type($c), holders($c),
				bitmaps($c) | ( marked( $s, $c ) ? $RBIT : 0 ) );
		}
		my ( $slot, $number ) = ram_place($s);
		return violation( 'the RAM leg is added, and no slot is free',
			'ours: add the RAM leg' ) if $slot < 0;
		@$t[ $RAM, $RNUM ] = ( RECOVERING, $number );
		enters( $t, $slot, $number );
		update( $t, 'ours: add the RAM leg', 0 );
	}
	elsif ( $action !~ /^(wait-sync|done)$/ ) {
		violation( "unexpected in a running array: $action", 'ours' );
	}
}

sub md_goes_on {
	my $s = shift;
	return if $s->[$RO];
	if ( $s->[$PEND] ) {
		my $t = [@$s];
		make_equal( $t, $t->[$INS] );
		$t->[$PEND] = 0;
		return update( $t, 'md: the resync ends', 0 );
	}
	for my $i ( legs_in( $s->[$RCV] ) ) {
		my $t = [@$s];
		make_equal( $t, 1 << $i );
		$t->[$RCV] &= ~( 1 << $i );
		$t->[$INS]  |= 1 << $i;
		$t->[$JOIN] |= 1 << $i if $kind eq 'elsewhere';
		$t->[ leg($i) + FLAGS ] &= ~WHOLE;
		bitmap_clear($t) unless degraded($t);
		update( $t, "md: the recovery of $LETTER[$i] ends", 0,
			sub { $_[0]->[$UNNOTED] &= ~( 1 << $i ) } );
	}
	return unless $s->[$RAM] == RECOVERING;
	my $t = [@$s];
	make_equal( $t, $RBIT );
	$t->[$RAM] = IN_SYNC;
	bitmap_clear($t) unless degraded($t);
	update( $t, 'md: the RAM leg is in sync', 0 );
}

sub application_writes {
	my $s = shift;
	return if $s->[$RO];
	my $t       = [@$s];
	my $members = $t->[$INS] | $t->[$RCV];
	if ( !$t->[$ACT] ) {
		my $label = 'the first write makes it dirty';
		if ( !$t->[$GATE] ) {    # loop_gate_
			write_witness($t);
			$t->[$GATE] = 1;
			$label = "ours: the witness is written, the gate opens; $label";
		}
		$t->[$ACT] = 1;
		return update( $t, $label, 1 );
	}
	# md_bitmap_endwrite: a degraded array keeps its bits and its events_cleared.
	my $bits = degraded($t) ? $members | $RBIT : 0;
	for ( my $got = ( $t->[$INS] - 1 ) & $t->[$INS] ; $got ;
		$got = ( $got - 1 ) & $t->[$INS] ) {
		my $u = [@$t];
		push @$u, column( IN_FLIGHT, $got, $members );
		step( 'crash during a write that only ' . names($got) . ' has', power_off($u) );
	}
	if ( !degraded($t) ) {
		$t->[$ECA] = $t->[$EVA];
		for my $i ( legs_in( $t->[$INS] ) ) { $t->[ leg($i) + EC ] = $t->[$ECA] }
	}
	push @$t, column( ACKED, $t->[$INS] | ( $t->[$RAM] == IN_SYNC ? $RBIT : 0 ), $bits );
	step( 'a write is acknowledged', $t );
}

sub legs_come_and_go {
	my $s = shift;
	for my $i ( legs_in( $s->[$CONF] ) ) {
		my $bit = 1 << $i;
		my $t   = [@$s];
		if ( ( $s->[$INS] | $s->[$RCV] ) & $bit ) {
			# raid1_error: the last leg in sync is never failed.
			next
				if !( $s->[$INS] & ~$bit ) && $s->[$RAM] != IN_SYNC &&
					$s->[$INS] & $bit;
			$t->[$UNNOTED] |= $bit if $t->[$INS] & $bit && $t->[$WEV];
			$t->[$INS]     &= ~$bit;
			$t->[$RCV]     &= ~$bit;
			$t->[$PRESENT] &= ~$bit;
			$t->[$NAMELESS] &= ~$bit;
			leaves( $t, $s->[ leg($i) + NUM ] );
			$t->[$PEND] = 0 if $ONES[ $t->[$INS] ] < 2;
			if ( $t->[$RO] ) { step( "$LETTER[$i] is lost before md may write", $t ) }
			else             { update( $t, "$LETTER[$i] is lost", 0 ) }
		}
		elsif ( $s->[$PRESENT] & $bit ) { }
		else {
			$t->[$PRESENT] |= $bit;
			$t->[$FAILED] &= ~$bit;
			step( "$LETTER[$i] returns", $t );
		}
	}
}

# The configured name of a disk in sync disappears (lvrename, other udev rules); somebody starts a
# disk that is outside of the array as a second array.
sub names_and_twins {
	my $s = shift;
	for my $i ( legs_in( $s->[$INS] & ~$s->[$NAMELESS] ) ) {
		my $t = [@$s];
		$t->[$NAMELESS] |= 1 << $i;
		step( "the name of $LETTER[$i] is gone", $t );
	}
	return if $s->[$TWIN] || $s->[$RO];
	for my $i ( legs_in( $s->[$PRESENT] & ~$s->[$INS] & ~$s->[$RCV] ) ) {
		my $t = used_elsewhere( [@$s], $i, $s->[ leg($i) ] + 2 );
		$t->[$TWIN] = 1 << $i;
		step( "$LETTER[$i] is started here as an array of its own, and written", $t );
	}
}

# cmd/apply.sh, cmd/replace.sh (changing.sh): the third disk gets a slot of its own; when it is in
# sync, another may leave.
sub membership_changes {
	my $s   = shift;
	my $new = 2;
	return if $s->[$RO] || $s->[$PEND] || $s->[$RCV] || $s->[$RAM] == RECOVERING || !$s->[$INS];
	my $t = [@$s];
	if ( !( $s->[$CONF] >> $new & 1 ) ) {
		return if $s->[$ARD] > 3;
		$t->[$CONF] |= 1 << $new;
		$t->[$PRESENT] |= 1 << $new;
		write_witness($t);
		reshape( $t, $s->[$ARD] + 1 );
		return update( $t, 'apply: C is named, and the array gets one slot more', 0 );
	}
	if ( !$s->[ leg($new) ] && $s->[$PRESENT] >> $new & 1 ) {
		@$t[ $WSLOT, $WNUM ] = ( 0, 0 ) if $t->[$RAM] == NONE;    # witness_update_free_slot
		write_witness($t);
		my ( $slot, $number ) = ( free_slot($t), free_number($t) );
		@$t[ map { leg($new) + $_ } EV, NUM, FLAGS, EC ] =
			( $t->[$EVA], $number, WHOLE | RECOVERY, $t->[$ECA] );
		# all that it lacks
		push @$t, column( ACKED,
			known_legs($s) | ( $t->[$RAM] == IN_SYNC ? $RBIT : 0 ), 0 );
		$t->[$RCV] |= 1 << $new;
		enters( $t, $slot, $number );
		return update( $t, "apply: C is added, slot $slot, number $number", 0 );
	}
	return unless $s->[$INS] >> $new & 1 && $ONES[ $s->[$CONF] ] == 3;
	for my $i ( 0, 1 ) {
		next if $s->[$WGIVEN] >> $i & 1;
		my $u = [@$s];
		$u->[$_] &= ~( 1 << $i ) for $CONF, $INS, $PRESENT, $FAILED;
		leaves( $u, $s->[ leg($i) + NUM ] ) if $s->[$INS] >> $i & 1;
		write_witness($u);
		$u->[$_] &= ~( 1 << $i ) for $WLEFT, $WGIVEN, $UNNOTED, $JOIN;
		reshape( $u, $s->[$ARD] - 1 );
		@$u[ leg($i) .. leg($i) + SIZE - 1 ] = (0) x SIZE;
		for my $c ( @$u[ $COLS .. $#$u ] ) {
			$c = column( type($c), holders($c) & ~( 1 << $i ),
				bitmaps($c) & ~( 1 << $i ) );
		}
		bitmap_clear($u) unless degraded($u);
		update( $u, "replace: $LETTER[$i] leaves, and its slot with it", 0 );
	}
}

sub from_running {
	my $s = shift;
	step( 'crash', power_off( [@$s] ) ) unless $s->[$RO];    # nothing has been written yet
	ours($s);
	elsewhere($s)          if $kind eq 'elsewhere';
	names_and_twins($s)    if $kind eq 'records';
	membership_changes($s) if $kind eq 'apply' || $preparing;
	md_goes_on($s);
	application_writes($s);
	legs_come_and_go($s);
	if ( $s->[$ACT] ) {
		my $t = [@$s];
		$t->[$ACT] = 0;
		update( $t, 'idle: it becomes clean', 1 );
	}
	my $t = [@$s];
	write_witness($t);
	step( 'monitor: the witness is written', [@$t] ) unless $s->[$RO];
	if ( $s->[$RAM] == NONE && !$s->[$RO] ) {    # cmd/stop.sh, after the guard
		step( 'ours: stop, the witness is written; crash', power_off( [@$t] ) );
		$t->[$ACT] = 0;
		update( $t, 'ours: stop', 0, \&power_off );
	}
	elsif ( $s->[$INS] && !$s->[$RO] ) {         # detach_ram
		@$t[ $RAM, $RNUM ] = ( NONE, 0 );
		leaves( $t, $s->[$RNUM] );
		$_ = column( type($_), holders($_) & $DISKS, bitmaps($_) & $DISKS )
			for @$t[ $COLS .. $#$t ];
		update( $t, 'ours: the witness is written, the RAM leg is let go', 0 );
	}
}

my %BEFORE = (
	away    => [ qr/^boot with A, .*assemble A$/, qr/made writable$/, qr/add the RAM leg$/,
		qr/the first write makes it dirty$/, qr/a write is acknowledged$/, qr/^crash$/ ],
	alone   => [ qr/^boot with A, .*assemble A$/, qr/made writable$/, qr/add the RAM leg$/,
		qr/the RAM leg is in sync$/, qr/the first write makes it dirty$/, qr/^A is lost$/,
			qr/a write is acknowledged$/, qr/^monitor/, qr/^crash$/ ],
	grown   => [ qr/^boot with AB, .*assemble A B$/, qr/made writable$/, qr/one slot more$/,
		qr/C is added, slot \d, number \d$/, qr/recovery of C ends$/, qr/^ours: stop$/ ],
	applied => [ qr/^boot with A, .*assemble A$/, qr/made writable$/, qr/one slot more$/,
		qr/C is added, slot \d, number \d$/, qr/recovery of C ends$/, qr/^ours: stop$/ ],
);

# away: as adopt; A ran with the RAM leg in B's slot, and the power failed. alone: as adopt; A had
# the RAM leg in B's slot, then only the RAM leg was left, and then it was lost. prepared MADE: the
# state that a walk begins with, packed, and the steps that led to it.
sub prepared {
	my ( $s, @history ) = ( unpacked( canonical( initial() ) ) );
	$preparing = 1;
	for my $wanted ( @{ $BEFORE{ $_[0] } // [] } ) {
		@next = ();
		$s->[RUN] ? from_running($s) : from_off($s);
		my ($step) = grep { $_->[0] =~ $wanted } @next or last;
		push @history, $step->[0];
		$s = unpacked( canonical( $step->[1] ) );
	}
	$preparing = 0;
	return ( canonical($s), @history );
}

1;
