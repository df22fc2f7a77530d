#!/bin/sh
#SBATCH --job-name=campaignd
#SBATCH --cpus-per-task=8
#SBATCH --mem-per-cpu=1G
#SBATCH --time=12:00:00
#
# A study over the nodes of a Slurm cluster: an array of shards, and a job that merges them. On a login node, in a
# folder that all nodes share, with campaignd on the path:
#
#   sh slurm.sh study.yaml 8                  # 8 shards; words behind it are for campaignd simulate: --size quick
#
# Give it more shards than nodes (sh slurm.sh study.yaml 32): they even out. A shard that died goes on with what it has:
#
#   sbatch --array=3 slurm.sh shard study.yaml --shard /8
#
# The merge runs whatever became of the shards. Where campaigns are missing it says which, and ends with code 1.
set -eu

case ${1-} in
shard)
    shift
    exec campaignd simulate "$@" --workers "${SLURM_CPUS_PER_TASK:-1}"
    ;;
merge)
    shift
    exec campaignd simulate merge "$@"
    ;;
esac

if [ $# -lt 2 ]; then
    echo "usage: sh $0 STUDY SHARDS [FLAG…]" >&2
    exit 2
fi
study=$1
shards=$2
shift 2
array=$(sbatch --parsable --array="1-$shards" --output=%x-%A_%a.out "$0" shard "$study" --shard "/$shards" "$@")
sbatch --dependency="afterany:${array%%;*}" --cpus-per-task=1 --output=%x-merge-%j.out "$0" merge "$study" "$@"
