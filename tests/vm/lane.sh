# shellcheck shell=bash disable=SC2154 # "here" is case.sh's
# One lane of "make campaign" (tests/vm/campaign): a machine that goes through the cuts numbered
# $CUTS.
from small
# shellcheck source=tests/vm/campaign.sh
source "$here/campaign.sh"
campaign_disks
steps() {
	campaign_setup
	# shellcheck disable=SC2086 # numbers
	campaign_run ${CUTS:?}
}
