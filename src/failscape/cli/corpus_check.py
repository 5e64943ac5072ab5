"""`failscape corpus check`: is a corpus sound, how large is it, and what of some captions does it know?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.attribution.counts import read_captions
from failscape.errors import ConfigError
from failscape.spaces.corpus import Corpus, folder_of, load_corpus
from failscape.spaces.corpus.census import CaptionCoverage, Census, CoverageCounter, oddities, take_census

ROWS = 15


@click.command("check")
@click.argument("corpus")
@click.option(
    "--captions",
    type=click.Path(path_type=Path),
    help="Captions, one a line: .txt, .jsonl or .csv, also .gz. Says what of them the corpus knows.",
)
@click.option("--field", help="The field of a .jsonl line or column of a .csv [caption, text or prompt].")
@click.option("--depth", type=click.IntRange(0, 6), default=2, show_default=True, help="Layers to count.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Unknown words to print."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    corpus: str, captions: Path | None, field: str | None, depth: int, limit: int, as_json: bool
) -> None:
    """Check CORPUS (a shipped name or a folder) and print its size.

    Every mistake is named with file, line and fix, and makes the exit code 2.
    """
    loaded = load_corpus(corpus)
    notes = oddities(loaded, folder_of(corpus))
    census = take_census(loaded, depth)
    coverage = None if captions is None else count_coverage(loaded, captions, field)
    if as_json:
        data = {"corpus": corpus, **census.as_data(), "notes": notes}
        if coverage:
            data["coverage"] = coverage.as_data(limit)
        click.echo(json.dumps(data, ensure_ascii=False, indent=1))
        return
    console = Console(highlight=False, soft_wrap=True)
    print_census(console, corpus, census, notes)
    if coverage:
        console.print()
        print_coverage(console, coverage, loaded, limit)


def count_coverage(corpus: Corpus, captions: Path, field: str | None) -> CaptionCoverage:
    counter = CoverageCounter(corpus)
    for caption in read_captions(captions, field):
        counter.add(caption)
    if not counter.coverage.captions:
        raise ConfigError(f"{captions}: holds no captions", "write one caption a line")
    return counter.coverage


def print_census(console: Console, name: str, census: Census, notes: list[str]) -> None:
    """The size of a corpus, and what is odd about it, for people."""
    console.print(Text(f"{name}: no mistakes", style="bold"))
    table = _table("", "all", "sample")
    table.add_row("entities", f"{census.entities:,}", f"{census.sample:,}")
    for layer, (every, sampled) in enumerate(zip(census.layers, census.sample_layers, strict=True)):
        what = f"nodes of {layer} value{'' if layer == 1 else 's'}"
        table.add_row(what, f"{every:,}", f"{sampled:,}")
    console.print(table)
    values = ", ".join(
        f"{count:,} {family} ({census.sub_categories[family]})" for family, count in census.values.items()
    )
    plausible = "–" if census.plausible is None else f"{census.plausible:.0%}"
    console.print(f"\n{census.classes:,} classes, {census.sub_classes:,} sub-classes")
    console.print(f"{sum(census.values.values()):,} values (in sub-categories): {values}")
    console.print(f"{plausible} of entity × Base value pairs are plausible")
    console.print(f"{census.conflicts:,} pairs of values exclude each other")
    for note in notes:
        console.print(Text(f"note: {note}", style="yellow"))


def print_coverage(console: Console, coverage: CaptionCoverage, corpus: Corpus, limit: int) -> None:
    total = coverage.captions
    console.print(f"[bold]{total:,} captions[/bold]")
    table = _table("", "captions", "share")
    for what, count in (
        ("with a known entity", coverage.with_entity),
        ("with a known value", coverage.with_value),
        ("with both", coverage.with_both),
    ):
        table.add_row(what, f"{count:,}", f"{count / total:.1%}")
    console.print(table)
    for what, share in (("things", coverage.things_share), ("attributes", coverage.attributes_share)):
        console.print(f"{what} known: {'–' if share is None else f'{share:.1%}'} of those mentioned")
    console.print(
        f"mentioned at all: {len(coverage.entities):,} of {len(corpus.entities):,} entities, "
        f"{len(coverage.values):,} of {len(corpus.values):,} values"
    )
    _print_words(console, "unknown things", coverage.unknown_things, limit)
    _print_words(console, "unknown attributes", coverage.unknown_attributes, limit)


def _print_words(console: Console, title: str, words: Counter[str], limit: int) -> None:
    if words:
        shown = ", ".join(f"{word} {count:,}" for word, count in words.most_common(limit))
        console.print(Text(f"{title}, most frequent first: {shown}"))


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
