# The drop-in of an array's own unit for the place of its rescue image (RESCUE in ramraid.conf(5)).
# shellcheck shell=bash

need core/act

# rescue_dropin FOLDER NAME SECTION LINE: adds a line to the drop-in.
rescue_dropin() {
	local file=$1/ramraid@$2.service.d/50-rescue.conf
	act_put_folder "${file%/*}" || return
	[[ -e $file ]] ||
		act_put "$file" "# Where the last resort of a shutdown saves the RAM leg \
(RESCUE in ramraid.conf(5))." || return
	act_put_more "$file" "$3" "$4"
}
