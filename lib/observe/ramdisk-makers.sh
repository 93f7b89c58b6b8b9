# What else makes or removes ramdisks on this machine: rapiddiskd, rapiddisk-on-boot, and what
# somebody has written into /etc. Two programs that manage the ramdisks of one array are one too
# many. Nothing is changed here.
# shellcheck shell=bash

need core/paths

readonly RAMDISK_MAKERS_BYTES=65536 # no file that a person writes for a boot is larger
# Patterns: a command that adds a member to an array, the ramdisk in it, and a command that makes a
# ramdisk.
readonly RAMDISK_MAKERS_ADD='(--(add|add-spare|re-add|create|assemble|build)|-[[:alpha:]]*[aACB][[:alpha:]]*)'
readonly RAMDISK_MAKERS_MD='(^|[^[:alnum:]_.-])mdadm[[:blank:]](.*[[:blank:]])?'$RAMDISK_MAKERS_ADD'([[:blank:]=]|$)'
readonly RAMDISK_MAKERS_NODE='/dev/(rd|ram|zram)[0-9]'
readonly RAMDISK_MAKERS_NEW='(-a[0-9]*|--attach(=[0-9]+)?|attach)([[:blank:]"'\'']|$)'
readonly RAMDISK_MAKERS_ATTACH='(^|[^[:alnum:]_.-])rapiddisk[[:blank:]]+([^|;&]*[[:blank:]])?'$RAMDISK_MAKERS_NEW

# ramdisk_makers_find: sets RAMDISK_MAKERS to a word for each finding (daemon: it removes ramdisks
# as well; array: it adds one to an array; ramdisk: it makes one), RAMDISK_MAKERS_FOUND to what was
# found, RAMDISK_MAKERS_DO to what to type, and RAMDISK_MAKERS_UNSEEN to the files that can't be
# read.
ramdisk_makers_find() {
	local file files=() seen=()
	RAMDISK_MAKERS=() RAMDISK_MAKERS_FOUND=() RAMDISK_MAKERS_DO=() RAMDISK_MAKERS_UNSEEN=()
	ramdisk_makers_daemon_
	ramdisk_makers_on_boot_
	ramdisk_makers_files_
	for file in "${files[@]}"; do
		if ramdisk_makers_can_read_ "$file"; then
			seen+=("$file")
		else
			RAMDISK_MAKERS_UNSEEN+=("${file#"$ROOT"}")
		fi
	done
	((${#seen[@]} > 0)) || return 0
	while IFS= read -r file; do
		ramdisk_makers_file_ "$file"
	done < <(grep -lIsE 'rapiddisk|mdadm' -- "${seen[@]}")
}

ramdisk_makers_can_read_() { [[ -r $1 ]]; }

ramdisk_makers_add_() { # WORD FOUND DO
	RAMDISK_MAKERS+=("$1") RAMDISK_MAKERS_FOUND+=("$2") RAMDISK_MAKERS_DO+=("$3")
}

# The package of rapiddiskd enables it. It asks for no password, and before it removes a ramdisk it
# checks only whether that is mounted or in use as a cache (mem_device_detach() in rapiddisk's
# rdsk.c).
ramdisk_makers_daemon_() {
	local pid='' name='' is=''
	! ramdisk_makers_is_enabled_ rapiddiskd.service || is='is enabled'
	{
		read -r pid <"$ROOT/run/rapiddiskd.pid" &&
			read -r name <"$PROC/${pid//[!0-9]/}/comm"
	} 2>/dev/null || :
	[[ $name != rapiddiskd ]] || is+="${is:+, and }runs"
	[[ -z $is ]] || ramdisk_makers_add_ daemon "that rapiddiskd.service $is: it makes and \
removes ramdisks for whoever reaches TCP port 9118, even one that an array is using" \
		'systemctl disable --now rapiddiskd.service'
}

# rapiddisk-on-boot: a cache of / in a ramdisk that the initramfs makes.
ramdisk_makers_on_boot_() {
	local file
	for file in "$ROOT"/usr/share/initramfs-tools/hooks/rapiddisk_kernel_* \
		"$ROOT"/usr/lib/dracut/modules.d/96rapiddisk; do
		[[ -e $file ]] || continue
		ramdisk_makers_add_ ramdisk \
			"that rapiddisk-on-boot has the initramfs make one (${file#"$ROOT"})" \
			'rapiddisk-on-boot --global-uninstall, unless / needs that cache'
		return
	done
}

# ramdisk_makers_is_enabled_ UNIT: does another unit want it? A masked unit is a link to /dev/null.
ramdisk_makers_is_enabled_() {
	local link target
	[[ ! -L $ROOT/etc/systemd/system/$1 ]] || return 1
	for link in "$ROOT"/etc/systemd/system/*.{wants,requires,upholds}/"$1"; do
		[[ -L $link ]] || continue
		target=$(readlink -- "$link")
		[[ $target == /* ]] || target=${link%/*}/$target
		[[ ! -e $ROOT$target && ! -e $target ]] || return 0
	done
	return 1
}

# Sets the caller's files to those in /etc that a boot runs: plain files, no links.
ramdisk_makers_files_() {
	local file size etc=$ROOT/etc sizes=()
	for file in "$etc"/{rc.local,rc.d/rc.local,crontab} "$etc"/{init.d,cron.d}/* \
		"$etc"/systemd/system/{*.service,*.service.d/*.conf} "$etc"/udev/rules.d/*.rules \
		"$etc"/initramfs-tools/{hooks,scripts,scripts/*}/*; do
		[[ -f $file && ! -L $file ]] || continue
		case ${file#"$etc"} in
		/rc.local | /rc.d/* | /init.d/* | /initramfs-tools/*) [[ -x $file ]] || continue ;;
		/cron.d/*.*) continue ;;
		/systemd/system/*.d/*) ;;
		/systemd/*) ramdisk_makers_is_enabled_ "${file##*/}" || continue ;;
		esac
		sizes+=("$file")
	done
	((${#sizes[@]} == 0)) || while read -r size file; do
		((size > RAMDISK_MAKERS_BYTES)) || files+=("$file")
	done < <(stat --printf='%s %n\n' -- "${sizes[@]}")
}

# Reports the first line of each kind. A line that ends in a backslash continues on the next one.
ramdisk_makers_file_() { # FILE
	local line text='' number=0 begin=0 found=' ' cron='' WORD
	[[ $1 != */etc/cron* ]] || cron=yes
	while IFS= read -r line || [[ -n $line ]]; do
		number=$((number + 1))
		[[ -n $text ]] || begin=$number
		text+=$line
		[[ $text != *\\ ]] || {
			text=${text%\\}' '
			continue
		}
		text=${text#"${text%%[![:blank:]]*}"}
		if ramdisk_makers_line_ "$text" "$cron" && [[ $found != *" $WORD "* ]]; then
			found+="$WORD "
			ramdisk_makers_tell_ "$WORD" "${1#"$ROOT"}" "$begin" "$text"
		fi
		text=''
	done <"$1"
}

# Sets the caller's WORD to what the line does; returns 1 when it does none of these things.
ramdisk_makers_line_() { # TEXT CRON
	[[ $1 == *@(mdadm|rapiddisk)* && $1 != [\#\;]* ]] || return 1
	[[ -z $2 || $1 == @reboot* ]] || return 1
	WORD=ramdisk
	if [[ $1 =~ $RAMDISK_MAKERS_MD && $1 =~ $RAMDISK_MAKERS_NODE ]]; then
		WORD=array
	else
		[[ $1 =~ $RAMDISK_MAKERS_ATTACH ]]
	fi
}

ramdisk_makers_tell_() { # WORD FILE LINE TEXT
	local what='makes a ramdisk' todo="take that line out of $2" text=$4
	[[ $1 == ramdisk ]] || what='gives a ramdisk to an array'
	[[ $2 != /etc/systemd/system/*.service ]] || todo="systemctl disable ${2##*/}"
	[[ $1 == array ]] || todo+=', unless that ramdisk is for something else'
	((${#text} <= 100)) || text=${text:0:100}…
	ramdisk_makers_add_ "$1" "that $2 $what in line $3: $text" "$todo"
}
