# Says what is wrong with a configuration, for the person who wrote it, and which files in a folder
# of drop-ins are not read because their names do not end in .conf.
# shellcheck shell=bash

need config/conf core/log core/paths core/text world/stable-name

# Key → what to write.
# keys.list: made by "make keys" from that file, up to the line that ends it
declare -grA CONF_EXPECTED=(
	[UUID]='the array UUID as "mdadm --detail" prints it'
	[MEMBER]='a device path'
	[REQUIRED_BY]='a mount point or the name of a unit'
	[LAYOUT]='mirror or far2'
	[ROOT]='yes or no'
	[BLOCK]='auto or 4096'
	[RAM]='auto, rapiddisk, brd, zram, zram:ALGORITHM, none, or a device path'
	[RAM_LIMIT]='a size such as 2G or 25%, or auto'
	[RAM_RESERVE]='a size such as 512M or 10%'
	[MEMORY_FLOOR]='a size such as 512M or 5%, or 0 for never'
	[REBUILD]='auto, copy or kernel'
	[COPY_RATE]='bytes a second such as 200M, or 0 for no limit'
	[VERIFY]='no, sample or yes'
	[WAIT]='yes or no'
	[WAIT_TIMEOUT]='a time span such as 90s, 10min or infinity'
	[ON_TIMEOUT]='degraded or fail'
	[ACCEPT_KERNEL_FLAW]='yes or no'
	[MEMBER_TIMEOUT]='a time span such as 30s'
	[START_DEGRADED]='witness, always or never'
	[WITNESS_COPY]='auto, none, or a folder'
	[HOTPLUG]='yes or no'
	[AUTO_REPLACE]='yes or no'
	[NOTIFY]='the absolute path of a program, or none'
	[RESCUE]='a folder, or none'
	[WRITE_BEHIND]='a number of writes from 0 to 16383'
	[ACCEPT_DATA_LOSS]='yes or no'
)
# keys.list end

# conf_faults_name NAME: prints the complaint that NAME can't be an array's name, fit for a terminal
# and one line of the journal.
conf_faults_name() {
	local shown=${1//[[:cntrl:]]/?}
	printf "\"%s\" can't be an array's name; use up to 31 letters, digits, \
\"-\", \"_\" and \".\", a letter first" "${shown:0:60}"
}

# conf_faults_say FAULT WHERE [WORD…]: adds to CONF_ERRORS, or to CONF_NOTES, the text for a fault
# that config/conf.sh has found.
conf_faults_say() {
	local where=$2 shown better text
	case $1 in
	name)
		shown=${where//[[:cntrl:]]/?} text=$(conf_faults_name "$where")
		# A path is none of our files: somebody typed it.
		where="$ETC/${shown:0:60}.conf"
		[[ $2 != */* ]] || where=''
		;;
	control) text='contains control characters; it must be plain text with Unix line endings' ;;
	dos | mark) text=$(conf_faults_windows_ "$1" "$where") ;;
	bytes) text="has a NUL byte or more than $CONF_MAX_BYTES bytes, so it is not a \
configuration file" ;;
	long) text="has $3 characters; a line may have at most $CONF_MAX_LINE" ;;
	form) text="\"${3:0:60}\" is not of the form KEY=value" ;;
	key) text="unknown key \"${3:0:60}\"; ramraid.conf(5) lists all keys" ;;
	renamed)
		CONF_NOTES+=("$where: $3 has been called $4 since 0.2.0; write $4=, since a later \
release will not read $3=")
		return
		;;
	value)
		[[ $4 != *[[:blank:]]'#'* ]] || better='; a comment must be on a line of its own'
		text="$3=${4:0:80}: write ${CONF_EXPECTED[$3]}${better-}"
		;;
	place) text="$3 belongs to one array; write it in that array's own file" ;;
	unstable)
		better=$(stable_name_of "$3") ||
			better='a name below /dev/disk/by-id (see: lsblk -o NAME,SIZE,SERIAL,MODEL)'
		text="${4:-MEMBER}=${3:0:80}: \
this name can mean another disk after the next boot; write $better"
		;;
	twice) text="MEMBER=$3 is there already; delete one of the two lines" ;;
	both) text="RAM=${CONF[RAM]} is a MEMBER as well; delete one of the two lines" ;;
	no-uuid) text='UUID= is missing; write the array UUID (see: mdadm --examine DISK)' ;;
	runs) text="UUID= is not that of the array running as $4: write $3, or: ramraid stop $4" ;;
	no-member) text='there is no MEMBER= line; write one for each disk leg' ;;
	far2)
		text='LAYOUT=far2 takes two MEMBER lines and RAM=none; '
		text+='the RAM leg belongs to the mirror on top of it'
		;;
	data-loss)
		text="WRITE_BEHIND=${CONF[WRITE_BEHIND]} lets fsync return before a disk has the \
data; delete it, or also write ACCEPT_DATA_LOSS=yes"
		;;
	esac
	CONF_ERRORS+=("${where:+$where: }$text")
}

# conf_faults_windows_ dos|mark FILE: prints what a Windows editor has done to FILE, and the command
# that mends it.
conf_faults_windows_() {
	case $1 in
	dos) printf 'has Windows line endings; type: sed -i '"'"'s/\\r$//'"'"' %s\n' "$2" ;;
	mark)
		printf 'begins with a byte order mark, as Windows editors write it; type: '
		printf 'sed -i '"'"'1s/^\\xef\\xbb\\xbf//'"'"' %s\n' "$2"
		;;
	esac
}

# conf_faults_unread NAME: looks into the folder of drop-ins of NAME ("ramraid": of the defaults).
# Sets CONF_UNREAD_MEANT to the files that are not read but that somebody may think are drop-ins,
# and CONF_UNREAD_KEPT to those that an editor, a package manager or a person has put aside. Hidden
# files are in neither.
conf_faults_unread() {
	local file
	CONF_UNREAD_MEANT=() CONF_UNREAD_KEPT=()
	for file in "$ETC/$1.conf.d"/*; do
		[[ -e $file || -L $file ]] || continue
		log_printable file
		case ${file##*/} in
		*.conf) ;;
		*~ | '#'*'#' | *.swp | *.bak | *.old | *.orig | *.save | *.dpkg-* | *.ucf-* | \
			*.rpm* | *.pac* | *.disabled | *.off | README*)
			CONF_UNREAD_KEPT+=("$file")
			;;
		*) CONF_UNREAD_MEANT+=("$file") ;;
		esac
	done
}
