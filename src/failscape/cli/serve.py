"""`failscape serve …`: models behind HTTP, ours and yours. Each command has a file of its own."""

from __future__ import annotations

import click

from failscape.cli import LazyGroup

SERVE_COMMANDS = {
    "t2i": "Serve a text-to-image pipeline: one process, or one per GPU.",
    "vlm": "Serve a vision-language model with vLLM: one process, or one per GPU.",
    "judge": "Serve a judge that scores pictures, for trainers.",
    "toybox": "Serve the small trained models of the package, in every role.",
    "planted": "Serve a simulated painter and judge whose true failure rates are known.",
}
"""Command → its line in `--help`; the command is in `cli/serve_<name>.py`."""


@click.group("serve", cls=LazyGroup, commands_help=SERVE_COMMANDS, prefix="serve_")
def command() -> None:
    """Put models behind HTTP until Ctrl-C, and print what to write into a config."""
