# The same as a5, made by ramraid.
needs='HDD1 HDD2' measures='randread randwrite read'
up() { ramraid_up "$HDD1" "$HDD2"; }
down() { ramraid_down "$HDD1" "$HDD2"; }
