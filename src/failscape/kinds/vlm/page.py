"""What the report says about vlm hunts: modes with examples, the tree of failures, learning, several targets.

See `sections.py` for how it joins the page.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from failscape.errors import FailscapeError
from failscape.kinds.vlm.findings import UNAUDITED, Example, ModeDetails
from failscape.kinds.vlm.survey import Coverage, Diversity, VlmSurvey
from failscape.kinds.vlm.taxonomy import TreeNode, compare
from failscape.kinds.vlm.training.quarters import Quarter
from failscape.spaces.mode_sentences import sentence
from failscape.spaces.questions import ANY, Pattern
from failscape.stats.intervals import exact_interval
from failscape.trials import Finding, Status, Verdict
from failscape.views.figures.basic import calendar, lines, rings
from failscape.views.figures.heat import FailureMap, HeatCell, HeatMap, failure_map, heat_of_counts
from failscape.views.pages.sections import END, LEAD, TRUST, Context, Section, Tile
from failscape.views.read import Place, Placer, load_hunt
from failscape.views.read.numbers import percent

TEMPLATE = "failscape.kinds.vlm:page.html"
CARDS = 12
SHOTS = 4
LEAVES = 40
EXAMPLE_VALUES = 4
#: The row of questions without a clause.
PLAIN = "asked plainly"


@dataclass(frozen=True, slots=True)
class ModeCard:
    """A finding with questions that failed, and one nearby that did not."""

    number: int
    finding: Finding
    details: ModeDetails
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A kind of question with the skills that it takes."""

    skills: str
    node: TreeNode


@dataclass(frozen=True, slots=True)
class Tree:
    picture: Markup
    leaves: list[Leaf]
    total: int


@dataclass(frozen=True, slots=True)
class Course:
    """How the search went. `trained` is the trainer's own log, where a questioner learned."""

    curve: Markup
    skills: Markup
    coverage: Coverage
    diversity: Diversity
    trained: int
    quarters: tuple[Quarter, ...] = ()


def placer(config: dict[str, Any]) -> Placer:
    """Columns are skills; a form of question is what a subject is about."""

    def place(subject: str) -> Place | None:
        pattern = Pattern.parse(subject)
        rows = tuple(name for name, _ in pattern.clauses) or (PLAIN,)
        column = "any question" if pattern.form == ANY else pattern.form
        return Place(" + ".join(pattern.skills) or "any", column, rows)

    return place


def tiles(context: Context) -> Iterator[Tile]:
    survey = context.survey_as(VlmSurvey)
    if survey:
        coverage = survey.coverage
        yield Tile(
            "Skill combinations", str(coverage.failing_combinations), f"of {coverage.combinations} fail"
        )


def notes(finding: Finding) -> Iterator[str]:
    details = finding.details
    if not isinstance(details, ModeDetails):
        return
    if finding.status is Status.CONDITIONAL:
        yield f"Conditional: {details.condition or UNAUDITED}."
    if details.audit:
        wrong, right, neither = details.audit
        yield f"Looked at again by {details.audited_by}: {wrong} wrong, {right} right, {neither} neither."
    if details.missing:
        yield f"Not proven; missing: {details.missing}."
    if not details.minimal:
        yield "Whether a simpler kind of question fails too is not settled yet."
    if details.agreement is not None and details.agreement < 1:
        yield f"On average {percent(details.agreement)} of the verifiers agreed."
    if details.explains:
        yield f"It explains {len(details.explains)} more complicated kinds of question that fail as well."


def sections(context: Context) -> Iterator[Section]:
    findings, survey = context.loaded.findings, context.survey_as(VlmSurvey)
    if survey is None:
        return
    if findings:
        cards = [_card(number, finding) for number, finding in enumerate(findings[:CARDS], 1)]
        shown = [digest for card in cards for example in _all(card) for digest in example.images]
        yield Section(
            "modes",
            "What it gets wrong",
            TEMPLATE,
            {"cards": cards, "total": len(findings), "margin": survey.margin},
            LEAD,
            "Modes",
            "Kinds of question that fail more often than the margin, on fresh pictures and in other words.",
            "The rate is that of the confirmation only: what made us look is not counted. Below, kinds of "
            "question with one clause or skill less, and the nearest kind that the target gets right.",
            tuple(dict.fromkeys(shown)),
        )
    subjects = context.loaded.subjects()
    seen = failure_map(subjects, context.loaded.place)
    if seen.cells:
        yield _map_section(seen, survey, (one.subject for one in subjects))
    if survey.taxonomy.trials:
        yield _tree_section(survey.taxonomy)
    if survey.skills is not None and survey.skills.rows:
        yield Section(
            "skills",
            "Skills that the questions take",
            TEMPLATE,
            survey.skills,
            TRUST,
            "Skills",
            f"{survey.skills.names} names, given by {survey.skills.named_by} and merged by "
            f"{survey.skills.merged_by}.",
            "A new skill is taken up when several questions take it and its definition fits them alone.",
        )
    if survey.coverage.valid:
        yield _course_section(context, survey)
    yield from targets_section(context)


def _card(number: int, finding: Finding) -> ModeCard:
    details: ModeDetails = finding.details
    return ModeCard(number, finding, details, details.examples[:SHOTS])


def _all(card: ModeCard) -> list[Example]:
    passed = card.details.contrast.example if card.details.contrast else None
    return [*card.examples, *([passed] if passed else [])]


def _map_section(seen: FailureMap, survey: VlmSurvey, subjects: Iterable[str]) -> Section:
    """The common map with its names told in plain words: a question for a column, values for a row."""
    questions: dict[str, str] = {}
    for text, pattern, _ in survey.asked:
        form = Pattern.parse(pattern).form
        questions[form] = min(questions.get(form, text), text, key=len)
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for subject in subjects:
        for name, value in Pattern.parse(subject).clauses:
            values[name][value] += 1
    columns = {name: f"“{questions[name]}”" for name in seen.columns if name in questions}
    rows = {name: ", ".join(one for one, _ in values[name].most_common(EXAMPLE_VALUES)) for name in seen.rows}
    told = {"columns": columns, "rows": {name: words for name, words in rows.items() if words}}
    return Section(
        "map",
        "Where it fails",
        TEMPLATE,
        {"heat": heat_of_counts(seen, "question"), "hidden": seen, **told},
        LEAD,
        "Map",
        "Share of valid questions that were answered wrongly. Columns are kinds of question; rows are what "
        "else was the case: the right answer, the wording, what is in the picture.",
        "A question with several such conditions counts in the row of each. The search goes where failures "
        "are expected, so a cell says what was seen, not what a random question would meet.",
    )


def _tree_section(tree: TreeNode) -> Section:
    leaves = [
        Leaf(combination.name, leaf)
        for family in tree.children
        for combination in family.children
        for leaf in combination.children
    ]
    ranked = sorted(leaves, key=lambda leaf: (-leaf.node.rate, -leaf.node.trials))
    return Section(
        "taxonomy",
        "The tree of failures",
        TEMPLATE,
        Tree(rings(tree.as_data()), ranked[:LEAVES], len(ranked)),
        LEAD,
        "Tree",
        "From the middle out: families of skills, combinations of skills, kinds of question. "
        f"{percent(tree.rate)} of all {tree.trials:,} valid questions failed, those that confirm a failure "
        "included.",
        "Width is how much was asked, colour how much of it failed. Confirmed modes have a dark rim. "
        "Questions of the search are no fair sample: it asks more where it finds failures.",
    )


def _course_section(context: Context, survey: VlmSurvey) -> Section:
    trained = sum(event.kind == "training" for event in context.atlas.events(context.loaded.row.id))
    names = {"rate": "failed (of valid)", "invalid": "invalid", "different": "different"}
    course = Course(
        lines([asdict(point) for point in survey.learning], names),
        calendar(survey.curriculum.skills),
        survey.coverage,
        survey.diversity,
        trained,
        survey.quarters if trained else (),
    )
    return Section(
        "learning",
        "Questions over time",
        TEMPLATE,
        course,
        TRUST,
        "Learning",
        "What was asked over time, and how much of it failed.",
        "Left: shares of the questions written at that time. Right: skills, those asked early at the top. A "
        "search that learns shows a rising share of failures without fewer different questions.",
    )


TARGETS = 6
#: Most modes in the table; the first twelve of them are drawn.
MODES = 40

DRAWN = 12


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
