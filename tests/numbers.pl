#!/usr/bin/perl
# numbers.pl FILE…: names every variable that is read from a file below /run/ramraid or the state
# folder and used in arithmetic before a check that it is a number: bash evaluates the text in it.
# "text_number_or VARIABLE" is such a check, and so is a test of the variable against a pattern. A
# variable for others to calculate with (upper case) needs it too. Looks at one function at a time,
# and no further than the names in it.
# Also names each element that is passed by name ("unset", "read", "printf -v", "mapfile") with a
# text in its index: these evaluate the index once more. "i" and "key" are numbers and keys of ours;
# an assignment evaluates nothing twice.
use strict;
use warnings;

my $ours = qr/<\s*"(?!\$SYS|\$PROC|\$DEV|\$md)[^"]*(?:\$RUN|\$STATE|\$folder|\$\{folder|\$file|\$1\/)[^"]*"/;

sub look {
    my ($file, $name, $line, $body) = @_;
    my (%read, $pending);
    for (split /\n/, $body) {
        next if /^\s*#/;
        # The variables of a loop come before the file that it reads.
        $pending = $1 if /\bwhile\b.*?\bread\s+((?:-\S+\s+)*[A-Za-z_ ]+?)\s*;\s*do/;
        if (/\bdone\s.*$ours/ && defined $pending) {
	$read{$_} = 1 for grep { !/^-/ } split ' ', $pending;
}
        while (/\b(?:read|mapfile)\s+((?:-\S+\s+(?:\d+\s+)?|''\s*)*)([A-Za-z_ ]+?)\s+(?:2>\S+\s+)?$ours/g) { $read{$_} = 1 for split ' ', $2; }
        print "$file:$line: $name: calculates with what stands in a file; read it with text_number_in\n"
	if /\(\([^)]*\$\(<\s*"/;
    }
    # An element of what was read counts as read from the file, too.
    for (my $before = -1; $before < keys %read;) {
        $before = keys %read;
        for my $list (keys %read) {
            $read{$1} = 1 while $body =~ /\bfor\s+(\w+)\s+in\b[^;\n]*\$\{\Q$list\E\[/g;
            $read{$1} = 1 while $body =~ /\b(\w+)=["']?\$\{\Q$list\E[\[#%]/g;
            $read{$1} = 1 while $body =~ /\btext_split\s+(\w+)\s+"\$\{?\Q$list\E\b/g;
            while ($body =~ /\btext_into\s+"\$\{?\Q$list\E\b[^"]*"\s+([A-Za-z_ ]+)/g) {
	$read{$_} = 1 for split ' ', $1;
}
        }
    }
    for my $var (sort grep { $_ ne '_' } keys %read) {
        next if $body =~ /\btext_number_or\s+\Q$var\E\b/ ||
	$body =~ /\[\[(?:(?!\]\]).)*\$\{?\Q$var\E\b(?:(?!\]\]).)*?(?:=~|==|!=)/s;
        my $calculates =
	$body =~ /\(\((?:[^()\n]|\([^()\n]*\))*?\b(?<!\$\{\#)\Q$var\E\b(?!\[@\])(?:[^()\n]|\([^()\n]*\))*\)\)/ ||
	# [[ evaluates both sides of these, too.
	$body =~ /\[\[(?:(?!\]\]).)*(?:\$\{?\Q$var\E\b[^\s]*\s+-(?:eq|ne|lt|le|gt|ge)\s|-(?:eq|ne|lt|le|gt|ge)\s+"?\$\{?\Q$var\E\b)/s;
        print "$file:$line: $name: $var is read from a file; text_number_or $var DEFAULT first\n"
	if $calculates || $var =~ /^[A-Z][A-Z_]+$/;
    }
}

for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my ($name, $at, $body);
    while (<$in>) {
        if (!/^\s*#/ && /\b(?:unset|read|mapfile|printf\s+-v)\b([^;|&<]*)/) {
            for my $index ($1 =~ /\w\[([^"']*)\](?=["'\s])/g) {
	print "$file:$.: the index of an element given by name is evaluated again: [$index]\n"
	    if $index =~ s/\$(?:i|key)\b//gr =~ /[\$`]/;
            }
        }
        if (/^(\w+)\(\) [{(]/) { ($name, $at, $body) = ($1, $., ''); }
        $body .= $_ if defined $name;
        if (defined $name && (/^[})]/ || ($. == $at && /\}\s*(?:#.*)?$/))) {
            look($file, $name, $at, $body);
            undef $name;
        }
    }
}
