"""`failscape init`: write a first config, from flags or a few questions, and never over one that is there."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import yaml

from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.plugins import OUR_KINDS
from failscape.spaces.corpus import load_corpus
from failscape.spaces.corpus.corpus import corpus_names
from failscape.spaces.lattice import Lattice
from failscape.starting.drafts import (
    FILE,
    Asker,
    ConfigDraft,
    RoleDraft,
    RoleFlags,
    classifier_draft,
    model_file,
    settle_role,
    t2i_draft,
    trouble_with_eyes,
    vlm_draft,
)
from failscape.starting.from_failureatlas import read_failureatlas


@click.command("init")
@click.option("--hunt", type=click.Choice([*OUR_KINDS]), help="What is hunted.")
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
    asker = Asker(None if yes or not sys.stdin.isatty() else _prompt)
    if from_failureatlas is not None:
        draft, notes = read_failureatlas(from_failureatlas)
        asker.told += notes
    else:
        hunt = asker.ask("What is hunted?", "--hunt", flags["hunt"] or "", "t2i", [*OUR_KINDS])
        draft = {"t2i": _t2i, "classifier": _classifier, "vlm": _vlm}[hunt](asker, flags)
    text = draft.text(str(out))
    parse_config(yaml.safe_load(text), str(out))
    written = {out: text}
    if asker.to_fill:
        written[out.parent / FILE] = model_file(asker.to_fill, str(out))
        _refuse_existing(out.parent / FILE)
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    for line in [*asker.told, *_blind(draft)]:
        click.echo(f"note: {line}", err=True)
    click.echo(f"written: {', '.join(str(path) for path in written)}")
    click.echo(f"next:    failscape doctor {out}\n         failscape plan {out}")


def _refuse_existing(path: Path) -> None:
    if path.exists():
        other = path.with_stem(f"{path.stem}-2")
        fix = (
            f"name another: -o {other}" if path.suffix == ".yaml" else "move it away, or name it with --path"
        )
        raise ConfigError(f"{path} is there already, and is never overwritten", fix)


def _prompt(question: str, default: str, choices: Sequence[str]) -> str:
    kind = click.Choice(list(choices)) if choices else str
    return str(click.prompt(question, default=default or None, type=kind))


def _said(flags: dict[str, Any], name: str = "") -> RoleFlags:
    if not name:
        return RoleFlags(flags["target"], flags["endpoint"], flags["model"], flags["path"], flags["key_env"])
    return RoleFlags(flags[name], flags[f"{name}_endpoint"], flags[f"{name}_model"], prefix=name)


def _corpus(asker: Asker, flags: dict[str, Any], target: RoleDraft) -> str:
    """A target that has a corpus of its own name knows its words; all others begin small."""
    model, shipped = str(target.settings.get("model", "")), corpus_names()
    likely = "toybox" if target.provider == "toybox" else model if model in shipped else "starter"
    return asker.ask(
        f"Which corpus ({', '.join(shipped)}, or a folder)?", "--corpus", flags["corpus"], likely
    )


def _t2i(asker: Asker, flags: dict[str, Any]) -> ConfigDraft:
    target = settle_role(asker, "generator", "the text-to-image model", _said(flags))
    judge = settle_role(asker, "judge", "the judge", _said(flags, "judge"), _without_eyes(target))
    name = _corpus(asker, flags, target)
    corpus = load_corpus(name)
    entities = "sample" if len(corpus.entities) > 200 else "all"
    count = len(Lattice(corpus, entities, depth=0))
    return t2i_draft(target, judge, name, entities, count, flags["images"])


def _without_eyes(target: RoleDraft) -> RoleDraft | None:
    """What a judge may share with the target: an image server of FailureAtlas or a pipeline sees nothing."""
    return target if target.provider in ("openai", "toybox", "python") else None


def _classifier(asker: Asker, flags: dict[str, Any]) -> ConfigDraft:
    target = settle_role(asker, "classifier", "the classifier", _said(flags))
    source: RoleDraft | str = flags["photos"]
    if not source:
        source = settle_role(asker, "generator", "what draws the pictures", _said(flags, "generator"), target)
    helper = settle_role(asker, "judge", "the judge", _said(flags, "judge"), _pictures_from(source))
    toys = target.provider == "toybox" or isinstance(source, str)
    named = asker.ask(
        "Which classes (names by comma, or all)?", "--classes", flags["classes"], "all" if toys else ""
    )
    classes = named if named == "all" else [name.strip() for name in named.split(",") if name.strip()]
    return classifier_draft(target, source, helper, classes, _corpus(asker, flags, target), flags["images"])


def _pictures_from(source: RoleDraft | str) -> RoleDraft | None:
    return _without_eyes(source) if isinstance(source, RoleDraft) else None


def _vlm(asker: Asker, flags: dict[str, Any]) -> ConfigDraft:
    target = settle_role(asker, "answerer", "the vision-language model", _said(flags))
    folder = flags["photos"]
    if not folder and target.provider != "toybox" and asker.prompt is not None:
        folder = asker.prompt("A folder of photos (toybox: drawn scenes whose truth is known)?", "toybox", ())
    if folder in ("", "toybox"):
        return vlm_draft(target, None, {"source": "toybox"}, None, flags["images"])
    verifier = settle_role(asker, "verifier", "the verifier", _said(flags, "judge"), target)
    writer = replace(verifier, hints=())
    return vlm_draft(target, verifier, {"folder": folder}, writer, flags["images"])


def _blind(draft: ConfigDraft) -> list[str]:
    """One picture is shown to a judge behind HTTP: a text-only model is best known before the first run."""
    judge = draft.roles.get("judge")
    if judge is None or judge[0].provider != "openai" or "<" in str(judge[0].settings):
        return []
    config = ModelConfig.model_validate({"provider": "openai", **judge[0].settings})
    trouble = asyncio.run(trouble_with_eyes(config))
    return [f"the judge may not see pictures: {trouble}"] if trouble else []
