"""Puts an album into an atlas before the run that shows it: its pictures, and what is known of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice

from failscape.atlas.faults import explained
from failscape.atlas.reader import CORPORA
from failscape.atlas.store import Atlas
from failscape.pictures import Picture
from failscape.spaces.albums import KEPT, Album, album_text

_MANY = 64
"""An album may be larger than the memory."""


def keep_album(atlas: Atlas, album: Album) -> None:
    """Keep names, labels and captions, so that the hunt can be told again without the folder."""
    goal = atlas.folder / CORPORA / album.digest
    if goal.is_dir():
        return
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        draft.mkdir(parents=True, exist_ok=True)
        (draft / KEPT).write_text(album_text(album), encoding="utf-8")
        draft.replace(goal)


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
