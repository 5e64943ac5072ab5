"""Pictures like a given one, where the hunt had an embedder look at them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from failscape.atlas.records import images_of
from failscape.trials import Embed, Step, steps_from_json
from failscape.web.library import OpenHunt

Data = dict[str, Any]
NEAREST = 12
MOST_VECTORS = 50_000
"""Vectors that are compared: 200 MB at a thousand numbers each is the most that is worth it here."""


def similar(hunt: OpenHunt, digest: str) -> Data:
    """The nearest pictures by the cosine of their vectors; none where this one has no vector."""
    digests, vectors = _vectors(hunt)
    if digest not in digests:
        return {"items": [], "vectors": len(digests)}
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    unit = vectors / lengths[:, None]
    near = unit @ unit[digests.index(digest)]
    order = [at for at in np.argsort(-near).tolist() if digests[at] != digest][:NEAREST]
    items = [{"image": digests[at], "near": round(float(near[at]), 3)} for at in order]
    return {"items": items, "vectors": len(digests)}


def _vectors(hunt: OpenHunt) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    found: dict[str, list[float]] = {}
    query = (
        "SELECT p.steps, t.facts FROM plans p JOIN trials t ON t.plan = p.id AND t.hunt = ?"
        ' WHERE p.steps LIKE \'%"do":"embed"%\' ORDER BY t.id DESC LIMIT ?'
    )
    with hunt.atlas.reading() as db:
        for steps, facts in db.execute(query, (hunt.row.id, MOST_VECTORS)):
            found.update(_of_trial(steps_from_json(steps), json.loads(facts)))
    size = len(next(iter(found.values()), ()))
    kept = {digest: vector for digest, vector in found.items() if len(vector) == size}
    return list(kept), np.array(list(kept.values()), dtype=np.float64).reshape(len(kept), size)


def _of_trial(steps: tuple[Step, ...], facts: list[Any]) -> dict[str, list[float]]:
    """Digest → vector, for steps that embedded the trial's own pictures."""
    images = images_of(steps, facts)
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Embed) and not step.texts and isinstance(fact, list):
            return dict(zip(images, fact, strict=False))
    return {}
