"""`failscape serve vlm`: a vision-language model behind HTTP by vLLM, with the flags that a hunt needs."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import click

from failscape.errors import ConfigError
from failscape.servers.supervisor import account, children_of, read_gpus, supervise

MOST_IMAGES = 8
"""Pictures of one question; vLLM's own limit is one."""


@click.command("vlm", context_settings={"ignore_unknown_options": True})
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
def command(
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
