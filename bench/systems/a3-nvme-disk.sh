# A fast disk with a write-mostly hard disk (ADMIN 62/2021).
needs='NVME HDD1' measures='randread randwrite'
up() { mirror 1 2 --bitmap=none "$NVME" --write-mostly "$HDD1"; }
down() { no_mirror "$NVME" "$HDD1"; }
