#!/usr/bin/perl
# tests/facts.pl: compares every literal F[…] of lib/ with lib/decide/facts.list. Prints what is
# missing on either side: a key that is used and not listed, or listed and used nowhere; a file that
# writes a key and is not named there, or is named and does not write it. Exit code 1 if there is
# anything. "writers" prints which file writes which key.
use strict;
use warnings;

my (%used, %either, %writes, %any);
for my $file (sort split /\n/, `find lib -name '*.sh'`) {
	my $name = $file =~ s{^lib/}{}r =~ s{\.sh$}{}r;
	open my $in, '<', $file or die "$file: $!";
	while (<$in>) {
		next if /^\s*#/;
		s/\s#\s.*//;
		while (/(?<![A-Za-z_])F\[("?)([^\]"]+)\1\](\+?=(?!=))?/g) {
			my ($key, $set) = ($2, $3);
			# "${F[…]}" inside a key ends the pattern too early. Such a key is a leg's.
			next if $key =~ /\$\{\w+\[?/ && $key !~ /\$\{\w+\}/;
			my $before = substr $_, 0, $-[0];
			$set = ''
				if ($before =~ tr/[// - $before =~ tr/]//) &&
					$before =~ /\[\[[^\]]*$/;
			$key =~ s/^leg\.(?:\$\{\w+\}|\$\w+|\d+|ram)\./leg.I./;
			$key =~ s/^\$(?:leg|key|member|[1-9])\./?./;
			$key =~ s/^failed\..*/failed.ACTION/;
			$key =~ s/^conf\.(error|warning)\..*/conf.$1.N/;
			$key =~ s/^veto\..*/veto.ACTION/;
			next if $key eq '@';
			if ($key =~ /\$/) { $any{$name} = 1 if $set; next }
			# The key may be a leg's, or that of the RAM leg in the array.
			if ($key =~ /^\?(\..*)/) {
				($key, my $ram) = ("leg.I$1", "ram$1");
				$either{$ram} = 1;
				$writes{$ram}{$name} = 1 if $set;
			}
			$used{$key} //= $name;
			$writes{$key}{$name} = 1 if $set;
		}
	}
}

if (($ARGV[0] // '') eq 'writers') {
	print "$_\t@{[sort keys %{$writes{$_} // {}}]}\n" for sort keys %used;
	exit;
}
my (%listed, @wrong);
open my $list, '<', 'lib/decide/facts.list' or die "lib/decide/facts.list: $!";
while (<$list>) {
	next if /^#|^\s*$/;
	my ($key, $type, $writers, $meaning) = /^(\S+) +(\S+) +(\S+(?: \S+\/\S+)*)  +(\S.*)$/
		or do { push @wrong, "line $.: not KEY TYPE WRITERS MEANING"; next };
	push @wrong, "$key stands there twice" if $listed{$key}++;
	my %named = map { $_ => 1 } split ' ', $writers;
	for (keys %{ $writes{$key} }) {
		push @wrong, "$key: $_ writes it, and is not named" if !$named{$_}
	}
	for (keys %named) {
		push @wrong, "$key: $_ is named, and does not write it"
			if !$writes{$key}{$_} && !$any{$_}
	}
	push @wrong, "$key is used nowhere"
		if !$used{$key} && !$either{$key} && !grep { $any{$_} } keys %named;
}
for (sort keys %used) { push @wrong, "$_ ($used{$_}) is not listed" if !$listed{$_} }

# observe/facts.sh gives each of them a value, except where the key itself is all that is known.
my (%blank, $prefix);
open my $values, '<', 'lib/observe/facts.sh' or die "lib/observe/facts.sh: $!";
while (<$values>) {
	$prefix = $1 ? 'leg.I.' : '' if /^readonly FACTS_BLANK(_LEG)?='$/;
	undef $prefix if /^'/;
	my @keys;
	@keys = map { "$prefix$_" } split if defined $prefix && !/^readonly/;
	# Those that do not begin empty.
	if (/^facts_blank\(\)/ .. /^}/) {
		push @keys, map { "leg.I.$_" } /F\[leg\.\$leg\.([a-z_]+)\]=/g;
		push @keys, /\s\[([a-z_.]+)\]=/g;
	}
	for (@keys) { push @wrong, "facts_blank gives $_ a value twice" if $blank{$_}++ }
}
for (sort keys %listed) {
	push @wrong, "$_ has no value in observe/facts.sh"
		if !$blank{$_} && !/^(?:failed|veto|conf\.error|conf\.warning)\./;
}
for (sort keys %blank) {
	push @wrong, "$_ has a value in facts_blank and is not listed" if !$listed{$_};
}
print "$_\n" for sort @wrong;
exit(@wrong ? 1 : 0);
