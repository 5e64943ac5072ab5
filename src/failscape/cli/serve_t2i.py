"""`failscape serve t2i`: a text-to-image pipeline behind HTTP, in one process or in one per GPU."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
import yaml

from failscape.cli.serve_toybox import introduce
from failscape.errors import ConfigError
from failscape.models.providers.python import load_object
from failscape.models.providers.torch_models import require_packages
from failscape.servers.backends import DiffusersBackend, ImageBackend
from failscape.servers.batching import LINGER_SECONDS
from failscape.servers.offer import Served
from failscape.servers.running import serve
from failscape.servers.supervisor import account, children_of, read_gpus, supervise

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
"""Short name → name on the hub, settings of its makers, and a batch that fits on 24 GB (FLUX: 48 GB)."""


@click.command("t2i")
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
def command(
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
        asyncio.run(serve(served, host, port, lambda url: click.echo(introduce(served, url))))
        return
    words = [sys.executable, "-m", "failscape", "serve", "t2i", "--model", model, "--host", host]
    words += ["--queue", str(queue), *(["--path", path] if path else [])]
    words += [
        *(["--batch", str(batch)] if batch else []),
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
        return _adapter(model, path, params, batch)
    require_packages("diffusers", "torch", "diffusers", "transformers")
    source, known, usual = KNOWN.get(model, (model, {}, 4))
    if path:
        source = str(Path(path).expanduser())
        if not (Path(source) / "model_index.json").is_file():
            raise ConfigError(f"{path} holds no model_index.json", "give a folder that Diffusers has saved")
    return DiffusersBackend(model, source, {**known, **params}, batch or usual)


def _adapter(model: str, path: str, params: dict[str, Any], batch: int | None) -> ImageBackend:
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
