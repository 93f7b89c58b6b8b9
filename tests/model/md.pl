# The world follows linux drivers/md: md_update_sb (events, also backwards), super_1_sync, super_1_validate, analyze_sbs, raid1_run,
# raid1_error, raid1_add_disk, remove_and_add_spares (md.c, raid1.c), md_bitmap_read_sb, md_bitmap_load, md_bitmap_endwrite,
# md_bitmap_update_sb (md-bitmap.c); and mdadm's Assemble.c. Ours follows drive.sh, guard.sh, cmd/stop.sh, cmd/witness.sh.
use strict;
use warnings;
our ( $INS, $RCV, $RAM, $RO, $ACT, $PEND, $EVA, $DEC, $ECA, $PRESENT, $FAILED, $GATE, $COLS, $DISKS, $RBIT );

sub degraded { my $s = shift; $s->[$RAM] != IN_SYNC || $s->[$INS] != $DISKS }

# md_update_sb: the array's event count, which goes back by one when nothing happened but clean → dirty → clean in a whole array.
sub count_event {
	my ( $s, $clean_or_dirty ) = @_;
	my $nospares = $clean_or_dirty && !degraded($s);
	if ( $nospares && !$s->[$ACT] && !$s->[$PEND] && $s->[$DEC] ) { $s->[$EVA]--; $s->[$DEC] = 0 }
	else { $s->[$EVA]++; $s->[$DEC] = $nospares ? 1 : 0 }
	$s->[$ECA] = $s->[$EVA] if $s->[$EVA] < $s->[$ECA];    # md_bitmap_update_sb: "rocking back"
}

# super_1_sync on the legs in GOT; what they record is that they share this array's history.
sub write_superblocks {
	my ( $s, $got ) = @_;
	my $view    = ( $s->[$INS] | $s->[$RCV] ) << 1 | ( $s->[$RAM] ? 1 : 0 );
	for my $i ( legs_in($got) ) {
		@$s[ map { leg($i) + $_ } EV, VIEW, FLAGS, EC ] =
		  ( $s->[$EVA], $view, ( $s->[$RCV] >> $i & 1 ? RECOVERY : 0 ) | ( $s->[$ACT] || $s->[$PEND] ? DIRTY : 0 ), $s->[$ECA] );
	}
	for my $c ( @$s[ $COLS .. $#$s ] ) { $c = column( META, holders($c) | $got, 0 ) if type($c) == META && holders($c) & $s->[$INS] }
	push @$s, column( META, $got, 0 );
}

# Does the array itself have what the column stands for?
sub content {
	my ( $s, $c ) = @_;
	return $s->[$INS] ? holders($c) & $s->[$INS] & -$s->[$INS] : holders($c) & $RBIT;
}

# Does the array's bitmap mark it? All members carry the same one.
sub marked { my ( $s, $c ) = @_; bitmaps($c) & ( $s->[$INS] || $s->[$RCV] || $RBIT ) }

# The legs in MASK become equal to the array: a recovery or resync has ended.
sub make_equal {
	my ( $s, $mask ) = @_;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		next if type($c) == META;
		my $h = content( $s, $c ) ? holders($c) | $mask : holders($c) & ~$mask;
		$c = column( type($c), $h, bitmaps($c) );
	}
}

sub bitmap_clear {    # the array is whole
	my $s = shift;
	$_ = column( type($_), holders($_), 0 ) for @$s[ $COLS .. $#$s ];
}

# The machine is gone, with the RAM leg. Writes that were nowhere else are gone with it, but not forgotten: see canonical.
sub power_off {
	my $s = shift;
	@$s[ RUN, $INS .. $GATE ] = (0) x ( 1 + $GATE - $INS + 1 );
	return $s;
}

# analyze_sbs, raid1_run, md_bitmap_load; mdadm's Assemble.c. Returns nothing when it does not start.
sub assemble {
	my ( $s, $legs, $there ) = @_;
	my ($best) = sort { $s->[ leg($b) ] <=> $s->[ leg($a) ] || $a <=> $b } legs_in($legs);
	my $newest = $s->[ leg($best) ];
	for my $i ( legs_in($legs) ) {
		$legs &= ~( 1 << $i ) if $s->[ leg($i) ] + 1 < $newest || !( $s->[ leg($i) + VIEW ] >> ( $best + 1 ) & 1 );
	}
	my @in_sync = grep { !( $s->[ leg($_) + FLAGS ] & RECOVERY ) } legs_in($legs);
	return unless @in_sync;
	$s->[RUN] = 1;
	$s->[$INS] = 0;
	$s->[$INS] |= 1 << $_ for @in_sync;
	@$s[ $RCV, $RAM, $RO, $ACT, $DEC, $FAILED ] = ( $legs & ~$s->[$INS], NONE, 1, 0, 0, 0 );
	@$s[ $PRESENT, $EVA ] = ( $there, $newest );
	# raid1_run: one leg needs no resync.
	$s->[$PEND] = @in_sync > 1 && $s->[ leg($best) + FLAGS ] & DIRTY ? 1 : 0;
	my $from  = $in_sync[0];
	my $stale = $s->[ leg($from) ] < $newest;                     # md_bitmap_read_sb: "out of date -- forcing full recovery"
	$s->[$ECA] = $stale ? $newest : $s->[ leg($from) + EC ];
	# md_bitmap_load, which forgets the bits of a single leg; ours sets them again (drive_keep_bits_).
	my $keep = $stale || $s->[$PEND] || $s->[$ECA] != $newest || @in_sync == 1;
	for my $c ( @$s[ $COLS .. $#$s ] ) {
		my $bit = $stale || $keep && bitmaps($c) >> $from & 1;
		$c = column( type($c), holders($c), $bit ? bitmaps($c) | $legs : bitmaps($c) & ~$legs );
	}
	return $s;
}

1;
