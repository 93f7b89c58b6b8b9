#!/usr/bin/perl
# herestrings.pl FILE…: names each here-string, and each here-document in which bash expands
# something. bash puts what is longer than a pipe takes (64 KiB) into a temporary file. Where it
# can't make one, in the generator before / is writable and in the sandbox of our units, the text is
# lost: the program gets nothing to read, and goes on. "< <(printf '%s\n' "$text")", a pipe,
# act_text and text_split have no such limit. A here-document with a quoted delimiter is allowed: it
# is as long as it is in the file, which is measured here.
use strict;
use warnings;

for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my ($end, $indented, $bytes) = ('', '', 0);
    while (<$in>) {
        if ($end ne '') {
            my $line = $indented ? s/^\t+//r : $_;
            if ($line eq "$end\n") {
                print "$file:$.: a here-document of $bytes bytes\n" if $bytes >= 65536;
                $end = '';
            } else {
                $bytes += length;
            }
            next;
        }
        next if /^\s*#/;
        # What is in quotes is text, except the delimiter itself.
        my $code = s/(?<!<)(?<!<-)'[^']*'//gr;
        print "$file:$.: a here-string; use: < <(printf '%s\\n' …)\n" if $code =~ /<<</;
        next unless $code =~ /(?<![<(])<<(-?)(['"\\]?)([A-Za-z_]\w*)/;
        ($indented, $end, $bytes) = ($1, $3, 0);
        print "$file:$.: a here-document that is expanded; quote $end, or use printf\n" if $2 eq '';
    }
}
