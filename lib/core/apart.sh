# A shell of its own, for what a trap calls.
# shellcheck shell=bash

# apart COMMAND…: runs COMMAND, a function, in a shell of its own, and returns its status. What it
# sets is lost. Whoever runs functions of ours from a trap calls them by this: in a trap, bash gives
# every "return" without a number the status from before the trap, also in the functions that the
# trap calls (bash(1), return; get_exitstat() in bash's builtins/common.c; tests/unit/cli.bats).
# Then what has succeeded counts as failed, and the rest is left undone.
apart() { ("$@"); }
