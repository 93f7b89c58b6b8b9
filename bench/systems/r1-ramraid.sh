# The same as a4, made by ramraid: with the bitmap that makes a return of a disk short.
needs='HDD1' measures='randread randwrite read'
up() { ramraid_up "$HDD1"; }
down() { ramraid_down "$HDD1"; }
