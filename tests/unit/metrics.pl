#!/usr/bin/perl
# metrics.pl <TEXT: is it the text format of Prometheus
# (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4), and does it follow
# its rules for names? Stricter than Prometheus: each metric has its HELP and TYPE, in this order,
# and all its samples after them. Prints what is wrong, a line each, and ends with 1. Else prints
# the samples, with their labels sorted.
use strict;
use warnings;

local $/;
my $text = <STDIN>;
my (@wrong, %done, %seen, %type, @samples);
my ($metric, $expected) = ('', 'HELP');
sub wrong { push @wrong, "$_[0]" }

my $copy = $text;
utf8::decode($copy) or wrong('not UTF-8');
wrong('does not end with a line end') unless $text =~ /\n\z/;
for my $line (split /\n/, $text, -1) {
	if ($line =~ /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/) {
		my ($kind, $name, $rest) = ($1, $2, $3);
		if ($kind eq 'HELP') {
			wrong("$name: comes twice") if $done{$name}++;
			wrong("$metric: has no samples")
				if $metric ne '' && !grep { $_->[0] eq $metric } @samples;
			wrong("$name: the help has a backslash that escapes nothing")
				if $rest =~ /\\(?![\\n])/;
			$metric = $name;
		} else {
			wrong("$name: TYPE without its HELP before it") if $name ne $metric;
			wrong("$name: no type: $rest")
				unless $rest =~ /^(counter|gauge|histogram|summary|untyped)$/;
			wrong("$name: a counter ends with _total, and nothing else does")
				if ($rest eq 'counter') != ($name =~ /_total$/);
			$type{$name} = $rest;
		}
	} elsif ($line =~ /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/) {
		my ($name, $labels, $value) = ($1, $2 // '', $3);
		my (%label, $rest);
		wrong("$name: a sample outside of its group")
			if $name ne $metric || !exists $type{$name};
		$rest = $labels;
		while ($rest =~ s/^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,(?=[a-z])|$)//) {
			wrong("$name: the label $1 comes twice") if exists $label{$1};
			$label{$1} = $2;
		}
		wrong("$name: labels that can't be read: $rest") if $rest ne '';
		wrong("$name: no number: $value")
			unless $value =~ /^[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|Inf|NaN)$/;
		wrong("$name: a negative counter")
			if ($type{$name} // '') eq 'counter' && $value =~ /^-/;
		my $key = "$name\{" . join(',', map { "$_=\"$label{$_}\"" } sort keys %label) . '}';
		wrong("$key: comes twice") if $seen{$key}++;
		push @samples, [$name, $key, $value];
	} elsif ($line ne '') {
		wrong("a line that is none: $line");
	}
}
wrong('an empty line') if $text =~ /^\n|\n\n/;
print map { "$_\n" } @wrong ? @wrong : map { "$_->[1] $_->[2]" } @samples;
exit(@wrong ? 1 : 0);
