#!/bin/sh
# dracut sources this in its initqueue, whenever udev has nothing more to do and the root device is
# missing. The program ends with exit, so it is run, not sourced.
/usr/lib/ramraid/start
