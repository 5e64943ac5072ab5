"""A hunt from Python, cell by cell: in a notebook, or as python examples/notebook.py [FOLDER]."""

# %% Two models as plain functions: a painter that cannot do pink, and a judge that looks at the pixels
import sys
from pathlib import Path

import numpy as np

import failscape

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/notebook")


def draw(prompt: str, seeds: list[int]) -> list[np.ndarray]:
    colour = (128, 128, 128) if "pink" in prompt else (200, 60, 120)
    pictures = []
    for seed in seeds:
        noise = np.random.default_rng(seed).integers(0, 20, (48, 48, 1))
        pictures.append((np.full((48, 48, 3), colour) + noise).astype(np.uint8))
    return pictures


def look(image, checks) -> list[bool]:
    red, green, blue = np.asarray(image).reshape(-1, 3).mean(0)
    return [bool(max(red, green, blue) - min(red, green, blue) > 5) for _ in checks]


# %% The hunt: what may be asked, and how much may be spent
config = {
    "hunt": "t2i",
    "target": draw,
    "judge": look,
    "space": {"corpus": "toybox", "entities": ["car", "owl", "apple"], "families": ["Base"], "depth": 1},
    "budget": {"images": 600},
    "seed": 7,
}
run = failscape.run(config, atlas=FOLDER)
print(run.reason)

# %% What was found, with its evidence
atlas = failscape.load(FOLDER)
for finding in atlas.findings():
    low, high = finding.interval
    print(f"{finding.title}: {finding.rate:.0%} fail ({low:.0%} to {high:.0%}), {finding.status}")

# %% The pictures behind the first one
for finding in atlas.findings()[:1]:
    for stored in atlas.trials(subject=finding.subject, verdict="fail", limit=3):
        print(stored.trial.seed, atlas.image(stored.images[0]).array.mean((0, 1)))

# %% One page to share
print(atlas.report(FOLDER / "page"))
