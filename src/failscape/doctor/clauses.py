"""Does a judge see clauses? It looks at pictures that were drawn with a background, and without it.

A judge that does not would either hide bugs, when it never sees a clause, or add nothing. Rates are then as
asked: `clause_check: false`.
"""

from collections.abc import Sequence

from failscape.doctor.calls import Calls
from failscape.doctor.generator import SEEDS, readable
from failscape.doctor.observations import Observation
from failscape.errors import ModelError
from failscape.hunts.classifier.build import corpus_of
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.hunts.classifier.prompts import Clause, Template, clause_of
from failscape.hunts.classifier.tallies import Target
from failscape.models.roles import Model

PAIRS = 12
#: How many more it must see where they were asked for: one that tosses a coin does so once in thirteen.
CLEARLY = 4


async def examine_clauses(
    generator: Model, judge: Model, targets: Sequence[Target], settings: ClassifierConfig
) -> list[Observation]:
    asked = _asked(targets, settings)
    if not asked:
        return []
    try:
        drawn_with = await _seen(generator, judge, asked, settings, True)
        drawn_without = await _seen(generator, judge, asked, settings, False)
    except ModelError:
        return []  # it has been named already
    seen = f"it sees {drawn_with} of {len(asked)} backgrounds where asked for, {drawn_without} where not"
    if drawn_with - drawn_without >= CLEARLY:
        means = "rates are among pictures that show the clause"
        return [Observation("judge-clauses", "ok", seen, means, n=2 * len(asked))]
    means = "it cannot see clauses, and bugs would hide behind its no"
    fix = "give another judge, or set `clause_check: false`: rates are then as asked, and marked so"
    return [Observation("judge-clauses", "warn", seen, means, fix, 2 * len(asked))]


def _asked(targets: Sequence[Target], settings: ClassifierConfig) -> list[tuple[Target, Clause]]:
    """Classes and backgrounds in turn."""
    corpus = corpus_of(settings)
    around = [value for value in corpus.values if value.family == "Background"] if corpus else []
    if not around or not targets:
        return []
    return [(targets[at % len(targets)], clause_of(around[at * len(around) // PAIRS])) for at in range(PAIRS)]


async def _seen(
    generator: Model,
    judge: Model,
    asked: Sequence[tuple[Target, Clause]],
    settings: ClassifierConfig,
    drawn_with: bool,
) -> int:
    """In how many pictures the judge sees the clause, drawn with it or without."""
    template = Template(settings.template)
    prompts = [
        template.prompt(target.name, target.superclass, [clause] if drawn_with else [])
        for target, clause in asked
    ]
    items = [(prompt, SEEDS[0] + at) for at, prompt in enumerate(prompts)]
    pictures = [readable(reply) for reply in await Calls("generator", generator).each(items)]
    looks = [
        (picture, (clause.check(target.name),))
        for picture, (target, clause) in zip(pictures, asked, strict=True)
        if picture is not None
    ]
    replies = await Calls("judge", judge).each(looks)
    return sum(bool(reply.value and reply.value[0]) for reply in replies)
