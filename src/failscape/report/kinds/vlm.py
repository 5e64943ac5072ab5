"""What the report says about vlm hunts: modes with examples, the tree of failures, learning, several targets.

See `sections.py` for how it joins the page.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from failscape.evidence import Place, Placer
from failscape.hunts.vlm.findings import UNAUDITED, Example, ModeDetails
from failscape.hunts.vlm.survey import Coverage, Diversity, VlmSurvey
from failscape.hunts.vlm.taxonomy import TreeNode
from failscape.hunts.vlm.training.quarters import Quarter
from failscape.report.figures.basic import percent
from failscape.report.figures.heat import FailureMap, failure_map, heat_of_counts
from failscape.report.figures.rings import calendar, lines, rings
from failscape.report.kinds.vlm_targets import targets_section
from failscape.report.sections import LEAD, TRUST, Context, Section, Tile
from failscape.spaces.questions import ANY, Pattern
from failscape.trials import Finding

TEMPLATE = "vlm.html"
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
        words = f"of {coverage.valid:,} valid questions in the search"
        yield Tile("Failed", percent(coverage.discovery_rate), words)
        yield Tile(
            "Skill combinations", str(coverage.failing_combinations), f"of {coverage.combinations} fail"
        )


def notes(finding: Finding) -> Iterator[str]:
    details = finding.details
    if not isinstance(details, ModeDetails):
        return
    if finding.status == "conditional":
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
        "How the search went",
        TEMPLATE,
        course,
        TRUST,
        "Learning",
        "What was asked over time, and how much of it failed.",
        "Left: shares of the questions written at that time. Right: skills, those asked early at the top. A "
        "search that learns shows a rising share of failures without fewer different questions.",
    )
