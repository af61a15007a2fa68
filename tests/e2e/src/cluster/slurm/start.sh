# Starts Slurm: `start.sh DIRECTORY NODE...`, as the first process of namespaces of its own, which
# are the host `login`. Each node is a host besides: its own network, name and /dev/shm, and what is
# `local` for it; with the others it shares the processes' numbers, System V memory and all files.
set -e
cd "$1"
shift
hostname login
ip link set lo up
ip link add cables type bridge
ip addr add 10.203.78.100/24 dev cables
ip link set cables up
mount --bind hosts /etc/hosts
mungekey --create --keyfile=munge/key
munged --force --key-file="$PWD/munge/key" --socket="$PWD/munge/socket" \
    --pid-file="$PWD/munge/pid" --log-file="$PWD/log/munged" --seed-file="$PWD/munge/seed"
export SLURM_CONF="$PWD/slurm.conf"

# The file `NAME.apart` says that its network is its own, into which the cable can be laid.
node='
    set -e
    : > "nodes/$1.apart"
    until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
    hostname "$1"
    ip link set lo up
    ip addr add "10.203.78.$2/24" dev eth0
    ip link set eth0 up
    mount --bind "nodes/$1" local
    mount -t tmpfs tmpfs /dev/shm
    exec slurmd -D -N "$1" >"log/slurmd.$1" 2>&1
'
number=0
for name; do
    number=$((number + 1))
    unshare --net --uts --mount --propagation private bash -c "$node" node "$name" "$number" &
    pid=$!
    until [ -e "nodes/$name.apart" ]; do sleep 0.02; done
    ip link add "cable$number" type veth peer name eth0 netns "$pid"
    ip link set "cable$number" master cables up
    echo "$pid" > "nodes/$name.pid"
done
slurmctld -D >log/slurmctld.out 2>&1 &

until [ "$(sinfo -h -N -t idle -o %n 2>/dev/null | wc -l)" = $# ]; do sleep 0.1; done
# The first steps of a new node may fail, with status 0.
until [ "$(srun --mpi=pmix -N $# -n $# echo up 2>/dev/null | grep -c up)" = $# ]; do sleep 0.1; done
: > made
wait
