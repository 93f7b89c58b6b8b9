#!/usr/bin/perl
# schema.pl SCHEMA <DOCUMENT: is the JSON document on stdin as the JSON schema says? Prints what is
# wrong, a line each, and ends with 1. Knows just the keywords that docs/*.schema.json use, and
# refuses a schema with others, so that nothing in it goes unchecked.
use strict;
use warnings;
use JSON::PP;

my $schema = decode_json(do { local (@ARGV, $/) = $ARGV[0]; <> });
my @wrong;
sub wrong { push @wrong, "$_[0]: $_[1]" }

my %type = (
	object => sub { ref $_[0] eq 'HASH' },
	array => sub { ref $_[0] eq 'ARRAY' },
	boolean => sub { JSON::PP::is_bool($_[0]) },
	null => sub { !defined $_[0] },
	# What was a number in the text is one for the encoder.
	number => sub { defined $_[0] && !ref $_[0] && encode_json([$_[0]]) !~ /"/ },
	integer => sub { defined $_[0] && !ref $_[0] && encode_json([$_[0]]) =~ /^\[-?[0-9]+\]$/ },
	string => sub { defined $_[0] && !ref $_[0] && encode_json([$_[0]]) =~ /^\["/ },
);

# How a value has to be for a keyword; those that are left out say nothing of values.
my %keyword = (
	type => sub {
		my ($at, $value, $types) = @_;
		wrong($at, 'is no ' . encode_json([ref $types ? @$types : $types]))
			unless grep { $type{$_}->($value) } ref $types ? @$types : $types;
	},
	const => sub {
		my ($at, $value, $const) = @_;
		wrong($at, "is not $const") unless encode_json([$value]) eq encode_json([$const]);
	},
	enum => sub {
		my ($at, $value, $enum) = @_;
		wrong($at, 'is none of ' . encode_json($enum))
			unless grep { encode_json([$value]) eq encode_json([$_]) } @$enum;
	},
	pattern => sub {
		my ($at, $value, $re) = @_;
		wrong($at, "does not fit $re") if $type{string}->($value) && $value !~ /$re/;
	},
	minLength => sub {
		my ($at, $value, $least) = @_;
		wrong($at, 'is too short') if $type{string}->($value) && length $value < $least;
	},
	minimum => sub {
		my ($at, $value, $least) = @_;
		wrong($at, "is below $least") if $type{number}->($value) && $value < $least;
	},
	maximum => sub {
		my ($at, $value, $most) = @_;
		wrong($at, "is above $most") if $type{number}->($value) && $value > $most;
	},
	required => sub {
		my ($at, $value, $keys) = @_; for (@$keys) {
			wrong($at, "has no $_") if ref $value eq 'HASH' && !exists $value->{$_}
		}
	},
	properties => sub {
		my ($at, $value, $keys) = @_; for (sort keys %$keys) {
			check("$at.$_", $value->{$_}, $keys->{$_})
				if ref $value eq 'HASH' && exists $value->{$_}
		}
	},
	additionalProperties => sub {
		my ($at, $value, $allowed, $here) = @_;
		die "additionalProperties can only be false\n" if $allowed;
		for (sort keys %{ ref $value eq 'HASH' ? $value : {} }) {
			wrong($at, "has $_, which is not in the schema")
				unless exists $here->{properties}{$_}
		}
	},
	items => sub {
		my ($at, $value, $items) = @_;
		my $i = 0;
		check("$at\[" . $i++ . ']', $_, $items) for ref $value eq 'ARRAY' ? @$value : ();
	},
	anyOf => sub {
		my ($at, $value, $ways) = @_;
		my @before = @wrong;
		my @most;
		for (@$ways) {
			@wrong = ();
			check($at, $value, $_);
			(@wrong = @before), return unless @wrong;
			@most = @wrong unless @most;
		}
		@wrong = (@before, @most);
	},
	'$ref' => sub {
		my ($at, $value, $ref) = @_;
		$ref =~ m{^#/\$defs/(\w+)$} && exists $schema->{'$defs'}{$1}
			or die "no such \$ref: $ref\n";
		check($at, $value, $schema->{'$defs'}{$1});
	},
	map { $_ => sub { } } qw($schema $defs title description),
);

sub check {
	my ($at, $value, $here) = @_;
	for (sort keys %$here) {
		my $judge = $keyword{$_}
			or die "the schema has $_, which this program does not know\n";
		$judge->($at, $value, $here->{$_}, $here);
	}
}

check('$', decode_json(do { local $/; <STDIN> }), $schema);
print "$_\n" for @wrong;
exit(@wrong ? 1 : 0);
