"""What the report says about classifier hunts: bugs in plain words, their causes, wrong labels, and classes.

For hunts in photos, what is wrong comes first. See `sections.py` for how it joins the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from failscape.kinds.classifier.details import BugDetails, SeenRates, Toggle
from failscape.kinds.classifier.photo_survey import PhotoSurvey
from failscape.kinds.classifier.survey import ClassifierSurvey
from failscape.trials import Finding, Subject, parse_label
from failscape.views.figures.basic import mirrored
from failscape.views.pages.sections import LEAD, TRUST, Context, Section, Tile
from failscape.views.read import Place, Placer, ShotRow
from failscape.views.read.numbers import percent, spread

#: Wrong labels in the plot, as in the paper; what is beyond them is one bar of others.
TEMPLATE = "failscape.kinds.classifier:page.html"
CARDS = 14
SHOTS = 5
HABITS = 6
CLASSES = 200
HELD = 12
LABELS = 15

OTHERS = "others"
SHOWN_CONFUSIONS = 24


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
        parsed = Subject.parse(subject)
        name = parsed.name
        rows = parsed.kinds
        return Place(name, name, rows or ("in general",))

    return place


def tiles(context: Context) -> Iterator[Tile]:
    survey, photos = context.survey_as(ClassifierSurvey), context.survey_as(PhotoSurvey)
    if photos:
        yield Tile("Photos wrong", f"{photos.fails:,}", f"of {photos.photos:,} ({percent(photos.rate)})")
        yield Tile("Confusions", f"{len(photos.confusions):,}")
    if survey:
        hit = sum(bool(row.bugs) for row in survey.classes)
        yield Tile("Classes with bugs", f"{hit}", f"of {len(survey.classes)}")
    causes = sum(bool(finding.details_data.get("spurious")) for finding in context.loaded.findings)
    if causes:
        yield Tile("Spurious correlations", f"{causes:,}")


def sections(context: Context) -> Iterator[Section]:
    photos = context.survey_as(PhotoSurvey)
    if photos:
        yield from _photos(photos)
    cards, survey = list(_cards(context)), context.survey_as(ClassifierSurvey)
    if cards:
        habits = [habit.sentence for habit in survey.habits] if survey else []
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
            "of the same class in general. "
            + (
                "Rates count the photos that show it."
                if photos
                else "Rates and causes come from fresh images that had no part in finding it."
            ),
            "Left bars: what pictures of the class in general are mistaken for; right bars: pictures of the "
            "description. Causes: the same seeds with the clause, without it, and with another value in its "
            "place; points are the change in the failure rate, with a 95% interval. A cause that belongs to "
            "the background or the style, not to the object, is a spurious correlation.",
            tuple(images),
        )
    yield from _classes(context)


def notes(finding: Finding) -> Iterator[str]:
    details = finding.details
    if not isinstance(details, BugDetails):
        return
    if details.spurious:
        yield "A spurious correlation: what matters is the background or the style, not the object."
    if details.seen:
        yield _seen(details.seen)
    for clause in details.clauses:
        if clause.names:
            yield f"“{clause.value}” names another class of the label set: {clause.names}."
    if details.together:
        yield f"It cannot be told apart from what comes with it here: {', '.join(details.together)}."
    if details.classes:
        yield from _holding(details)
    real = details.real
    if real:
        yield (
            f"On real photos like it {real.fails} of {real.photos} fail ({spread(real.interval)}), on all "
            f"photos of the class {real.all_fails} of {real.all_photos}."
        )
    if not details.confirmed:
        yield "Its rate comes from the search itself and may be a little too high: fresh images are missing."


def _holding(details: BugDetails) -> Iterator[str]:
    """For which classes a slice across classes holds."""
    for words, chosen in (
        ("Proven for", [row for row in details.classes if row.proven]),
        ("It looks so for", [row for row in details.classes if row.holds and not row.proven]),
        ("No clear sign of it in", [row for row in details.classes if not row.holds]),
    ):
        if chosen:
            shown = [
                f"{row.name} ({row.fails} of {row.photos} against {row.rest_fails} of {row.rest_photos})"
                for row in chosen[:HELD]
            ]
            more = f" and {len(chosen) - HELD} more" if len(chosen) > HELD else ""
            yield f"{words}: {', '.join(shown)}{more}."


def _seen(seen: SeenRates) -> str:
    """As asked, as seen, and what came of pictures with both objects."""
    if seen.obeyed is None:
        return "Nobody could say whether pictures show what was asked for: the rate is as asked."
    asked = (
        f"{percent(seen.obeyed)} of the pictures show what was asked for, and the rate is theirs; as asked, "
        f"{seen.asked_fails:,} of {seen.asked:,} fail ({spread(seen.asked_interval)})."
    )
    both = f" In {seen.both:,} more the wrong label's object is there too: no failure." if seen.both else ""
    return asked + both


def _cards(context: Context) -> Iterator[BugCard]:
    """In turn from all classes, so that no class fills the page; those with fresh images first."""
    seen: Counter[str] = Counter()
    ranked = []
    bugs = [one for one in enumerate(context.loaded.findings) if isinstance(one[1].details, BugDetails)]
    for at, finding in sorted(bugs, key=lambda one: _is_bare(one[1])):
        name = str(finding.details.class_name)
        seen[name] += 1
        ranked.append((seen[name], at, finding))
    for _, at, finding in sorted(ranked, key=lambda one: one[:2])[:CARDS]:
        yield _card(context, at + 1, finding)


def _is_bare(finding: Finding) -> bool:
    """Its fresh images are missing."""
    return not finding.details.confirmed


def _card(context: Context, number: int, finding: Finding) -> BugCard:
    evidence = context.loaded.evidence(finding)
    own = _short(evidence.own)
    usual = _short(evidence.parents[0]) if evidence.parents else None
    details: BugDetails = finding.details
    plot = mirrored(
        *_shares(details, finding.trials),
        LABELS + 1,
    )
    photos = details.photos[: 2 * SHOTS]
    return BugCard(number, finding, own, usual, plot, _bars(details.toggles), bool(details.spurious), photos)


def _shares(details: BugDetails, trials: int) -> tuple[dict[str, float], dict[str, float]]:
    """Wrong labels before and after: the commonest, the label aimed at among them, then the others."""
    before = {label: hits / max(1, details.baseline.valid) for label, hits in details.baseline_wrong.items()}
    after = {label: hits / max(1, trials) for label, hits in details.wrong.items()}
    ranked = sorted({*before, *after}, key=lambda one: (-after.get(one, 0), -before.get(one, 0), one))
    kept = [label for label in ranked if label != details.aim][: LABELS - bool(details.aim)]
    kept = [details.aim, *kept] if details.aim else kept
    rest = [label for label in ranked if label not in kept]
    found = []
    for side in (before, after):
        shown = {f"→ {one}" if one == details.aim else one: side[one] for one in kept if one in side}
        others = sum(side.get(label, 0.0) for label in rest)
        found.append({**shown, **({OTHERS: others} if others else {})})
    return found[0], found[1]


def _bars(toggles: Sequence[Toggle]) -> list[Bar]:
    """The bug itself first, then each change. Effects are the change when the clause is taken away."""
    if not toggles:
        return []
    first = toggles[0]
    found = [Bar("as described", first.full_rate, 0.0, (0.0, 0.0), first.pairs)]
    for toggle in toggles:
        low, high = toggle.interval
        value = parse_label(toggle.clause).value
        name = f"without “{value}”" if toggle.what == "without" else f"“{toggle.instead}” instead"
        name = f"“{toggle.instead}”, which comes along, alone" if toggle.what == "beside" else name
        found.append(Bar(name, toggle.rate, -toggle.effect, (-high, -low), toggle.pairs, toggle.is_cause))
    return found


def _short(row: ShotRow) -> ShotRow:
    return replace(row, shots=row.shots[:SHOTS])


def _digests(row: ShotRow | None) -> Iterable[str]:
    return () if row is None else [digest for shot in row.shots if shot for digest in shot.images]


def _classes(context: Context) -> Iterator[Section]:
    survey = context.survey_as(ClassifierSurvey)
    if survey is None:
        return
    ranked = sorted(survey.classes, key=lambda row: (not row.skip, -row.bugs, -row.baseline.rate, row.name))
    data = {"rows": ranked[:CLASSES], "total": len(ranked), "survey": survey}
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


def _photos(survey: PhotoSurvey) -> Iterator[Section]:
    shown = survey.confusions[:SHOWN_CONFUSIONS]
    yield Section(
        "map",  # takes the place of the common map: what is true of all photos comes first
        f"{survey.fails:,} of {survey.photos:,} photos are wrong",
        TEMPLATE,
        {"confusions": shown, "total": len(survey.confusions), "classes": survey.classes[:CLASSES]},
        LEAD,
        "Confusions",
        f"{percent(survey.rate)} of the photos get a wrong label (95% interval {spread(survey.interval)}). "
        "Which class is called what, commonest first; then how often each class fails.",
        "These are counts of the photos in the folder, of all of them. Slices, below, are kinds of photos "
        "that fail more often than other photos of the same classes. What came with the folder is tested on "
        "all photos; what somebody saw in failures is suggested by half of the photos and tested on the "
        "other half.",
        tuple(dict.fromkeys(digest for one in shown for digest in one.pictures)),
    )
