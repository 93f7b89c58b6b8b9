#!/usr/bin/perl
# Mutants of shell libraries: small faults, one at a time.
#   mutate.pl list FILE…         every mutant of these files: NUMBER FILE LINE FUNCTION KIND and
#                                what the line becomes
#   mutate.pl pick N SEED FILE…  N of them by chance, the same for the same seed
#   mutate.pl probe FILE…        rewrites the files so that each function notes that it has run, as
#                                $RAMRAID_COVER/TESTFILE:TESTNUMBER:FILE:FUNCTION
# Kinds: negate (a condition), bound (a comparison off by one), junction (&& for ||), drop (a line),
# swap (two arguments). A mutant that bash can't parse is for the caller to leave out.
use strict;
use warnings;

my $mode = shift // '';

sub lines_of {
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	my @lines = <$in>;
	return @lines;
}

# function_at LINES: the function that each line belongs to, '' outside of all.
sub functions {
	my @of;
	my $name = '';
	for (@_) {
		if (/^([a-z_][a-z0-9_]*)\(\) [{(]/) {
			my $function = $1;
			push @of, $function;
			$name = /[})](?:\s*#.*)?$/ && !/[{(](?:\s*#.*)?$/ ? '' : $function;
			next;
		}
		push @of, $name;
		$name = '' if /^[})]/;
	}
	return @of;
}

# Every place of a line where PATTERN matches, replaced by what CODE makes of it.
sub each_place {
	my ($line, $pattern, $code) = @_;
	my @out;
	while ($line =~ /$pattern/g) {
		my ($from, $to) = ($-[0], $+[0]);
		# Within a text there is nothing to mutate.
		(my $before = substr $line, 0, $from) =~ s/"(?:[^"\\\\]|\\\\.)*"//g;
		next if $before =~ tr/'// % 2 || $before =~ tr/"// % 2 && $line !~ /\[\[/;
		my $new = $code->(substr $line, $from, $to - $from);
		push @out, substr($line, 0, $from) . $new . substr($line, $to) if defined $new;
	}
	return @out;
}

sub mutants_of_line {
	my ($line) = @_;
	return if $line =~ /^\s*(#|$)/ || $line =~ /^\s*(readonly|declare)\b/;
	my @out;
	my $add = sub { my $kind = shift; push @out, map { [$kind, $_] } @_ };
	$add->('negate', each_place($line, qr/ (?:==|!=) /, sub {
		$_[0] eq ' == ' ? ' != ' : ' == ';
	}));
	$add->('negate', each_place($line, qr/ =~ /, sub { ' != ' }));
	$add->('negate', each_place($line, qr/(?<=[\[ ])-[nz] (?=["\$])/, sub {
		$_[0] eq '-n ' ? '-z ' : '-n ';
	}));
	$add->('negate', each_place($line,
		qr/(?:^\s*|(?:if|while|until|&&|\|\|) )! (?=[a-z\[(])/, sub {
			my $t = shift; $t =~ s/! $//; $t;
		}));
	$add->('negate', each_place($line, qr/(?<=if )(?=[a-z\[(])/, sub { '! ' }));
	$add->('bound', each_place($line, qr/ (?:<=|>=|<|>) (?=[^(])/, sub {
		return if $line !~ /\(\(/;
		return { ' < ' => ' <= ', ' <= ' => ' < ', ' > ' => ' >= ',
			' >= ' => ' > ' }->{$_[0]};
	}));
	$add->('bound', each_place($line, qr/ [+-] 1\b/, sub { '' })) if $line =~ /\(\(/;
	$add->('junction', each_place($line, qr/ (?:&&|\|\|) /, sub {
		$_[0] eq ' && ' ? ' || ' : ' && ';
	}));
	if ($line =~ /^(\s+)(?!local\b|return\b|done|fi\b|esac|else|then|elif|if\b|for\b|while\b|until\b|case\b|do\b|shift\b|log_info\b|log_notice\b|systemd_status\b|need\b|[\w*|"'.\/@()+-]+\)|[{}()]|;;)[a-zA-Z_\[]/
		&& $line !~ /(?:[{(|&\\]|do|then|\|\|)\s*$/ && $line !~ /;;/) {
		push @out, ['drop', "$1:\n"];
	}
	if ($line =~ /^(\s*(?:! )?[a-z]+_[a-z_]+) ("\$\{?[^" ]+"|[\w.\$]+) ("\$\{?[^" ]+"|[\w.\$]+)(.*\n)$/ && $2 ne $3) {
		push @out, ['swap', "$1 $3 $2$4"];
	}
	my %seen = ($line => 1);
	return grep { !$seen{ $_->[1] }++ } @out;
}

sub mutants {
	my @all;
	for my $file (@_) {
		my @lines = lines_of($file);
		my @of = functions(@lines);
		for my $i (0 .. $#lines) {
			next if $of[$i] eq '';
			push @all, [$file, $i + 1, $of[$i], @$_] for mutants_of_line($lines[$i]);
		}
	}
	return @all;
}

sub print_mutants {
	my $number = 0;
	for (@_) {
		my ($file, $line, $function, $kind, $text) = @$_;
		chomp $text;
		print join("\t", ++$number, $file, $line, $function, $kind, $text), "\n";
	}
}

sub probe {
	my ($file) = @_;
	my @lines = lines_of($file);
	(my $name = $file) =~ s|.*/||;
	open my $out, '>', $file or die "$file: $!\n";
	for (@lines) {
		s|^([a-z_][a-z0-9_]*)\(\) \{|$1() { { : >"\$RAMRAID_COVER/\${BATS_TEST_FILENAME##*/}:\${BATS_TEST_NUMBER:-0}:$name:$1"; } 2>/dev/null \|\| :; |
			and s/; +#/; #/;
		s/^(.*\|\| :;) *\n$/$1\n/;
		print $out $_;
	}
	close $out or die "$file: $!\n";
}

if ($mode eq 'list') {
	print_mutants(mutants(@ARGV));
} elsif ($mode eq 'pick') {
	my ($count, $seed, @files) = @ARGV;
	srand $seed;
	my @all = mutants(@files);
	for (my $i = $#all; $i > 0; $i--) {
		my $j = int rand($i + 1);
		@all[$i, $j] = @all[$j, $i];
	}
	print_mutants(@all[0 .. ($count < @all ? $count : @all) - 1]);
} elsif ($mode eq 'probe') {
	probe($_) for @ARGV;
} else {
	die "usage: mutate.pl list|pick|probe …\n";
}
