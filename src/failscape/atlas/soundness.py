"""Whether rows of an atlas agree with each other: names with what they name, verdicts with facts.

An atlas may come from a stranger, or from a damaged disk. The doctor tells all faults; a merge refuses a
source at the first one, so that no false row gets a place in an atlas of the user.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from failscape.atlas import reader
from failscape.atlas.judging import Plans
from failscape.atlas.records import check_facts, understood
from failscape.atlas.writer import plan_digest
from failscape.errors import AtlasError
from failscape.trials import Edit, Generate, Step, Verdict, reach_verdict


def plan_faults(db: sqlite3.Connection) -> Iterator[str]:
    """What was asked is named by its content: another plan of that name would take its place."""
    for number, digest, text in db.execute("SELECT id, digest, steps FROM plans"):
        if plan_digest(text) != digest:
            yield f"the steps of plan {number} are not those that were asked"


def identity_faults(db: sqlite3.Connection) -> Iterator[str]:
    """Models are named by what makes them comparable."""
    for number, digest, identity in reader.identities(db):
        if identity.digest != digest:
            yield f"identity {number} ({identity.role}) does not have the digest that it is stored under"


def trial_faults(db: sqlite3.Connection) -> Iterator[str]:
    """Facts must be what their steps give, and verdicts what the facts say."""
    plans = Plans(db.execute)
    query = "SELECT id, facts, plan, verdict FROM trials ORDER BY id"
    for number, text, plan, verdict in db.execute(query):
        try:
            with understood(f"trials {number}"):
                facts = json.loads(text)
                check_facts(plans.get(plan), facts)
                _check_verdict(plans.get(plan), facts, Verdict(verdict))
        except AtlasError as error:
            yield error.message


def _check_verdict(steps: tuple[Step, ...], facts: list[Any], verdict: Verdict) -> None:
    """Raise `ValueError` when whole facts say another verdict. An invalid trial may lack some of them."""
    whole = len(facts) == len(steps) and all(fact is not None for fact in facts)
    if not whole or verdict is Verdict.INVALID:
        if verdict in (Verdict.PASS, Verdict.FAIL) and len(facts) != len(steps):
            raise ValueError(f"its verdict is {verdict}, but {len(steps) - len(facts)} steps have no fact")
        return
    said, _ = reach_verdict(steps, facts)
    if said is not verdict:
        raise ValueError(f"its verdict is {verdict}, but its facts say {said}")


def call_faults(db: sqlite3.Connection) -> Iterator[str]:
    """Calls that a trial names must be there, and pictures that it was drawn must be theirs."""
    plans = Plans(db.execute)
    for number, text, plan, keys in db.execute("SELECT id, facts, plan, calls FROM trials ORDER BY id"):
        yield from _call_faults(db, number, keys, plans.get(plan), text)


def _call_faults(
    db: sqlite3.Connection, number: int, keys: bytes, steps: tuple[Step, ...], text: str
) -> Iterator[str]:
    drawn = set[str]()
    for at in range(0, len(keys), 16):
        key = keys[at : at + 16]
        row = db.execute("SELECT image FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            yield f"trial {number} names the call {key.hex()}, which is not there"
        elif row[0]:
            drawn.add(row[0])
    try:
        named = [one for step, one in zip(steps, json.loads(text), strict=False) if _draws(step)]
    except ValueError:
        return  # said above
    strange = [digest for digest in named if digest is not None and digest not in drawn]
    if drawn and strange:
        yield f"trial {number} names the picture {strange[0]}, which none of its calls drew"


def _draws(step: Step) -> bool:
    return isinstance(step, Generate | Edit)
