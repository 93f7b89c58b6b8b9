# What stays of the caller's environment. Needs nothing, because it runs before everything else.
# shellcheck shell=bash

# Variables that are meant for us, or for the programs that we run.
readonly ENVIRONMENT_KEPT=" PATH LC_ALL HOME USER LOGNAME SHELL PWD OLDPWD SHLVL _ TERM NO_COLOR \
COLUMNS LINES TZ NOTIFY_SOCKET JOURNAL_STREAM INVOCATION_ID SYSTEMD_EXEC_PID MAINPID RAMRAID_UNIT "

# environment_clean: removes everything else, functions as well, before any variable of ours is set.
# The caller must not be able to set a variable that we would treat as our own, such as one that
# forces a disk. dpkg's variables stay too: from them, update-initramfs learns whether to wait for a
# trigger. With RAMRAID_ROOT nothing is removed: there is no system to be harmed, and tests replace
# programs by functions.
environment_clean() {
	local line
	[[ -z ${RAMRAID_ROOT-} ]] || return 0
	while IFS= read -r line; do
		case $line in
		'declare -fx '*) unset -f "${line#declare -fx }" ;;
		'declare '* | DPKG_* | DEBCONF_* | DEBIAN_*) ;;
		*)
			[[ $ENVIRONMENT_KEPT == *" $line "* || ${!line@a} == *r* ]] ||
				unset -v "$line"
			;;
		esac
	done < <(compgen -e && declare -F)
}
