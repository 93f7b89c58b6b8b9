# docs/troubleshooting.md, read twice, as roff: see generate/diagnostics.
function roff(text) { gsub(/\\/, "\\(rs", text); gsub(/-/, "\\-", text); gsub(/\047/, "\\(aq", text); gsub(/\^/, "\\(ha", text); gsub(/~/, "\\(ti", text); gsub(/`/, "\\(ga", text); gsub(/…/, "...", text); return text }
# An ellipsis after a full stop is left out.
function quoted(text) { sub(/\.…$/, ".", text); return roff(text) }
# Protects a line that begins with a dot or an apostrophe: roff would read it as a request.
function safe(text) { return text ~ /^[.\047]/ ? "\\&" text : text }
# Replaces each link by its text, and adds the heading if it leads to another part of the page.
function plain(text,   before, rest, link, shown) {
	while (match(text, /\[[^]]*\]\([^)]*\)/)) {
		before = substr(text, 1, RSTART - 1); rest = substr(text, RSTART + RLENGTH)
		link = shown = substr(text, RSTART + 1, RLENGTH - 2)
		sub(/\]\(.*/, "", shown); sub(/.*\]\(/, "", link)
		if (link ~ /^#/) {
			if (!(link in heading)) fail("no such heading: " link)
			shown = tolower(shown) == tolower(heading[link]) ? heading[link] : shown " (" heading[link] ")"
		}
		else if (link ~ /\.md/) { sub(/#.*/, "", link); shown = shown " (docs/" link ")" }
		text = before shown rest
	}
	return text
}
function title(line,   big) { big = line ~ /^## /; sub(/^#+ /, "", line); gsub(/`/, "", line); return big ? toupper(line) : line }
function anchor(line) { sub(/^#+ /, "", line); line = tolower(line); gsub(/[^a-z0-9 _-]/, "", line); gsub(/ /, "-", line); return "#" line }
FNR == 1 { file++ }
file == 1 { if (/^##+ /) heading[anchor($0)] = title($0); next }
# Every second part of a text that is split at backquotes is code.
function marked(text,   n, i, parts, out, head, name) {
	n = split(plain(text), parts, "`")
	if (n % 2 == 0) fail("a backquote is missing")
	for (i = 1; i <= n; i++) {
		if (i % 2) {
			parts[i] = roff(parts[i])
			while (match(parts[i], /\*\*?[^*]+\*\*?/)) {
				head = substr(parts[i], RSTART, RLENGTH); gsub(/\*/, "", head)
				parts[i] = substr(parts[i], 1, RSTART - 1) "\\fI" head "\\fP" substr(parts[i], RSTART + RLENGTH)
			}
			out = out parts[i]
		} else if (parts[i] ~ /^[a-z@.-]+\([1-8]\)$/) {
			name = parts[i]; sub(/\(.*/, "", name)
			out = out "\\fB" roff(name) "\\fP" substr(parts[i], length(name) + 1)
		} else out = out "\\fB" roff(parts[i]) "\\fP"
	}
	return safe(out)
}
function fail(why) { printf "docs/troubleshooting.md:%d: %s\n", FNR, why >"/dev/stderr"; failed = 1; exit 1 }
function indent() { if (said && !inside) { print ".RS 4"; inside = 1 } }
function outdent() { if (inside) print ".RE"; inside = said = 0 }
function flush() {
	if (text == "") return
	if (text ~ /manual page `ramraid-diagnostics/) { text = ""; return } # about this very page
	indent()
	print (item ? ".IP \"" item "\" 4" : ".PP"); print marked(text)
	text = item = ""
}
/^```/ { flush(); indent(); print (fence ? ".fi\n.RE" : ".PP\n.RS 4\n.nf"); fence = !fence; next }
fence { print safe(roff($0)); next }
/^# / { next }
/^##+ / { flush(); outdent(); print ($1 == "##" ? ".SH" : ".SS"); print safe(roff(title($0))); next }
/^> `.*`$/ { flush(); if (inside) outdent(); print ".PP"; print "\\fB\\(lq" quoted(substr($0, 4, length($0) - 4)) "\\(rq\\fP"; said = 1; next }
/^>/ { fail("a message is \"> `TEXT`\"") }
/^$/ { flush(); next }
/^- / { flush(); item = "\\(bu"; text = substr($0, 3); next }
/^[0-9]+\. / { flush(); item = $1; sub(/^[0-9]+\. /, ""); text = $0; next }
{ sub(/^ +/, ""); text = text == "" ? $0 : text " " $0 }
END { if (!failed) { flush(); outdent() } }
