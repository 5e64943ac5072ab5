"""From a proven description to a finding: rate on fresh images, causes by toggling, wrong labels, words.

Findings in plain English. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from failscape.hunts.classifier.prompts import SAID, Clause, Description, Template
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.hunts.classifier.tallies import Arm, Block, ImageCounts
from failscape.spaces.wording import capitalised, plural_of
from failscape.stats.excess import absent_share, paired_difference
from failscape.stats.intervals import clopper_pearson
from failscape.trials import Finding

if TYPE_CHECKING:
    from failscape.hunts.classifier.arena import Arena


_PLAIN = Template("{class}")
_QUALITIES = ("colour", "size", "pattern", "condition", "age", "texture")


def percent(share: float) -> str:
    return f"{share:.1%}" if 0 < share < 0.095 else f"{share:.0%}"


def points(effect: float) -> str:
    """`−35 points`, with a real minus sign."""
    number = round(100 * effect)
    sign = "−" if number < 0 else "+" if number > 0 else "±"
    return f"{sign}{abs(number)} point{'' if abs(number) == 1 else 's'}"


def many(name: str, clauses: Sequence[Clause]) -> str:
    """The things that are meant: `penguins in a meadow`, `three red cars at night`."""
    single = [
        clause for clause in clauses if clause.kind.lower() == "base: count" and clause.value in ("one", "1")
    ]
    worked = [clause for clause in clauses if clause.kind != SAID and clause not in single]
    counted = any("{things}" in clause.wording for clause in worked)
    text = _PLAIN.prompt(name if counted else plural_of(name), "", worked).partition(".")[0]
    text = f"single {text}" if single else text
    text = f"{text}," if "," in text else text
    said = [clause.value for clause in clauses if clause.kind == SAID]
    return f"{text.rstrip(',')}, when “{'” and “'.join(said)}”," if said else text


def cause_words(clause: Clause) -> str:
    """How a clause is spoken of as a cause."""
    family, _, sub = clause.kind.partition(": ")
    if clause.kind == SAID:
        return f"“{clause.value}”"
    if family == "Base":
        return f"being {clause.value}" if sub.lower() in _QUALITIES else f"the {sub.lower()}"
    if family == "Background":
        return f"the {clause.value}"
    return f"the {sub.lower()} “{clause.value}”"


def sentence(
    name: str,
    clauses: Sequence[Clause],
    called: str,
    rates: tuple[float, float],
    interval: tuple[float, float],
    often: str,
    cause: str,
    general: str = "{things} in general",
) -> str:
    """The whole finding in one sentence.

    `called` is the wrong label that it is about, "" for any; `often` the commonest one then. `rates` are
    those of the description and of its class in `general`, `interval` belongs to the first.
    """
    who, verb = capitalised(many(name, clauses)), f"are called {called}" if called else "are misclassified"
    span = f"{percent(interval[0])} – {percent(interval[1])}"
    extra = f", most often as {often}" if often and not called else ""
    usual = f"against {percent(rates[1])} for {general.format(things=plural_of(name))}"
    text = f"{who} {verb} {percent(rates[0])} of the time ({span}){extra}, {usual}"
    return f"{text}; {cause}." if cause else f"{text}."


LABELS = 15
"""Wrong labels that are kept for the plot."""

FEWEST_PAIRS = 10

MOSTLY = 0.6
"""A wrong label with this share of the failures is what the sentence is about."""


def describe_bug(arena: Arena, arm: Arm, real: dict[str, Any] | None = None) -> Finding:
    state, target = arena.classes[arm.description.label], arena.targets[arm.description.label]
    block = arena.blocks.get(arm.subject)
    confirmed = block is not None and block.complete and block.counts.valid > 0
    counts = block.counts if block is not None and confirmed else arm.counts
    interval = rate_interval(arena, counts)
    toggles = toggles_of(arena, arm.description)
    causes = [toggle for toggle in toggles if toggle["what"] == "without" and toggle["interval"][0] > 0]
    spurious = [toggle["clause"] for toggle in causes if toggle["around"]]
    text = _sentence(arena, arm, counts, causes)
    return Finding(
        subject=arm.subject,
        title=text,
        caption=arena.prompt(arm.description),
        status="certified",
        rate=counts.rate,
        interval=interval,
        e_value=float(np.exp(min(arm.log_e, 700.0))),
        trials=counts.valid,
        failures=counts.fails,
        invalid=arm.counts.invalid + (block.counts.invalid if block else 0),
        parents=(_parent(arena, arm.description.label),),
        counted=("fresh pictures",) if confirmed else ("search",),
        details={
            "class": target.name,
            "short": many(target.name, arm.clauses).rstrip(","),
            "clauses": [_clause(clause) for clause in arm.clauses],
            "source": arm.source,
            "confirmed": confirmed,
            "race": {"fails": arm.counts.fails, "valid": arm.counts.valid, "invalid": arm.counts.invalid},
            "baseline": counts_data(arena, state.base),
            "wrong": dict(counts.wrong.most_common(LABELS)),
            "baseline_wrong": dict(state.base.wrong.most_common(LABELS)),
            "toggles": toggles,
            "spurious": spurious,
            "real": real,
        },
    )


def _sentence(arena: Arena, arm: Arm, counts: ImageCounts, causes: list[dict[str, Any]]) -> str:
    """About the one wrong label that most failures share, else about any wrong label."""
    target, base = arena.targets[arm.description.label], arena.classes[arm.description.label].base
    often, hits = counts.wrong.most_common(1)[0] if counts.wrong else ("", 0)
    called = often if hits >= MOSTLY * counts.fails else ""
    if not called:
        rates, interval = (counts.rate, base.rate), rate_interval(arena, counts)
    else:
        rates = (hits / max(1, counts.valid), base.wrong[called] / max(1, base.valid))
        about = ImageCounts(hits, counts.valid - hits, counts.invalid, counts.absent)
        interval = rate_interval(arena, about)
    cause = _cause(causes, over="" if not called or hits == counts.fails else ", over all wrong labels")
    return sentence(target.name, arm.clauses, called, rates, interval, often, cause)


def rate_interval(arena: Arena, counts: ImageCounts) -> tuple[float, float]:
    """Exact for the images; its lower end also allows for accepted images that do not show the object."""
    return widened(counts.fails, counts.valid, gone_of(arena.rules, counts))


def gone_of(rules: ClassifierRules, counts: ImageCounts) -> float:
    """The share of counted images that may not show the object."""
    seen = counts.valid + counts.absent
    return float(absent_share(counts.valid, seen, rules.sensitivity, rules.slip)) if rules.slip else 0.0


def widened(fails: int, valid: int, gone: float) -> tuple[float, float]:
    """The interval of a rate when a share of the images does not count, whatever became of them."""
    low, high = (float(end) for end in clopper_pearson(fails, valid))
    if gone >= 1:
        return 0.0, 1.0
    return max(0.0, (low - gone) / (1 - gone)), min(1.0, high / (1 - gone))


def counts_data(arena: Arena, counts: ImageCounts) -> dict[str, Any]:
    return {
        "fails": counts.fails,
        "valid": counts.valid,
        "invalid": counts.invalid,
        "absent": counts.absent,
        "rate": counts.rate,
        "interval": list(rate_interval(arena, counts)),
    }


def toggles_of(arena: Arena, description: Description) -> list[dict[str, Any]]:
    """What each clause does, on the same seeds with it, without it, and with another in its place."""
    full = arena.blocks.get(arena.subject(description))
    found: list[dict[str, Any]] = []
    if full is None:
        return found
    for place, clause in enumerate(description.clauses):
        for number, other in enumerate(arena.toggles(description, place, look=True)):
            block = arena.blocks.get(arena.subject(other))
            row = _compare(full, block) if block is not None else None
            if row is None:
                continue
            kept = {one.label for one in description.clauses}
            instead = next((one for one in other.clauses if one.label not in kept), None)
            found.append(
                {
                    "clause": clause.label,
                    "words": cause_words(clause),
                    "around": clause.around,
                    "what": "without" if number == 0 else "instead",
                    "instead": instead.value if instead else "",
                    "caption": arena.prompt(other),
                    "subject": arena.subject(other),
                    **row,
                }
            )
    return found


def _compare(full: Block, other: Block) -> dict[str, Any] | None:
    """How much more often images fail with the clause than in `other`, pair by pair."""
    pairs = [
        (failed, other.outcomes.get(number))
        for number, failed in full.outcomes.items()
        if failed is not None and other.outcomes.get(number) is not None
    ]
    if len(pairs) < FEWEST_PAIRS:
        return None
    only_full = sum(bool(a and not b) for a, b in pairs)
    only_other = sum(bool(b and not a) for a, b in pairs)
    effect, interval = paired_difference(only_full, only_other, len(pairs))
    return {
        "effect": effect,
        "interval": list(interval),
        "pairs": len(pairs),
        "rate": sum(bool(b) for _, b in pairs) / len(pairs),
        "full_rate": sum(bool(a) for a, _ in pairs) / len(pairs),
    }


def _cause(causes: list[dict[str, Any]], over: str) -> str:
    """Effects count every wrong label; `over` says so where the sentence is about one of them."""
    if not causes:
        return ""
    strongest = max(causes, key=lambda toggle: toggle["effect"])
    if len(causes) > 1:
        words = " and ".join(toggle["words"] for toggle in causes)
        return f"{words} together are the cause ({points(-strongest['effect'])} without one of them{over})"
    return f"{strongest['words']} is the cause ({points(-strongest['effect'])} without it{over})"


def _parent(arena: Arena, label: int) -> dict[str, Any]:
    base = arena.classes[label].base
    return {
        "subject": arena.targets[label].name,
        "caption": arena.prompt(Description(label)),
        "failures": base.fails,
        "trials": base.valid,
    }


def _clause(clause: Clause) -> dict[str, Any]:
    return {"label": clause.label, "kind": clause.kind, "value": clause.value, "around": clause.around}
