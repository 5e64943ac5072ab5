"""What a notebook shows of each object: the same words and numbers as every other screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from pathlib import Path

from markupsafe import Markup

from failscape.again.comparing import ManyCompared
from failscape.again.decide import PROVEN, PairedComparison
from failscape.again.words import say_overall, say_points, say_rate, say_totals
from failscape.atlas import Atlas
from failscape.errors import AtlasError, FailscapeError
from failscape.trials import Finding
from failscape.views.notebook.html import bounded, paragraph, table, thumbnail
from failscape.views.read import BeforeAfter, HuntEvidence, Rate, load_hunt, missing_of, varied_examples
from failscape.views.read.answer import HuntAnswer, ToldTheme, answer_of, seen_sentence, theme_examples
from failscape.views.read.findings import short_title
from failscape.views.read.numbers import percent, spread
from failscape.views.read.shots import shown_rate
from failscape.views.rows import FindingFilter, FindingRow, finding_rows, select
from failscape.views.thumbnails import NOTEBOOK_SIDE

#: Rows of a table; `rows()`, `to_pandas()` and `as_data()` have all.
SHOWN_ROWS = 10

#: Picture pairs of a theme, and of a hunt whose themes have none.
THEME_PAIRS = 2
HUNT_PAIRS = 4

BOLD = "font-weight:bold"
ASIDE = "opacity:.7"


@singledispatch
def html_of(shown: object) -> str:
    """The HTML of a finding, theme, answer or comparison.

    Raises:
        TypeError: for any other object.
    """
    raise TypeError(f"notebooks show no {type(shown).__name__}")


def atlas_html(folder: Path, hunt_id: int | None = None, stopped: str = "") -> str:
    """The answer of a hunt with pictures, then its first findings. An atlas without a hunt says so."""
    try:
        with Atlas.open(folder, readonly=True) as atlas:
            return bounded(_hunt_pieces(load_hunt(atlas, hunt_id), stopped))
    except FailscapeError as error:
        return bounded([paragraph(f"{folder}: {error}")])


def _hunt_pieces(hunt: HuntEvidence, stopped: str) -> Iterator[Markup]:
    answer = answer_of(hunt)
    yield paragraph(answer.headline, BOLD)
    has_pictures = False
    for theme in answer.shown:
        yield _theme_line(theme)
        pictures = _pictures(hunt, theme_examples(hunt, theme, THEME_PAIRS))
        has_pictures = has_pictures or bool(pictures)
        yield pictures
    yield from _what_follows(answer)
    if not has_pictures:
        yield _pictures(hunt, varied_examples(hunt.findings, hunt.place, hunt.evidence, HUNT_PAIRS))
    rows = select(finding_rows(hunt), FindingFilter())
    yield table(("finding", "status", "failed", "rate (95 %)"), map(_finding_cells, rows[:SHOWN_ROWS]))
    if len(rows) > SHOWN_ROWS:
        yield paragraph(f"and {len(rows) - SHOWN_ROWS:,} more: rows() and to_pandas() have all", ASIDE)
    if stopped:
        yield paragraph(f"Stopped: {stopped}", ASIDE)


def _theme_line(theme: ToldTheme) -> Markup:
    return paragraph(f"{theme.number}. {theme.sentence}")


def _what_follows(answer: HuntAnswer) -> Iterator[Markup]:
    """What the first screen says after its themes."""
    hidden = len(answer.themes) - len(answer.shown)
    if hidden:
        yield paragraph(f"{hidden:,} more {'theme' if hidden == 1 else 'themes'}: answer().themes", ASIDE)
    # Without findings the headline says it.
    if answer.seen and answer.findings:
        yield paragraph(f"{seen_sentence(answer.seen)}.")


def _finding_cells(row: FindingRow) -> Sequence[str]:
    failed = f"{row.failures:,} of {row.trials:,}"
    return row.short_title, row.status.value, failed, f"{percent(row.rate)} ({spread(row.interval)})"


def _pictures(hunt: HuntEvidence, examples: Sequence[BeforeAfter]) -> Markup:
    """Each failed picture, beside what works where there is such."""
    found = Markup("").join(_pair(hunt, example) for example in examples)
    return Markup("<div>{}</div>").format(found) if found else Markup("")


def _pair(hunt: HuntEvidence, example: BeforeAfter) -> Markup:
    title = short_title(example.evidence.finding)
    after = _thumbnail(hunt.atlas, example.after.images[0], f"fails: {title}")
    if example.before is None or example.parent is None:
        return after
    before = _thumbnail(hunt.atlas, example.before.images[0], f"works: {example.parent.title}")
    return before + after


def _thumbnail(atlas: Atlas, digest: str, words: str) -> Markup:
    """Nothing for a picture that is gone: atlases can be pruned."""
    try:
        return thumbnail(atlas.images.thumbnail(digest, NOTEBOOK_SIDE), words)
    except AtlasError:
        return Markup("")


@html_of.register
def _(answer: HuntAnswer) -> str:
    themes = [_theme_line(theme) for theme in answer.shown]
    return bounded([paragraph(answer.headline, BOLD), *themes, *_what_follows(answer)])


@html_of.register
def _(theme: ToldTheme) -> str:
    works = ", ".join(theme.exceptions)
    return bounded([_theme_line(theme), *([paragraph(f"Works: {works}", ASIDE)] if works else [])])


@html_of.register
def _(finding: Finding) -> str:
    lacks = missing_of(finding)
    pieces = [
        paragraph(finding.title, BOLD),
        paragraph(finding.caption),
        paragraph(f"{finding.status.value}: {_say_rate(shown_rate(finding))}"),
    ]
    return bounded([*pieces, *([paragraph(f"Not claimed: {lacks}", ASIDE)] if lacks else [])])


def _say_rate(rate: Rate) -> str:
    share = f"{percent(rate.rate)} ({spread(rate.interval)})"
    return f"{rate.failures:,} of {rate.of:,} failed, {share}. Counted: {rate.counted}."


@html_of.register
def _(compared: PairedComparison) -> str:
    return bounded(_comparison_pieces(compared))


@html_of.register
def _(compared: ManyCompared) -> str:
    """The last model against the first, and the way there."""
    points = compared.trend.points if compared.trend else ()
    trend = [(one.name, f"{percent(one.rate)} ({spread(one.interval)})", f"{one.cases:,}") for one in points]
    way = table(("model", "fails (95 %)", "cases"), trend[:SHOWN_ROWS])
    return bounded([*_comparison_pieces(compared.last), way])


def _comparison_pieces(compared: PairedComparison) -> Iterator[Markup]:
    yield paragraph(say_totals(compared), BOLD)
    rows = [row for status in PROVEN for row in compared.of_status(status)]
    cells = [
        (row.title, row.status, say_rate(row.first_rate), say_rate(row.second_rate), say_points(row))
        for row in rows[:SHOWN_ROWS]
    ]
    yield table(("subject", "status", compared.first, compared.second, "points (95 %)"), cells)
    if len(rows) > SHOWN_ROWS:
        yield paragraph(f"and {len(rows) - SHOWN_ROWS:,} more: as_data() has all", ASIDE)
    if compared.overall:
        yield paragraph(say_overall(compared.first, compared.second, compared.overall))
    yield paragraph(f"Power: {compared.power.sentence}.", ASIDE)
    for note in compared.notes:
        yield paragraph(f"Note: {note}.", ASIDE)
