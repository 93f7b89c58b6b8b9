# The questions to decide_action, put to answer.sh, and remembered.
use strict;
use warnings;
use IPC::Open2;
use FindBin;
our ( $n, $mutant, $WEV, $WLEGS, $WLEFT, $WGIVEN, $INS, $RCV, $RAM, $RO, $PEND, $PRESENT, $FAILED, $GAP );

my %memo;
our ( $asked, %decided ) = (0);
our $pid = open2( my $answers, our $questions, 'bash', "$FindBin::Bin/answer.sh", $mutant ? $mutant : () );
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

sub view_text { my $v = shift; join '', map { $v >> $_ & 1 ? 'A' : '.' } 0 .. $n }

# counts STATE LEG…: the event counts that a question shows, of these legs and the witness, brought closer as in canonical: the fewer
# different questions, the fewer are asked.
sub counts {
	my ( $s, @legs ) = @_;
	my ( %to, $last, $new );
	for my $v ( sort { $a <=> $b } map( { $s->[ leg($_) ] } @legs ), $s->[$WEV] ? $s->[$WEV] : () ) {
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
	return join ':', 'out', $count->{ $s->[$at] }, view_text( $s->[ $at + VIEW ] ), $s->[ $at + FLAGS ] & DIRTY ? 'yes' : 'no', $s->[ $at + FLAGS ] & RECOVERY ? 2048 : '', $s->[$FAILED] >> $i & 1 ? 'failed' : '';
}

sub letters_text { my $mask = shift; join( '', map { $_ + 1 } legs_in($mask) ) || '-' }

sub witness_text { my ( $s, $count ) = @_; $s->[$WEV] ? join ' ', $count->{ $s->[$WEV] }, map { letters_text($_) } @$s[ $WLEGS, $WLEFT, $WGIVEN ] : '- - - -' }

# What a boot with these disks does: the answer at once, or after MEMBER_TIMEOUT when it is to wait. FORCED: the leg that was chosen.
sub ask_boot {
	my ( $s, $there, $degraded, $forced ) = @_;
	$forced //= '-';
	my $count = counts( $s, legs_in($there) );
	my $facts = join ' ', 'absent no no idle none', witness_text( $s, $count ), map { $there >> $_ & 1 ? leg_text( $s, $_, $count ) : '-' } 0 .. $n - 1;
	my $answer = ask("$degraded 0 $forced $facts");
	return ( $answer, 0 ) unless $answer eq 'wait-members';
	return ( ask("$degraded 30 $forced $facts"), 1 );
}

# What ours does with the running array, so many seconds after it began to look.
sub ask_running {
	my ( $s, $waited ) = @_;
	my $count = counts( $s, 0 .. $n - 1 );
	my $legs  = join ' ', map { $s->[$INS] >> $_ & 1 ? 'in:in_sync' : $s->[$RCV] >> $_ & 1 ? 'in:recovering' : $s->[$PRESENT] >> $_ & 1 ? leg_text( $s, $_, $count ) : '-' } 0 .. $n - 1;
	my $sync = $s->[$RO] ? 'idle' : $s->[$PEND] ? 'resync' : $s->[$RCV] || $s->[$RAM] == RECOVERING ? 'recover' : 'idle';
	return ask( join ' ', "witness $waited - active", $s->[$RO] ? 'yes' : 'no', $s->[$PEND] ? 'yes' : 'no', $sync, (qw(none recovering in_sync))[ $s->[$RAM] ], witness_text( $s, $count ), $legs );
}

1;
