# What "ramraid --help" says.
# shellcheck shell=bash

usage() {
	cat <<'EOT'
usage: ramraid VERB [OPTION…] NAME …

  create NAME DISK…   make a mirror of write-mostly disks and a RAM leg, to be rebuilt at every boot
  adopt NAME ARRAY    make a running RAID1, mounted as it may be, such a mirror
  release NAME        make it a plain RAID1 again, mounted as it may be
  start NAME          start it: disk legs, RAM leg, wait until whole
  stop NAME           take the RAM leg out while a disk leg is in sync, stop the array
  attach NAME         give the running array its RAM leg
  detach NAME         take the RAM leg out and give its memory back
  replace NAME OLD NEW  put another disk in the place of a disk leg, mounted as it may be
  apply NAME          add and take out disk legs as its configuration now says
  resize NAME         make it as large as its disk legs have become, mounted as it may be
  restore NAME        put back what a shutdown had to save from the RAM leg to a file
  status [NAME…]      what state each array is in, and why
  wait NAME           wait until it is whole
  scrub NAME          have md compare its legs
  metrics             the state of all arrays, for Prometheus
  bench NAME          what it and its legs read in a second
  config show [NAME]  what its configuration comes to, and which line says so
  check [NAME…]       what would go wrong at the next boot
  claim               keep other programs from assembling what is configured
  mend NAME           put back disk legs that have returned; what hot-plug does
  memory NAME         give its RAM leg up while memory is short
  hotplug             look at every array after a disk has come or gone
  remember            note what lies on the arrays, for the next boot
  witness             note which disk legs are in sync, for the next boot
  yield NAME…         let the RAM leg go before another program stops the array at a shutdown

"ramraid VERB --help" tells more; ramraid(8) everything. Configuration: /etc/ramraid/NAME.conf, ramraid.conf(5).
EOT
}
