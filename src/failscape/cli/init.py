"""`failscape init`: write a first config, from flags or a few questions, and never over one that is there."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from failscape.cli.screen import shell_path
from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.plugins import find_kind, kind_names
from failscape.starting.asking import ConfigAsker
from failscape.starting.drafts import ConfigDraft
from failscape.starting.endpoints import trouble_with_eyes
from failscape.starting.from_failureatlas import read_failureatlas
from failscape.starting.model_file import FILE, FUNCTIONS, model_file


@click.command("init")
@click.option(
    "--hunt", default="", metavar="KIND", help="What is hunted: t2i, classifier, vlm, or a plugin's kind."
)
@click.option("--target", default="", metavar="PROVIDER", help="How the model under test is reached.")
@click.option("--endpoint", multiple=True, metavar="URL", help="Its address; several make a pool.")
@click.option("--model", default="", help="Its name there; the endpoint is asked for its models.")
@click.option("--path", default="", help="Its file (onnx) or `file.py:function` (python).")
@click.option("--judge", default="", metavar="PROVIDER", help="How the judge or verifier is reached.")
@click.option("--judge-endpoint", multiple=True, metavar="URL", help="Its address.")
@click.option("--judge-model", default="", help="Its name there.")
@click.option(
    "--generator", default="", metavar="PROVIDER", help="Classifier hunts: what draws the pictures."
)
@click.option("--generator-endpoint", multiple=True, metavar="URL", help="Its address.")
@click.option("--generator-model", default="", help="Its name there.")
@click.option("--photos", default="", metavar="FOLDER", help="Classifier and vlm hunts: photos of your own.")
@click.option("--classes", default="", metavar="A,B,…", help="Classifier hunts: classes, by comma; all.")
@click.option("--corpus", default="", help="What may be asked: a shipped corpus or a folder.")
@click.option("--images", type=click.IntRange(1), help="Budget of images (vlm: of questions).")
@click.option("--key-env", default="", metavar="NAME", help="The variable that holds the key of --endpoint.")
@click.option(
    "--from-failureatlas", type=click.Path(path_type=Path), metavar="DIR", help="Take its settings over."
)
@click.option("--yes", is_flag=True, help="Ask nothing: what no flag says takes what is likely.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("hunt.yaml"), show_default=True)
def command(from_failureatlas: Path | None, out: Path, yes: bool, **flags: Any) -> None:
    """Write a commented config for a first hunt."""
    _refuse_existing(out)
    asker = ConfigAsker(None if yes or not sys.stdin.isatty() else _prompt)
    if from_failureatlas is not None:
        draft, notes = read_failureatlas(from_failureatlas)
        asker.told += notes
    else:
        draft = _draft(asker, flags)
    text = draft.text(str(out))
    parse_config(yaml.safe_load(text), str(out))
    written = {out: text}
    models = out.parent / FILE
    if asker.to_fill and models.exists():
        functions = ", ".join(f"`{FUNCTIONS[role]}`" for role in dict.fromkeys(asker.to_fill))
        asker.told.append(f"{models} is there already and is used as it is: it needs {functions}")
    elif asker.to_fill:
        written[models] = model_file(asker.to_fill, str(out))
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    for line in [*asker.told, *_blind(draft)]:
        click.echo(f"note: {line}", err=True)
    click.echo(f"written: {', '.join(str(path) for path in written)}")
    name = shell_path(out)
    click.echo(f"next:    failscape doctor {name}\n         failscape plan {name}")


def _draft(asker: ConfigAsker, flags: dict[str, Any]) -> ConfigDraft:
    makers = {name: make for name in kind_names() if (make := find_kind(name).draft) is not None}
    # Photos with labels are what classifiers are tested on; vlm hunts on photos need more than a folder.
    likely = "classifier" if flags["photos"] else "t2i"
    hunt = asker.ask("What is hunted?", "--hunt", flags["hunt"], likely, [*makers])
    return makers[hunt](asker, flags)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        other = shell_path(path.with_stem(f"{path.stem}-2"))
        raise ConfigError(f"{path} is there already, and is never overwritten", f"name another: -o {other}")


def _prompt(question: str, default: str, choices: Sequence[str]) -> str:
    kind = click.Choice(list(choices)) if choices else str
    return str(click.prompt(question, default=default or None, type=kind))


def _blind(draft: ConfigDraft) -> list[str]:
    """One picture is shown to a judge behind HTTP: a text-only model is best known before the first run."""
    judge = draft.roles.get("judge")
    if judge is None or judge[0].provider != "openai" or "<" in str(judge[0].settings):
        return []
    config = ModelConfig.model_validate({"provider": "openai", **judge[0].settings})
    trouble = asyncio.run(trouble_with_eyes(config))
    return [f"the judge may not see pictures: {trouble}"] if trouble else []
