"""`failscape schema`: the JSON Schema of config files, for editors and for checking in CI."""

import json
from typing import Any, Union

import click
from pydantic import TypeAdapter

from failscape.plugins import find_kind, kind_names


def config_schema() -> dict[str, Any]:
    union: Any = Union[tuple(find_kind(name).settings for name in kind_names())]  # noqa: UP007
    schema = TypeAdapter(union).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Failscape config", **schema}


@click.command("schema", help="Print the JSON Schema of config files.")
def command() -> None:
    click.echo(json.dumps(config_schema(), indent=2))
