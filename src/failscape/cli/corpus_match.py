"""`failscape corpus match`: let a language model say which values make sense for which entity."""

import asyncio
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import yaml
from pydantic import ValidationError

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.registry import LLM, create_model
from failscape.runtime.after.match_corpus import (
    Chat,
    Matcher,
    MatchQuestion,
    Votes,
    matched,
    open_questions,
    read_votes,
)
from failscape.spaces.corpus import Corpus, folder_of, load_corpus
from failscape.spaces.corpus.writing import corpus_files, failureatlas_files, match_data, write_files
from failscape.spaces.lattice import Lattice

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

    Votes are kept in match_votes.jsonl there: run the same command again to go on, or with another
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
    _write(replace(loaded, allowed=allowed), corpus, folder, layout)
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
    known: Votes,
    questions: list[MatchQuestion],
) -> list[tuple[MatchQuestion, str]]:
    if not isinstance(llm, Chat):
        raise ConfigError(f"provider {settings.provider} has no chat", "use `provider: openai` or `python`")
    matcher = Matcher(corpus, llm, file, known)
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


def _write(after: Corpus, name: str, folder: Path, layout: str) -> None:
    """The whole corpus, or only the whitelist where the corpus lies in that folder already."""
    theirs = layout == "failureatlas"
    if folder.resolve() == folder_of(name).resolve():
        allowed = failureatlas_files(after)["match.json"] if theirs else match_data(after)
        write_files(folder, {"match.json": allowed})
    else:
        write_files(folder, failureatlas_files(after) if theirs else corpus_files(after))
    load_corpus(str(folder))
