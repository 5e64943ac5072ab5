"""`failscape corpus …`: the files that say what can be asked. Each command has a file of its own."""

from __future__ import annotations

import click

from failscape.cli import LazyGroup

CORPUS_COMMANDS = {
    "check": "Check a corpus, print its size, and what of your captions it knows.",
    "build": "Make a corpus folder from tables, from another corpus, or from captions.",
    "match": "Let a language model say which values make sense for which entity.",
    "embed": "Embed the words of a corpus once, for a predictor.",
}
"""Command → its line in `--help`; the command is in `cli/corpus_<name>.py`."""


@click.group("corpus", cls=LazyGroup, commands_help=CORPUS_COMMANDS, prefix="corpus_")
def command() -> None:
    """Check, build and match corpora: the entities and attribute values of a space."""
