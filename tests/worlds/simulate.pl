#!/usr/bin/perl
# tests/worlds/simulate.pl FIRST LAST [KEY=VALUE…]: runs histories number FIRST to LAST, and asks
# the product in each world that comes of them. README.md says what its decisions are held against.
# KEY: plant=NAME, show=1 (prints every history), worlds=N (ends after so many), shrink=0.
use strict;
use warnings;
use IPC::Open2;
use Storable 'dclone';
use Time::HiRes 'time';
use File::Path qw(make_path remove_tree);
use File::Basename;

my $HERE = dirname(__FILE__);
require "$HERE/md.pl";
our ($BLOCKS, $FAULTY, $SPARE, @WRITES, $CUT, $CLOCK, $ABSENT_ROLE, $NEW_KERNEL, $DRAW);

my ($first, $last, @rest) = @ARGV;
my %opt = (plant => '', show => 0, worlds => 0, shrink => 1, max => 10, map { split /=/, $_, 2 } @rest);
my $ROOT = ($opt{dir} // '/dev/shm') . "/ramraid-worlds.$$";
my $UUID = '00112233445566778899aabbccddeeff';
my $NAME;
my %W;             # the world
my (%IS, %MEMBER); # of the array's folder: what each file holds, which members are shown
my @TOLD;      # the history in words
my @KEYS;           # what superblock_facts says of a superblock, in its order
my %COUNT = (worlds => 0, looks => 0, histories => 0, started => 0, refused => 0);
my $SLOWEST = 0;

# --- the product, in a process of its own

my ($to, $from, $pid);
sub product_begin {
	$ENV{RAMRAID_ROOT} = "$ROOT/root";
	open my $keep, '>&', \*STDERR;
	open STDERR, '>', "$ROOT/stderr";
	$pid = open2($from, $to, 'bash', "$HERE/answer.bash", $opt{plant} ne '' ? $opt{plant} : ());
	open STDERR, '>&', $keep;
	select((select($to), $| = 1)[0]);
}
sub product_end { close $to if $to; close $from if $from; if ($pid) { kill 'KILL', $pid; waitpid $pid, 0 } $pid = 0 }

# Every answer has a time limit: a look has to end.
sub say_to {
	my ($words, $until) = @_;
	my ($line, @lines);
	my $begin = time;
	local $SIG{ALRM} = sub { die "hang\n" };
	my $ok = eval {
		alarm 20;
		print $to "$words\n";
		while (1) {
			$line = <$from>;
			die "gone\n" unless defined $line;
			chomp $line;
			last if !$until || $line eq $until;
			push @lines, $line;
		}
		alarm 0;
		1;
	};
	alarm 0;
	if (!$ok) {
		my $why = $@;
		product_end();
		product_begin();
		violation('end', "the look did not end ($why): $words");
	}
	my $took = time - $begin;
	$SLOWEST = $took if $took > $SLOWEST;
	return $until ? @lines : $line;
}

# --- the world's files

sub put { my ($file, $text) = @_; open my $h, '>', "$ROOT/root/$file" or die "$file: $!"; print $h $text; close $h }

sub world_new {
	my ($seed) = @_;
	system('rm', '-rf', "$ROOT/root") if -e "$ROOT/root/etc";
	%IS = %MEMBER = ();
	$NAME = 'data';
	make_path("$ROOT/root/$_") for qw(etc/ramraid/state dev/disk/by-id dev/md run/ramraid/.locks proc/1 proc/sys/kernel/random sys/block sys/class/block);
	put('proc/1/mountinfo', '');
	put('proc/swaps', "Filename Type Size Used Priority\n");
	put('proc/sys/kernel/osrelease', "6.12.48\n");
	put('proc/uptime', "1000.00 1000.00\n");
	put('proc/meminfo', "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n");
	put('proc/sys/kernel/random/boot_id', "b$seed\n");
	srand($seed);
	my $n = (1, 2, 2, 2, 2, 3, 3)[ rand 7 ];
	$ABSENT_ROLE = rand() < .5 ? $SPARE : $FAULTY;
	$NEW_KERNEL = rand() < .5;
	$CLOCK = 1_700_000_000;
	$CUT = undef;
	@WRITES = ({ anc => 0 });
	%W = (n => $n, disks => [], names => [ 0 .. $n - 1 ], acked => [ (0) x $BLOCKS ], weak => [ (0) x $BLOCKS ], seq => 1, on => 0, flags => {}, saved => {}, serial => 0, unnamed => {});
	$W{start_degraded} = rand() < .7 ? 'witness' : rand() < .7 ? 'never' : 'always';
	$W{made} = rand() < .5 ? 'create' : 'adopt';
	for my $i (0 .. $n - 1) { push @{ $W{disks} }, device('sd' . chr(98 + $i)) }
	put("etc/ramraid/$NAME.conf", join '', "UUID=" . dashes($UUID) . "\n", (map { "MEMBER=/dev/disk/by-id/ata-DISK$_\n" } 0 .. $n - 1),
		"RAM=rapiddisk\nREBUILD=kernel\nRESCUE=none\nSTART_DEGRADED=$W{start_degraded}\n");
	my $answer = say_to("conf $NAME");
	die "conf: $answer\n" if $answer ne 'ok';
	told("$n disk legs, made by $W{made}, START_DEGRADED=$W{start_degraded}" . ($NEW_KERNEL ? ', Linux >= 6.8' : '') . ($ABSENT_ROLE == $SPARE ? '' : ', absent ones are called faulty'));
}

sub dashes { my $h = shift; return join '-', unpack 'A8 A4 A4 A4 A12', $h }
sub device {
	my ($node) = @_;
	my $uuid = sprintf '%08x%08x%08x%08x', 0xd0000000 + $W{serial}++, 0, 0, ord substr $node, -1;
	return { node => $node, uuid => $uuid, sb => undef, bm => { bits => [ (0) x $BLOCKS ], events => 0, cleared => 0 }, data => [ (0) x $BLOCKS ], present => 1, dirty => 1, shown => 0 };
}

sub everything { return (@{ $W{disks} }, grep { $_ } @W{qw(clone ram blank)}) }

# publish: makes the files what the world is.
sub publish {
	my $arr = $W{array};
	for my $d (everything()) {
		my $node = $d->{node};
		if (!$d->{present}) { hide($d) if $d->{shown}; next }
		if (!$d->{shown}) {
			mkdir "$ROOT/root/sys/class/block/$node";
			mkdir "$ROOT/root/sys/class/block/$node/holders";
			mkdir "$ROOT/root/sys/block/$node";
			put("sys/class/block/$node/size", "12288\n");
			put("sys/class/block/$node/ro", "0\n");
			put("sys/block/$node/diskseq", $d->{seq} // 1);
			put("sys/class/block/$node/diskseq", $d->{seq} // 1);
			$d->{shown} = 1;
		}
		next unless $d->{dirty};
		my $sb = $d->{sb} ? main::sb_bytes($d, $UUID) : "\0" x 4096;
		put("dev/$node", "\0" x 4096 . $sb . ($d->{sb} ? main::bitmap_bytes($d, $UUID) : "\0" x 4096));
		put("dev/$node.facts", said_of($d)) if @KEYS;
		put("dev/$node.words", ' ' . join(' ', map { sprintf '%08x', $_ } unpack 'V*', $sb) . "\n");
		$d->{dirty} = 0;
	}
	for my $i (0 .. $W{n} - 1) {
		my $link = "$ROOT/root/dev/disk/by-id/ata-DISK$i";
		my $d = $W{names}[$i] eq 'clone' ? $W{clone} : $W{disks}[ $W{names}[$i] ];
		unlink $link;
		symlink "$ROOT/root/dev/$d->{node}", $link if $d && $d->{present} && !$W{unnamed}{$i};
	}
	publish_array($arr);
}
# Returns what superblock_facts prints of a device, without a process. From time to time it is
# compared with what the product itself reads.
sub said_of {
	my $d = shift;
	my $sb = $d->{sb} or return "sb=none\n";
	my ($slots, @roles) = ($sb->{slots}, @{ $sb->{roles} });
	my $role = $roles[ $sb->{number} ];
	my $view = '.' x $slots;
	substr($view, $_, 1) = 'A' for grep { $_ < $slots } @roles;
	my %say = (sb => 'ok', uuid => dashes($UUID), device_uuid => dashes($d->{uuid}), level => 1, raid_disks => $slots, size => 8192, data_offset => 2048, data_size => 8192,
		events => $sb->{events}, time => $sb->{time}, role => $role == $FAULTY ? 'faulty' : $role >= $slots ? 'spare' : $role, view => $view, recovery => $sb->{recovery} // '',
		number => $sb->{number}, roles => join(' ', map { $roles[$_] < $slots ? "$_:$roles[$_]" : () } 0 .. $#roles), dirty => $sb->{clean} ? 'no' : 'yes', bitmap => 'yes', writemostly => $sb->{wm} ? 'yes' : 'no');
	return join '', map { "$_=" . ($say{$_} // die "superblock_facts has a key that the fuzzer does not know: $_\n") . "\n" } @KEYS;
}
sub hide {
	my $d = shift;
	my $node = $d->{node};
	unlink glob "$ROOT/root/dev/$node $ROOT/root/dev/$node.words $ROOT/root/dev/$node.facts $ROOT/root/sys/class/block/$node/* $ROOT/root/sys/block/$node/*";
	unlink glob "$ROOT/root/sys/class/block/$node/holders/*";
	rmdir "$ROOT/root/sys/class/block/$node/holders";
	rmdir "$ROOT/root/sys/class/block/$node";
	rmdir "$ROOT/root/sys/block/$node";
	@$d{qw(shown dirty)} = (0, 1);
}
# The array's folder in sysfs: only what has changed is written.

sub is { my ($file, $text) = @_; return if ($IS{$file} // "\0") eq $text; put($file, $text); $IS{$file} = $text }
sub forget_array {
	my ($node) = @_;
	my $dir = 'sys/block/md127' . ($node ? "/md/dev-$node" : '');
	remove_tree("$ROOT/root/$dir");
	delete @IS{ grep { /^\Q$dir\E\// } keys %IS };
	for (keys %MEMBER) { next if $node && $_ ne $node; unlink "$ROOT/root/sys/class/block/$_/holders/md127"; delete $MEMBER{$_} }
}
sub publish_array {
	my $arr = shift;
	my $md = 'sys/block/md127';
	if (!$arr) {
		return unless $W{md_shown};
		forget_array();
		remove_tree("$ROOT/root/sys/class/block/md127");
		unlink glob "$ROOT/root/dev/md127*";
		$W{md_shown} = 0;
		return;
	}
	if (!$W{md_shown}) {
		mkdir "$ROOT/root/$_" for $md, "$md/md", "$md/md/bitmap", 'sys/class/block/md127', 'sys/class/block/md127/holders';
		put('sys/class/block/md127/size', "8192\n");
		put('dev/md127', "\0" x 8192);
		put('dev/md127.facts', "sb=none\n");
		put('dev/md127.words', ' ' . join(' ', ('00000000') x 1024) . "\n");
		$W{md_shown} = 1;
	}
	my $rec = grep { $_->{state} eq 'recovering' && $_->{slot} >= 0 } @{ $arr->{legs} };
	my %f = (array_state => $arr->{auto} ? 'read-auto' : $arr->{clean} ? 'clean' : 'active', uuid => dashes($UUID), level => 'raid1', degraded => degraded($arr), raid_disks => $arr->{slots},
		sync_action => $arr->{auto} ? 'idle' : $arr->{cp} ? 'resync' : $rec ? 'recover' : 'idle', resync_start => $arr->{cp} ? 0 : 'none', component_size => 4096,
		'bitmap/backlog' => 0, 'bitmap/location' => '+8', 'bitmap/metadata' => 'internal',
		metadata_version => '1.2',
		sync_completed => defined $arr->{at} ? $arr->{at} * main::block_sectors() . ' / 8192' : 'none');
	is("$md/md/$_", "$f{$_}\n") for keys %f;
	is("$md/diskseq", "$arr->{seq}\n");
	is("$md/size", "8192\n");
	my %in = map { $_->{dev}{node} => 1 } @{ $arr->{legs} };
	for (keys %MEMBER) { forget_array($_) unless $in{$_} }
	for my $leg (@{ $arr->{legs} }) {
		my $node = $leg->{dev}{node};
		my $dir = "$md/md/dev-$node";
		if (!$MEMBER{$node}) { mkdir "$ROOT/root/$dir"; put("$dir/bad_blocks", ''); $MEMBER{$node} = 1 }
		my $wm = $leg->{wm} // !$leg->{dev}{ram};
		is("$dir/slot", $leg->{slot} < 0 || $leg->{state} eq 'faulty' ? "none\n" : "$leg->{slot}\n");
		is("$dir/state", join(',', $leg->{state} eq 'recovering' ? 'spare' : $leg->{state}, $wm ? 'write_mostly' : ()) . "\n");
		is("$dir/offset", "2048\n");
		is("$dir/errors", "0\n");
		symlink '../../../block/md127', "$ROOT/root/sys/class/block/$node/holders/md127" if $leg->{dev}{shown};
	}
}

# --- what holds

sub told { push @TOLD, join '', @_ }
sub violation { my ($kind, $text) = @_; die "end\n" if $kind eq 'differ' && $W{image_excused} && grep { $_->{imaged} && $text =~ /\b$_->{node}\b/ } @{ $W{disks} }; die { kind => $kind, text => $text } }

sub configured { return map { $_ eq 'clone' ? $W{clone} : $W{disks}[$_] } @{ $W{names} } }
sub holds { my ($d, $b, $mask) = @_; return (ancestors($d->{data}[$b]) & $mask) == $mask }

# What must be on a leg that is started: what was acknowledged while the record told the truth, and
# of all else that was acknowledged, what any other disk has that is here.
sub must_hold {
	my ($d, $what) = @_;
	for my $b (0 .. $BLOCKS - 1) {
		my $need = $W{acked}[$b];
		for my $other (grep { $_ && $_->{present} && $_->{sb} } configured(), $W{ram} ? $W{ram} : ()) { $need |= $W{weak}[$b] & ancestors($other->{data}[$b]) }
		next if holds($d, $b, $need);
		my $missing = $need & ~ancestors($d->{data}[$b]);
		violation('lost', "$what $d->{node}, which lacks acknowledged writes of block $b: " . join ' ', grep { $missing >> $_ & 1 } 1 .. $#WRITES);
	}
	for my $b (0 .. $BLOCKS - 1) {
		my $id = $d->{data}[$b];
		violation('stranger', "$what $d->{node}, which has writes of a clone in block $b") if grep { ancestors($id) >> $_ & 1 && $WRITES[$_]{foreign} } 1 .. $#WRITES;
	}
}

# Legs that md may read must be equal, unless a resync that is due makes them so.
sub must_equal {
	my ($arr, $what) = @_;
	return if $arr->{cp};
	my ($one, @others) = complete($arr);
	for my $leg (@others) {
		for my $b (0 .. $BLOCKS - 1) {
			next if $leg->{dev}{data}[$b] == $one->{dev}{data}[$b];
			violation('differ', "$what: $one->{dev}{node} and $leg->{dev}{node} differ in block $b, and both are read");
		}
	}
}

# The other legs must hold what is overwritten.
sub must_not_destroy {
	my ($arr, $d, $what) = @_;
	my ($one) = complete($arr);
	for my $b (0 .. $BLOCKS - 1) {
		my $has = ancestors($d->{data}[$b]) & ($W{acked}[$b] | $W{weak}[$b]);
		next if holds($one->{dev}, $b, $has);
		violation('destroyed', "$what $d->{node}, which alone has acknowledged writes of block $b; they are lost by that");
	}
}

# --- what the record says

sub record_read {
	open my $h, '<', "$ROOT/root/etc/ramraid/state/$NAME.witness" or return undef;
	my %r = map { chomp; split /=/, $_, 2 } <$h>;
	return defined $r{legs} && !$r{void} ? \%r : undef;
}
sub record_legs { my $r = record_read(); return $r ? join(' ', sort split / /, $r->{legs}) : undef }
sub record_events { my $r = record_read(); return $r ? $r->{events} : undef }
sub in_sync_disks { my $arr = shift; return join ' ', sort map { dashes($_->{dev}{uuid}) } grep { !$_->{dev}{ram} } complete($arr) }
sub recorded { my $arr = shift; my $legs = record_legs(); return defined $legs && $legs eq in_sync_disks($arr) }

sub promote {
	my $arr = shift;
	return unless recorded($arr) && !$W{flags}{record_old};
	my ($one) = complete($arr);
	for my $b (0 .. $BLOCKS - 1) { $W{acked}[$b] |= $W{weak}[$b] & ancestors($one->{dev}{data}[$b]) }
}
sub acknowledge {
	my ($arr, $b, $id) = @_;
	return unless $id;
	if (grep { $_->{dev}{clone} } @{ $arr->{legs} }) { $WRITES[$id]{foreign} = 1; return }
	$W{weak}[$b] |= 1 << $id;
	promote($arr) if $W{on};
}

# The monitor's work, as cmd/internal/witness.sh does it.
sub monitor {
	return unless $W{on} && $W{array};
	publish();
	say_to("begin $NAME");
	record();
	delete $_->{dev}{unseen} for complete($W{array});
}
sub record {
	say_to('record');
	return unless $W{array};
	# With no disk in sync, nobody can know later whether anything was written, so a start is
	# refused for good reason.
	$W{ram_only} = in_sync_disks($W{array}) eq '';
	promote($W{array});
}

# --- a start

sub look {
	my $waited = shift;
	publish();
	$COUNT{looks}++;
	my $line = say_to("look $waited");
	my @f = split /\|/, $line, 5;
	return { action => $f[0], args => [ split / /, $f[1] // '' ], gate => $f[2], giving => $f[3], why => $f[4] };
}
sub by_node { my $n = shift; return (grep { $_->{node} eq $n } everything())[0] }

sub product {
	my ($retry, $steps) = @_;
	my ($waited, $open, $same, $before) = (0, 0, 0, '');
	$COUNT{worlds}++;
	publish();
	@KEYS = map { /^([a-z_]+)=/ } say_to("real $ROOT/root/dev/$W{disks}[0]{node}", '.') unless @KEYS;
	say_to("begin $NAME $retry");
	say_to("same $ROOT/root/dev/$_->{node}", undef) eq 'ok' or die "the two ways of reading a superblock differ\n" for $COUNT{worlds} % 20 ? () : grep { $_->{present} } @{ $W{disks} };
	record() if $W{array} && !$W{array}{auto} && say_to('leavers') eq 'yes';
	for my $step (1 .. 80) {
		my $l = look($waited);
		my $words = join ' ', $l->{action}, @{ $l->{args} };
		told("    product: $words ($l->{why})") if $words ne $before;
		if ($l->{gate} eq 'open' && !$open) { $open = 1; record() if $W{array} }
		record() if $W{array} && !$W{array}{auto} && say_to('changed') eq 'yes';
		return finish($l) if $l->{action} =~ /^(refuse|done)$/;
		return if $steps-- <= 0;
		$same = $words eq $before ? $same + 1 : 0;
		$before = $words;
		violation('end', "decides the same for ever: $words") if $same > 12;
		act($l, \$waited);
		must_equal($W{array}, "after $words") if $W{array};
	}
	violation('end', 'a start takes more than 80 steps');
}

sub finish {
	my $l = shift;
	$COUNT{ $l->{action} eq 'refuse' ? 'refused' : 'started' }++;
	if ($l->{action} eq 'refuse') { live($l); return }
	record();
}

# If all disks are there, nothing was done elsewhere, the record is intact, and a disk has
# everything, the array must be started.
sub live {
	my $l = shift;
	return if $W{ram_only} || $W{array} || %{ $W{flags} } || grep { !$_->{present} } @{ $W{disks} };
	for my $d (@{ $W{disks} }) {
		my $all = $d->{sb} && !defined $d->{sb}{recovery};
		for my $b (0 .. $BLOCKS - 1) { $all = 0 unless holds($d, $b, $W{acked}[$b] | $W{weak}[$b]) }
		# A disk that another one calls missing may have been left behind by it, or used
		# without it: then it is refused for good reason. What the other one says about its
		# own number it says about itself.
		$all = 0 if grep { $_ != $d && $_->{sb} && ($_->{sb}{number} == $d->{sb}{number}
			|| ($_->{sb}{roles}[ $d->{sb}{number} ] // $SPARE) >= $_->{sb}{slots}) } @{ $W{disks} };
		# With "never", nothing that it calls active may be missing. The disk that somebody has
		# added is no MEMBER.
		$all = 0 if $W{start_degraded} eq 'never' && defined $W{added} && ($d->{sb}{roles}[ $W{added} ] // $SPARE) < $d->{sb}{slots};
		violation('live', "refused ($l->{why}), though all disks are here, nothing else has used them, and $d->{node} has everything") if $all;
	}
}

# What the product tells md through bitmap_set_bits: "ok" and the bits.
sub told_bits {
	my ($arr, undef, @bits) = @_;
	for (@bits) {
		my ($from, $to) = /^(\d+)(?:-(\d+))?$/ or next;
		$arr->{bits}[$_] = 2 for grep { $_ < $BLOCKS } $from .. $to // $from;
	}
}

sub act {
	my ($l, $waited) = @_;
	my ($action, @args) = ($l->{action}, @{ $l->{args} });
	my $arr = $W{array};
	if ($action eq 'assemble') {
		my @named = map { by_node($_) } @args;
		consented(@named) if $l->{giving} eq 'yes';
		for my $d (@named) { must_hold($d, "starts") unless defined $d->{sb}{recovery} }
		my @bits = split / /, say_to("bits @args");
		$arr = assemble(@named);
		violation('start', "names @args, which md does not start") unless $arr;
		told_bits($arr, @bits);
		$arr->{auto} = 1;
		$arr->{seq} = ++$W{seq};
		$W{array} = $arr;
		must_equal($arr, "starts @args");
		say_to("give @args");
		say_to("started md127 $arr->{seq}");
		promote($arr);
	}
	elsif ($action eq 'make-writable') { record(); $arr->{auto} = 0 }
	elsif ($action eq 'stop-inactive') { $W{array} = undef }
	elsif ($action eq 'readd') {
		my $d = leg_device($args[0]);
		say_to("rejoins $args[0]");
		if (!defined $d->{sb} || !md_would_readd($arr, $d)) { say_to("failed failed.readd.$args[0]"); return }
		must_not_destroy($arr, $d, 'puts back');
		told_bits($arr, split / /, say_to("own $args[0]"));
		readd($arr, $d);
		say_to("returned $args[0]");
	}
	elsif ($action eq 'add-leg') {
		my $d = leg_device($args[0]);
		must_not_destroy($arr, $d, 'overwrites');
		say_to('freeslot');
		$d->{uuid} = device($d->{node})->{uuid};    # mdadm makes a new one
		add_blank($arr, $d);
	}
	elsif ($action eq 'write-mostly') { $_->{wm} = 1 for grep { $_->{dev} == leg_device($args[0]) } @{ $arr->{legs} } }
	elsif ($action eq 'remove-leg') { my $d = leg_device($args[0]); my ($leg) = grep { $_->{dev} == $d } @{ $arr->{legs} }; remove_leg($arr, $leg) if $leg }
	elsif ($action eq 'remove-gone') { my ($leg) = grep { $_->{dev}{node} eq $args[0] } @{ $arr->{legs} }; if ($leg) { fail_leg($arr, $leg) if $leg->{state} ne 'faulty'; remove_leg($arr, $leg) } }
	elsif ($action eq 'make-ram') {
		$W{ram} = device('rd0');
		@{ $W{ram} }{qw(ram seq)} = (1, ++$W{seq});
		put("run/ramraid/$NAME.ram", "rapiddisk rd0 6291456 $W{ram}{seq} blank\n");
	}
	elsif ($action eq 'add-ram') { add_blank($arr, $W{ram}) }
	elsif ($action eq 'wait-members') {
		$$waited = 999999;
		meanwhile() unless $arr || $DRAW % 5;
	}
	elsif ($action =~ /^wait-/) { rebuild($arr) if $arr && !$arr->{auto}; $$waited += 5 }
	else { violation('end', "the fuzzer does not know the action $action") }
}

# While a start waits for a disk, something else starts the array from the disks that are there.
# This happens at some steps of a history, chosen by a number of their own, so that the other steps
# stay as they are.
sub meanwhile {
	my @here = grep { $_->{present} && $_->{sb} } @{ $W{disks} } or return;
	my @by = some(@here);
	told('    meanwhile something else starts ' . names(@by));
	$W{flags}{elsewhere} = 1;
	my $arr = assemble(@by) or return;
	must_equal_excused($arr);
	$arr->{auto} = rand() < .5;
	image_excused($arr);
	$arr->{seq} = ++$W{seq};
	$W{array} = $arr;
}
# START_DEGRADED=always is a person's word that the missing disk is gone for good, with the later
# data that it may hold (ramraid.conf(5)). Such a start gives up what no disk here has. It does not
# if the record knows a later state than that of the legs that are started: no value makes a start
# ignore that.
sub consented {
	my @named = @_;
	my $events = record_events();
	return unless $W{start_degraded} eq 'always' && grep { !$_->{present} } configured();
	return if defined $events && !grep { $_->{sb}{events} + 1 >= $events } @named;
	for my $b (0 .. $BLOCKS - 1) {
		my $here = 0;
		$here |= ancestors($_->{data}[$b]) for grep { $_->{present} && $_->{sb} } configured();
		$W{$_}[$b] &= $here for qw(acked weak);
	}
}
sub leg_device { my $n = $W{names}[ $_[0] ]; return $n eq 'clone' ? $W{clone} : $W{disks}[$n] }
# Would md re-add it? This is tried on a copy.
sub md_would_readd { my ($arr, $d) = @_; my $copy = dclone({ a => $arr, d => $d }); local $CUT; return defined readd($copy->{a}, $copy->{d}) }

# --- what happens in the middle of a rebuild

# md rebuilds while the product waits. The monitor looks after the rebuild has begun: perhaps before
# a power cut, and in any case before all else. "half" below makes something happen on the way.
sub rebuild {
	my $arr = shift;
	my $half = $W{half};
	my $look = sub { publish(); record() };
	if (!$arr->{cp}) {
		my ($blank) = grep { $_->{dev}{half} } recovering($arr);
		return interrupt($arr, $blank, $blank->{dev}{half}, $look, 0) if $blank;
		my ($leg) = grep { $half && !$_->{dev}{ram} == !$half->{ram} } recovering($arr);
		if ($leg) {
			delete $W{half};
			return interrupt($arr, $leg, $half, $look, 1);
		}
	}
	if (defined $CUT && !$arr->{cp} && recovering($arr) && draw() < .7) {
		recover($arr, int(draw() * $BLOCKS));
		$look->();
	}
	sync_all($arr);
}

# Draws what happens at block k, for the step that asks for it.
sub half_way {
	my $k = 1 + int rand $BLOCKS;
	my $what = (qw(fails leaves cut))[ rand 3 ];
	my $half = { k => $k, what => $what, look => int rand($k + 1), ram => rand() < .3,
		writes => [ map { int rand $BLOCKS } 1 .. rand 3 ], stays => rand() < .3,
		seen => rand() < .85 };
	$half->{late} = $what eq 'cut' && rand() < .4;
	return $half;
}

# LEG is rebuilt up to block k; LOOK makes the monitor look. With LATE, a power cut may come before
# it looks.
sub interrupt {
	my ($arr, $leg, $half, $look, $late) = @_;
	my $d = $leg->{dev};
	$late &&= $half->{late};
	if (!$late) { recover($arr, $half->{look}); $look->() }
	recover($arr, $half->{k});
	acknowledge($arr, $_, write_block($arr, $_)) for @{ $half->{writes} };
	told("    $d->{node} is rebuilt up to block $half->{k}"
		. (@{ $half->{writes} } ? ", blocks @{ $half->{writes} } are written" : '')
		. ($late ? ', the monitor has not looked yet' : '')
		. ", then: $half->{what}");
	die "cut\n" if $half->{what} eq 'cut';
	fail_leg($arr, $leg);
	if ($d->{ram} || $d == ($W{blank} // 0)) { taken_out($arr, $leg) }
	else {
		$d->{present} = 0 if $half->{what} eq 'leaves';
		remove_leg($arr, $leg) unless $half->{stays};
	}
	$look->() if $half->{seen};
}

# Takes out the RAM leg, or a disk that has no name in the configuration.
sub taken_out {
	my ($arr, $leg) = @_;
	my $d = $leg->{dev};
	remove_leg($arr, $leg);
	hide($d);
	unlink "$ROOT/root/run/ramraid/$NAME.ram" if $d->{ram};
	$W{ $d->{ram} ? 'ram' : 'blank' } = undef;
}

# --- what happens: each step draws from a seed of its own, so that a history may lose any of its steps

sub power_off {
	hide($_) for grep { $_ && $_->{shown} } @W{qw(ram blank)};
	@W{qw(array ram blank on)} = (undef, undef, undef, 0);
	$W{unnamed} = {};
	$CUT = undef;
	publish();
	unlink glob "$ROOT/root/run/ramraid/*";
}

sub some { my @out = grep { rand() < .6 } @_; return @out ? @out : ($_[ rand @_ ]) }

my %STEP = (
	on => sub {
		return if $W{on};
		$W{on} = 1;
		my @here = rand() < .5 ? @{ $W{disks} } : some(@{ $W{disks} });
		for my $d (@{ $W{disks} }) { $d->{present} = scalar grep { $_ == $d } @here }
		$CLOCK += 100;
		told("boot with " . names(@here));
		product('no', rand() < .1 ? int rand 12 : 80);
	},
	autostart => sub {
		return if $W{on};
		$W{on} = 1;
		$_->{present} = 1 for @{ $W{disks} };
		my @by = some(@{ $W{disks} });
		told('boot; something else starts ' . names(@by));
		$W{flags}{elsewhere} = 1;
		my $arr = assemble(@by);
		if ($arr) { must_equal_excused($arr); $arr->{auto} = rand() < .5; image_excused($arr); $arr->{seq} = ++$W{seq}; $W{array} = $arr }
		product('no', 80);
	},
	write => sub {
		my $arr = $W{array} or return;
		return if $arr->{auto};
		my @b = map { int rand $BLOCKS } 1 .. 1 + rand 3;
		told("writes blocks @b");
		acknowledge($arr, $_, write_block($arr, $_)) for @b;
	},
	idle => sub { my $arr = $W{array} or return; told('idle'); idle($arr) },
	gone => sub {
		my $arr = $W{array} or return;
		return if $arr->{auto};
		my @in = grep { !$_->{dev}{ram} && $_->{state} ne 'faulty' } @{ $arr->{legs} };
		return unless @in;
		my $leg = $in[ rand @in ];
		return if $leg->{state} eq 'in_sync' && complete($arr) == 1;
		told("$leg->{dev}{node} goes away");
		if ($leg->{dev} == ($W{blank} // 0)) {
			fail_leg($arr, $leg);
			taken_out($arr, $leg);
			return monitor();
		}
		$leg->{dev}{present} = 0;
		fail_leg($arr, $leg);
		remove_leg($arr, $leg) if rand() < .8;
		$leg->{dev}{unseen} = rand() >= .85;
		monitor() unless $leg->{dev}{unseen};
	},
	ramgone => sub {
		my $arr = $W{array} or return;
		my ($leg) = grep { $_->{dev}{ram} } @{ $arr->{legs} };
		return if !$leg || $leg->{state} eq 'in_sync' && complete($arr) == 1;
		told('the RAM leg is taken out');
		fail_leg($arr, $leg);
		taken_out($arr, $leg);
		monitor() if rand() < .85;
	},
	back => sub {
		return unless $W{on};
		my @away = grep { !$_->{present} } @{ $W{disks} } or return;
		my $d = $away[ rand @away ];
		$d->{present} = 1;
		$CLOCK += 10;
		told("$d->{node} comes back");
		if ($W{array}) { for my $leg (grep { $_->{dev} == $d } @{ $W{array}{legs} }) { remove_leg($W{array}, $leg) } }
		product(rand() < .5 ? 'no' : 'yes', 80) if rand() < .8;
	},
	ask => sub { return unless $W{on}; told('start again'); product(rand() < .5 ? 'no' : 'yes', 80) },
	record => sub { monitor() },
	reshape => sub {
		my $arr = $W{array} or return;
		my $to = $arr->{slots} + (rand() < .5 ? 1 : -1);
		told("the array gets $to slots") if reshape($arr, $to);
		monitor();
	},
	stop => sub {
		return unless $W{on};
		my $arr = $W{array};
		if ($arr) {
			return if !grep { !$_->{dev}{ram} } complete($arr);    # the guard does not let it go
			monitor();
			my ($leg) = grep { $_->{dev}{ram} } @{ $arr->{legs} };
			if ($leg && !$arr->{auto}) { fail_leg($arr, $leg); remove_leg($arr, $leg) }
			idle($arr);
			monitor();
			stop_array($arr);
		}
		told('shutdown');
		power_off();
	},
	cut => sub { return unless $W{on}; told('power cut'); power_off() },
	cutin => sub { return unless $W{on}; $CUT = int rand 25; told("the power will be cut after $CUT more writes to a disk") },
	half => sub {
		my $half = $W{half} = half_way();
		told('the next rebuild of ' . ($half->{ram} ? 'the RAM leg' : 'a disk')
			. " will be interrupted at block $half->{k}: $half->{what}");
	},
	addhand => sub {
		my $arr = $W{array} or return;
		return if $arr->{auto} || $arr->{cp} || free_slot($arr) < 0 || recovering($arr);
		return if $W{blank};
		told('somebody adds the blank disk sdy by hand');
		my $leg = add_blank($arr, $W{blank} = device('sdy'));
		$W{added} = $leg->{number};
		my $half = half_way();
		return interrupt($arr, $leg, $half, \&monitor, 1) if rand() < .7;
		# It goes on while other things happen: "rebuild" ends it.
		$W{blank}{half} = $half;
		recover($arr, $half->{k});
		told("    sdy is rebuilt up to block $half->{k} so far");
		monitor();
	},
	check => sub {
		my $arr = $W{array} or return;
		return if $arr->{auto} || $arr->{cp} || recovering($arr);
		told('a check ends');
		$arr->{fullsync} = 0;    # raid1_sync_request()
		monitor();
	},
	clock => sub { $CLOCK += int(rand 4000) - 2000; told('the clock is set') },
	swap => sub { return if $W{on} || $W{n} < 2; @{ $W{names} }[ 0, 1 ] = @{ $W{names} }[ 1, 0 ]; told('two names are swapped') },
	rename => sub {
		return if $W{on};
		my $new = $NAME eq 'data' ? 'store' : 'data';
		rename "$ROOT/root/etc/ramraid/$NAME.conf", "$ROOT/root/etc/ramraid/$new.conf";
		told("$NAME.conf is renamed to $new.conf");
		$NAME = $new;
		say_to("conf $NAME");
	},
	unname => sub {
		return unless $W{array};
		my $i = int rand $W{n};
		$W{unnamed}{$i} = 1;
		told("the name of $W{disks}[ $W{names}[$i] ]{node} is gone until the next boot") if $W{names}[$i] ne 'clone';
		monitor();
	},
	handaway => sub {
		return unless $W{on};
		my @away = grep { !$_->{present} } @{ $W{disks} } or return;
		# To carry a disk away takes longer than a look of the monitor.
		monitor();
		$CLOCK += int(rand 400) - 200;
		by_hand('meanwhile elsewhere, by hand: ' . names(@away), @away);
		$W{flags}{elsewhere} = 1;
	},
	hand => sub {
		return if $W{on};
		my @by = some(@{ $W{disks} });
		by_hand('elsewhere, by hand: ' . names(@by), @by);
		$W{flags}{elsewhere} = 1;
	},
	image => sub {
		return if $W{on};
		my $i = int rand $W{n};
		$W{saved}{$i} = dclone({ map { $_ => $W{disks}[$i]{$_} } qw(sb bm data) });
		told("an image of $W{disks}[$i]{node} is made");
	},
	restore => sub {
		return if $W{on} || !%{ $W{saved} };
		my ($i) = (sort keys %{ $W{saved} })[ rand keys %{ $W{saved} } ];
		my ($s, $d) = ($W{saved}{$i}, $W{disks}[$i]);
		# An image that has as many events as the others can't be told from them, so nothing
		# is promised.
		return if !$s->{sb} || grep { $_->{sb} && $s->{sb}{events} + 2 > $_->{sb}{events} } @{ $W{disks} };
		my $c = dclone($s);
		$d->{$_} = $c->{$_} for qw(sb bm data);
		@{$d}{qw(dirty imaged)} = (1, 1);
		$W{flags}{image} = 1;
		told("$d->{node} is put back to its image ($d->{sb}{events} events)");
	},
	clone => sub {
		return if $W{on} || $W{clone};
		my $i = int rand $W{n};
		my $d = $W{disks}[$i];
		return unless $d->{sb};
		my $c = dclone({ map { $_ => $d->{$_} } qw(uuid sb bm data) });
		$W{clone} = { %$c, node => 'sdx', present => 1, dirty => 1, shown => 0, clone => 1, of => $i };
		$W{flags}{clone} = 1;
		told("$d->{node} is copied to sdx");
	},
	clonehand => sub { return if $W{on} || !$W{clone}; by_hand('the copy sdx is used alone elsewhere', $W{clone}) },
	claim => sub {
		return if $W{on} || !$W{clone};
		my ($i) = grep { $W{names}[$_] eq $W{clone}{of} } 0 .. $W{n} - 1;
		return unless defined $i;
		$W{names}[$i] = 'clone';
		told("sdx takes over the name of $W{disks}[$W{clone}{of}]{node}");
	},
	lose => sub {
		return if $W{on};
		$W{flags}{record} = 1;
		my $file = "$ROOT/root/etc/ramraid/state/$NAME.witness";
		if (rand() < .5) { unlink $file; told('the record is lost') }
		else { open my $h, '>', $file; print $h "uuid=x\n\0"; close $h; told('the record is damaged') }
		# What the record alone knew is no longer promised.
		$W{weak}[$_] |= $W{acked}[$_], $W{acked}[$_] = 0 for 0 .. $BLOCKS - 1;
	},
);

sub names { return join ' ', map { $_->{node} } @_ }

sub by_hand {
	my ($words, @by) = @_;
	told($words);
	my $arr = assemble(@by) or return told('    md does not start it');
	# Nobody records what is written there.
	my $was = $W{on};
	$W{on} = 0;
	must_equal_excused($arr);
	image_excused($arr);
	if (rand() < .4) {
		my $ram = device('rd9');
		$ram->{ram} = 1;
		number_excused(add_blank($arr, $ram), @by);
	}
	sync_all($arr) if rand() < .9;
	for (1 .. rand 4) {
		acknowledge($arr, int rand $BLOCKS, 0);
		my $b = int rand $BLOCKS;
		acknowledge($arr, $b, write_block($arr, $b));
		idle($arr) if rand() < .7;
	}
	if (rand() < .3) { for (1 .. rand 12) { $arr->{clean} = 0; update_sb($arr, 1); idle($arr) } }
	if (rand() < .7) { stop_array($arr) }
	told('    then it has: ' . join ', ', map { "$_->{node} at " . ($_->{sb}{events} // '-') } @by);
	$W{on} = $was;
}
# number_excused LEG DEVICE…: elsewhere, LEG got the number and the slot of a disk that is away, or
# of the RAM leg. If nobody looked when DEVICE left, nothing shows that it does not mean that one.
sub number_excused {
	my ($leg, @by) = @_;
	return unless grep { $_->{unseen} } @by;
	my $record = record_read();
	die "end\n" if grep { defined $_ && $_ eq $leg->{number} } ($record ? $record->{ram_number} : undef), map { $_->{sb} ? $_->{sb}{number} : () } @{ $W{disks} };
}
# image_excused ARRAY: once md writes to an array that something else has started, nothing shows any
# more how the array ended before: that a disk which is not among its members was put back to an
# image, and that every slot was filled since. That disk may come to differ.
sub image_excused {
	my $arr = shift;
	my %member = map { $_->{dev}{node} => 1 } @{ $arr->{legs} };
	$W{image_excused} = 1 if !$arr->{auto} && grep { $_->{imaged} && !$member{ $_->{node} } } @{ $W{disks} };
}
# If md by itself joins legs elsewhere though one lacks what another has, that is not the product's
# doing: such a history ends.
sub must_equal_excused {
	my $arr = shift;
	die "end\n" unless eval { must_equal($arr, 'by hand'); 1 };
	for my $b (0 .. $BLOCKS - 1) {
		my $all = 0;
		$all |= ancestors($_->{dev}{data}[$b]) & ($W{acked}[$b] | $W{weak}[$b]) for complete($arr);
		die "end\n" if grep { !holds($_->{dev}, $b, $all) } complete($arr);
	}
}

sub birth {
	my $n = $W{n};
	my $slots = $n + ($W{made} eq 'create' ? 1 : 0);
	my $shift = $slots - $n;
	my $arr = { legs => [], slots => $slots, events => 1, dec => 0, clean => 1, cp => 0, bits => [ (0) x $BLOCKS ], cleared => 0, auto => 0, seq => ++$W{seq} };
	for my $i (0 .. $n - 1) { push @{ $arr->{legs} }, { dev => $W{disks}[$i], number => $i + $shift, slot => $i + $shift, state => 'in_sync', full => 0 } }
	update_sb($arr, 0);
	$W{array} = $arr;
	$W{on} = 1;
	reshape($arr, $n + 1) if $W{made} eq 'adopt';
	write_one($arr, int rand $BLOCKS) for 1 .. 3;
	product('no', 80);
}
sub write_one { my ($arr, $b) = @_; acknowledge($arr, $b, write_block($arr, $b)) }

# --- histories

my @BAG = map { ($_->[0]) x $_->[1] } (
	[ on => 14 ], [ write => 14 ], [ idle => 6 ], [ gone => 7 ], [ ramgone => 2 ], [ back => 6 ], [ ask => 2 ], [ record => 2 ], [ reshape => 2 ], [ stop => 6 ], [ cut => 7 ], [ cutin => 4 ],
	[ clock => 1 ], [ swap => 1 ], [ hand => 6 ], [ handaway => 2 ], [ rename => 1 ], [ unname => 1 ], [ autostart => 1 ], [ image => 1 ], [ restore => 1 ],
	$opt{clones} ? ([ clone => 2 ], [ clonehand => 2 ], [ claim => 2 ]) : (), $opt{lost} ? ([ lose => 1 ]) : ());

my @HALF = qw(half half addhand addhand addhand check);

sub history {
	my $seed = shift;
	srand($seed * 7919 + 13);
	my @steps = map { [ $BAG[ rand @BAG ], int rand 1 << 30 ] } 1 .. 8 + rand 22;
	# Drawn last, and not for every history, so that a history whose number is known stays what
	# it is.
	return \@steps if rand() < .5;
	for (1 .. 1 + rand 4) {
		my $step = [ $HALF[ rand @HALF ], int rand 1 << 30 ];
		splice @steps, int rand(@steps + 1), 0, $step;
	}
	return \@steps;
}

# Returns undef, or what was violated.
sub run {
	my ($seed, $steps) = @_;
	@TOLD = ();
	power_off() if $W{n};
	world_new($seed);
	my $ok = eval {
		$DRAW = $seed;
		birth();
		for my $s (@$steps) {
			srand($s->[1]);
			$DRAW = $s->[1];
			my $fine = eval { $STEP{ $s->[0] }->(); 1 };
			next if $fine;
			if (ref $@ || $@ ne "cut\n") { die $@ }
			told('    the power is cut');
			power_off();
		}
		1;
	};
	return undef if $ok || !ref $@ && $@ eq "end\n";
	return ref $@ ? $@ : { kind => 'fuzzer', text => "$@" };
}

sub shrink {
	my ($seed, $steps, $kind) = @_;
	my @steps = @$steps;
	my $size = @steps;
	while (($size = int(($size + 1) / 2)) >= 1) {
		for (my $i = 0; $i < @steps;) {
			my @fewer = @steps;
			splice @fewer, $i, $size;
			my $v = run($seed, \@fewer);
			if ($v && $v->{kind} eq $kind) { @steps = @fewer } else { $i += $size }
		}
		last if $size == 1;
	}
	return \@steps;
}

sub report {
	my ($seed, $steps, $v) = @_;
	my $text = "violation seed=$seed kind=$v->{kind}: $v->{text}\n" . join '', map { "  $_\n" } @TOLD;
	my %f = map { split /=/, $_, 2 } eval { publish(); say_to('facts', '.') };
	$text .= "  facts\n";
	for my $leg ('ram', 0 .. $W{n} - 1) {
		my $k = $leg eq 'ram' ? 'ram' : "leg.$leg";
		my @has = map { defined $f{"$k.$_"} && $f{"$k.$_"} ne '' ? "$_=" . $f{"$k.$_"} : () } qw(node in state slot role number roles view events recovery dirty device_uuid joined elsewhere);
		$text .= "    $k: @has\n";
	}
	for (grep { /^(array|witness)\./ && $f{$_} !~ /^(|no|0|none|idle)$/ } sort keys %f) { $text .= "    $_=$f{$_}\n" }
	return $text;
}

make_path($ROOT);
END { product_end(); system('rm', '-rf', $ROOT) if $ROOT && $$ == ($main::ME // 0) }
our $ME = $$;
product_begin();
$| = 1;
my ($begin, %kinds) = (time);
my $told = $begin;

# Prints a line a minute to the terminal or the log: how far, how fast, how long to go, what was
# found.
sub progress {
	return if time - $told < 60;
	$told = time;
	my $rate = $COUNT{worlds} / ($told - $begin);
	printf STDERR "seeds from %d: %d of %d worlds, %.1f a second, %d minutes left, %d violations\n",
		$first, $COUNT{worlds}, $opt{worlds}, $rate,
		($opt{worlds} - $COUNT{worlds}) / $rate / 60, $COUNT{violations} // 0;
}
# A process substitution that ends at once may stay in bash's list for ever (5.2, jobs.c, procsubs),
# and bash goes through that list at every command. So the product's process is a new one now and
# then.
use constant HISTORIES_EACH => 50;
for my $seed ($first .. $last) {
	if ($COUNT{histories} && $COUNT{histories} % HISTORIES_EACH == 0) { product_end(); product_begin() }
	my $steps = history($seed);
	$COUNT{histories}++;
	progress() if $opt{worlds};
	my %was = %COUNT;
	my $v = run($seed, $steps);
	if ($opt{show}) { print "history $seed\n", map { "  $_\n" } @TOLD }
	if ($v) {
		my $kind = $v->{kind};
		$kinds{$kind}++;
		$COUNT{violations}++;
		if ($COUNT{violations} <= $opt{max}) {
			my %at = %COUNT;
			$steps = shrink($seed, $steps, $kind) if $opt{shrink} && $kind ne 'fuzzer';
			$v = run($seed, $steps) // $v;
			print report($seed, $steps, $v);
			%COUNT = %at;
		}
		last if $opt{stop};
	}
	last if $opt{worlds} && $COUNT{worlds} >= $opt{worlds};
}
printf "%s %s\n", $_, $COUNT{$_} // 0 for qw(histories worlds looks started refused violations);
printf "seconds %.0f\nslowest %.2f\n", time - $begin, $SLOWEST;
print "kind $_ $kinds{$_}\n" for sort keys %kinds;
