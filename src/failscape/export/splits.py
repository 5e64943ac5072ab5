"""Divides rows into a half to train with and a half to test again with. Pure.

The halves never share a picture. Where asked they share no subject or no seed either: then a repair that only
learned the pictures, the kinds of request or the noise that it was shown does not pass for a better model.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence

from failscape.plugins import Row

TRAIN, RETEST = "train", "retest"
SUBJECT, SEED, SHOWN = "subject", "seed", "shown"
#: What the halves can be kept apart by, besides pictures. `shown`: as `failscape repair` divides findings,
#: those that it shows to a training in `train`, hidden ones of the same rules in `retest`.
SPLITS = (SUBJECT, SEED, SHOWN)

HalfOf = Callable[[Row], str]


def halves(rows: Sequence[Row], by: Sequence[str] = (), shown: Collection[str] = ()) -> list[str]:
    """The half of each row; empty for rows of no half, since they would tie the two together.

    `shown` are the subjects of findings that a training may see, where that divides them.

    By subject and by seed at once leaves about half of the rows out: those whose subject belongs to one half
    and whose seed to the other.
    """
    known: dict[str, HalfOf] = {
        SUBJECT: _by_subject(rows),
        SEED: _by_seed,
        SHOWN: lambda row: TRAIN if row["subject"] in shown else RETEST,
    }
    deciders = [known[name] for name in by] or [_by_picture]
    chosen = [_agreed([decide(row) for decide in deciders]) for row in rows]
    kept_back = {
        image for row, half in zip(rows, chosen, strict=True) if half == RETEST for image in row["images"]
    }
    return [
        "" if half == TRAIN and kept_back.intersection(row["images"]) else half
        for row, half in zip(rows, chosen, strict=True)
    ]


def _agreed(found: Sequence[str]) -> str:
    return found[0] if len(set(found)) == 1 else ""


def _by_picture(row: Row) -> str:
    """The same in every dataset."""
    return _coin(row["images"][0])


def _by_seed(row: Row) -> str:
    """The same in every dataset: siblings that share a seed share their half."""
    return _coin(str(row["seed"]))


def _by_subject(rows: Sequence[Row]) -> HalfOf:
    """Every other subject in an order by chance, so that few subjects make two halves as well."""
    subjects = sorted({str(row["subject"]) for row in rows}, key=_digest)
    half = {subject: (TRAIN, RETEST)[place % 2] for place, subject in enumerate(subjects)}
    return lambda row: half[str(row["subject"])]


def _coin(text: str) -> str:
    return TRAIN if _digest(text)[0] & 1 else RETEST


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=2).digest()
