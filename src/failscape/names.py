"""Suggests what a user may have meant by a name that does not exist. One rule for the whole product."""

import difflib
from collections.abc import Iterable

MOST_SHOWN = 8


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names like `name`, the nearest first."""
    spelled = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), list(spelled), n=3, cutoff=0.5)
    return [spelled[each] for each in close]


def suggest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'openai'?`, or, when nothing is near, the first of what there is."""
    names = list(known)
    if close := nearest_names(name, names):
        return f"did you mean {close[0]!r}?"
    more = ", …" if len(names) > MOST_SHOWN else ""
    return f"known: {', '.join(names[:MOST_SHOWN])}{more}"
