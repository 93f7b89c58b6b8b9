# What to say of an array that something else has started from legs from which no start of ours
# would. It uses only the facts, as decide/action.sh does.
# shellcheck shell=bash

need core/paths decide/choice decide/health

declare -gA F # the facts: decide/facts.list

# foreign_run_refused: decides to refuse such an array (array.known is no); WHY says what to do. If
# it runs with a leg that was given up, or that may be a copy, it is not offered to delete the
# record: md goes on with legs that were used without each other if their event counts are the same.
foreign_run_refused() {
	local why how or
	if health_only_copy_beside; then
		choice_refuse "something else has started ${F[array.md]} without the ramdisk \
${F[ram.node]}, which has what was written last, and no disk has that" "Do not cut the power. To \
go on with it: mdadm --stop /dev/${F[array.md]} && mdadm --assemble --run /dev/md/${F[name]} \
/dev/${F[ram.node]} && ramraid start ${F[name]}"
		return
	fi
	why=", from legs that were not in sync when it last ran, or are older now: writes may be \
missing from it"
	how="Stop it (mdadm --stop /dev/${F[array.md]}) and let ramraid judge the legs (ramraid \
start ${F[name]})"
	or="; or, if it is right as it is: rm $STATE/${F[name]}.witness\
${F[witness.copy]:+ ${F[witness.copy]}}"
	[[ ${F[conf.root]} != yes ]] ||
		how="/ is on it: power off, take out the disks that it runs from, put back those \
that were in sync last, and boot again"
	[[ -z ${F[array.unfit]} ]] || why=", with ${F[array.unfit]}" or=''
	[[ ${F[array.unfit_by]} != hardware ]] ||
		or="; or, if you have moved that disk there yourself: \
rm $STATE/${F[name]}.hardware; ramraid start ${F[name]}"
	choice_refuse "something else has started ${F[array.md]}$why" "$how$or"
}
