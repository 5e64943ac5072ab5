"""What the report says about t2i hunts in particular. See `sections.py` for how it joins the page."""

from __future__ import annotations

from typing import Any

from failscape.report.maps import Placer, place_node
from failscape.spaces.corpus import load_corpus


def placer(config: dict[str, Any]) -> Placer:
    """Columns are classes of entities, rows are kinds of attributes."""
    corpus = load_corpus(str(config.get("space", {}).get("corpus", "toybox")))
    return place_node({entity.name: entity.upper_class for entity in corpus.entities})
