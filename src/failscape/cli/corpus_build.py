"""`failscape corpus build`: make a corpus folder from tables, from another corpus, or from captions."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from failscape.cli.corpus_check import count_coverage, print_census
from failscape.errors import ConfigError
from failscape.names import suggest
from failscape.spaces.corpus import FAMILIES, Corpus, load_corpus
from failscape.spaces.corpus.census import oddities, take_census
from failscape.spaces.corpus.writing import (
    ENTITY_COLUMNS,
    VALUE_COLUMNS,
    Files,
    add_entities,
    add_values,
    corpus_files,
    part_of,
    read_table,
    write_files,
)


@click.command("build")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--from", "source", metavar="CORPUS", help="Start from this corpus: a shipped name or a folder."
)
@click.option("--class", "classes", multiple=True, help="Keep the entities of this class. Repeatable.")
@click.option("--sub-class", "sub_classes", multiple=True, help="Keep those of this sub-class. Repeatable.")
@click.option("--entity", "names", multiple=True, help="Keep this entity. Repeatable.")
@click.option(
    "--family", "families", multiple=True, type=click.Choice(FAMILIES), help="Keep its values. Repeatable."
)
@click.option("--sub-category", "subs", multiple=True, help="Keep its values, e.g. Colour. Repeatable.")
@click.option("--captions", type=click.Path(path_type=Path), help="Keep what these captions mention.")
@click.option("--field", help="The field of a .jsonl line or column of a .csv [caption, text or prompt].")
@click.option("--most-entities", type=click.IntRange(min=1), help="With --captions: the most frequent ones.")
@click.option("--most-values", type=click.IntRange(min=1), help="With --captions: the most frequent ones.")
@click.option(
    "--entities",
    type=click.Path(path_type=Path),
    help=f"Add entities of a .csv or .yaml table: {', '.join(ENTITY_COLUMNS)}.",
)
@click.option(
    "--values",
    type=click.Path(path_type=Path),
    help=f"Add values of a .csv or .yaml table: {', '.join(VALUE_COLUMNS)}.",
)
@click.option("--replace", is_flag=True, help="Replace the corpus files that FOLDER already holds.")
def command(
    folder: Path,
    source: str | None,
    classes: tuple[str, ...],
    sub_classes: tuple[str, ...],
    names: tuple[str, ...],
    families: tuple[str, ...],
    subs: tuple[str, ...],
    captions: Path | None,
    field: str | None,
    most_entities: int | None,
    most_values: int | None,
    entities: Path | None,
    values: Path | None,
    replace: bool,
) -> None:
    """Make a corpus in FOLDER: take a corpus (--from), keep a part of it, add what your tables hold."""
    if folder.is_dir() and any(folder.iterdir()) and not replace:
        raise ConfigError(f"{folder}: is not empty", "choose another folder, or give --replace")
    if source is None and entities is None:
        raise ConfigError("there is nothing to build from", "give --from CORPUS, --entities TABLE or both")
    if source is None and (classes or sub_classes or names or families or subs or captions):
        raise ConfigError("there is nothing to keep a part of", "give --from CORPUS as well")
    files: Files = {}
    if source is not None:
        corpus = load_corpus(source)
        kept_entities = _kept_entities(corpus, classes, sub_classes, names)
        kept_values = _kept_values(corpus, families, subs)
        if captions is not None:
            coverage = count_coverage(corpus, captions, field)
            kept_entities = _frequent(kept_entities, coverage.entities, most_entities, "entity")
            kept_values = _frequent(kept_values, coverage.values, most_values, "value")
        files = corpus_files(part_of(corpus, kept_entities, kept_values))
    if entities is not None:
        add_entities(files, read_table(entities, ENTITY_COLUMNS, ("name",)))
    if values is not None:
        add_values(files, read_table(values, VALUE_COLUMNS, ("value", "sub_category")))
    built = _write(folder, files)
    console = Console(highlight=False, soft_wrap=True)
    print_census(console, str(folder), take_census(built), oddities(built, folder))


def _kept_entities(
    corpus: Corpus, classes: Sequence[str], sub_classes: Sequence[str], names: Sequence[str]
) -> list[int]:
    """Those that any of the options names; all without options."""
    if not (classes or sub_classes or names):
        return list(range(len(corpus.entities)))
    _refuse_unknown(classes, {entity.upper_class for entity in corpus.entities}, "class")
    _refuse_unknown(sub_classes, {entity.sub_class for entity in corpus.entities}, "sub-class")
    _refuse_unknown(names, set(corpus.entity_index), "entity")
    return [
        index
        for index, entity in enumerate(corpus.entities)
        if entity.upper_class in classes or entity.sub_class in sub_classes or entity.name in names
    ]


def _kept_values(corpus: Corpus, families: Sequence[str], subs: Sequence[str]) -> list[int]:
    if not (families or subs):
        return list(range(len(corpus.values)))
    known = {value.kind for value in corpus.values} | {value.sub_category for value in corpus.values}
    _refuse_unknown(subs, known, "sub-category")
    return [
        index
        for index, value in enumerate(corpus.values)
        if value.family in families or value.sub_category in subs or value.kind in subs
    ]


def _refuse_unknown(names: Sequence[str], known: set[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no {what} {name!r}", suggest(name, sorted(known)))


def _frequent(kept: list[int], counts: Counter[int], most: int | None, what: str) -> list[int]:
    mentioned = sorted((index for index in kept if counts[index]), key=lambda index: -counts[index])
    if not mentioned:
        raise ConfigError(f"the captions mention no {what} of the corpus", "see `failscape corpus check`")
    return sorted(mentioned[:most])


def _write(folder: Path, files: Files) -> Corpus:
    """Read it before it gets its place, so that a folder with a corpus holds a sound one."""
    with tempfile.TemporaryDirectory() as drafts:
        draft = Path(drafts) / folder.name
        write_files(draft, files)
        load_corpus(str(draft))
        folder.mkdir(parents=True, exist_ok=True)
        for old in ("match.json", "conflicts.json", "entities_sample.json", *map(_attributes, FAMILIES)):
            if old not in files:
                (folder / old).unlink(missing_ok=True)
        for path in draft.iterdir():
            shutil.copyfile(path, folder / path.name)
    return load_corpus(str(folder))


def _attributes(family: str) -> str:
    return f"attributes_{family.lower()}.json"
