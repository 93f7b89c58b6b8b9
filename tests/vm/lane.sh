# shellcheck shell=bash disable=SC2154 # "here" is case.sh's
# One lane of "make campaign" or "make clients" (tests/vm/campaign): a machine that goes through the
# cuts numbered $CUTS.
# shellcheck source=tests/vm/campaign.sh
source "$here/campaign.sh"
load_disks
steps() {
	campaign_setup
	# shellcheck disable=SC2086 # numbers
	campaign_run ${CUTS:?}
}
