# md's rules, for simulate.pl: who becomes a member at which slot and under which number, when
# superblocks are written and what they then say, what the bitmap remembers. From linux
# drivers/md/{md,raid1,md-bitmap}.c and mdadm's Assemble.c and Manage.c; the functions that each
# rule is from are named.
#
# A device is { node, uuid, sb, bm, data }: sb what its superblock says, bm its bitmap, data the
# write that each block holds.
# An array is { legs, slots, events, dec, clean, cp, bits, cleared, auto, fullsync, at }; a leg of
# it is { dev, number, slot, state, full, offset }. at is the block that a running recovery has come
# to, offset how many blocks of a leg a recovery has already made.
# Each of bits is 0, 1 (a write is under way, or just was), 2 (NEEDED: to be kept until every leg
# has the block), or 3 (RESYNC: a recovery has taken it up, and drops it).
use strict;
use warnings;

our ($BLOCKS, $FAULTY, $SPARE) = (4, 0xfffe, 0xffff);
our (@WRITES, %ACKED, %WEAK, $CUT, $CLOCK, $ABSENT_ROLE, $NEW_KERNEL);
our $DRAW = 1;

# Anything that reaches a disk comes through here: the power may be cut before it does.
sub tick { die "cut\n" if defined $CUT && $CUT-- <= 0 }

# Returns a number from 0 to 1. What only a recovery asks for comes from a sequence of its own, so
# that it changes no other draw of the step.
sub draw {
	$DRAW = ($DRAW * 1103515245 + 12345) & 0x7fffffff;
	return ($DRAW >> 8) / (1 << 23);
}

sub ancestors { my $id = shift; return $id ? $WRITES[$id]{anc} : 0 }
sub complete { return grep { $_->{state} eq 'in_sync' } @{ $_[0]{legs} } }
sub degraded { my $arr = shift; return $arr->{slots} - scalar complete($arr) }
sub alive { return grep { $_->{state} ne 'faulty' } @{ $_[0]{legs} } }
sub recovering {
	return grep { $_->{state} eq 'recovering' && $_->{slot} >= 0 } @{ $_[0]{legs} };
}

# still_degraded in raid1_sync_request(): a slot has no member, or a faulty one.
sub still_degraded {
	my $arr = shift;
	return $arr->{slots} > grep { $_->{slot} >= 0 } alive($arr);
}

# md_update_sb(): one more event, or one less when an array that is whole becomes clean again; then
# every superblock in turn.
sub update_sb {
	my ($arr, $nospares) = @_;
	$nospares = 0 if degraded($arr);
	if ($nospares && $arr->{clean} && !$arr->{cp} && $arr->{dec} && $arr->{events} != 1) {
		$arr->{events}--; $arr->{dec} = 0;
	}
	else { $arr->{events}++; $arr->{dec} = $nospares }
	$arr->{cleared} = $arr->{events} if $arr->{events} < $arr->{cleared};
	come_to($arr);
	for my $leg (alive($arr)) { tick(); write_sb($arr, $leg) }
}

# super_1_sync(), md_bitmap_update_sb()
sub write_sb {
	my ($arr, $leg) = @_;
	my $d = $leg->{dev};
	my $old = $d->{sb};
	my $max = $old ? scalar @{ $old->{roles} } : 0;
	for (@{ $arr->{legs} }) { $max = $_->{number} + 1 if $_->{number} + 1 > $max }
	my @roles = ($ABSENT_ROLE) x $max;
	for (@{ $arr->{legs} }) {
		$roles[ $_->{number} ] = $_->{state} eq 'faulty' ? $FAULTY : $_->{slot} < 0 ? $SPARE
			: $_->{slot}
	}
	my $recovering = $leg->{state} eq 'recovering' && $leg->{slot} >= 0;
	$d->{sb} = { number => $leg->{number}, roles => \@roles, slots => $arr->{slots},
		events => $arr->{events}, clean => ($arr->{clean} && !$arr->{cp} ? 1 : 0),
		recovery => ($recovering ? ($leg->{offset} // 0) * block_sectors() : undef),
			by_bitmap => ($recovering && !$leg->{full} ? 1 : 0), wm => $d->{ram} ? 0
				: 1, time => $CLOCK };
	$d->{bm} = { bits => [ map { $_ ? 1 : 0 } @{ $arr->{bits} } ], events => $arr->{events},
		cleared => $arr->{cleared} };
	$d->{dirty} = 1;
}

# mdadm --assemble --run DEVICE…: returns the array, or undef when it can't be started.
sub assemble {
	my @named = grep { $_->{sb} } @_;
	my %best;
	my ($recent) = sort { $b->{sb}{events} <=> $a->{sb}{events} } @named;
	return undef unless $recent;
	for my $d (@named) {
		my $role = $d->{sb}{roles}[ $d->{sb}{number} ];
		next if $role >= $recent->{sb}{slots};
		$best{$role} = $d if !$best{$role} || $d->{sb}{events} > $best{$role}{sb}{events};
	}
	my $recent_role = $recent->{sb}{roles}[ $recent->{sb}{number} ];
	my (@legs, %numbers);
	for my $slot (sort { $a <=> $b } keys %best) {
		my $d = $best{$slot};
		# "ignoring %s as it reports %s as failed"
		next if $d != $recent && $recent_role < $recent->{sb}{slots} &&
			!grep { $_ == $recent_role } @{ $d->{sb}{roles} };
		next if $d->{sb}{events} + 1 < $recent->{sb}{events};
		# super_1_validate() of Linux 6.8 and later: what the freshest one says counts.
		my $said = $recent->{sb}{roles}[ $d->{sb}{number} ] // $SPARE;
		next if $NEW_KERNEL && $d != $recent && $said >= $FAULTY && $said == $FAULTY;
		next if $numbers{ $d->{sb}{number} }++;
		push @legs, { dev => $d, number => $d->{sb}{number}, slot => $slot,
			state => defined $d->{sb}{recovery} ? 'recovering'
				: 'in_sync', full => !$d->{sb}{by_bitmap},
			offset => ($d->{sb}{recovery} // 0) / block_sectors() };
	}
	my $arr = { legs => \@legs, slots => $recent->{sb}{slots}, events => $recent->{sb}{events},
		dec => 0, clean => 1, cp => $recent->{sb}{clean} ? 0
			: 1, bits => [ (0) x $BLOCKS ] };
	my @complete = complete($arr);
	return undef unless @complete;
	# raid1_run(): with one complete leg there is nothing to make equal.
	$arr->{cp} = 0 if @complete == 1;
	my $bm = $complete[0]{dev}{bm};
	$arr->{cleared} = $bm->{cleared};
	$arr->{cleared} = $arr->{events} if $arr->{cleared} > $arr->{events};
	if ($bm->{events} < $arr->{events}) {    # "bitmap file is out of date"
		$arr->{bits} = [ (2) x $BLOCKS ];
		$arr->{cleared} = $arr->{events};
	}
	else {
		# md_bitmap_load(): what is to be kept for a leg that is missing.
		my $needed = degraded($arr) == 0 || $arr->{cleared} == $arr->{events}
			? $arr->{cp} : 1;
		$arr->{bits} = [ map { $_ ? ($needed ? 2 : 1) : 0 } @{ $bm->{bits} } ];
	}
	return $arr;
}

# The write of a block: a dirty superblock, the bit, every leg, and then it is acknowledged.
sub write_block {
	my ($arr, $b) = @_;
	if ($arr->{clean}) { $arr->{clean} = 0; update_sb($arr, 1) }
	if (!$arr->{bits}[$b]) {
		$arr->{bits}[$b] = 1;
		for (alive($arr)) { tick(); $_->{dev}{bm}{bits}[$b] = 1; $_->{dev}{dirty} = 1 }
	}
	my $id = @WRITES;
	return 0 if $id > 60;
	my $parent = (complete($arr))[0]{dev}{data}[$b];
	push @WRITES, { block => $b, anc => ancestors($parent) | (1 << $id) };
	for (alive($arr)) { next if $_->{slot} < 0; tick(); $_->{dev}{data}[$b] = $id }
	# md_bitmap_endwrite()
	if (degraded($arr)) { $arr->{bits}[$b] = 2 }
	elsif ($arr->{cleared} < $arr->{events}) { $arr->{cleared} = $arr->{events} }
	return $id;
}

# Nothing is written for a while.
sub idle {
	my $arr = shift;
	return if $arr->{cp} || $arr->{auto};
	if (!$arr->{clean}) { $arr->{clean} = 1; update_sb($arr, 1) }
	$_ = $_ >= 2 ? $_ : 0 for @{ $arr->{bits} };
	bits_to_disk($arr);
}

sub bits_to_disk {
	my $arr = shift;
	for (alive($arr)) {
		$_->{dev}{bm}{bits} = [ map { $_ ? 1 : 0 } @{ $arr->{bits} } ];
		$_->{dev}{bm}{cleared} = $arr->{cleared};
		$_->{dev}{dirty} = 1;
	}
}

sub stop_array {
	my $arr = shift;
	return if $arr->{auto};
	end_recovery($arr);
	if (!$arr->{clean}) { $arr->{clean} = 1; update_sb($arr, 0) }
	$_ = $_ == 2 ? 2 : 0 for @{ $arr->{bits} };
	bits_to_disk($arr);
}

# md_error(): never fails the last leg in sync.
sub fail_leg {
	my ($arr, $leg) = @_;
	return 0 if $leg->{state} eq 'in_sync' && complete($arr) == 1;
	$leg->{state} = 'faulty';
	end_recovery($arr);
	update_sb($arr, 0);
	take_spares($arr);
	return 1;
}
sub remove_leg {
	my ($arr, $leg) = @_;
	$arr->{legs} = [ grep { $_ != $leg } @{ $arr->{legs} } ];
	take_spares($arr);
}
# remove_and_add_spares(): a spare that waits without a slot takes the one that a faulty member had.
sub take_spares {
	my $arr = shift;
	return if $arr->{auto};
	for my $spare (grep { $_->{state} eq 'recovering' && $_->{slot} < 0 } @{ $arr->{legs} }) {
		$spare->{slot} = free_slot($arr);
		return if $spare->{slot} < 0;
		$arr->{fullsync} = 1 if $spare->{full};
		end_recovery($arr);
		update_sb($arr, 0);
	}
}

# remove_spares() takes the slot of a faulty member, before that is taken out of the array.
sub free_slot {
	my ($arr, $wish) = @_;
	for (@{ $arr->{legs} }) { $_->{slot} = -1 if $_->{state} eq 'faulty' }
	my %taken = map { $_->{slot} => 1 } @{ $arr->{legs} };
	return $wish if defined $wish && $wish < $arr->{slots} && !$taken{$wish};
	for (0 .. $arr->{slots} - 1) { return $_ unless $taken{$_} }
	return -1;
}

# mdadm --add BLANK: numbers count upwards from the number of slots (Manage.c); raid1_add_disk()
# gives the lowest free slot.
sub add_blank {
	my ($arr, $d) = @_;
	my %used = map { $_->{number} => 1 } @{ $arr->{legs} };
	my $number = $arr->{slots};
	$number++ while $used{$number};
	my $leg = { dev => $d, number => $number, slot => free_slot($arr), state => 'recovering',
		full => 1 };
	delete @{$d}{qw(sb imaged)};
	$arr->{auto} = 0;
	end_recovery($arr) if $leg->{slot} >= 0;
	push @{ $arr->{legs} }, $leg;
	$arr->{fullsync} = 1 if $leg->{slot} >= 0;
	update_sb($arr, 0);
	return $leg;
}

# mdadm --re-add: super_1_validate() with a bitmap, md_add_new_disk(), bind_rdev_to_array(),
# raid1_add_disk(). Returns undef when it is refused.
sub readd {
	my ($arr, $d) = @_;
	my $sb = $d->{sb} or return undef;
	my $role = $sb->{roles}[ $sb->{number} ];
	return undef if $role >= $arr->{slots};
	return undef if $sb->{events} < $arr->{cleared};
	return undef if grep { $_->{number} == $sb->{number} } @{ $arr->{legs} };
	my $full = defined $sb->{recovery} && !$sb->{by_bitmap};
	my $leg = { dev => $d, number => $sb->{number},
		slot => free_slot($arr, $full ? undef : $role), state => 'recovering',
			full => $full };
	end_recovery($arr) if $leg->{slot} >= 0;
	push @{ $arr->{legs} }, $leg;
	$arr->{fullsync} = 1 if $full;
	update_sb($arr, 0) unless $arr->{auto};
	return $leg;
}

# Runs md_do_sync() to its end: first the resync, then the recoveries. Returns whether there was
# anything to do.
sub sync_all {
	my $arr = shift;
	my $did = 0;
	return 0 if $arr->{auto};
	if ($arr->{cp}) {
		$did = 1;
		my @c = sort { ($b->{dev}{ram} // 0) <=> ($a->{dev}{ram} // 0) ||
			$a->{slot} <=> $b->{slot} } complete($arr);
		for my $b (0 .. $BLOCKS - 1) {
			next unless $arr->{bits}[$b];
			for (@c[ 1 .. $#c ]) { tick(); $_->{dev}{data}[$b] = $c[0]{dev}{data}[$b] }
		}
		$arr->{cp} = 0;
		$arr->{clean} = 1;
		update_sb($arr, 0);
		after_sync($arr);
	}
	if (recovering($arr)) {
		$did = 1;
		recover($arr, $BLOCKS);
		delete $arr->{at};
		for (recovering($arr)) { $_->{state} = 'in_sync'; delete $_->{offset} }
	}
	return 0 unless $did;
	$arr->{fullsync} = 0;
	update_sb($arr, 0);
	after_sync($arr);
	return 1;
}
sub after_sync {
	my $arr = shift;
	$arr->{bits} = [ (0) x $BLOCKS ] unless degraded($arr);
	bits_to_disk($arr);
}

# Runs a recovery up to block UNTIL: raid1_sync_request(). It begins where the leg that is farthest
# behind has come to (md_sync_position()). If a slot is free, the bits are kept for the leg that is
# missing. Otherwise md_bitmap_start_sync() takes them up, and md_bitmap_cond_end_sync() drops those
# of the blocks that are done, at any time.
sub recover {
	my ($arr, $until) = @_;
	my @to = recovering($arr);
	my ($from) = complete($arr);
	$arr->{at} //= (sort { $a <=> $b } map { $_->{offset} // 0 } @to)[0];
	while ($arr->{at} < $until) {
		my $b = $arr->{at};
		my $bit = $arr->{bits}[$b];
		$arr->{bits}[$b] = 3 if $bit == 2 && !still_degraded($arr);
		for my $leg (@to) {
			next unless $leg->{full} || $arr->{fullsync} || $bit >= 2;
			tick();
			$leg->{dev}{data}[$b] = $from->{dev}{data}[$b];
		}
		$arr->{at}++;
		next if !grep({ $_ == 3 } @{ $arr->{bits} }) || draw() < .5;
		# md_bitmap_daemon_work() writes that to one disk after the other.
		my @bits = drop_bits($arr);
		for my $d (map { $_->{dev} } grep { draw() < .7 } alive($arr)) {
			@{ $d->{bm}{bits} }[@bits] = (0) x @bits;
			$d->{dirty} = 1;
		}
	}
}
# __bitmap_end_sync(): drops the bits that a recovery has taken up, and returns which these were.
sub drop_bits {
	my $arr = shift;
	my @bits = grep { $arr->{bits}[$_] == 3 } 0 .. $BLOCKS - 1;
	@{ $arr->{bits} }[@bits] = (0) x @bits;
	$arr->{dropped} = 1 if @bits;
	return @bits;
}

# md_do_sync(): a running recovery is interrupted. md_bitmap_close_sync() drops the bits that it has
# taken up. The member keeps what was rebuilt, and conf->fullsync stays.
sub end_recovery {
	my $arr = shift;
	return unless defined $arr->{at};
	come_to($arr);
	delete $arr->{at};
	drop_bits($arr);
	bits_to_disk($arr);
}
# md_update_sb(): recovery_offset becomes curr_resync_completed.
sub come_to {
	my $arr = shift;
	return unless defined $arr->{at};
	for (recovering($arr)) { $_->{offset} = $arr->{at} if $arr->{at} > ($_->{offset} // 0) }
}

# raid1_reshape(): members are packed; fewer slots than members are refused.
sub reshape {
	my ($arr, $slots) = @_;
	return 0 if $slots < 1 || $arr->{cp} ||
		grep { $_->{state} eq 'recovering' } @{ $arr->{legs} };
	my @with = sort { $a->{slot} <=> $b->{slot} } grep { $_->{slot} >= 0 } @{ $arr->{legs} };
	return 0 if @with > $slots;
	my $i = 0;
	$_->{slot} = $i++ for @with;
	$arr->{slots} = $slots;
	update_sb($arr, 0);
	return 1;
}

# --- the bytes

sub block_sectors { return 8192 / $BLOCKS }
sub le64 { return pack 'Q<', $_[0] }

# The superblock as 4 KiB: struct mdp_superblock_1.
sub sb_bytes {
	my ($d, $uuid) = @_;
	my $sb = $d->{sb};
	my @roles = @{ $sb->{roles} };
	my $max = @roles > 128 ? scalar @roles : 128;
	push @roles, $ABSENT_ROLE while @roles < $max;
	my $features = 1 | (defined $sb->{recovery} ? 2 : 0) | ($sb->{by_bitmap} ? 16 : 0);
	my $s = pack('V V V V', 0xa92b4efc, 1, $features, 0) . pack('H32', $uuid)
		. pack('a32', 'vm:data') . le64(0) . pack('V V', 1, 0);
	# to 128
	$s .= le64(8192) . pack('V V V V', 0, $sb->{slots}, 8, 0) . le64(0)
		. pack('V V V V', 0, 0, 0, 0);
	$s .= le64(2048) . le64(8192) . le64(8) . le64($sb->{recovery} // 0)
		. pack('V V', $sb->{number}, 0) . pack('H32', $d->{uuid});
	$s .= pack('C C v C', $sb->{wm}, 0, 0, 0) . "\0" x 3 . le64($sb->{time})
		. le64($sb->{events}) . le64($sb->{clean} ? ~0 : 0);
	$s .= pack('V V', 0, $max) . "\0" x 32 . pack('v*', @roles);
	my $sum = 0;
	$sum += $_ for unpack 'V*', $s;
	$sum += unpack 'v', substr $s, -2 if $max % 2;
	substr($s, 216, 4) = pack 'V', (($sum & 0xffffffff) + ($sum >> 32)) & 0xffffffff;
	return $s . "\0" x (4096 - length $s);
}

# The bitmap: struct bitmap_super_s and a bit for each block.
sub bitmap_bytes {
	my ($d, $uuid) = @_;
	my $bm = $d->{bm};
	my $bits = 0;
	for (0 .. $BLOCKS - 1) { $bits |= 1 << $_ if $bm->{bits}[$_] }
	my $s = pack('V V', 0x6d746962, 4) . pack('H32', $uuid) . le64($bm->{events})
		. le64($bm->{cleared}) . le64(8192);
	$s .= pack('V V V V V V', 0, 8192 / $BLOCKS * 512, 5, 0, 8, 0);
	return $s . "\0" x (256 - length $s) . pack('C', $bits) . "\0" x (4096 - 257);
}
1;
