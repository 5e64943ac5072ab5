"""`response_format` of a chat: whether a reply has the form that the request wants.

Our judges reply in the form of their contract and no other. A reply that a schema does not allow is not sent.
A schema is understood whole or refused, since a keyword that is passed over could have forbidden the reply.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from failscape.servers.backends import RequestError

Schema = Mapping[str, Any]

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}

#: Keywords that describe and forbid nothing.
REMARKS = frozenset(("title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs"))


def read_schema(response_format: object) -> Schema | None:
    """The schema that a reply must have; `None` where any text will do."""
    if response_format is None:
        return None
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if not isinstance(response_format, dict) or kind != "json_schema":
        raise RequestError("`response_format.type` must be text, json_object or json_schema")
    form = response_format.get("json_schema")
    schema = form.get("schema") if isinstance(form, dict) else None
    if not isinstance(schema, dict):
        raise RequestError("`response_format.json_schema.schema` must be a JSON schema")
    return schema


def fits(text: str, schema: Schema) -> bool:
    """Whether the text is JSON that the schema allows."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return allows(schema, value)


def allows(schema: Any, value: Any) -> bool:
    """Raises `RequestError` for keywords that are not known here."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise RequestError("each part of a JSON schema must be an object")
    for keyword in schema:
        if keyword not in RULES and keyword not in REMARKS:
            raise RequestError(f"the keyword {keyword!r} of JSON schemas is not supported here")
    try:
        return all(RULES[keyword](schema, value) for keyword in schema if keyword in RULES)
    except (TypeError, AttributeError, KeyError) as error:
        raise RequestError("the schema is no JSON schema") from error


def _type(schema: Schema, value: Any) -> bool:
    wanted = schema["type"]
    names = wanted if isinstance(wanted, list) else [wanted]
    return any(_is_of_type(value, name) for name in names)


def _is_of_type(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":  # in Python a boolean is a number, in JSON it is not
        return False
    return isinstance(value, TYPES[name])


def _properties(schema: Schema, value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(allows(part, value[name]) for name, part in schema["properties"].items() if name in value)


def _required(schema: Schema, value: Any) -> bool:
    return not isinstance(value, dict) or all(name in value for name in schema["required"])


def _additional(schema: Schema, value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    others = [part for name, part in value.items() if name not in schema.get("properties", {})]
    return all(allows(schema["additionalProperties"], part) for part in others)


def _items(schema: Schema, value: Any) -> bool:
    return not isinstance(value, list) or all(allows(schema["items"], item) for item in value)


def _same(first: Any, second: Any) -> bool:
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


RULES: dict[str, Callable[[Schema, Any], bool]] = {
    "type": _type,
    "enum": lambda schema, value: any(_same(value, one) for one in schema["enum"]),
    "const": lambda schema, value: _same(value, schema["const"]),
    "anyOf": lambda schema, value: any(allows(part, value) for part in schema["anyOf"]),
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "minItems": lambda schema, value: not isinstance(value, list) or len(value) >= schema["minItems"],
    "maxItems": lambda schema, value: not isinstance(value, list) or len(value) <= schema["maxItems"],
}
