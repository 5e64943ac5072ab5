"""Small corpora, written to disk or made at random."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from failscape.spaces import Corpus, Entity, Value

ENTITIES = {"Animals": {"Pets": ["cat", "dog"], "Birds": ["owl"]}, "Food": {"Fruit": ["apple"]}}
BASE = {"Colour": ["red", "blue"], "Count": ["two", "three"]}
BACKGROUND = {
    "Place": [{"value": "beach", "wording": ["{scene} on a beach", "{scene} at the beach"]}, "forest"]
}


def write_corpus(folder: Path, **files: Any) -> str:
    """A corpus folder; a file given as text is written as it is, `None` leaves it out."""
    content = {"entities": ENTITIES, "attributes_base": BASE, "attributes_background": BACKGROUND, **files}
    for name, data in content.items():
        if data is not None:
            text = data if isinstance(data, str) else json.dumps(data, indent=1)
            (folder / f"{name}.json").write_text(text)
    return str(folder)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Any whitelist and any conflicts over up to 4 entities and 4 sub-categories."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    entities = tuple(Entity(f"thing{i}", "All", f"Sub{i % 2}") for i in range(draw(st.integers(1, 4))))
    values = tuple(Value(f"v{s}{i}", "Base", f"Kind{s}") for s, size in enumerate(sizes) for i in range(size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    allowed = rng.random((len(entities), len(values))) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    conflicts = np.triu(rng.random((len(values), len(values))) < draw(st.sampled_from([0.0, 0.3])), 1)
    return Corpus("random", entities, values, allowed, conflicts | conflicts.T, (0,))
