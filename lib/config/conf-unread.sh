# What is in a folder of drop-ins and is not read, because its name does not end in .conf.
# shellcheck shell=bash

need core/log core/paths

# conf_unread NAME: sets CONF_UNREAD_MEANT to the files in the folder of drop-ins of NAME ("ramraid":
# that of the defaults) that somebody may take for drop-ins, and CONF_UNREAD_KEPT to those that an
# editor, a package manager or a person has put aside. Hidden files are neither.
conf_unread() {
	local file
	CONF_UNREAD_MEANT=() CONF_UNREAD_KEPT=()
	for file in "$ETC/$1.conf.d"/*; do
		[[ -e $file || -L $file ]] || continue
		log_printable file
		case ${file##*/} in
		*.conf) ;;
		*~ | '#'*'#' | *.swp | *.bak | *.old | *.orig | *.save | *.dpkg-* | *.ucf-* | *.rpm* | \
			*.pac* | *.disabled | *.off | README*) CONF_UNREAD_KEPT+=("$file") ;;
		*) CONF_UNREAD_MEANT+=("$file") ;;
		esac
	done
}
