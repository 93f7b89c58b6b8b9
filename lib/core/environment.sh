# What of the caller's environment stays. Needs nothing: it comes before everything else.
# shellcheck shell=bash

# What of the environment is meant for us, or for the programs that are run.
readonly ENVIRONMENT_KEPT=" PATH LC_ALL HOME USER LOGNAME SHELL PWD OLDPWD SHLVL _ TERM NO_COLOR \
COLUMNS LINES TZ NOTIFY_SOCKET JOURNAL_STREAM INVOCATION_ID SYSTEMD_EXEC_PID MAINPID RAMRAID_UNIT "

# environment_clean: everything else goes, functions as well, before anything of ours is set:
# whoever calls us must not set a variable that we take for our own, such as one that forces a disk.
# What stays besides is dpkg's, in which update-initramfs looks whether it is to wait for a trigger.
# With RAMRAID_ROOT nothing goes: there is no system that could be harmed, and tests replace
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
