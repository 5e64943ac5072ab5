"""The atlas: everything about one or more hunts in one folder, safe from crashes, readable at any time."""

from failscape.atlas.hunts import open_hunt
from failscape.atlas.images import ImageStore
from failscape.atlas.records import (
    Call,
    Event,
    HuntRow,
    KeepImages,
    Recorded,
    RunRow,
    Spent,
    StoredCall,
    StoredTrial,
)
from failscape.atlas.store import Atlas

__all__ = [
    "Atlas",
    "Call",
    "Event",
    "HuntRow",
    "ImageStore",
    "KeepImages",
    "Recorded",
    "RunRow",
    "Spent",
    "StoredCall",
    "StoredTrial",
    "open_hunt",
]
