# shellcheck shell=bash disable=SC2016 # backquotes are Markdown
# What the makers of docs/*-figures.md share: bench, bench-apps, bench-rebuild, bench-scale,
# bench-zram. Each runs one case, or takes, with FROM=FILE, a run of it that was kept.
set -Eeuo pipefail
shopt -s inherit_errexit

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
# shellcheck disable=SC2034 # theirs
readonly here docs=$here/../../docs
release=${RELEASE:-trixie}
# shellcheck source=tests/vm/stolen.sh
source "$here/stolen.sh"

# figures_tools COMMAND=PACKAGE…: installs the packages whose commands are missing, through apt.
figures_tools() {
	local sudo=() missing=() tool
	for tool; do command -v "${tool%%=*}" >/dev/null || missing+=("${tool#*=}"); done
	((${#missing[@]} > 0)) || return 0
	((EUID == 0)) || sudo=(sudo)
	echo "Installing ${missing[*]} through apt"
	"${sudo[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# figures_run CASE: runs it, and sets RUN to the file with what it prints.
figures_run() {
	local before
	RUN=${FROM-}
	[[ -z $RUN ]] || return 0
	RUN=$here/../../build/$1.txt
	before=$(stolen_since)
	RAMRAID_DEB=$(printf '%s\n' "$here"/../../build/ramraid_*_all.deb | sort -V | tail -n1) \
		"$here/case.sh" "$1" "$release" </dev/null |
		tee "$RUN"
	echo \
		"processor time that the host gave to others: \
$(stolen "$before" "$(stolen_since)") %" \
		>>"$RUN"
}

# figures_fact NAME: prints what the run says of itself; fails if it says nothing.
figures_fact() { sed -n "s/^$1: //p" "$RUN" | head -n 1 | grep .; }

# figures_machine NAME…: prints what it ran on, as a list.
figures_machine() {
	local name
	for name; do sed -n "s/^$name: /- $name: /p" "$RUN"; done
}
