"""`failscape serve …`: models behind HTTP, ours and yours."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any, cast

import click
import yaml

from failscape.cli import NearestGroup
from failscape.config import ModelConfig
from failscape.config.files import load_model
from failscape.errors import ConfigError
from failscape.models.in_process import require_packages
from failscape.models.providers.python import load_object
from failscape.models.registry import create_model
from failscape.models.roles import Judge
from failscape.servers.backends import DiffusersBackend, ImageBackend, Served
from failscape.servers.images import LINGER_SECONDS
from failscape.servers.running import account, children_of, read_gpus, serve, serve_app, supervise
from failscape.servers.scoring import SCORE, read_prompts, scoring_app
from failscape.spaces.corpus import load_corpus
from failscape.spaces.wording import Understanding, Wording
from failscape.toybox.networks import CLASSIFIERS, SIDE

#: Short name → name on the hub, settings of its makers, and a batch that fits on 24 GB (FLUX: 48 GB).
KNOWN: dict[str, tuple[str, dict[str, Any], int]] = {
    "sdxl-turbo": (
        "stabilityai/sdxl-turbo",
        {"num_inference_steps": 1, "guidance_scale": 0.0, "height": 512, "width": 512},
        8,
    ),
    "sdxl": ("stabilityai/stable-diffusion-xl-base-1.0", {"num_inference_steps": 30}, 4),
    "sd15": ("stable-diffusion-v1-5/stable-diffusion-v1-5", {"num_inference_steps": 30}, 8),
    "flux": ("black-forest-labs/FLUX.1-schnell", {"num_inference_steps": 4, "guidance_scale": 0.0}, 4),
    "flux-dev": ("black-forest-labs/FLUX.1-dev", {"num_inference_steps": 28}, 2),
}
#: Pictures of one question; vLLM's own limit is one.
MOST_IMAGES = 8
TOYBOX_ROLES = ("generator", "judge", "captioner", "answerer", "verifier", "embedder", "editor")


@click.group("serve", cls=NearestGroup)
def command() -> None:
    """Put models behind HTTP until Ctrl-C, and print what to write into a config."""


@command.command("t2i", short_help="Serve a text-to-image pipeline: one process, or one per GPU.")
@click.option(
    "--model", required=True, help=f"{', '.join(KNOWN)}, a name on the hub, or what to call --path."
)
@click.option("--path", help="A folder that diffusers has saved, or `file.py:Class` of an adapter of yours.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=9000, show_default=True, help="0 takes a free one.")
@click.option("--gpus", help="One process for each, such as 0-3 or 0,2.")
@click.option("--copies", type=click.IntRange(1), help="So many processes, without choosing GPUs.")
@click.option("--start-port", type=int, default=9000, show_default=True, help="With --gpus or --copies.")
@click.option("--logs", type=click.Path(path_type=Path), default=Path("logs"), show_default=True)
@click.option("--batch", type=click.IntRange(1), help="Most pictures of one call.")
@click.option("--queue", type=click.IntRange(1), default=256, show_default=True, help="Most that wait.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A param, such as dtype=float16."
)
def serve_t2i(
    model: str,
    path: str | None,
    host: str,
    port: int,
    gpus: str | None,
    copies: int | None,
    start_port: int,
    logs: Path,
    batch: int | None,
    queue: int,
    settings: tuple[str, ...],
) -> None:
    """Serve a text-to-image pipeline with the OpenAI images API and FailureAtlas's /generate.

    Equal requests that come together are drawn together. With --gpus there is one process per GPU, each
    restarted when it ends, and its log in --logs.
    """
    if not gpus and not copies:
        served = Served(
            backend=backend(model, path, params_of(settings), batch),
            name=model,
            queue=queue,
            linger=LINGER_SECONDS,
        )
        run(served, host, port)
        return
    words = [
        *(sys.executable, "-m", "failscape", "serve", "t2i", "--model", model, "--host", host),
        *("--queue", str(queue)),
        *(("--path", path) if path else ()),
        *(("--batch", str(batch)) if batch else ()),
        *(part for one in settings for part in ("--set", one)),
    ]
    children = children_of(words, read_gpus(gpus, copies), start_port, host, logs)
    asyncio.run(supervise(children, lambda ready: click.echo(account("target", model, ready))))


def params_of(settings: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set takes `name=value`, but got {text!r}", "such as --set dtype=float16")
        found[name] = yaml.safe_load(value)
    return found


def backend(model: str, path: str | None, params: dict[str, Any], batch: int | None) -> ImageBackend:
    """An adapter of the user's where `path` names a class, else a pipeline of diffusers."""
    if path and ".py:" in path:
        kind = load_object(path)
        if not (isinstance(kind, type) and issubclass(kind, ImageBackend)):
            raise ConfigError(
                f"{path} is no sub-class of ImageBackend", "see docs/servers.md for one on a screen"
            )
        try:
            made = kind(**params)
        except TypeError as error:
            raise ConfigError(f"{path} cannot be made from --set: {error}", "check its settings") from error
        made.name, made.batch = model, batch or made.batch
        return made
    require_packages("diffusers", "torch", "diffusers", "transformers")
    source, known, usual = KNOWN.get(model, (model, {}, 4))
    if path:
        source = str(Path(path).expanduser())
        if not (Path(source) / "model_index.json").is_file():
            raise ConfigError(f"{path} holds no model_index.json", "give a folder that Diffusers has saved")
    return DiffusersBackend(model, source, {**known, **params}, batch or usual)


@command.command(
    "vlm",
    context_settings={"ignore_unknown_options": True},
    short_help="Serve a vision-language model with vLLM: one process, or one per GPU.",
)
@click.option("--model", required=True, help="A name on the hub, or what to call --path.")
@click.option("--path", help="A folder with the model.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--gpus", help="One server for each group, such as 0-3 or 0,2.")
@click.option(
    "--per-server", type=click.IntRange(1), default=1, show_default=True, help="GPUs of one server."
)
@click.option("--start-port", type=int, default=8100, show_default=True)
@click.option("--logs", type=click.Path(path_type=Path), default=Path("logs"), show_default=True)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def serve_vlm(
    model: str,
    path: str | None,
    host: str,
    gpus: str | None,
    per_server: int,
    start_port: int,
    logs: Path,
    flags: tuple[str, ...],
) -> None:
    """Start `vllm serve` for a judge, verifier, captioner or target. FLAGS after `--` go to vLLM as they are.

    A server is restarted when it ends; its log is in --logs.
    """
    program = shutil.which("vllm")
    if program is None:
        raise ConfigError(
            "`failscape serve vlm` starts vLLM, but there is no program `vllm`",
            "pip install vllm (on a machine with a GPU), or `provider: transformers` in process",
        )
    words = [program, *vllm_words(model, path, host, per_server), *flags]
    groups = grouped(read_gpus(gpus, 1 if gpus is None else None), per_server)
    children = children_of(words, groups, start_port, host, logs)
    asyncio.run(supervise(children, lambda ready: click.echo(account("judge", model, ready, "/v1"))))


def vllm_words(model: str, path: str | None, host: str, per_server: int) -> list[str]:
    """One name however it is stored, several pictures a question, and a seed, so that replies repeat."""
    words = ["serve", path or model, "--served-model-name", model, "--host", host, "--seed", "0"]
    words += ["--limit-mm-per-prompt", f'{{"image": {MOST_IMAGES}}}']
    return [*words, *(["--tensor-parallel-size", str(per_server)] if per_server > 1 else [])]


def grouped(gpus: list[str | None], size: int) -> list[str | None]:
    """`["0", "1", "2", "3"]` by two → `["0,1", "2,3"]`."""
    if size == 1:
        return gpus
    named = [gpu for gpu in gpus if gpu is not None]
    if not named or len(named) % size:
        raise ConfigError(
            f"--per-server {size} needs --gpus in groups of {size}, but got {len(named)}",
            "such as --gpus 0-3",
        )
    return [",".join(named[start : start + size]) for start in range(0, len(named), size)]


@command.command("judge", short_help="Serve a judge that scores pictures, for trainers.")
@click.option(
    "--judge",
    type=click.Path(path_type=Path),
    required=True,
    help="A config with the section `judge`, or a file with nothing else.",
)
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="A folder of `failscape dataset` of a t2i hunt: its prompts then name their checks.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
def serve_judge(judge: Path, dataset: Path | None, host: str, port: int) -> None:
    """Score pictures until Ctrl-C: POST images with prompts or statements, get the share that holds."""
    model = cast(Judge, create_model("judge", load_model(judge, "judge")))
    prompts = read_prompts(dataset) if dataset is not None else {}
    app = scoring_app(model, prompts)
    asyncio.run(serve_app(app, host, port, lambda url: click.echo(introduce_judge(url, len(prompts)))))


def introduce_judge(url: str, prompts: int) -> str:
    known = f"{prompts:,} prompts are known" if prompts else "send `statements`: no prompts are known"
    return (
        f'judge at {url}: POST {url}{SCORE} {{"images": ["<base64>"], "prompts": ["…"]}}; {known}.'
        " Ctrl-C stops it."
    )


@command.command("toybox", short_help="Serve the small trained models of the package, in every role.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
def serve_toybox(host: str, port: int) -> None:
    """Serve the small trained models of the package: OpenAI-style images, chat and embeddings, FailureAtlas's
    /generate, and classifiers."""
    run(toybox(), host, port)


def run(served: Served, host: str, port: int) -> None:
    asyncio.run(serve(served, host, port, lambda url: click.echo(introduce(served, url))))


def introduce(served: Served, url: str) -> str:
    """One line that says what is offered, then a config that uses it."""
    lines = [
        f"{served.name} at {url}: {', '.join(served.offers())}. Ctrl-C stops it.",
        "In a config:",
        f'  target: {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}',
    ]
    if served.judge is not None:
        lines.append(f'  judge:  {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}')
    if served.classifiers:
        first = next(iter(served.classifiers))
        lines.append(f'A classifier: {{provider: http, model: {first}, endpoints: ["{url}"]}}')
    return "\n".join(lines)


def toybox() -> Served:
    models: dict[str, Any] = {
        role: create_model(role, ModelConfig(provider="toybox")) for role in TOYBOX_ROLES
    }
    models["classifiers"] = {
        name: create_model("classifier", ModelConfig(provider="toybox", model=name)) for name in CLASSIFIERS
    }
    return Served(**models, understanding=understanding("toybox"), name="toybox", size=(SIDE, SIDE))


def understanding(corpus: str) -> Understanding:
    return Understanding(Wording(load_corpus(corpus)))


@command.command(
    "planted", short_help="Serve a simulated painter and judge whose true failure rates are known."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
@click.option("--regime", type=click.Choice(["weak", "medium", "strong"]), default="weak", show_default=True)
@click.option("--seed", default=0, show_default=True, help="Which world is planted.")
def serve_planted(host: str, port: int, regime: str, seed: int) -> None:
    """Serve a simulated painter and judge whose true failure rates are known."""
    run(planted(regime, seed), host, port)


def planted(regime: str, seed: int) -> Served:
    models: dict[str, Any] = {}
    for role in ("generator", "judge"):
        path = f"failscape.simulate.planted:Planted{role.capitalize()}"
        params = {"corpus": "starter", "regime": regime, "seed": seed}
        models[role] = create_model(role, ModelConfig(provider="python", path=path, params=params))
    return Served(**models, understanding=understanding("starter"), name="planted")
