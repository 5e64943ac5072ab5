"""`failscape review plan|export|import`: let people check the judge, and reckon with what they find."""

from pathlib import Path

import click
from rich.console import Console

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import add_labels, add_review, keep_reviewed, review_scope
from failscape.cli.screen import plain_table
from failscape.stats.judging.accuracy import ALL_OTHERS
from failscape.stats.judging.errors import Measured
from failscape.stats.judging.words import DoubtedWord
from failscape.views.read import load_hunt
from failscape.views.read.numbers import percent
from failscape.views.review.labels import COUNT, EVERY, Known, Reviewed, measure, plan_review, read_table
from failscape.views.review.sample import (
    draw_mode_audit,
    draw_sample,
    mode_tallies,
    words_to_label,
    write_review,
)


@click.group("review")
def command() -> None:
    """Let people check the judge on a blind sample, and reckon with its errors."""


@command.command("plan")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--half-width",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.03,
    show_default=True,
    help="How well the judge is to be known.",
)
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
def plan(atlas: Path, half_width: float, hunt_id: int | None) -> None:
    """Say how many labels it takes to know the judge of ATLAS to ± the half-width.

    Labels that were given count. Where there are none, the judge is taken to be wrong in one answer of ten.
    """
    with Atlas.open(atlas, readonly=True) as opened:
        row = opened.hunt(hunt_id)
        print_plan(plan_review(opened, row, half_width), half_width, Console())
        print_words(words_to_label(opened, row), Console())
    click.echo(f"failscape view {atlas} lets people label, and shows how far they are.")


def print_words(words: list[DoubtedWord], console: Console) -> None:
    """Where labels would help most; nothing when no word stands out."""
    if not words:
        return
    console.print(
        "\nLabel these first: their checks fail far more often than others of their kind. Either the"
    )
    console.print("model never draws them or the judge misreads them, and only people can tell.")
    numbers = ("not seen in", "usual", "pictures failing by it alone", "labels")
    rows = [
        (
            one.counts.word,
            one.counts.kind,
            percent(one.counts.drop_rate),
            percent(one.usual),
            f"{one.counts.alone:,}",
            f"{one.labels}",
        )
        for one in words
    ]
    console.print(plain_table(("word", "kind of check"), numbers, rows=rows))


def print_plan(lines: list[Known], half_width: float, console: Console) -> None:
    numbers = ("checks", "labels", "known to", "needed in all", "without the judge")
    rows = [
        (
            one.kind,
            f"{one.checks:,}",
            f"{one.labels:,}",
            f"±{percent(one.half_width)}" if one.labels else "–",
            f"{one.needed:,}",
            f"{one.alone:,}",
        )
        for one in lines
    ]
    console.print(plain_table(("kind of check",), numbers, rows=rows))
    each = sum(one.needed for one in lines if one.kind != EVERY)
    console.print(
        f"\nTo know the share of right answers to ±{percent(half_width)} (95 %): {lines[-1].needed:,} labels"
        f" for all checks together, {each:,} for each kind by itself.",
        highlight=False,
    )


@command.command("export")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="New folder for the review.")
@click.option("--count", type=click.IntRange(min=1), default=COUNT, show_default=True, help="Most checks.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Another seed draws another sample.")
@click.option("--modes", is_flag=True, help="The answers of a vlm hunt's conditional modes, to certify them.")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
def export(atlas: Path, out: Path, count: int, seed: int, modes: bool, hunt_id: int | None) -> None:
    """Draw a sample of what the judge of ATLAS decided, for people to decide again without seeing it."""
    with Atlas.open(atlas) as opened:
        row = opened.hunt(hunt_id)
        sample = draw_mode_audit(opened, row) if modes else draw_sample(opened, row, count, seed)
        add_review(opened, sample.review, seed, sample.items)  # before anybody can label anything
        table = write_review(opened, sample, out)
    click.echo(f"{len(sample.items):,} checks to review: fill in the column `label` of {table}.")
    if sample.skipped:
        click.echo(
            f"warning: {sample.skipped:,} decided checks are left out, for their pictures were not kept;"
            " the accuracy will speak for the others only",
            err=True,
        )
    click.echo(f"Then: failscape review import {atlas} FILE.csv")


@command.command("import")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--reviewer", default="", help="Who labelled, where the file does not say [name of the file].")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the accuracy to this JSON file.")
def import_(atlas: Path, files: tuple[Path, ...], reviewer: str, out: Path | None) -> None:
    """Bring labels back into ATLAS: the judge's accuracy is measured anew and used from now on."""
    reviewed = None
    with Atlas.open(atlas) as opened:
        tables = [read_table(path, opened, reviewer) for path in files]  # all are checked before any is kept
        for review, labels in tables:
            add_labels(opened, review.uid, labels)
        audits = [review for review, _ in tables if review.audits_modes]
        for hunt_id in dict.fromkeys(review.hunt for review in audits):
            print_modes(opened, opened.hunt(hunt_id), Console())
        measured = [review for review, _ in tables if review not in audits]
        for judge, scope in dict.fromkeys((one.judge, review_scope(opened, one.hunt)) for one in measured):
            reviewed = measure(opened, judge, scope)
            keep_reviewed(opened, reviewed.accuracy, scope)
            print_reviewed(reviewed, Console())
    if out is not None and reviewed is not None:
        out.write_text(reviewed.accuracy.to_json() + "\n", encoding="utf-8")
    click.echo("`run`, `findings` and `report` on this atlas reckon with it from now on.")


def print_modes(atlas: Atlas, row: HuntRow, console: Console) -> None:
    """What people say of each mode that they looked at, and what its status is now."""
    table = plain_table(("mode",), ("looked at", "wrong", "right", "unsure"), ("status",))
    told = load_hunt(atlas, row.id)
    statuses = {one.subject: one.status for one in (*told.suspects, *told.findings)}
    for one in mode_tallies(atlas, row):
        cells = (f"{one.labels} of {one.items}", f"{one.wrong}", f"{one.right}", f"{one.unsure}")
        table.add_row(one.subject, *cells, statuses.get(one.subject, "another mode explains it"))
    console.print(table)


def print_reviewed(reviewed: Reviewed, console: Console) -> None:
    table = plain_table(("kind of check",), ("labelled true", "false", "sensitivity", "specificity"))
    for kind, accuracy in sorted(
        reviewed.accuracy.kinds.items(), key=lambda one: (one[0] == ALL_OTHERS, one[0])
    ):
        name = "any other" if kind == ALL_OTHERS else kind
        counts = [f"{count:,}" for count in reviewed.counts.get(kind, ())] or ["", ""]
        table.add_row(name, *counts, _shown(accuracy.sensitivity), _shown(accuracy.specificity))
    console.print(table)
    console.print(f"\n{reviewed.accuracy.source}; {reviewed.unsure:,} unsure or disputed.", highlight=False)
    if reviewed.people is not None:
        people = reviewed.people
        console.print(
            f"Reviewers agree on {percent(people.share)} of {people.answers:,} shared labels,"
            f" kappa {people.kappa:.2f}.",
            highlight=False,
        )


def _shown(measured: Measured) -> str:
    if not measured.of:
        return "not known"
    low, high = measured.at_least(0.025), measured.at_most(0.025)
    return f"{percent(measured.rate)} ({percent(low)} – {percent(high)})"
