"""Does the judge still say the same? Some of the first model's stored pictures are shown to it again."""

from collections.abc import Sequence
from dataclasses import replace

from failscape.comparison.asking import ModelAsker, bring_pictures
from failscape.comparison.cases import GENERATOR, AskedCase
from failscape.comparison.comparable import JudgeDrift
from failscape.comparison.reading import ModelSide
from failscape.trials import Decide, Probe, Show, Step, Verdict

#: Shown again: a judge that changed its mind on three of them or more has surely drifted.
PICTURES = 30

#: They are numbered from here on: below new cases, above those of a search.
NUMBER = 900


async def judged_twice(side: ModelSide, asker: ModelAsker) -> JudgeDrift:
    """Ask the judge of `asker` about pictures that were judged before. It costs calls, but no picture."""
    if asker.kind.target != GENERATOR:
        return JudgeDrift(0, 0)
    cases = _chosen(side)
    gone = bring_pictures([_shown(case) for case in cases], [side.folder], asker.atlas)
    before = {f"{case.subject}#r{NUMBER}": case for case in cases if not gone.intersection(case.images)}
    await asker.ask([Probe(key, case.subject, _shown(case).steps) for key, case in before.items()])
    after = {trial.key: trial.verdict for trial in asker.atlas.replay(asker.hunt_id) if trial.key in before}
    valid = {key: one is Verdict.FAIL for key, one in after.items() if one in (Verdict.PASS, Verdict.FAIL)}
    return JudgeDrift(len(valid), sum(failed != before[key].failed for key, failed in valid.items()))


def _chosen(side: ModelSide) -> Sequence[AskedCase]:
    """The first picture of some subjects, spread over all of them."""
    firsts = [cases[0] for cases in side.by_subject.values() if cases[0].images]
    return firsts[:: max(1, len(firsts) // PICTURES)][:PICTURES]


def _shown(case: AskedCase) -> AskedCase:
    """The same checks on the picture as it is."""
    checks = [step for step in case.asked if isinstance(step, Decide)][-1:]
    steps: tuple[Step, ...] = (Show(case.images[-1:]), *checks)
    return replace(case, steps=steps)
