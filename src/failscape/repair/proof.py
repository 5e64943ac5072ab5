"""The proof of a repair: before, placebo and after on the same fresh cases, of any kind of hunt.

All subjects get the same fresh seeds on all three models, none of which any of them was trained on. They are
recorded as three hunts of one atlas; `compare`'s core decides what became of each subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from failscape.again.asking import ModelAsker
from failscape.again.cases import AskedCase
from failscape.again.decide import (
    BETTER,
    FIXED,
    NEW,
    WORSE,
    CaseResult,
    ComparedSubject,
    CompareRules,
    ModelResults,
    OverallDifference,
    PairedComparison,
    compare_results,
    overall_of,
    pair_up,
)
from failscape.atlas import Atlas
from failscape.config import HuntConfig, ModelConfig
from failscape.errors import ConfigError
from failscape.runtime.progress import Reporter
from failscape.search.fresh import MakeTry, SeedStream, stream_seed
from failscape.trials import Classify, Decide, Probe, Subject, Verify
from failscape.views.export.splits import CLEAN, HIDDEN, PARTS, REST, SHOWN, Parts, choose_parts
from failscape.views.read import HuntEvidence

BEFORE, PLACEBO, AFTER = "before", "placebo", "after"


@dataclass(frozen=True, slots=True)
class RepairWish:
    """How much to draw. `failures` more of each shown finding; `clean` plain pictures of every class to train
    with; for the proof `images` of each finding, `rest_images` of each of at most `rest` other subjects and
    `clean_images` of each class. A subject counts as failing above the rate `limit`. Models trained elsewhere
    are tried on at most `findings`; on photos, without those in the folders `trained_on`."""

    failures: int = 40
    clean: int = 24
    images: int = 80
    rest: int = 40
    findings: int = 60
    rest_images: int = 40
    clean_images: int = 24
    limit: float = 0.2
    level: float = 0.05
    trained_on: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class RepairedModel:
    """What `HuntKind.repair` gives back: the new model file, the proof, and the cases it rests on.

    `made` says in a sentence what was done to the model.
    """

    model: Path
    made: str
    proof: RepairProof
    cases: Mapping[str, Sequence[AskedCase]]


@dataclass(frozen=True)
class RepairProof:
    """What a repair changed, and what its placebo did. `parts` tells shown from hidden from the rest.

    `harm` is the change of failures on plain pictures, or, where there are none, on the rest, which is called
    `rest_name`. `shown_pictures` says what the rates are of.
    """

    parts: Parts
    after: PairedComparison
    placebo: PairedComparison
    harm: OverallDifference | None = None
    placebo_harm: OverallDifference | None = None
    rest_name: str = "other requests"
    shown_pictures: str = "fresh pictures that none of the models was trained on"
    notes: tuple[str, ...] = ()

    def rows(self, part: str, placebo: bool = False) -> list[ComparedSubject]:
        compared = self.placebo if placebo else self.after
        return [row for row in compared.rows if self.parts.of(row.subject) == part]

    def count(self, part: str, *statuses: str, placebo: bool = False) -> int:
        return sum(row.status in statuses for row in self.rows(part, placebo))

    @property
    def sentence(self) -> str:
        """What the page opens with."""
        told = [self._mended(part) for part in (SHOWN, HIDDEN) if self.rows(part)]
        harmed = sum(self.count(part, NEW) for part in PARTS)
        worse = sum(self.count(part, WORSE) for part in PARTS)
        told.append(f"{harmed} new failure{'' if harmed == 1 else 's'}")
        told += [f"{worse} more got worse"] if worse else []
        return ", ".join(told + self._accuracy(self.harm))

    @property
    def placebo_sentence(self) -> str:
        told = [self._mended(part, placebo=True) for part in (SHOWN, HIDDEN) if self.rows(part, True)]
        return ", ".join(told + self._accuracy(self.placebo_harm))

    @property
    def harm_part(self) -> str:
        return CLEAN if self.rows(CLEAN) else REST

    def _accuracy(self, harm: OverallDifference | None) -> list[str]:
        what = "clean accuracy" if self.harm_part == CLEAN else f"accuracy on {self.rest_name}"
        return [f"{what} {points_of(harm)}"] if harm else []

    def _mended(self, part: str, placebo: bool = False) -> str:
        fixed, better = (self.count(part, status, placebo=placebo) for status in (FIXED, BETTER))
        improved = f" and improved {better} more" if better else ""
        return f"fixed {fixed}{improved} of {len(self.rows(part, placebo))} {part}"

    def as_data(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence,
            "placebo_sentence": self.placebo_sentence,
            "parts": self.parts._asdict(),
            "after": self.after.as_data(),
            "placebo": self.placebo.as_data(),
            "notes": list(self.notes),
            "harm_part": self.harm_part,
            "harm": self.harm.as_data() if self.harm else None,
            "placebo_harm": self.placebo_harm.as_data() if self.placebo_harm else None,
        }


def points_of(overall: OverallDifference) -> str:
    """The change of accuracy: failures that went away count up."""
    low, high = overall.interval
    return f"{_points(-overall.difference)} points ({_points(-high)} to {_points(-low)})"


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f}".replace("-", "−")  # no −0.0


def parts_of(hunt: HuntEvidence, most_others: int) -> Parts:
    """Which findings are shown: always the same of the same findings."""
    plain = {Subject.parse(finding.subject).name for finding in hunt.findings}
    others = [one.subject for one in hunt.subjects() if one.valid and one.subject not in plain]
    seed = int(hunt.row.config.get("seed", 0))
    return choose_parts([one.subject for one in hunt.findings], others, most_others, seed)


def with_seed(config: HuntConfig, stream: SeedStream = SeedStream.PROOF) -> HuntConfig:
    """The same hunt on seeds of its own. Every picture is kept: three models are shown it."""
    runtime = config.runtime.model_copy(update={"keep_images": "all"})
    return config.model_copy(update={"seed": stream_seed(config.seed, stream), "runtime": runtime})


def probes_for(make: MakeTry, wanted: Mapping[str, int]) -> list[Probe]:
    """So many tries of each subject; subjects that cannot be tried anew give none."""
    probes: list[Probe] = []
    for subject, number in wanted.items():
        for at in range(number):
            made = make(subject, at)
            probes += made.start() if made is not None else []
    if any(probe.steps and not _decides(probe) for probe in probes):
        raise ConfigError(
            "questions of this hunt are written by a model while it runs, so that none can be asked again",
            "compare on recorded questions: failscape compare ATLAS --target FILE",
        )
    return probes


def _decides(probe: Probe) -> bool:
    last = probe.steps[-1]
    return isinstance(last, Verify | Decide | Classify)


async def ask_all(
    config: HuntConfig,
    others: Mapping[str, ModelConfig],
    probes: Sequence[Probe],
    folder: Path,
    reporter: Reporter,
) -> dict[str, list[AskedCase]]:
    """Model → its cases: first of the hunt's own target, then the very same of the others."""
    found: dict[str, list[AskedCase]] = {}
    with Atlas.open(folder, create=True) as atlas:
        async with AsyncExitStack() as stack:
            before = await stack.enter_async_context(ModelAsker(config, atlas, reporter, draws=True))
            await _ask(before, probes)
            found[BEFORE] = before.cases()
            asked = [case.probe() for case in found[BEFORE]]
            for name, target in others.items():
                async with ModelAsker(config.with_target(target), atlas, reporter) as asker:
                    await _ask(asker, asked)
                    found[name] = asker.cases()
    return found


async def _ask(asker: ModelAsker, probes: Sequence[Probe]) -> None:
    """All of them, or an interrupt: what was asked is recorded, and the next session goes on there."""
    await asker.ask(probes)
    if asker.interrupted:
        raise KeyboardInterrupt


def weigh(
    cases: Mapping[str, Sequence[AskedCase]], parts: Parts, titles: Mapping[str, str], rules: CompareRules
) -> RepairProof:
    """What the three models' cases say. Pure."""
    results = {name: _results(name, mine, titles) for name, mine in cases.items()}
    before = results[BEFORE]
    proof = RepairProof(
        parts,
        compare_results(before, results[AFTER], rules),
        compare_results(before, results[PLACEBO], rules),
    )
    unharmed = {name: _of_part(one, parts, proof.harm_part) for name, one in results.items()}
    return replace(
        proof,
        harm=overall_of(pair_up(unharmed[BEFORE], unharmed[AFTER])),
        placebo_harm=overall_of(pair_up(unharmed[BEFORE], unharmed[PLACEBO])),
    )


def _results(name: str, cases: Iterable[AskedCase], titles: Mapping[str, str]) -> ModelResults:
    found = tuple(CaseResult(one.subject, one.case, one.failed, fresh=True, key=one.key) for one in cases)
    return ModelResults(name, found, titles=titles)


def _of_part(results: ModelResults, parts: Parts, part: str) -> ModelResults:
    mine = tuple(one for one in results.results if parts.of(one.subject) == part)
    return ModelResults(results.name, mine)
