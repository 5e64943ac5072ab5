"""A scripted model behind the wire formats that we speak: it always answers well, and always the same.

`FaultyServer` spoils its answers. It sees nothing and knows nothing: use a planted world for search quality.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from failscape.pictures import Picture

Payload = Mapping[str, Any]


@lru_cache(maxsize=4096)
def scripted_picture(prompt: str, seed: int, side: int = 16) -> bytes:
    """A small PNG that only depends on prompt and seed."""
    digest = hashlib.blake2b(f"{prompt}/{seed}".encode(), digest_size=48).digest()
    blocks = np.frombuffer(digest, np.uint8).reshape(4, 4, 3)
    return Picture.from_array(blocks.repeat(side // 4, axis=0).repeat(side // 4, axis=1)).data


def scripted_answer(path: str, payload: Payload) -> Any:
    """The good reply, as JSON data, to a request at `path`."""
    if path.endswith("/images/generations"):
        image = scripted_picture(str(payload["prompt"]), int(payload.get("seed", 0)))
        return {"created": 0, "data": [{"b64_json": b64encode(image).decode()}]}
    if path.endswith("/generate"):
        pairs = zip(payload["prompts"], payload["seeds"], strict=True)
        return {"images": [b64encode(scripted_picture(prompt, seed)).decode() for prompt, seed in pairs]}
    if path.endswith("/embeddings"):
        rows = [{"index": i, "embedding": _vector(text)} for i, text in enumerate(payload["input"])]
        return {"data": rows, "usage": {"prompt_tokens": len(rows)}}
    if path.endswith("/classify"):
        return {"labels": [_labels(image) for image in payload["images"]]}
    if path.endswith("/chat/completions"):
        return chat_reply(scripted_text(payload))
    return {}


def chat_reply(text: str) -> dict[str, Any]:
    """A chat completion that says `text`."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 3}}


def scripted_text(payload: Payload) -> str:
    """Text in the form that the request asks for: the first thing that its JSON schema allows."""
    form = payload.get("response_format") or {}
    if form.get("type") != "json_schema":
        return "A plain answer. It has two sentences."
    return json.dumps(_fill(form["json_schema"]["schema"]))


def _fill(schema: Payload) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: _fill(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        items = [_fill(schema["items"]) for _ in range(schema.get("minItems", 1))]
        return [f"{item} {number}" if isinstance(item, str) else item for number, item in enumerate(items, 1)]
    return {"boolean": True, "string": "because", "integer": 1, "number": 1.0}[schema["type"]]


def _vector(text: str) -> list[float]:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return [byte / 255 for byte in digest]


def _labels(image: str) -> list[list[Any]]:
    first, second = _vector(image)[:2]
    return [["cat", first], ["dog", second]]
