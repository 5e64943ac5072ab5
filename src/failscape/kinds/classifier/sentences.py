"""Findings of a classifier hunt in plain English. Pure."""

import re
from collections.abc import Sequence

from failscape.kinds.classifier.prompts import CLUSTER, COLUMN, SAID, Clause, Template
from failscape.shown_numbers import percent, spread
from failscape.spaces.wording import capitalised, plural_of

_PLAIN = Template("{class}")
_QUALITIES = ("colour", "size", "pattern", "condition", "age", "texture")


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
    outside = [clause for clause in clauses if clause.kind == CLUSTER or clause.kind.startswith(COLUMN)]
    worked = [one for one in clauses if one.kind != SAID and one not in single and one not in outside]
    counted = any("{things}" in clause.wording for clause in worked)
    prompt = _PLAIN.prompt(name if counted else plural_of(name), "", worked).strip().rstrip(".")
    # Values without a wording that fits into the phrase are sentences of their own after it.
    text, *apart = re.split(r"\.\s+", prompt)
    text = f"single {text}" if single else text
    text = " ".join([text, " and ".join(_outside_words(clause) for clause in outside)]).rstrip()
    text = f"{text}," if "," in text else text
    said = [f"{one[:1].lower()}{one[1:]}" for one in apart]
    said += [clause.value for clause in clauses if clause.kind == SAID]
    return f"{text.rstrip(',')}, when “{'” and “'.join(said)}”," if said else text


def _outside_words(clause: Clause) -> str:
    """What metadata or looks say of photos: `whose camera is B`, `of group 2 of pictures that look alike`."""
    if clause.kind == CLUSTER:
        return f"of {clause.value}"
    return f"whose {clause.kind.partition(': ')[2]} is {clause.value}"


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
    mostly: str,
    rates: tuple[float, float],
    interval: tuple[float, float],
    often: str,
    cause: str,
    general: str = "{things} in general",
) -> str:
    """The whole finding in one sentence, in which all numbers count every wrong label.

    `mostly` is the wrong label that most failures share, "" for none; `often` the commonest one then. `rates`
    are those of the description and of its class in `general`, `interval` belongs to the first.
    """
    who = capitalised(many(name, clauses))
    verb = "is" if is_single(clauses) else "are"
    extra = f", mostly as {mostly}" if mostly else f", most often as {often}" if often else ""
    usual = f"against {percent(rates[1])} for {general.format(things=plural_of(name))}"
    text = f"{who} {verb} misclassified {percent(rates[0])} of the time ({spread(interval)}){extra}, {usual}"
    return f"{text}; {cause}." if cause else f"{text}."


def is_single(clauses: Sequence[Clause]) -> bool:
    """Whether the subject of the sentence is one thing: “an oil painting of zebras”."""
    return any("{scene}" in one.wording and not one.wording.startswith("{scene}") for one in clauses)
