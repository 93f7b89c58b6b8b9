# "ramraid status" of arrays of which no more is to be said than that they are whole: sourced by bin/ramraid with their names (none: all), before anything
# else. Sets SHOWN to what is to be printed. Returns 1 if that can't be told at such a quick look: the whole one (look.sh) then begins anew. It knows only
# simple configurations, and what it fills in of F is what the whole look finds (tests/unit/quick.bats).
# No library: bash copies a function when it is defined, and again for each call, which is a good part of what such a look costs.
# shellcheck shell=bash disable=SC2154,SC2168,SC2034 # it runs within a function, quick(); ETC and the like are those of paths.sh

local file name text line md uuid state sync pending folder node slot word words bad found i members ram leg
local control=$'[\x01-\x08\x0b-\x1f\x7f]' # CONF_CONTROL, of conf.sh
local -A F
SHOWN=''
(($# > 0)) || for file in "$ETC"/*.conf; do
	file=${file##*/}
	[[ $file == ramraid.conf ]] || set -- "$@" "${file%.conf}"
done
(($# > 0)) || return
# Is there anything but comments in the file of all?
if [[ -e $ETC/ramraid.conf || -L $ETC/ramraid.conf ]]; then
	[[ -f $ETC/ramraid.conf && -r $ETC/ramraid.conf ]] || return
	mapfile -d '' -n 2 text <"$ETC/ramraid.conf"
	[[ ${#text[@]} == 1 && ${#text[0]} -le 65536 && ! ${text[0]} =~ $control && $'\n'${text[0]} != *$'\n'[!#$'\n']* ]] || return
fi
for name; do
	file=$ETC/$name.conf members=() uuid='' ram=auto
	[[ $name == [A-Za-z]* && $name != *[!A-Za-z0-9._-]* && $name != ramraid && $name != *.conf && ${#name} -le 31 && -f $file && -r $file ]] || return
	[[ ! -e $file.d ]] || for line in "$file.d"/*.conf; do [[ ! -e $line && ! -L $line ]] || return; done
	mapfile -d '' -n 2 text <"$file"
	[[ ${#text[@]} == 1 && ${#text[0]} -le 65536 && ! ${text[0]} =~ $control ]] || return
	mapfile -t text <"$file"
	for line in "${text[@]}"; do
		[[ -n $line && $line != \#* ]] || continue
		[[ $line != *[!A-Za-z0-9._:/=@+-]* && ${#line} -le 4096 ]] || return
		case $line in
		MEMBER=*)
			[[ $line == MEMBER=/dev/disk/by-@(id|path|partuuid|partlabel)/+([!/]) && $line != */@(.|..) ]] || return
			members+=("${line#*=}")
			;;
		UUID=*)
			[[ -z $uuid && $line == UUID=+([0-9a-f:-]) && ${#line} == 4[01] ]] || return
			uuid=${line#*=}
			;;
		RAM=auto | RAM=rapiddisk | RAM=brd | RAM=none) ram=${line#*=} ;;
		*)
			# Any other key of which nothing shows. The table of what its value may be is with the rest, and costs half as much again.
			need conf
			word=${line%%=*}
			[[ $word != @(MEMBER|RAM|LAYOUT|ROOT|WRITE_BEHIND|ACCEPT_DATA_LOSS) && -n ${CONF_FORM[$word]-} && ${line#*=} =~ ${CONF_FORM[$word]} ]] || return
			;;
		esac
	done
	# The array: running, at rest, with all legs equal.
	for md in "$SYS"/block/md*; do
		read -r line <"$md/md/uuid" || return
		[[ $uuid != "$line" && $uuid != "${line:0:8}:${line:9:4}${line:14:4}:${line:19:4}${line:24:4}:${line:28}" ]] || break
		md=''
	done
	[[ -n $md && -n $uuid && ! -e $RUN/$name.copy ]] && read -r state <"$md/md/array_state" && read -r sync <"$md/md/sync_action" && read -r pending <"$md/md/resync_start" &&
		[[ $state:$sync:$pending == @(clean|active|active-idle|write-pending|read-auto):idle:none ]] || return
	F=([name]=$name [uuid]=$line [members]=${#members[@]} [conf.ram]=$ram [ram.state]=none [ram.node]=''
		[array.md]=${md##*/} [array.state]=active [array.sync]=idle [array.strangers]='')
	read -r 'F[array.stat]' <"$md/stat" || F[array.stat]=''
	read -r 'F[boot]' <"$PROC/sys/kernel/random/boot_id" || F[boot]=''
	read -r 'F[lately]' <"$STATE/$name.lately" || F[lately]=''
	# Its legs: in sync, without bad blocks, each one of the configuration, or the RAM leg. "read" fails on the empty file that the list of bad blocks should be.
	found=0
	for folder in "$md"/md/dev-*; do
		node=${folder##*/dev-}
		read -r slot <"$folder/slot" && read -r words <"$folder/state" && ! read -r bad <"$folder/bad_blocks" &&
			[[ -e $SYS/class/block/$node/holders/${md##*/} && $slot == +([0-9]) && -z $bad && ,$words, == *,in_sync,* && ,$words, != *,faulty,* ]] || return
		for ((i = 0; i < ${#members[@]}; i++)); do [[ ! $ROOT${members[i]} -ef $DEV/${node//!//} || -n ${F[leg.$i.node]} ]] || break; done
		if ((i < ${#members[@]})); then
			leg=leg.$i F[leg.$i.dev]=${members[i]} found=$((found + 1))
		else
			[[ ${F[ram.state]} == none && $node == @(rd|ram)+([0-9]) ]] || return
			leg=ram
		fi
		F[$leg.node]=$node F[$leg.slot]=$slot F[$leg.state]=in_sync
		read -r "F[$leg.stat]" <"$SYS/class/block/$node/stat" || F[$leg.stat]=''
		read -r "F[$leg.errors]" <"$folder/errors" || F[$leg.errors]=''
	done
	[[ $found == "${#members[@]}" && $found != 0 && ${F[ram.state]}:$ram == @(in_sync:!(none)|none:none) ]] || return
	show_array whole
done
[[ ! -t 1 ]] || {
	need terminal
	terminal_dress
}
