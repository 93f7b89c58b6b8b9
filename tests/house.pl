#!/usr/bin/perl
# tests/house.pl: checks and draws the house as it is in the code, from the functions that each file
# of lib/ defines and calls and from its "need" lines.
#   check    prints what is wrong: a file that is called and not needed, or needed and not called;
#            an arrow that runs back up; a private function called from outside; a call of a
#            function that does not exist; a prefix that is not the file's; a file or a function
#            that is too long, or a line that is too wide; a file whose head does not begin with
#            a sentence. Exit code 1 if there is anything.
#   heads    prints for each file what it is for: the first sentence of its head
#   needs    prints for each file what its "need" lines have to name
#   map      prints the layers and the arrows between them, for dot(1)
use strict;
use warnings;
use Text::Tabs;

# From the bottom up: a layer needs those before it, never one after it.
my @LAYERS = qw(core world config notes decide gate observe report act cmd);
# Functions whose names do not begin with that of their file.
my %FREE = map { $_ => 1 } qw(die need);
# Functions that are called by a name that is put together: the caller => a pattern for them.
my %DISPATCH = map { (split ' ', $_, 2) } grep { /\S/ } map { s/^\s+//r } split /\n/, q{
	act/loop (?:ram_leg|disk_legs)_\w*[a-z]
};

# These may run for hours. An upgrade of the package takes away the files that they have not read by
# then.
my @LONG = map { "cmd/$_" } qw(start stop attach detach apply replace resize create adopt release destroy restore scrub wait bench estimate selftest internal/mend internal/memory);

# The most lines of a file of lib/, and of a function, whose here-documents are not counted.
my ($FILE_MOST, $FUNCTION_MOST) = (360, 48);
my $COLUMNS_MOST = 100;
# Of the first sentence of a file.
my $HEAD_MOST = 200;

my %level = map { $LAYERS[$_] => $_ } 0 .. $#LAYERS;
my (%defined, %variable, %text, %needs, %calls, %prefixes, @wrong);

sub name { $_[0] =~ s{^lib/}{}r =~ s{\.sh$}{}r }
sub layer { $_[0] =~ m{^([\w-]+)/} ? $1 : '' }

# Code without comments and quoted words; here-documents are none of ours.
sub code {
	my ($line) = @_;
	$line =~ s/^\s*#.*//;
	$line =~ s/\s#\s.*//;
	$line =~ s/'[^']*'/''/g;
	return $line;
}

# too_long FILE LINE…
sub too_long {
	my ($file, @lines) = @_;
	my ($function, $count, $end) = ('', 0, '');
	push @wrong, "$file: has @{[scalar @lines]} lines, and $FILE_MOST is the most"
		if @lines > $FILE_MOST;
	for (@lines) {
		if (length $end) { $end = '' if /^\t*\Q$end\E$/; next }
		$end = $1 if /<<-?'?(\w+)'?/ && !/<<</;
		if (/^([a-z_][a-z0-9_]*)\(\) [{(](?:\s+#.*)?$/) { ($function, $count) = ($1, 0) }
		$count++;
		push @wrong, "$file: $function has $count lines, and $FUNCTION_MOST is the most"
			if /^[})]/ && length $function && $count > $FUNCTION_MOST;
		$function = '' if /^[})]/;
	}
}

# too_wide FILE LINE…: what can't be broken may be too wide: a constant, a regular expression, a row
# of a table, and an option in the text of --help.
sub too_wide {
	my ($file, @lines) = @_;
	for my $i (0 .. $#lines) {
		next if $lines[$i] =~ /^(?:readonly )?[A-Z_]+=|^\t\[\w+\]=|=~|^\w+ (?:gauge|counter) |^  --/;
		utf8::decode(my $line = expand($lines[$i]));
		push @wrong, "$file:@{[$i + 1]}: has @{[length $line]} columns, and $COLUMNS_MOST is the most"
			if length $line > $COLUMNS_MOST;
	}
}

my @files = map { name($_) } sort split /\n/, `find lib -name '*.sh'`;
# These must need what they call as well, and are above all layers.
my @programs = qw(bin/ramraid units/ramraid-generator lib/impostor);
for my $file (@files, @programs) {
	my $path = -e $file ? $file : "lib/$file.sh";
	open my $in, '<', $path or die "$path: $!";
	chomp(my @lines = <$in>);
	too_long($file, @lines);
	too_wide($file, @lines);
	# Continued lines become one line here.
	@lines = split /\n/, join("\n", @lines) =~ s/\\\n\t*//gr;
	$text{$file} = \@lines;
	for (@lines) {
		if ($path =~ /\.sh$/ && /^([a-z_][a-z0-9_]*)\(\) [{(]/) {
			push @wrong, "$1: defined in $defined{$1} and in $file" if $defined{$1};
			$defined{$1} = $file;
		}
		# A variable that is set outside of any function, and by one file alone.
		if (/^(?:readonly |declare -g\w* )?([A-Z][A-Z0-9_]+)=/) {
			$variable{$1} = defined $variable{$1} && $variable{$1} ne $file ? ''
				: $file;
		}
		# "readonly A=1 B=2"
		if (/^readonly /) {
			while (/\b([A-Z][A-Z0-9_]+)=/g) {
				$variable{$1} = defined $variable{$1} && $variable{$1} ne $file ? ''
					: $file;
			}
		}
		if (/^\t*(?:[^#']*[;{] |\[\[.*\]\] (?:\|\||&&) )?need ([\w\/ -]+)/) {
			my $names = $1;
			my $when = /^\t/ ? 'later' : 'head';
			$needs{$file}{$_} //= $when for split ' ', $names;
		}
	}
}
for my $file (grep { !/\.awk$/ } glob 'generate/*') {
	open my $in, '<', $file or die "$file: $!";
	chomp(my @lines = <$in>);
	too_long($file, @lines);
}
/^([a-z]+)_/ and $prefixes{$1} = 1 for keys %defined;
for my $file (@files, @programs) {
	for (@{ $text{$file} }) {
		next if /^\t*need /;
		my $code = code($_);
		# A word with one of our prefixes, where a command may be, that is no function:
		# perhaps one that was renamed.
		while ($code =~ /(?:^\t*|[;&|{!] |\$\(|\b(?:then|do|else|if|elif|while|until|act) )([a-z]+)(_[a-z0-9_]+)(?=[ ;]|$)/g) {
			push @wrong, "$file: there is no function $1$2"
				if $prefixes{$1} && !$defined{"$1$2"} &&
					!grep { /^\Q$1$2\E\(\)/ } @{ $text{$file} };
		}
		while ($code =~ /(?<![\w.\/\${#=-])([a-z_][a-z0-9_]*)(?![\w(\/.=\[-])/g) {
			my ($word, $at) = ($1, $-[1]);
			my $where = $defined{$word} or next;
			next if $where eq $file || $word eq "need";
			# A plain word is a call only where a command may be.
			next
				if $word !~ /_/ && substr($code, 0,
					$at) !~ /(^|[;&|({!]|\b(?:then|do|else|if|elif|while|until|act|local -))\s*$/;
			$calls{$file}{$where}{$word} = 1;
		}
		my $line = s/^\s*#.*//r =~ s/\s#\s.*//r;
		while ($line =~ /\$\{?[#!]?([A-Z][A-Z0-9_]+)/g) {
			my $where = $variable{$1} or next;
			$calls{$file}{$where}{$1} = 1 if $where ne $file;
		}
	}
	for my $pattern (grep { $_ } split ' ', $DISPATCH{$file} // '') {
		for my $function (grep { /^$pattern$/ } keys %defined) {
			$calls{$file}{ $defined{$function} }{$function} = 1
				if $defined{$function} ne $file;
		}
	}
}

# Files that call each other, directly or by way of others, are really one, or hold code that belongs
# in a further one. Prints the calls of each such group (a strongly connected component), by
# Tarjan's algorithm.
sub round_and_back {
	my (%index, %low, %open, @stack, $visit);
	my $count = 0;
	my $there = sub { sort grep { my $to = $_;
		grep { $defined{$_} } keys %{ $calls{ $_[0] }{$to} } } keys %{ $calls{ $_[0] } } };
	$visit = sub {
		my ($file) = @_;
		$index{$file} = $low{$file} = $count++;
		push @stack, $file;
		$open{$file} = 1;
		for my $other ($there->($file)) {
			$visit->($other) if !exists $index{$other};
			$low{$file} = $low{$other} if $open{$other} && $low{$other} < $low{$file};
		}
		return if $low{$file} != $index{$file};
		my @group;
		do { push @group, pop @stack; delete $open{ $group[-1] } } until $group[-1] eq $file;
		return if @group < 2;
		my %in = map { $_ => 1 } @group;
		for my $from (sort @group) {
			for my $to (grep { $in{$_} } $there->($from)) {
				my @names = grep { $defined{$_} } sort keys %{ $calls{$from}{$to} };
				push @wrong, "$from: calls @names of $to, which calls $from again" .
					($calls{$to}{$from} ? '' : ' by way of others');
			}
		}
	};
	for (@files) { $visit->($_) if !exists $index{$_} }
}

sub check {
	round_and_back();
	for my $file (@programs) {
		for (sort keys %{ $calls{$file} }) {
			push @wrong, "$file: calls @{[sort keys %{$calls{$file}{$_}}]} and does not need $_" if !$needs{$file}{$_} && $_ ne 'core/environment';
		}
	}
	for my $file (@files) {
		for my $other (sort keys %{ $calls{$file} }) {
			my @names = sort keys %{ $calls{$file}{$other} };
			push @wrong, "$file: calls @names and does not need $other"
				if !$needs{$file}{$other};
			for (grep { /_$/ && $defined{$_} } @names) {
				push @wrong, "$file: calls $_, which is private to $other";
			}
		}
		for my $other (sort keys %{ $needs{$file} }) {
			# Or this file reads it early, because another file needs it later.
			push @wrong, "$file: needs $other and calls nothing of it"
				if !$calls{$file}{$other} &&
					!grep { ($needs{$_}{$other} // '') eq 'later' } keys %needs;
			my ($from, $to) = (layer($file), layer($other));
			push @wrong, "$file: there is no layer $from" if !exists $level{$from};
			push @wrong, "$file: needs $other, which stands above it"
				if exists $level{$to} && exists $level{$from} &&
					$level{$to} > $level{$from};
			# The decision works on the facts that it is given. Outside of its layer it
			# calls only what takes a text apart, and knows the names of our folders.
			push @wrong, "$file: $other is outside decide"
				if $from eq 'decide' && $to ne 'decide' &&
					$other !~ m{^core/(?:paths|text)$};
		}
	}
	for my $file (@LONG) {
		my %read = ($file => 1);
		for (my @left = ($file); @left;) {
			my $next = shift @left;
			push @left, grep { $needs{$next}{$_} eq 'head' &&
				!$read{$_}++ } keys %{ $needs{$next} };
		}
		for my $by (sort keys %read) {
			for (sort keys %{ $needs{$by} }) {
				push @wrong, "$file: goes on for long, and reads $_ only when $by calls it" if !$read{$_}
			}
		}
	}
	my %prefix;
	for my $file (@files) {
		my $columns = length head_of($file);
		push @wrong, "$file: the head does not begin with a sentence that says what it is for"
			if !$columns;
		push @wrong, "$file: the first sentence of the head has $columns columns, and $HEAD_MOST is the most"
			if $columns > $HEAD_MOST;
		my $own = $file =~ m{^cmd/check/(?!findings)([\w-]+)$} ? "check_$1"
			: $file =~ s{.*/}{}r;
		push @{ $prefix{ $own =~ tr/-/_/r } }, $file;
	}
	for my $function (sort keys %defined) {
		my $file = $defined{$function};
		next if $FREE{$function};
		my ($own) = grep { grep { $_ eq $file } @{ $prefix{$_} } } keys %prefix;
		push @wrong, "$file: $function does not begin with $own"
			if $function !~ /^(?:cmd_)?\Q$own\E(?:_|$)/;
		push @wrong, "$file: $function is told apart from those of @{$prefix{$own}} by nothing" if $function !~ /^cmd_/ && @{ $prefix{$own} } > 1 && $file =~ /^cmd/;
	}
	print "$_\n" for @wrong;
	return @wrong ? 1 : 0;
}

# head_of FILE: the first sentence of its first comment, nothing if that is none.
sub head_of {
	my @lines;
	for (@{ $text{ $_[0] } }) {
		last if !/^# (?!shellcheck )(.+)/;
		push @lines, $1;
	}
	return "@lines" =~ /^(\S.*?[.?])(?: |$)/ ? $1 : '';
}

sub heads {
	for my $file (@files) { print "$file: @{[head_of($file)]}\n" }
	return 0;
}

sub needs {
	for my $file (@files) { print "$file: @{[sort keys %{$calls{$file}}]}\n" }
	return 0;
}

sub map_of_rooms {
	my (%inside, %arrow);
	push @{ $inside{ layer($_) } }, s{^\w+/}{}r for @files;
	for my $file (@files) {
		for (keys %{ $needs{$file} }) {
			$arrow{ layer($file) . "\t" . layer($_) }++ if layer($file) ne layer($_);
		}
	}
	print "// What each layer of lib/ holds and needs: \"make map\" draws it from the \"need\" lines.\ndigraph house {\n";
	print "\tgraph [rankdir=TB, nodesep=0.4, ranksep=0.5]\n\tnode [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11]\n";
	print "\tedge [fontname=\"sans-serif\", fontsize=9, color=gray40]\n";
	for my $layer (grep { $inside{$_} } @LAYERS) {
		my ($line, @rows) = ('');
		for (sort @{ $inside{$layer} }) {
			if (length "$line $_" > 34) { push @rows, $line; $line = '' }
			$line .= ($line ? ' ' : '') . $_;
		}
		print "\t\"$layer\" [label=\"$layer\\n@{[join '\\n', '', @rows, $line]}\"]\n";
	}
	for (sort keys %arrow) {
		my ($from, $to) = split /\t/; print "\t\"$from\" -> \"$to\" [label=$arrow{$_}]\n";
	}
	print "}\n";
	return 0;
}

my %modes = (check => \&check, heads => \&heads, needs => \&needs, map => \&map_of_rooms);
my $mode = $modes{ $ARGV[0] // '' } or die "usage: perl tests/house.pl check|heads|needs|map\n";
exit $mode->();
