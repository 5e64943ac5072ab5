#!/usr/bin/env bash
#SBATCH --job-name=failscape
#SBATCH --nodes=3
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --ntasks-per-node=1
#SBATCH --time=24:00:00
#SBATCH --signal=B:INT@300
# One Ray cluster over the nodes of this allocation; the controller runs on the first.
#   sbatch examples/cluster/slurm.sh
# The atlas is on the first node's own disk while the job runs, and is copied home when it ends: SQLite
# and network file systems do not go together.
set -euo pipefail
home=${FAILSCAPE_HOME:-$SLURM_SUBMIT_DIR/atlases/sdxl}
work=${TMPDIR:-/tmp}/atlas-$SLURM_JOB_ID
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
port=6379

srun --nodes=1 --ntasks=1 -w "$head" ray start --head --port=$port --block &
sleep 20
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 -w "$node" ray start --address="$head:$port" --block &
done
sleep 20

keep() { mkdir -p "$home" && rsync -a "$work/" "$home/"; }
trap keep EXIT
[ -d "$home" ] && mkdir -p "$work" && rsync -a "$home/" "$work/"
# An interrupt five minutes before the end (see --signal) lets it finish what is in flight.
failscape run examples/cluster/hunt.yaml --atlas "$work" &
hunt=$!
trap 'kill -INT $hunt' INT
wait $hunt || wait $hunt
