# What the cases share that kill ramraid between its steps; they source this. The guest's
# /root/killed is the program itself, which kills itself just before it does what it announces as "+
# $AT …".
# shellcheck shell=bash disable=SC2016,SC2034 # the guest expands; the cases use it
readonly killer='cat >/root/killed <<\END
set -Eeuo pipefail; shopt -s inherit_errexit
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin; umask 022
source /usr/sbin/ramraid
eval "$(declare -f need | sed "1s/need/need_/")"
need() {
	need_ "$@"
	log_info() {
		log_write 6 "$1"
		if [[ "$1 " == "+ $AT "* ]]; then kill -KILL $$ $BASHPID; fi
	}
}
main "$@"
END
'
