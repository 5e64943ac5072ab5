"""`failscape attribute ATLAS`: does failure follow data scarcity?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from failscape.atlas import Atlas, HuntRow
from failscape.cli.screen import TellingLine, echo_json, plain_table
from failscape.errors import ConfigError
from failscape.plugins import HuntKind, find_kind, kind_names, kind_of
from failscape.spaces.corpus import load_corpus
from failscape.trials import thing_text, value_label
from failscape.views.attribution.counts import MentionCounts, count_captions, counts_of, read_counts
from failscape.views.attribution.scarcity import Odd, Scarcity, relate, write_attribution
from failscape.views.read import config_of, load_hunt
from failscape.views.read.numbers import number, percent

ROWS = 10
TOYBOX = "toybox"


@click.command("attribute")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--counts", metavar="FILE", help='Counts by subject, .json or .csv; "toybox" for those of toy-painter.'
)
@click.option(
    "--captions", type=click.Path(path_type=Path), help="Training captions, one a line: counted by words."
)
@click.option("--field", help="The field of a .jsonl line that holds the caption [caption, text or prompt].")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt [the one with the latest trial].")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The page to write [ATLAS/report/attribution.html]."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Exceptions to print."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON; a page only with -o.")
def command(
    atlas: Path,
    counts: str | None,
    captions: Path | None,
    field: str | None,
    hunt_id: int | None,
    out: Path | None,
    limit: int,
    as_json: bool,
) -> None:
    """Relate the failures in ATLAS to how often training data mentions each subject."""
    if (counts is None) == (captions is None):
        raise ConfigError("give either --counts FILE or --captions FILE", "see docs/attribute.md")
    with Atlas.open(atlas, readonly=True) as opened:
        loaded = load_hunt(opened, hunt_id, watch=TellingLine())
        if captions is not None:
            known = _count(opened, loaded.row, captions, field)
        else:
            known = toybox_counts() if counts == TOYBOX else read_counts(Path(str(counts)))
        scarcity = relate(loaded, known)
        page = None if as_json and out is None else write_attribution(loaded, scarcity, out)
    if as_json:
        echo_json(scarcity.as_data(), indent=1)
    else:
        print_text(scarcity, Console(), limit)
        click.echo(page)


def _count(atlas: Atlas, row: HuntRow, captions: Path, field: str | None) -> MentionCounts:
    config = config_of(row)
    corpus = kind_of(config).corpus(config)
    if corpus is None:
        able = [name for name in kind_names() if type(find_kind(name)).corpus is not HuntKind.corpus]
        kinds = " and ".join(able)
        raise ConfigError(
            f"captions can be counted for {kinds} hunts only, but hunt {row.id} is {row.kind!r}"
        )
    return count_captions(captions, corpus, atlas.subjects(row.id), field)


def toybox_counts() -> MentionCounts:
    """The training counts that come with toy-painter, named as subjects of the toybox corpus."""
    from failscape.toybox.painter import training_counts

    try:
        counts = training_counts()
    except OSError as error:
        raise ConfigError(
            f"the training counts of toy-painter are not installed ({error})",
            "pip install --upgrade failscape",
        ) from error
    return counts_of(toybox_subjects(counts), "toy-painter's training captions")


def toybox_subjects(counts: dict[str, int]) -> Iterator[tuple[str, int]]:
    """`cow + colour=red` → `cow; Base: colour=red`."""
    values = load_corpus(TOYBOX).values
    labels = {value_label(value.sub_category, value.name): value.label for value in values}
    for name, count in counts.items():
        entity, *pairs = name.split(" + ")
        yield thing_text(entity, [labels.get(pair, pair) for pair in pairs]), count


def print_text(scarcity: Scarcity, console: Console, limit: int) -> None:
    """The short account for people; the page has more."""
    console.print(Text(scarcity.verdict, style="bold"))
    of = f" ({scarcity.captions:,} captions)" if scarcity.captions is not None else ""
    console.print(Text(f"{len(scarcity.subjects):,} subjects against {scarcity.source}{of}."))
    for left, why in (
        (scarcity.uncounted, "more values than the counts have"),
        (scarcity.untried, "no valid trial"),
    ):
        if left:
            console.print(f"{left:,} left out: {why}.", highlight=False)
    console.print()
    table = plain_table(("subjects",), ("number", "rank correlation", "95% interval", "units"))
    for one in scarcity.relations:
        name = "all" if one.layer is None else f"{one.layer} value{'' if one.layer == 1 else 's'}"
        rho = "–" if one.rho is None else f"{one.rho:+.2f}"
        span = "–" if one.rho is None else f"{one.interval[0]:+.2f} to {one.interval[1]:+.2f}"
        units = {"entity": "entities", "subject": "subjects"}[one.unit]
        table.add_row(name, f"{one.subjects:,}", rho, span, f"{one.units:,} {units}")
    console.print(table)
    console.print()
    bins = [
        (one.label, f"{one.subjects:,}", f"{one.findings:,}", percent(one.share), _span(one.interval))
        for one in scarcity.bins
    ]
    console.print(plain_table(("captions",), ("subjects", "findings", "failed", "95% interval"), rows=bins))
    _print_odd(console, "Frequent yet failing", scarcity.frequent_failing, limit)
    _print_odd(console, "Rare yet passing", scarcity.rare_passing, limit)


def _print_odd(console: Console, title: str, odd: Sequence[Odd], limit: int) -> None:
    shown = f"the first {limit} of {len(odd):,}" if len(odd) > limit else f"{len(odd):,}"
    console.print(f"\n[bold]{title}[/bold] ({shown})", highlight=False)
    if not odd:
        return
    certain = ("e-value",) if odd[0].e_value is not None else ()
    table = plain_table(("subject",), ("captions", "failed", "95% interval", *certain))
    for one in odd[:limit]:
        e_value = () if one.e_value is None else (number(one.e_value),)
        failed = f"{one.failures} of {one.trials}"
        table.add_row(Text(one.title), f"{one.count:,}", failed, _span(one.interval), *e_value)
    console.print(table)


def _span(interval: tuple[float, float]) -> str:
    return f"{percent(interval[0])} – {percent(interval[1])}"
