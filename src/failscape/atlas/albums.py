"""Puts pictures that no model drew into an atlas: an album's, before the run that shows them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from failscape.atlas.store import Atlas
from failscape.pictures import Picture

_MANY = 64
"""An album may be larger than the memory."""


def keep_pictures(atlas: Atlas, pictures: Iterable[Picture]) -> int:
    """Store pictures, so that `Show` finds them by digest. Returns how many."""
    kept, rest = 0, iter(pictures)
    while group := list(islice(rest, _MANY)):
        for picture in group:
            atlas.images.put(picture)
        with atlas.transaction() as (_, rows):
            rows.add_images(group)
        kept += len(group)
    return kept
