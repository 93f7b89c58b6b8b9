# Everything that can happen next: to a machine that is off, and to a running array.
use strict;
use warnings;
our ( $n, $mode, $WEV, $WLEGS, $WLEFT, $WGIVEN, $UNNOTED, $FORGOT, $INS, $RCV, $RAM, $RO, $ACT, $PEND, $EVA, $ECA, $PRESENT, $FAILED, $GIVE, $GATE, $COLS, $DISKS, $RBIT, @LETTER, @ONES );

our @next;
sub step { push @next, [ @_ ] }    # LABEL STATE

# An update of superblocks, complete or cut off by a crash between any two legs. RUN_ON: what else is true once it is complete.
sub update {
	my ( $s, $label, $clean_or_dirty, $run_on ) = @_;
	count_event( $s, $clean_or_dirty );
	my $members = $s->[$INS] | $s->[$RCV];
	for ( my $got = ( $members - 1 ) & $members ; $got ; $got = ( $got - 1 ) & $members ) {
		my $t = [@$s];
		write_superblocks( $t, $got );
		step( "$label; crash when only " . names($got) . ' has the new superblock', power_off($t) );
	}
	write_superblocks( $s, $members );
	$run_on->($s) if $run_on;
	step( $label, $s );
}

# record_witness, witness_write.
sub write_witness {
	my $s = shift;
	my $events = 0;
	for my $i ( legs_in( $s->[$INS] ) ) { $events = $s->[ leg($i) ] if $s->[ leg($i) ] > $events }
	if ( !$s->[$INS] ) {
		return unless $s->[$RAM] == IN_SYNC;
		$events = $s->[$EVA];
	}
	my $left  = $s->[$INS] ? 0 : $s->[$WLEGS] || $s->[$WLEFT];
	my $given = ( $s->[$WGIVEN] | $s->[$GIVE] ) & ~$s->[$INS];
	@$s[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $UNNOTED, $GIVE ] = ( $events, $s->[$INS], $left, $given, 0, 0 );
	$s->[$FORGOT] &= ~$given;
}

# Leg I as it was when the array was whole, long ago.
sub old_image {
	my ( $s, $i ) = @_;
	my ($low) = sort { $a <=> $b } map { ( $s->[ leg($_) ], $s->[ leg($_) + EC ] ) } 0 .. $n - 1;
	@$s[ map { leg($i) + $_ } EV, VIEW, FLAGS, EC ] = ( $low - 4, ( $RBIT << 1 ) - 1, 0, $low - 4 );
	$_ = column( type($_), holders($_) & ~( 1 << $i ), bitmaps($_) & ~( 1 << $i ) ) for @$s[ $COLS .. $#$s ];
	push @$s, column( ACKED, $DISKS & ~( 1 << $i ), 0 ), column( META, $DISKS & ~( 1 << $i ), 0 );
	return $s;
}

sub from_off {
	my $s = shift;
	if ( $s->[$WEV] ) {
		my $t = [@$s];
		$t->[$FORGOT] |= $t->[$WGIVEN];
		@$t[ $WEV, $WLEGS, $WLEFT, $WGIVEN, $UNNOTED ] = (0) x 5;
		step( 'the witness is lost', $t );
	}
	if ( $mode eq 'image' && $s->[$WEV] ) {
		for my $i ( 0 .. $n - 1 ) { step( "$LETTER[$i] is put back to an old image", old_image( [@$s], $i ) ) }
	}
	for my $there ( 1 .. $DISKS ) {
		my $started = 0;
		for my $degraded ( $there == $DISKS || $n < 3 ? 'never' : (), 'witness', $mode eq 'mixed' ? 'always' : () ) {
			last if $started && $degraded eq 'always';    # no other legs than those
			my ( $answer, $late ) = ask_boot( $s, $there, $degraded );
			my ( $action, @nodes ) = split ' ', $answer;
			my $label = "boot with " . names($there) . ", START_DEGRADED=$degraded" . ( $late ? ', MEMBER_TIMEOUT over' : '' ) . ": $answer";
			$label =~ s/sd([123])/$LETTER[$1 - 1]/g;
			if ( $action eq 'assemble' ) {
				$started = 1;
				my $legs = legs_named(@nodes);
				my $t    = [@$s];
				$t->[$GIVE] = given_up( $s, $there, $legs ) if grep { $_ eq 'giving-up' } @nodes;
				if ( !$legs || $legs & ~$there ) { violation( 'started from no leg, or from one that is not attached', $label ); next }
				check_start( $t, $legs, $there, $degraded, $label ) or next;
				$t = assemble( $t, $legs, $there );
				step( $label, $t ) if $t;
				violation( 'mdadm refuses what was decided', $label ) unless $t;
			}
			elsif ( $action ne 'refuse' ) { violation( 'neither started nor refused', $label ) }
			elsif ( $there == $DISKS && $mode ne 'image' && !lost_writes($s) && !diverged( $s, kept($s) ) && startable($s) ) {
				if ( grep { $s->[ leg($_) + FLAGS ] & RECOVERY && outran( $s, $_ ) } legs_in( kept($s) ) ) { known( 'refused because only a leg that was being rebuilt knows the last events', $label ) }
				elsif ( only_ram($s) ) { known( 'refused because only the RAM leg was good, though nothing had been written since', $label ) }
				elsif ( contradicted($s) ) { known( 'refused because witness and superblocks contradict each other', $label ) }
				elsif ( $s->[$UNNOTED] || ran_on_unnoted($s) ) { known( 'refused because the monitor had not yet noted a change', $label ) }
				else { violation( 'all legs are there, none has a history of its own, and yet: refused', $label ) }
			}
			violation( 'waits although every leg is there', $label ) if $late && $there == $DISKS;
		}
		next unless $mode eq 'mixed';
		for my $i ( legs_in($there) ) { forced_start( $s, $i, $there ) if $there == $DISKS || $there == 1 << $i }
	}
}

sub legs_named { my $legs = 0; /^sd([123])$/ and $legs |= 1 << $1 - 1 for @_; $legs }

# record_give_up: those that were in sync, or are here, but are not started.
sub given_up { my ( $s, $there, $legs ) = @_; ( $s->[$WLEGS] | $s->[$WLEFT] | $there ) & ~$legs }

# "ramraid start --force-leg": cmd/start.sh writes the witness before anything else.
sub forced_start {
	my ( $s, $i, $there ) = @_;
	my ( $action, @nodes ) = split ' ', ( ask_boot( $s, $there, 'witness', $i ) )[0];
	my $label = "the administrator forces a start from $LETTER[$i], with " . names($there);
	my $rebuilt = $s->[ leg($i) + FLAGS ] & RECOVERY;
	if ( $action eq 'refuse' ) { violation( 'a forced start from a complete leg is refused', $label ) unless $rebuilt; return }
	return violation( 'a forced start starts something else', $label ) if $rebuilt || $action ne 'assemble' || legs_named(@nodes) != 1 << $i;
	my $t = [@$s];
	$t->[$GIVE] = given_up( $s, $there, 1 << $i ) if grep { $_ eq 'giving-up' } @nodes;
	choose( $t, $i );
	$t = assemble( $t, 1 << $i, $there ) or return violation( 'mdadm refuses what was decided', $label );
	write_witness($t);
	step( $label, $t );
}

# Would bitmap re-add of leg I make it equal?
sub check_readd {
	my ( $s, $i, $label ) = @_;
	violation( 'a disk leg is put back while the RAM leg recovers', $label ) if $s->[$RAM] == RECOVERING;
	violation( 'a disk leg is put back while a resync is due', $label )      if $s->[$PEND];
	violation( 'a leg that was given up is put back', $label )               if $s->[$WGIVEN] >> $i & 1;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next if type($c) == META || !!content( $s, $c ) == !!( holders($c) >> $i & 1 ) || marked( $s, $c );
		if    ( type($c) == IN_FLIGHT ) { violation( 'put back by bitmap, but a write that was in flight differs', $label ) }
		elsif ( $s->[$FORGOT] & ( $s->[$INS] | 1 << $i ) && !( ( $s->[$INS] || $DISKS ) << 1 & ~$s->[ leg($i) + VIEW ] ) ) { known( 'put back by bitmap, with writes that an earlier start gave up, and no witness knows it', $label ) }
		else { violation( 'a leg with a history of its own is put back', $label ) }
	}
	known( 'a disk leg is put back while the RAM leg is in sync, which md then reads from', $label ) if $s->[$RAM] == IN_SYNC;
}

sub ours {
	my ( $s, $waited ) = ( @_, 0 );
	my ( $action, $argument ) = split ' ', ask_running( $s, $waited );
	my $t = [@$s];
	if ( $action eq 'wait-members' && !$waited ) {
		# A leg that comes meanwhile is a step of its own.
		violation( 'a disk leg is waited for though one is in sync', 'ours' ) if $s->[$INS] || $s->[$RAM] != IN_SYNC;
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
		if ( $s->[ leg($argument) ] < $s->[$ECA] ) {    # super_1_validate
			$t->[$FAILED] |= 1 << $argument;
			return step( "$label; md refuses", $t );
		}
		check_readd( $s, $argument, $label );
		$t->[$RCV] |= 1 << $argument;
		# The members' bitmap is this leg's bitmap now.
		for my $c ( @$t[ $COLS .. $#$t ] ) { $c = column( type($c), holders($c), bitmaps($c) & ~( 1 << $argument ) | ( marked( $s, $c ) ? 1 << $argument : 0 ) ) }
		update( $t, $label, 0 );
	}
	elsif ( $action =~ /^(make|add)-ram$/ ) {
		violation( 'the RAM leg is added while a resync is due or a disk leg recovers', 'ours: add the RAM leg' ) if $s->[$PEND] || $s->[$RCV];
		for my $c ( @$t[ $COLS .. $#$t ] ) { $c = column( type($c), holders($c), bitmaps($c) | ( marked( $s, $c ) ? $RBIT : 0 ) ) }
		$t->[$RAM] = RECOVERING;
		update( $t, 'ours: add the RAM leg', 0 );
	}
	elsif ( $action !~ /^(wait-sync|done)$/ ) { violation( "unexpected in a running array: $action", 'ours' ) }
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
		$t->[$INS] |= 1 << $i;
		bitmap_clear($t) unless degraded($t);
		update( $t, "md: the recovery of $LETTER[$i] ends", 0, sub { $_[0]->[$UNNOTED] &= ~( 1 << $i ) } );
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
		if ( !$t->[$GATE] ) {    # drive_gate_
			write_witness($t);
			$t->[$GATE] = 1;
			$label = "ours: the witness is written, the gate opens; $label";
		}
		$t->[$ACT] = 1;
		return update( $t, $label, 1 );
	}
	# md_bitmap_endwrite: a degraded array keeps its bits and its events_cleared.
	my $bits = degraded($t) ? $members | $RBIT : 0;
	for ( my $got = ( $t->[$INS] - 1 ) & $t->[$INS] ; $got ; $got = ( $got - 1 ) & $t->[$INS] ) {
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
	for my $i ( 0 .. $n - 1 ) {
		my $bit = 1 << $i;
		my $t   = [@$s];
		if ( ( $s->[$INS] | $s->[$RCV] ) & $bit ) {
			# raid1_error: the last leg in sync is never failed.
			next if !( $s->[$INS] & ~$bit ) && $s->[$RAM] != IN_SYNC && $s->[$INS] & $bit;
			$t->[$UNNOTED] |= $bit if $t->[$INS] & $bit && $t->[$WEV];
			$t->[$INS]     &= ~$bit;
			$t->[$RCV]     &= ~$bit;
			$t->[$PRESENT] &= ~$bit;
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

sub from_running {
	my $s = shift;
	step( 'crash', power_off( [@$s] ) ) unless $s->[$RO];    # nothing has been written yet
	ours($s);
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
	elsif ( $s->[$INS] && !$s->[$RO] ) {         # guard_release
		$t->[$RAM] = NONE;
		$_ = column( type($_), holders($_) & $DISKS, bitmaps($_) & $DISKS ) for @$t[ $COLS .. $#$t ];
		update( $t, 'ours: the witness is written, the RAM leg is let go', 0 );
	}
}

1;
