#!/usr/bin/env bash
# Run the hunt as a job on a Ray cluster that is up: the controller runs on the head node, beside its disk.
#   RAY_ADDRESS=http://head:8265 examples/cluster/submit.sh /local/atlases/sdxl
set -euo pipefail
atlas=${1:?where on the head node the atlas lives, for example /local/atlases/sdxl}
ray job submit --working-dir examples/cluster --runtime-env-json '{"pip": ["failscape[ray,diffusers]"]}' \
  --entrypoint-num-cpus 1 -- failscape run hunt.yaml --atlas "$atlas"
# Submitted again after an interruption, it goes on where it stopped.
