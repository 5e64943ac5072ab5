"""What batches are worth: processor time per picture, alone and eight at a time, on the CPU.

    OMP_NUM_THREADS=1 python -m benchmarks.batching

Tiny untrained pipelines of real architectures, at 32 pixels: what is measured is the overhead per call that a
batch shares. Pictures of a batch are compared with those drawn alone. Needs the extra `diffusers`.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tools.tiny_pipelines import KINDS, save_pipeline

from failscape.servers.backends import DiffusersBackend

COUNT = 64
BATCH = 8
SMALL = {"height": 32, "width": 32, "num_inference_steps": 2, "dtype": "float32"}
MORE: dict[str, dict[str, Any]] = {"flux": {"max_sequence_length": 16}}


def measure(kind: str, folder: Path) -> dict[str, Any]:
    params = {**SMALL, "guidance_scale": 1.0, **MORE.get(kind, {})}
    backend = DiffusersBackend(kind, str(save_pipeline(kind, folder / kind)), params, BATCH)
    backend.load()
    prompts, seeds = [f"a red cat {number}" for number in range(COUNT)], list(range(COUNT))
    backend.draw(prompts[:BATCH], seeds[:BATCH], {})  # the first call is slower
    alone, single = timed(backend, prompts, seeds, 1)
    together, batched = timed(backend, prompts, seeds, BATCH)
    apart = [np.abs(one - other).max() for one, other in zip(single, batched, strict=True)]
    return {
        "kind": kind,
        "ms_alone": round(alone, 2),
        f"ms_in_batches_of_{BATCH}": round(together, 2),
        "ratio": round(alone / together, 2),
        "equal_pictures": int(sum(difference == 0 for difference in apart)),
        "largest_difference": int(max(apart)),
    }


def timed(
    backend: DiffusersBackend, prompts: list[str], seeds: list[int], size: int
) -> tuple[float, list[Any]]:
    """Milliseconds of processor time a picture, and the pictures."""
    pictures: list[Any] = []
    began = time.process_time()
    for start in range(0, COUNT, size):
        part = slice(start, start + size)
        pictures += backend.draw(prompts[part], seeds[part], {})
    spent = time.process_time() - began
    return 1000 * spent / COUNT, [picture.array.astype(int) for picture in pictures]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            print(json.dumps(measure(kind, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
