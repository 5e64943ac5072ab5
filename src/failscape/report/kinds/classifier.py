"""What the report says about classifier hunts: bugs in plain words, their causes, wrong labels, and classes.

See `sections.py` for how it joins the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from failscape.evidence import Place, Placer, ShotRow
from failscape.report.figures.basic import spread
from failscape.report.figures.mirrored import mirrored
from failscape.report.sections import LEAD, TRUST, Context, Section, Tile
from failscape.trials import Finding

TEMPLATE = "classifier.html"
CARDS = 14
SHOTS = 5
HABITS = 6
CLASSES = 200
LABELS = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """One counterfactual: the failure rate there, and how many points it is away from the bug's."""

    name: str
    rate: float
    effect: float
    interval: tuple[float, float]
    pairs: int
    is_cause: bool = False


@dataclass(frozen=True, slots=True)
class BugCard:
    """A finding with its pictures beside those of the class in general, at the same seeds."""

    number: int
    finding: Finding
    own: ShotRow
    usual: ShotRow | None
    labels: Markup
    bars: list[Bar]
    spurious: bool
    photos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bugs:
    cards: list[BugCard]
    habits: list[str]
    total: int


def placer(config: dict[str, Any]) -> Placer:
    """Columns are kinds of attributes; a class is what a subject is about."""

    def place(subject: str) -> Place | None:
        name, *labels = subject.split("; ")
        rows = tuple(label.partition("=")[0] for label in labels)
        return Place(name, name, rows or ("in general",))

    return place


def tiles(context: Context) -> Iterator[Tile]:
    classes = context.survey.get("classes") or ()
    if classes:
        hit = sum(bool(row["bugs"]) for row in classes)
        yield Tile("Classes with bugs", f"{hit}", f"of {len(classes)}")
    causes = sum(bool(finding.details.get("spurious")) for finding in context.loaded.findings)
    if causes:
        yield Tile("Spurious correlations", f"{causes:,}")


def sections(context: Context) -> Iterator[Section]:
    cards = list(_cards(context))
    if cards:
        habits = [habit["sentence"] for habit in context.survey.get("habits") or ()]
        images = [digest for card in cards for row in (card.own, card.usual) for digest in _digests(row)]
        images += [digest for card in cards for digest in card.photos]
        yield Section(
            "bugs",
            "Bugs in plain words",
            TEMPLATE,
            Bugs(cards, habits[:HABITS], len(context.loaded.findings)),
            LEAD,
            "Bugs",
            "Each bug is a description of pictures that the classifier gets wrong more often than pictures "
            "of the same class in general. Rates and causes come from fresh images that had no part in "
            "finding it.",
            "Left bars: what pictures of the class in general are mistaken for; right bars: pictures of the "
            "description. Causes: the same seeds with the clause, without it, and with another value in its "
            "place; points are the change in the failure rate, with a 95% interval. A cause that belongs to "
            "the background or the style, not to the object, is a spurious correlation.",
            tuple(images),
        )
    yield from _classes(context)


def notes(finding: Finding) -> Iterator[str]:
    spurious = finding.details.get("spurious") or ()
    if spurious:
        yield "A spurious correlation: what matters is the background or the style, not the object."
    real = finding.details.get("real")
    if real:
        yield (
            f"On real photos like it {real['fails']} of {real['photos']} fail "
            f"({spread(tuple(real['interval']))}), on all photos of the class {real['all_fails']} of "
            f"{real['all_photos']}."
        )
    if not finding.details.get("confirmed", True):
        yield "Its rate comes from the search itself and may be a little too high: fresh images are missing."


def _cards(context: Context) -> Iterator[BugCard]:
    """In turn from all classes, so that no class fills the page; those with fresh images first."""
    seen: Counter[str] = Counter()
    ranked = []
    for at, finding in sorted(enumerate(context.loaded.findings), key=lambda one: _is_bare(one[1])):
        name = str(finding.details.get("class", ""))
        seen[name] += 1
        ranked.append((seen[name], at, finding))
    for _, at, finding in sorted(ranked, key=lambda one: one[:2])[:CARDS]:
        yield _card(context, at + 1, finding)


def _is_bare(finding: Finding) -> bool:
    """Its fresh images are missing."""
    return not finding.details.get("confirmed", True)


def _card(context: Context, number: int, finding: Finding) -> BugCard:
    evidence = context.loaded.evidence(finding)
    own = _short(evidence.own)
    usual = _short(evidence.parents[0]) if evidence.parents else None
    details = finding.details
    baseline = details.get("baseline") or {}
    plot = mirrored(
        {
            label: hits / max(1, baseline.get("valid", 1))
            for label, hits in (details.get("baseline_wrong") or {}).items()
        },
        {label: hits / max(1, finding.trials) for label, hits in (details.get("wrong") or {}).items()},
        LABELS,
    )
    photos = tuple(details.get("photos") or ())[: 2 * SHOTS]
    return BugCard(number, finding, own, usual, plot, _bars(details), bool(details.get("spurious")), photos)


def _bars(details: dict[str, Any]) -> list[Bar]:
    """The bug itself first, then each change. Effects are the change when the clause is taken away."""
    toggles: Sequence[dict[str, Any]] = details.get("toggles") or ()
    if not toggles:
        return []
    first = toggles[0]
    found = [Bar("as described", first["full_rate"], 0.0, (0.0, 0.0), first["pairs"])]
    for toggle in toggles:
        low, high = toggle["interval"]
        value = toggle["clause"].partition("=")[2]
        name = f"without “{value}”" if toggle["what"] == "without" else f"“{toggle['instead']}” instead"
        cause = toggle["what"] == "without" and low > 0
        found.append(Bar(name, toggle["rate"], -toggle["effect"], (-high, -low), toggle["pairs"], cause))
    return found


def _short(row: ShotRow) -> ShotRow:
    return replace(row, shots=row.shots[:SHOTS])


def _digests(row: ShotRow | None) -> Iterable[str]:
    return () if row is None else [digest for shot in row.shots if shot for digest in shot.images]


def _classes(context: Context) -> Iterator[Section]:
    rows = context.survey.get("classes") or ()
    if not rows:
        return
    ranked = sorted(
        rows, key=lambda row: (not row["skip"], -row["bugs"], -row["baseline"]["rate"], row["name"])
    )
    counts = context.survey.get("counts") or {}
    data = {"rows": ranked[:CLASSES], "total": len(rows), "counts": counts, "survey": context.survey}
    yield Section(
        "classes",
        "Classes",
        TEMPLATE,
        data,
        TRUST,
        "Classes",
        "How often pictures of each class in general go wrong, and how many pictures could not be used "
        "because the class was not visible in them.",
        "The baseline is measured on pictures from the plain template. Pictures on which the presence check "
        "does not see the class are invalid: they are counted here and never called a failure. A class that "
        "the generator hardly ever shows is skipped.",
    )
