# The words for the states of an array and of a leg, in the order in which they are listed, and the
# colour that each has at a terminal. What each means: man/ramraid-status.8.adoc.
# shellcheck shell=bash

readonly STATES_ARRAY='whole rebuilding resyncing degraded disks-only stopped half-assembled broken misconfigured'
readonly STATES_LEG='in_sync recovering faulty attached outside missing' # health_leg
declare -grA STATES_COLOUR=(
	[whole]=32 [rebuilding]=33 [resyncing]=33 [degraded]='1;31' ['disks-only']=33
	[stopped]='1;31'
	['half-assembled']='1;31' [broken]='1;31' [misconfigured]='1;31'
	[recovering]=33 [faulty]='1;31' [attached]=33 [outside]='1;31' [missing]='1;31'
)
