# Puts the questions to action_choose, through answer.sh, and remembers the answers.
use strict;
use warnings;
use IPC::Open2;
use FindBin;
our ( $n, $mutant, $EVA, $CONF, $AWAY, $WEV, $WLEGS, $WLEFT, $WGIVEN, $WSLOT, $WNUM, $RENAMED, $INS, $RCV,
	$RAM, $RO, $PEND, $PRESENT, $FAILED, $AROLES, $ARD, $RNUM, $JOIN, $OUTGREW, $UNSEEN,
		$NAMELESS, $TWIN, $GAP );

my %memo;
our ( $asked, %decided ) = (0);
our $pid = open2( my $answers, our $questions, 'bash', "$FindBin::Bin/answer.sh", $mutant ? $mutant
	: () );
{ my $old = select $questions; $| = 1; select $old }

sub ask {
	my $question = shift;
	my $answer   = $memo{$question};
	if ( !defined $answer ) {
		print {$questions} "$question\n";
		$answer = <$answers>;
		die "answer.sh has died at: $question\n" unless defined $answer;
		chomp $answer;
		$memo{$question} = $answer;
		$asked++;
	}
	$decided{ ( split ' ', $answer )[0] }++;
	return $answer;
}

# roles_text ROLES: NUMBER.SLOT for each active device, in the order of the numbers.
my %roles_text;
sub roles_text {
	my $roles = shift;
	return $roles_text{$roles} //=
		join( ',', map { "$_->[0].$_->[1]" } sort { $a->[0] <=> $b->[0] }
			grep { $_->[0] >= 0 } map { [ in_slot( $roles, $_ ), $_ ] } 0 .. 3 ) || '-';
}

# counts STATE ARRAY LEG…: maps the event counts of these legs, of the witness, and, if ARRAY, of
# the array to those that a question shows. They are brought closer together, as in canonical, so
# that fewer different questions have to be asked.
sub counts {
	my ( $s, $array, @legs ) = @_;
	my ( %to, $last, $new );
	for my $v ( sort { $a <=> $b } map( { $s->[ leg($_) ] } @legs ), $s->[$WEV] ? $s->[$WEV]
		: (), $array ? $s->[$EVA] : () ) {
		next if defined $last && $v == $last;
		$new = !defined $last ? 100 : $new + ( $v - $last > $GAP ? $GAP : $v - $last );
		$to{$v} = $new;
		$last = $v;
	}
	return \%to;
}

sub leg_text {
	my ( $s, $i, $count ) = @_;
	my $at = leg($i);
	return 'blank' unless $s->[$at];
	return join ':', 'out', $count->{ $s->[$at] }, $s->[ $at + NUM ],
		roles_text( $s->[ $at + ROLES ] ), $s->[ $at + RD ], $s->[ $at + FLAGS ] & DIRTY
			? 'yes' : 'no', $s->[ $at + FLAGS ] & RECOVERY ? 2048
				: '', $s->[$FAILED] >> $i & 1 ? 'failed' : '', $s->[$JOIN] >> $i & 1
					? 'joined' : '', $s->[$OUTGREW] >> $i & 1
						? 'elsewhere' : '';
}

sub letters_text { my $mask = shift; join( '', map { $_ + 1 } legs_in($mask) ) || '-' }

# EVENTS LEGS LEFT GIVEN RAM-SLOT RAM-NUMBER NUMBERS NAME
sub witness_text {
	my ( $s, $count ) = @_;
	return '- - - - - - - same' unless $s->[$WEV];
	my $numbers = join ',',
		sort { $a <=> $b } map { $s->[ leg($_) + NUM ] } legs_in( $s->[$WLEGS] );
	return join ' ', $count->{ $s->[$WEV] },
		( map { letters_text($_) } @$s[ $WLEGS, $WLEFT, $WGIVEN ] ),
			( map { $_ ? $_ - 1 : '-' } @$s[ $WSLOT, $WNUM ] ), length $numbers
				? $numbers : '-', $s->[$RENAMED] ? 'other' : 'same';
}

# What a boot with these disks does: the first answer, or the one after MEMBER_TIMEOUT if the first
# is to wait. FORCED: the leg that was chosen.
sub ask_boot {
	my ( $s, $there, $degraded, $forced ) = @_;
	my @conf = legs_in( $s->[$CONF] );
	($forced) = defined $forced ? grep { $conf[$_] == $forced } 0 .. $#conf : '-';
	my $count = counts( $s, 0, grep { $s->[ leg($_) ] } legs_in($there) );
	my $facts = join ' ', 'absent no no idle none - - 1 -', witness_text( $s, $count ), '-',
		map { ( $_ + 1 ) . ':'
			. ( $there >> $_ & 1 ? leg_text( $s, $_, $count ) : '-' ) } @conf;
	my $answer = ask("$degraded 0 $forced $facts");
	return ( $answer, 0 ) unless $answer eq 'wait-members';
	return ( ask("$degraded 30 $forced $facts"), 1 );
}

# Which legs ramraid would write down as good: "disks" or "ram".
sub ask_record { ask_running( $_[0], 0, 'record' ) }

# What ramraid does with the running array, WAITED seconds after it began to look.
sub ask_running {
	my ( $s, $waited, $record ) = @_;
	my $count = counts( $s, 1, grep { $s->[ leg($_) ] } 0 .. $n - 1 );
	my @legs;
	for ( legs_in( $s->[$CONF] ) ) {
		my $number = $s->[ leg($_) + NUM ];
		push @legs, ( $_ + 1 ) . ':'
			. ( $s->[$NAMELESS] >> $_ & 1 ? '-' : $s->[$TWIN] >> $_ & 1 ? 'twin'
				: ( $s->[$INS] | $s->[$RCV] ) >> $_ & 1
					? join ':', 'in', $s->[$INS] >> $_ & 1 ? 'in_sync'
						: 'recovering', slot_of( $s->[$AROLES], $number ),
							$number : $s->[$PRESENT] >> $_ & 1
								? leg_text( $s, $_, $count )
									: '-' );
	}
	my $sync = $s->[$RO] ? 'idle' : $s->[$PEND] ? 'resync'
		: $s->[$RCV] || $s->[$RAM] == RECOVERING ? 'recover' : 'idle';
	my @ram = $s->[$RAM] == NONE ? ( 'none', '-', '-' )
		: ( (qw(none recovering in_sync))[ $s->[$RAM] ],
			slot_of( $s->[$AROLES], $s->[$RNUM] ), $s->[$RNUM] );
	return ask( join ' ', ( $record // 'witness' ) . " $waited - active", $s->[$RO] ? 'yes'
		: 'no', $s->[$PEND] ? 'yes'
			: 'no', $sync, @ram, $s->[$ARD] - in_sync_count($s),
				letters_text( $s->[$NAMELESS] ), witness_text( $s, $count ),
					$count->{ $s->[$EVA] }, @legs );
}

1;
