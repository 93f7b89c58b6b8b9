# The same as a5, made by ramraid.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1 HDD2' measures='randread-beside uncounted randwrite read rebuild-copy rebuild-kernel'
up() { ramraid_up "$HDD1" "$HDD2"; }
down() { ramraid_down "$HDD1" "$HDD2"; }
