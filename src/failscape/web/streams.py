"""What a trial was drawn for, in words, from its key: evidence, a first look, the random panel …"""

from __future__ import annotations

import re
from collections.abc import Callable

_MARK = re.compile(r"#([a-z]*)\d*$")

_T2I = {"": "evidence", "s": "first look", "p": "random panel", "r": "tried again"}
_CLASSIFIER = {"": "search", "f": "fresh pictures", "x": "counterfactual", "p": "photo", "c": "caption"}
STREAMS = {"t2i": _T2I, "classifier": _CLASSIFIER}


def stream_of(kind: str) -> Callable[[str], str]:
    names = STREAMS.get(kind)
    if names is None:
        return lambda key: "search" if key[:1].isdigit() else "confirmation"

    def stream(key: str) -> str:
        found = _MARK.search(key)
        return names.get(found[1], found[1]) if found else "search"

    return stream
