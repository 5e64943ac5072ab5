"""`failscape corpus …`: the files that say what can be asked."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import click
import numpy as np
import yaml
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from failscape.cli import NearestGroup
from failscape.cli.screen import plain_table
from failscape.config import ModelConfig
from failscape.errors import ConfigError, suggest
from failscape.models.registry import LLM, create_model
from failscape.models.roles import Embedder
from failscape.runtime.match_corpus import (
    Chat,
    CorpusMatcher,
    MatchQuestion,
    MatchVotes,
    matched,
    open_questions,
    read_votes,
)
from failscape.spaces.corpus import FAMILIES, Corpus, folder_of, load_corpus
from failscape.spaces.corpus.census import CaptionCoverage, Census, CoverageCounter, oddities, take_census
from failscape.spaces.corpus.writing import (
    ENTITY_COLUMNS,
    VALUE_COLUMNS,
    Files,
    add_entities,
    add_values,
    corpus_files,
    failureatlas_files,
    match_data,
    part_of,
    read_table,
    write_files,
)
from failscape.spaces.embeddings import FORMATS, Embeddings, digest_of_words, save_embeddings, texts_of
from failscape.spaces.lattice import Lattice
from failscape.views.attribution.counts import read_captions

VOTES_FILE = "match_votes.jsonl"


@click.command("match", short_help="Let a language model say which values make sense for which entity.")
@click.argument("corpus")
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of the matched corpus.",
)
@click.option(
    "--llm-config",
    type=click.Path(path_type=Path),
    help="YAML file with provider, model, endpoints, params …",
)
@click.option("--endpoint", "endpoints", multiple=True, help="Base URL of a chat server. Repeatable: a pool.")
@click.option("--model", help="The model's name as the server knows it.")
@click.option("--api-key-env", default="", help="Name of the environment variable that holds the key.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=32, show_default=True, help="Per endpoint."
)
@click.option("--votes", type=click.IntRange(1, 25), default=3, show_default=True, help="Votes per pair.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Mean score, from 0 to 1, from which a value is plausible.",
)
@click.option(
    "--values-per-question", type=click.IntRange(1, 200), default=40, show_default=True, help="At most."
)
@click.option(
    "--entities",
    type=click.Choice(["all", "sample"]),
    default="all",
    show_default=True,
    help="Which ones to match; the others stay as they are.",
)
@click.option(
    "--layout",
    type=click.Choice(["failscape", "failureatlas"]),
    default="failscape",
    show_default=True,
    help="Names of the files; failureatlas has bare words: no wording, plurals, articles or conflicts.",
)
@click.option("--dry-run", is_flag=True, help="Only say how many questions there are.")
def match(
    corpus: str,
    folder: Path,
    llm_config: Path | None,
    endpoints: tuple[str, ...],
    model: str | None,
    api_key_env: str,
    concurrency: int,
    votes: int,
    threshold: float,
    values_per_question: int,
    entities: str,
    layout: str,
    dry_run: bool,
) -> None:
    """Score every (entity, Base value) pair of CORPUS and write it with a new match.json to --out.

    MatchVotes are kept in match_votes.jsonl there: run the same command again to go on, or with another
    --threshold to change the whitelist without a question.
    """
    loaded = load_corpus(corpus)
    chosen = Lattice(loaded, entities, depth=0).entities
    settings = _settings(llm_config, endpoints, model, api_key_env, concurrency)
    llm = create_model(LLM, settings)
    file = folder / VOTES_FILE
    known = read_votes(file, llm.identity)
    questions = list(open_questions(loaded, chosen, known, votes, values_per_question))
    click.echo(f"{len(questions):,} questions to ask, {len(known.scores):,} pairs have votes", err=True)
    if dry_run:
        return
    unusable = asyncio.run(_ask(loaded, llm, settings, file, known, questions))
    allowed, left_out = matched(loaded, chosen, known, votes, threshold)
    _write_match(replace(loaded, allowed=allowed), corpus, folder, layout)
    base = np.array([value.family == "Base" for value in loaded.values], dtype=np.bool_)
    share = float(allowed[list(chosen)][:, base].mean()) if base.any() else 0.0
    click.echo(
        f"{share:.0%} of {len(chosen) * int(base.sum()):,} pairs are plausible: {folder / 'match.json'}"
    )
    if unusable:
        text = f"{len(unusable):,} questions had no usable reply, the last because: {unusable[-1][1]}"
        hint = f"{left_out:,} pairs without any vote are left out; run again to ask anew"
        click.echo(f"warning: {text}\n  {hint}", err=True)


async def _ask(
    corpus: Corpus,
    llm: object,
    settings: ModelConfig,
    file: Path,
    known: MatchVotes,
    questions: list[MatchQuestion],
) -> list[tuple[MatchQuestion, str]]:
    if not isinstance(llm, Chat):
        raise ConfigError(f"provider {settings.provider} has no chat", "use `provider: openai` or `python`")
    matcher = CorpusMatcher(corpus, llm, file, known)
    if not questions:
        return []
    at_once = settings.concurrency * max(1, len(settings.endpoints))
    await llm.start()
    try:
        with click.progressbar(length=len(questions), label="asking") as bar:
            await matcher.ask_all(questions, at_once, lambda: bar.update(1))
    finally:
        await llm.close()
    return matcher.unusable


def _settings(
    path: Path | None, endpoints: tuple[str, ...], model: str | None, api_key_env: str, concurrency: int
) -> ModelConfig:
    """From the file, overruled by options; without a file, a server with the OpenAI API."""
    given: dict[str, object] = {"provider": "openai", "concurrency": concurrency}
    if path is not None:
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{path}: cannot be read ({error})", "see docs/providers.md") from error
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: must hold the settings of one model", "see docs/providers.md")
        given |= data
    elif not endpoints or not model:
        raise ConfigError("there is no language model", "give --endpoint and --model, or --llm-config FILE")
    options = {"endpoints": endpoints, "model": model, "api_key_env": api_key_env}
    try:
        return ModelConfig.model_validate(
            {**given, **{name: value for name, value in options.items() if value}}
        )
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ConfigError(f"{path or 'the options'}: {faults}", "see docs/providers.md") from error


def _write_match(after: Corpus, name: str, folder: Path, layout: str) -> None:
    """The whole corpus, or only the whitelist where the corpus lies in that folder already."""
    theirs = layout == "failureatlas"
    if folder.resolve() == folder_of(name).resolve():
        allowed = failureatlas_files(after)["match.json"] if theirs else match_data(after)
        write_files(folder, {"match.json": allowed})
    else:
        write_files(folder, failureatlas_files(after) if theirs else corpus_files(after))
    load_corpus(str(folder))


ROWS = 15


@click.group("corpus", cls=NearestGroup)
def command() -> None:
    """Check, build and match corpora: the entities and attribute values of a space."""


@command.command("check", short_help="Check a corpus, print its size, and what of your captions it knows.")
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
def check(
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
    table = plain_table(("",), ("all", "sample"))
    table.add_row("entities", f"{census.entities:,}", f"{census.sample:,}")
    for layer, (every, sampled) in enumerate(zip(census.layers, census.sample_layers, strict=True)):
        what = f"nodes of {layer} value{'' if layer == 1 else 's'}"
        table.add_row(what, f"{every:,}", f"{sampled:,}")
    console.print(table)
    values = ", ".join(
        f"{count:,} {family} ({census.sub_categories[family]})" for family, count in census.values.items()
    )
    plausible = "–" if census.plausible is None else f"{census.plausible:.0%}"
    console.print(
        f"\n{census.classes:,} classes, {census.sub_classes:,} sub-classes\n"
        f"{sum(census.values.values()):,} values (in sub-categories): {values}\n"
        f"{plausible} of entity × Base value pairs are plausible\n"
        f"{census.conflicts:,} pairs of values exclude each other"
    )
    for note in notes:
        console.print(Text(f"note: {note}", style="yellow"))


def print_coverage(console: Console, coverage: CaptionCoverage, corpus: Corpus, limit: int) -> None:
    total = coverage.captions
    console.print(f"[bold]{total:,} captions[/bold]")
    known = {
        "with a known entity": coverage.with_entity,
        "with a known value": coverage.with_value,
        "with both": coverage.with_both,
    }
    rows = [(what, f"{count:,}", f"{count / total:.1%}") for what, count in known.items()]
    console.print(plain_table(("",), ("captions", "share"), rows=rows))
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


@command.command(
    "build", short_help="Make a corpus folder from tables, from another corpus, or from captions."
)
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
def build(
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
            (folder / path.name).unlink(missing_ok=True)  # it may be a link that leads anywhere
            shutil.copyfile(path, folder / path.name)
    return load_corpus(str(folder))


def _attributes(family: str) -> str:
    return f"attributes_{family.lower()}.json"


command.add_command(match)


@command.command("embed", short_help="Embed the words of a corpus once, for a predictor.")
@click.argument("corpus")
@click.option(
    "--model", default="t5-base", show_default=True, help="A folder, or a name on the Hugging Face hub."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file to write: .safetensors or .npz.",
)
@click.option(
    "--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Words embedded at a time."
)
@click.option("--device", default="cpu", show_default=True, help="Where the model runs, such as cuda.")
def embed(corpus: str, model: str, out: Path, batch: int, device: str) -> None:
    """Embed all entities and values of CORPUS (a shipped name or a folder) with a text encoder.

    Needed again only when entities or values change. Use it with `search.predictor.embeddings`.
    """
    if out.suffix not in FORMATS:
        raise ConfigError(f"--out must end in {' or '.join(FORMATS)}, but is {out}", "name the file so")
    loaded = load_corpus(corpus)
    embeddings = embeddings_of(loaded, model, batch, device)
    save_embeddings(out, embeddings)
    click.echo(
        f"{out}: {len(loaded.entities):,} entities and {len(loaded.values):,} values, "
        f"{embeddings.size:,} numbers each, by {model}"
    )


def embeddings_of(corpus: Corpus, model: str, batch: int, device: str) -> Embeddings:
    from failscape.models.providers.transformers import create

    entities, values = texts_of(corpus)
    params = {"device": device, "normalize": False}
    config = ModelConfig(provider="transformers", model=model, batch=batch, params=params)
    encoder = cast(Embedder, create("embedder", config))
    texts, rows = entities + values, list[list[float]]()

    async def fill() -> None:
        await encoder.start()
        with click.progressbar(range(0, len(texts), batch), label="embedding", file=sys.stderr) as starts:
            for start in starts:
                replies = await encoder.embed(texts[start : start + batch])
                rows.extend(reply.value or [] for reply in replies)
        await encoder.close()

    asyncio.run(fill())
    vectors, cut = np.array(rows, dtype=np.float32), len(entities)
    return Embeddings(vectors[:cut], vectors[cut:], model, digest_of_words(corpus))
