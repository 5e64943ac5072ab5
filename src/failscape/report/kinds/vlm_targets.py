"""Universal and model-specific modes: what several targets of one atlas get wrong, as a table and a map."""

from collections.abc import Iterator
from dataclasses import dataclass

from failscape.errors import FailscapeError
from failscape.evidence import load_hunt
from failscape.hunts.vlm.taxonomy import compare
from failscape.report.figures.heat import HeatCell, HeatMap
from failscape.report.sections import END, Context, Section
from failscape.spaces.mode_sentences import sentence
from failscape.spaces.questions import Pattern
from failscape.stats.intervals import exact_interval
from failscape.trials import Finding, Verdict

TARGETS = 6
#: Most modes in the table; the first twelve of them are drawn.
MODES = 40

DRAWN = 12
TEMPLATE = "vlm.html"


@dataclass(frozen=True, slots=True)
class TargetResults:
    """One target: its findings by subject, and how every kind of question went that it was asked."""

    name: str
    findings: dict[str, Finding]
    asked: dict[str, tuple[int, int]]

    def cell(self, subject: str) -> HeatCell | None:
        """What is known of a mode here: as its own finding, else from the questions of just this kind."""
        found = self.findings.get(subject)
        if found is not None:
            return HeatCell(found.rate, found.interval, found.status)
        fails, valid = self.asked.get(subject, (0, 0))
        if not valid:
            return None
        return HeatCell(fails / valid, exact_interval(fails, valid), f"{fails} of {valid}, not claimed")


@dataclass(frozen=True, slots=True)
class SharedMode:
    """A mode, the targets that have it, and in words whether it is one model's own."""

    title: str
    targets: tuple[str, ...]
    whose: str
    cells: tuple[HeatCell | None, ...]


@dataclass(frozen=True, slots=True)
class SharedModes:
    names: list[str]
    lines: list[SharedMode]
    heat: HeatMap


def targets_section(context: Context) -> Iterator[Section]:
    """Nothing unless more than one target was hunted in this atlas."""
    targets = list(_targets(context))
    if len(targets) < 2:
        return
    shared = compare({one.name: map(Pattern.parse, one.findings) for one in targets})
    lines = [_line(text, tuple(owners), targets) for text, owners in list(shared.items())[:MODES]]
    drawn = lines[:DRAWN]
    cells = {
        (line.title, one.name): cell
        for line in drawn
        for one, cell in zip(targets, line.cells, strict=True)
        if cell is not None
    }
    names = [one.name for one in targets]
    universal = sum(len(owners) == len(targets) for owners in shared.values())
    own = sum(len(owners) == 1 for owners in shared.values())
    yield Section(
        "targets",
        "Universal and model-specific modes",
        TEMPLATE,
        SharedModes(names, lines, HeatMap([line.title for line in drawn], names, cells)),
        END,
        "Targets",
        f"{universal} of {len(shared)} modes are shared by all {len(targets)} targets, {own} belong to one.",
        "A target has a mode when it, or a simpler one that explains it, was claimed in its own hunt. Other "
        "cells tell how questions of just this kind went there, search and confirmation together.",
    )


def _targets(context: Context) -> Iterator[TargetResults]:
    """Each target once, this page's first: the newest hunt of each."""
    known: set[str] = set()
    own = context.loaded.row
    others = [row for row in context.atlas.hunts() if row.kind == "vlm" and row.id != own.id]
    for row in [own, *reversed(others)]:
        model = row.identities.get("answerer")
        name = f"{model.provider} {model.model}".strip() if model else f"hunt {row.id}"
        if name in known or len(known) >= TARGETS:
            continue
        try:
            found = context.loaded.findings if row is own else load_hunt(context.atlas, row.id).findings
        except FailscapeError:
            continue
        known.add(name)
        counts = dict(context.atlas.subject_counts(row.id))
        asked = {
            subject: (number[Verdict.FAIL], number[Verdict.FAIL] + number[Verdict.PASS])
            for subject, number in counts.items()
        }
        yield TargetResults(name, {one.subject: one for one in found}, asked)


def _line(text: str, owners: tuple[str, ...], targets: list[TargetResults]) -> SharedMode:
    told = [found.title for one in targets if (found := one.findings.get(text)) is not None]
    whose = (
        "universal" if len(owners) == len(targets) else f"only {owners[0]}" if len(owners) == 1 else "some"
    )
    title = told[0] if told else sentence(Pattern.parse(text))
    return SharedMode(title, owners, whose, tuple(one.cell(text) for one in targets))
