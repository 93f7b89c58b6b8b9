# How far a copy to the RAM leg has got, from what its workers (copy-workers.sh) have left in
# $RUN/NAME.copy.
# shellcheck shell=bash

need core/clock core/paths core/text

# copy_state_bytes FOLDER: sets COPY_DONE to the bytes copied so far.
copy_state_bytes() {
	local file bytes
	COPY_DONE=0
	for file in "$1"/done.*; do
		bytes=0 # no worker has got so far, or one is just writing it
		{ read -r bytes <"$file"; } 2>/dev/null || :
		text_number_or bytes 0
		COPY_DONE=$((COPY_DONE + bytes))
	done
}

# copy_state NAME: sets COPY_STATE (none, running, done, failed), COPY_WHY (why it failed),
# COPY_SECONDS (since it began), DONE and TOTAL (sectors) and RATE (KiB per second, on average).
copy_state() {
	local folder=$RUN/$1.copy result='' begin pid='' COPY_DONE NOW
	clock
	begin=$NOW
	COPY_STATE=none COPY_WHY='' COPY_SECONDS=0 DONE=0 TOTAL=0 RATE=0
	[[ -d $folder ]] || return 0
	{
		read -r TOTAL <"$folder/size" && read -r begin <"$folder/begin" &&
			read -r pid <"$folder/pid"
	} 2>/dev/null || :
	text_number_or TOTAL 0
	text_number_or begin "$NOW"
	text_number_or pid ''
	copy_state_bytes "$folder"
	DONE=$((COPY_DONE / 512)) TOTAL=$((TOTAL / 512))
	COPY_SECONDS=$((NOW - begin))
	((COPY_SECONDS == 0)) || RATE=$((COPY_DONE / 1024 / COPY_SECONDS))
	{ read -r result <"$folder/result"; } 2>/dev/null || :
	# If its process is gone, the copy has ended, perhaps only just now, so look again. Users
	# other than root may not see the process.
	[[ -n $result || $EUID != 0 || (-n $pid && -e /proc/$pid) ]] ||
		{
			read -r result <"$folder/result"
		} 2>/dev/null || result='the copy was ended from outside'
	case $result in
	ok) COPY_STATE='done' ;;
	'') COPY_STATE=running ;;
	*) COPY_STATE=failed COPY_WHY=$result ;;
	esac
}
