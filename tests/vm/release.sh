# shellcheck shell=bash
# The releases that the bench knows: bookworm, trixie, forky and sid; and bookworm-backports and
# trixie-backports, which are those with the kernel of their backports.

# Debian 14 has no rapiddisk, and its module does not build for the other kernels that are here.
release_has_rapiddisk() { [[ $1 == @(bookworm|trixie) ]]; } # RELEASE

# The archive of one that is not released changes every day: a mirror may be older than its
# Valid-Until.
release_is_unreleased() { [[ $1 == @(forky|sid) ]]; } # RELEASE
