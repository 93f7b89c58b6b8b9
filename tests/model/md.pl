# The model of md follows linux drivers/md: md_update_sb (events, also backwards), super_1_sync,
# super_1_validate, analyze_sbs, bind_rdev_to_array, raid1_run, raid1_error, raid1_add_disk,
# raid1_reshape, remove_and_add_spares (md.c, raid1.c), md_bitmap_read_sb, md_bitmap_load,
# md_bitmap_endwrite, md_bitmap_update_sb (md-bitmap.c); and mdadm's Assemble.c and Manage.c. The
# model of ramraid follows act/loop.sh, act/detach-ram.sh, cmd/stop.sh, cmd/internal/witness.sh,
# act/membership.sh.
use strict;
use warnings;
our ( $n, $made, $kind, $CONF, $INS, $RCV, $RAM, $RO, $ACT, $PEND, $EVA, $DEC, $ECA, $PRESENT,
	$FAILED, $TWIN, $AROLES, $ARD, $RNUM, $JOIN, $OUTGREW, $UNSEEN, $UNNOTED, $WSLOT, $COLS,
		$DISKS, $RBIT, $AWAY, @ONES );

sub in_sync_count { my $s = shift; $ONES[ $s->[$INS] ] + ( $s->[$RAM] == IN_SYNC ) }
sub degraded { my $s = shift; in_sync_count($s) != $s->[$ARD] }

# md_update_sb: the array's event count, which goes back by one when nothing happened but clean →
# dirty → clean in a whole array.
sub count_event {
	my ( $s, $clean_or_dirty ) = @_;
	my $nospares = $clean_or_dirty && !degraded($s);
	if ( $nospares && !$s->[$ACT] && !$s->[$PEND] && $s->[$DEC] ) {
		$s->[$EVA]--; $s->[$DEC] = 0;
	}
	else { $s->[$EVA]++; $s->[$DEC] = $nospares ? 1 : 0 }
	$s->[$ECA] = $s->[$EVA] if $s->[$EVA] < $s->[$ECA];    # md_bitmap_update_sb: "rocking back"
}

# super_1_sync on the legs in GOT: writes which number holds which slot. With that, the legs record
# that they share this array's history.
sub write_superblocks {
	my ( $s, $got ) = @_;
	for my $i ( legs_in($got) ) {
		my $flags = ( $s->[$RCV] >> $i & 1 ? RECOVERY | $s->[ leg($i) + FLAGS ] & WHOLE
			: 0 ) | ( $s->[$ACT] || $s->[$PEND] ? DIRTY : 0 );
		@$s[ map { leg($i) + $_ } EV, ROLES, RD, FLAGS, EC ] =
			( $s->[$EVA], $s->[$AROLES], $s->[$ARD], $flags, $s->[$ECA] );
	}
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		$c = column( META, holders($c) | $got, 0 )
			if type($c) == META && holders($c) & $s->[$INS];
	}
	push @$s, column( META, $got, 0 );
}

# Does the array itself have what the column stands for?
sub content {
	my ( $s, $c ) = @_;
	return $s->[$INS] ? holders($c) & $s->[$INS] & -$s->[$INS] : holders($c) & $RBIT;
}

# Does the array's bitmap mark it? All members have the same one.
sub marked { my ( $s, $c ) = @_; bitmaps($c) & ( $s->[$INS] || $s->[$RCV] || $RBIT ) }

# The legs in MASK become equal to the array: a recovery or resync has ended.
sub make_equal {
	my ( $s, $mask ) = @_;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next if type($c) == META;
		my $h = content( $s, $c ) ? holders($c) | $mask : holders($c) & ~$mask;
		$c = column( type($c), $h, bitmaps($c) );
	}
	$s->[$AWAY] &= ~$mask;
}

sub bitmap_clear {    # the array is whole
	my $s = shift;
	$_ = column( type($_), holders($_), 0 ) for @$s[ $COLS .. $#$s ];
}

# The machine goes off, and the RAM leg with it. Writes that were nowhere else are lost, but the
# state still knows that: see canonical.
sub power_off {
	my $s = shift;
	@$s[ RUN, $INS .. $TWIN ] = (0) x ( 1 + $TWIN - $INS + 1 );
	return $s;
}

# raid1_add_disk: the slot that the device had, if it is free, or else the lowest free one. -1: no
# slot is free, and the device stays a spare.
sub free_slot {
	my ( $s, $old ) = @_;
	return $old if defined $old && $old >= 0 && $old < $s->[$ARD] &&
		in_slot( $s->[$AROLES], $old ) < 0;
	for ( 0 .. $s->[$ARD] - 1 ) { return $_ if in_slot( $s->[$AROLES], $_ ) < 0 }
	return -1;
}

# Manage_add() in mdadm's Manage.c: from raid_disks on, the first number that no member has. A disk
# that is absent is no member, so it may lose its number.
sub free_number {
	my ( $s, $from ) = @_;
	my $number = $from // $s->[$ARD];
	$number++ while slot_of( $s->[$AROLES], $number ) >= 0;
	return $number;
}

sub enters {
	my ( $s, $slot, $number ) = @_; $s->[$AROLES] = with_slot( $s->[$AROLES], $slot, $number );
}
sub leaves {
	my ( $s, $number ) = @_;
	my $slot = slot_of( $s->[$AROLES], $number );
	$s->[$AROLES] = with_slot( $s->[$AROLES], $slot, -1 ) if $slot >= 0;
}

# The slot and the number that the RAM leg gets. With md's own recovery they come from mdadm --add.
# The copy makes the leg's superblock itself (copy_slot_, superblock_clone_number). It takes the
# slot that the RAM leg had, or the only free one; and that slot's own number, or, while a disk is
# missing, one that no disk ever had. Without such a slot, md's own recovery fills the RAM leg.
sub ram_place {
	my $s    = shift;
	my @free = grep { in_slot( $s->[$AROLES], $_ ) < 0 } 0 .. $s->[$ARD] - 1;
	my $slot = $made !~ /^(create|last)$/ ? -1
		: $s->[$WSLOT] && grep( { $_ == $s->[$WSLOT] - 1 } @free ) ? $s->[$WSLOT] - 1
			: @free == 1 ? $free[0] : -1;
	return ( free_slot($s), free_number($s) ) if $slot < 0;
	return ( $slot, LAST_NUMBER ) if @free > 1;
	return ( $slot, slot_of( $s->[$AROLES], $slot ) < 0 ? $slot : free_number($s) );
}

# raid1_reshape: all members move down, so that the free slots come last.
sub reshape {
	my ( $s, $slots ) = @_;
	my ( $roles, $to ) = ( 0, 0 );
	for ( 0 .. $s->[$ARD] - 1 ) {
		my $number = in_slot( $s->[$AROLES], $_ );
		$roles = with_slot( $roles, $to++, $number ) if $number >= 0;
	}
	@$s[ $AROLES, $ARD ] = ( $roles, $slots );
}

# analyze_sbs, raid1_run, md_bitmap_load; mdadm's Assemble.c, which goes by slots. Returns nothing
# if the array does not start.
sub assemble {
	my ( $s, $legs, $there ) = @_;
	my $named = grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) } legs_in($legs);
	my ($best) = sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] || $a <=> $b } legs_in($legs);
	my ( $newest, $slots ) = @$s[ leg($best), leg($best) + RD ];
	my ( $roles, %number ) = (0);
	for my $i ( sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] || $a <=> $b } legs_in($legs) ) {
		my ( $slot, $number ) = ( own_slot( $s, $i ), $s->[ leg($i) + NUM ] );
		if ( $s->[ leg($i) ] + 1 < $newest ||
			in_slot( $s->[ leg($i) + ROLES ], own_slot( $s, $best ) ) < 0 ||
				$slot < 0 || $slot >= $slots || in_slot( $roles, $slot ) >= 0 ||
					$number{$number}++ ) { $legs &= ~( 1 << $i ) }
		else { $roles = with_slot( $roles, $slot, $number ) }
	}
	my @in_sync = grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) } legs_in($legs);
	return unless @in_sync;
	$s->[RUN] = 1;
	$s->[$INS] = 0;
	$s->[$INS] |= 1 << $_ for @in_sync;
	@$s[ $RCV, $RAM, $RO, $ACT, $DEC, $FAILED ] = ( $legs & ~$s->[$INS], NONE, 1, 0, 0, 0 );
	@$s[ $PRESENT, $EVA, $AROLES, $ARD, $RNUM, $JOIN ] =
		( $there, $newest, $roles, $slots, 0, $kind eq 'elsewhere' ? $s->[$INS] : 0 );
	# raid1_run: with one leg there is nothing to resync.
	$s->[$PEND] = @in_sync > 1 && $s->[ leg($best) + FLAGS ] & DIRTY ? 1 : 0;
	my $from  = $in_sync[0];
	# md_bitmap_read_sb: "out of date -- forcing full recovery"
	my $stale = $s->[ leg($from) ] < $newest;
	$s->[$ECA] = $stale ? $newest : $s->[ leg($from) + EC ];
	# md_bitmap_load, which forgets the bits of a single leg; ramraid sets them again
	# (bits_keep).
	my $keep = $stale || $s->[$PEND] || $s->[$ECA] != $newest || @in_sync == 1 &&
		$named < $ONES[ $s->[$CONF] ];
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my $bit = $stale || $keep && bitmaps($c) >> $from & 1;
		$c = column( type($c), holders($c), $bit ? bitmaps($c) | $legs
			: bitmaps($c) & ~$legs );
	}
	return $s;
}

# used_elsewhere STATE LEG EVENTS RAM: somebody starts the leg alone (mdadm --assemble --run), or
# with a RAM leg of their own, writes, and stops it. Nothing keeps the bits there.
sub used_elsewhere {
	my ( $s, $i, $events, $with_ram ) = @_;
	my ( $at, $bit ) = ( leg($i), 1 << $i );
	if ( $s->[ $at + EC ] == $s->[$at] ) {
		$_ = column( type($_), holders($_), bitmaps($_) & ~$bit ) for @$s[ $COLS .. $#$s ];
	}
	my $roles = with_slot( 0, own_slot( $s, $i ), $s->[ $at + NUM ] );
	if ($with_ram) {
		my ($slot) = grep { in_slot( $roles, $_ ) < 0 } 0 .. $s->[ $at + RD ] - 1;
		$roles = with_slot( $roles, $slot,
			$s->[ $at + RD ] + ( $s->[ $at + NUM ] == $s->[ $at + RD ] ) );
	}
	@$s[ map { $at + $_ } EV, ROLES, FLAGS ] = ( $events, $roles, 0 );
	push @$s, column( ELSEWHERE, $bit, $bit ), column( META, $bit, 0 );
	$s->[$AWAY] |= $bit;
	if ( $s->[$JOIN] & $bit && $s->[$UNNOTED] & $bit ) { $s->[$UNSEEN] |= $bit }
	elsif ( $s->[$JOIN] & $bit && $events > $s->[$EVA] ) { $s->[$OUTGREW] |= $bit }
	return $s;
}

1;
