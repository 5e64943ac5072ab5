"""Makes the reference pages of the site from the code: commands, config keys, the Python front door."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click

import failscape
from failscape.cli import COMMANDS, cli
from failscape.cli.schema import config_schema

MADE = "Made from the code.\n"


def pages() -> dict[str, str]:
    """Name of a page → its text."""
    return {
        "reference-commands.md": "\n".join(_commands()),
        "reference-config.md": "\n".join(_config(config_schema())),
        "reference-python.md": "\n".join(_python()),
    }


def _commands() -> Iterator[str]:
    yield f"# Commands\n\n{MADE}"
    yield "`failscape COMMAND --help` says the same.\n"
    for name in COMMANDS:
        yield from _command(name, cli.get_command(click.Context(cli), name))


def _command(name: str, command: click.Command | None) -> Iterator[str]:
    assert command is not None
    context = click.Context(command, info_name=f"failscape {name}")
    yield f"## {name}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            yield from (line.replace("## ", "### ", 1) for line in _command(f"{name} {sub}", found))
        return
    yield f"```text\n{' '.join(context.get_usage().split())}\n```\n"
    rows = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    if any(rows):
        yield "| option | |\n|---|---|"
        yield from (f"| `{_cell(row[0])}` | {_cell(row[1])} |" for row in rows if row)
        yield ""


def _config(schema: dict[str, Any]) -> Iterator[str]:
    yield f"# Config keys\n\n{MADE}"
    yield "One YAML file makes a hunt. `failscape schema` prints the JSON Schema of it, for editors.\n"
    for name, table in sorted(schema["$defs"].items()):
        if table.get("properties"):
            yield f"## {name}\n"
            if table.get("description"):
                yield f"{inspect.cleandoc(table['description'])}\n"
            yield "| key | type | default | |\n|---|---|---|---|"
            yield from (_key(key, one) for key, one in table["properties"].items())
            yield ""


def _key(key: str, one: dict[str, Any]) -> str:
    default = f"`{one['default']!r}`" if "default" in one else ""
    return f"| `{key}` | {_cell(_type(one))} | {_cell(default)} | {_cell(one.get('description', ''))} |"


def _type(one: dict[str, Any]) -> str:
    if "$ref" in one:
        return str(one["$ref"].rpartition("/")[2])
    if "anyOf" in one:
        return " or ".join(_type(each) for each in one["anyOf"])
    if "enum" in one or "const" in one:
        return ", ".join(repr(value) for value in one.get("enum", [one.get("const")]))
    kind = str(one.get("type", "any"))
    listed = kind == "array" and isinstance(one.get("items"), dict)
    return f"list of {_type(one['items'])}" if listed else kind


def _python() -> Iterator[str]:
    yield f"# Python\n\n{MADE}"
    yield "All of it is imported from `failscape`. [Python](python.md) shows how it is used.\n"
    for name in dir(failscape):
        thing = getattr(failscape, name)
        if callable(thing):
            yield f"## {name}\n"
            yield f"```text\n{name}{_signature(thing)}\n```\n"
            text = inspect.getdoc(thing) or ""
            if text and not text.startswith(f"{name}("):  # dataclasses repeat their signature
                yield f"{text}\n"


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
