"""All pictures of a hunt: a filtered page of them, one trial in full, pictures like it, and their bytes.

A picture is named by the digest of its content, so browsers may keep it for ever. Small ones are kept in a
bounded piece of memory.
"""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from failscape.atlas import Atlas
from failscape.atlas.judging import decided, has_image
from failscape.atlas.records import images_of
from failscape.errors import AtlasError
from failscape.trials import Embed, Step, steps_from_json
from failscape.views.viewer.columns import TrialFilter
from failscape.views.viewer.library import Data, OpenHunt
from failscape.views.viewer.screens.findings import page_of, shot_data


def pictures(hunt: OpenHunt, query: Mapping[str, str]) -> Data:
    """A page of trials after filters, newest first unless told, with counts per facet."""
    columns = hunt.columns
    columns.refresh()
    found = columns.select(TrialFilter.from_query(query))
    ordered = found if query.get("order") == "old" else found[::-1]
    start, many = page_of(query)
    page = ordered[start : start + many]
    streams = {number: columns.stream(int(at)) for number, at in zip(columns.ids(page), page, strict=True)}
    data: Data = {
        "total": len(found),
        "all": len(columns),
        "items": _items(hunt, columns.ids(page), streams),
        "narrowed_to": [hunt.subject_words(query[name]) for name in ("subject", "under") if query.get(name)],
    }
    if not start:
        data["facets"] = columns.facets(found)
    return data


def _items(hunt: OpenHunt, ids: Sequence[int], streams: Mapping[int, str]) -> list[Data]:
    marks = ",".join("?" * len(ids))
    rows = hunt.atlas.query(
        f"SELECT t.id, t.subject, t.verdict, t.reason, t.facts, p.steps FROM trials t"
        f" JOIN plans p ON p.id = t.plan WHERE t.id IN ({marks})",
        ids,
    )
    found = {
        number: {
            "id": number,
            "subject": subject,
            "subject_words": hunt.subject_words(subject),
            "verdict": verdict,
            "reason": reason,
            "stream": streams[number],
            "image": next(reversed(images_of(steps_from_json(steps), json.loads(facts))), ""),
        }
        for number, subject, verdict, reason, facts, steps in rows
    }
    return [found[number] for number in ids if number in found]


def trial(hunt: OpenHunt, number: int) -> Data:
    stored = hunt.atlas.trial(hunt.row.id, number)
    endpoints = hunt.atlas.endpoints([call.key for call in stored.calls])
    shot = shot_data(hunt.reader.shot(stored)) or {}
    return {
        **shot,
        "id": stored.id,
        "subject": stored.trial.subject,
        "subject_words": hunt.subject_words(stored.trial.subject),
        "stream": hunt.reader.purpose_name(stored.trial.key),
        "started": stored.started,
        "seconds": stored.seconds,
        "calls": [
            {
                "role": call.role,
                "model": call.identity.model or call.identity.provider,
                "raw": call.raw,
                "invalid": call.invalid,
                "facts": call.facts if call.role != "embedder" else "a vector",
                "seconds": call.usage.seconds,
                "cost": call.usage.cost,
                "endpoint": endpoints.get(call.key, ""),
            }
            for call in stored.calls
        ],
        "checks": _checks(stored.steps, stored.trial.facts),
    }


def _checks(steps: Sequence[Any], facts: Sequence[Any]) -> list[Data]:
    return [
        {"kind": check.kind, "value": check.value, "statement": check.statement, "holds": answer}
        for _, check, answer, _ in decided(steps, facts)
    ]


#: What browsers show; anything else is offered as bytes, which they only save.
SHOWN = frozenset({"PNG", "JPEG", "WEBP", "GIF", "BMP"})

#: Bytes of thumbnails that are kept: about 15,000 of them at a side of 192.
MEMORY = 64 * 2**20

_DIGEST = re.compile(r"[0-9a-f]{32}")


class Thumbnails:
    """Safe for threads. Two that ask for one picture at once may both make it: harmless, and no waiting."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._most = memory
        self.used = 0
        self._kept: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._turn = threading.Lock()

    def get(self, slug: str, atlas: Atlas, digest: str, side: int) -> bytes:
        """WebP bytes. Raises `AtlasError` for a picture that the atlas does not keep or cannot read."""
        key = slug, digest, side
        with self._turn:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        check_known(atlas, digest)
        data = atlas.images.thumbnail(digest, side)
        with self._turn:
            if key not in self._kept:
                self._kept[key] = data
                self.used += len(data)
            while self.used > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self.used -= len(dropped)
        return data


def check_known(atlas: Atlas, digest: str) -> None:
    """Only a digest that the atlas itself lists ever becomes the name of a file."""
    if not _DIGEST.fullmatch(digest) or not has_image(atlas, digest):
        raise AtlasError("there is no such picture", "it was not kept (`runtime.keep_images`), or removed")


def whole_picture(atlas: Atlas, digest: str) -> tuple[bytes, str]:
    """The bytes as the source sent them, and their type; what is no picture is not shown as one."""
    check_known(atlas, digest)
    picture = atlas.images.get(digest)
    return picture.data, picture.media_type if picture.format in SHOWN else "application/octet-stream"


NEAREST = 12
#: Vectors that are compared: 200 MB at a thousand numbers each is the most that is worth it here.
MOST_VECTORS = 50_000


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
    for steps, facts in hunt.atlas.query(query, (hunt.row.id, MOST_VECTORS)):
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
