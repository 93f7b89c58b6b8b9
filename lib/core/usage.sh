# What "ramraid --help" says. VERBS in ramraid(8) has the same lines.
# shellcheck shell=bash

usage() {
	cat <<'EOT'
usage: ramraid VERB [OPTION…] [NAME…]

Make a mirror, or end it:
  create NAME DISK…     make a mirror of disks and a RAM leg
  adopt NAME ARRAY|DISK…  give an existing RAID1 a leg in RAM
  release NAME          make such a mirror a plain RAID1 again
  destroy NAME          wipe the array, and all that is on it

Look at arrays:
  list [NAME…]          one line for each array
  status [NAME…]        the state of arrays and legs, and what to do
  check [NAME…]         what would go wrong at the next boot
  wait NAME             wait until the array is whole
  events NAME           what has happened to the array
  config show [NAME]    each key, its value, and where it is set
  metrics               the state of all arrays, for Prometheus
  estimate PATH|DEVICE|NAME  how much memory a RAM leg would take
  bench NAME            what the array and its legs read in a second
  scrub NAME            make md compare the legs
  selftest              try the copy to a RAM leg on this kernel

Start and stop:
  start NAME            start the array, and rebuild its RAM leg
  stop NAME             take the RAM leg out, and stop the array
  attach NAME           give the running array its RAM leg
  detach NAME           take the RAM leg out, and free its memory
  restore NAME          put a rescue image back onto the disks

Change the disks:
  replace NAME OLD [NEW]  replace a disk leg with another disk
  apply NAME            make the disk legs those that are configured
  resize NAME           use the room that all disk legs have gained
  claim [NAME…]         keep other programs from assembling the arrays

Learn more:
  help [VERB]           the manual page of a verb

"ramraid VERB --help" is shorter; ramraid(8) is the place to begin.
-n is --dry-run, -y is --yes, wherever a verb takes these.
Configuration: /etc/ramraid/NAME.conf, ramraid.conf(5).
Guides: /usr/share/doc/ramraid/docs.
EOT
}
