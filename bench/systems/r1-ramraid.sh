# The same as a4, made by ramraid, with a bitmap, so that a returning disk is soon in sync.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='randread-beside uncounted randwrite read rebuild-copy rebuild-kernel'
up() { ramraid_up "$HDD1"; }
down() { ramraid_down "$HDD1"; }
