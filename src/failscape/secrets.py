"""Keeps keys out of all that is written: what this process has read as a secret is blotted out of text.

A server may echo a key, whole, in part or encoded. Wherever text from outside goes into an atlas, a log or a
message, it goes through `clean` first. Parts of eight characters or more count; shorter ones say nothing.
"""

import base64
import re
from collections.abc import Iterator
from typing import Any

#: The shortest part of a secret that is blotted out. Shorter ones would spoil ordinary words.
FRAGMENT = 8

BLOT = "***"


class Blotter:
    """Knows one secret and finds it, its parts and its base64 forms in text."""

    __slots__ = ("_parts", "_runs", "_whole")

    def __init__(self, secret: str = "") -> None:
        forms = [secret, *_encoded(secret)] if len(secret) >= FRAGMENT else []
        self._parts = {form[at : at + FRAGMENT] for form in forms for at in range(len(form) - FRAGMENT + 1)}
        signs = "".join(re.escape(sign) for sign in sorted({sign for form in forms for sign in form}))
        self._runs = re.compile(f"[{signs}]{{{FRAGMENT},}}") if signs else None
        short = secret and not forms
        self._whole = re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)") if short else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def clean(self, text: str) -> str:
        if self._whole is not None:
            return self._whole.sub(BLOT, text)
        return self._runs.sub(self._blot, text) if self._runs is not None else text

    def _blot(self, found: re.Match[str]) -> str:
        run, kept, at = found[0], list[str](), 0
        while at < len(run):
            end = at
            while run[end : end + FRAGMENT] in self._parts:
                end += 1
            if end > at:
                kept.append(BLOT)
                at = end + FRAGMENT - 1
            else:
                kept.append(run[at])
                at += 1
        return "".join(kept)


def _encoded(secret: str) -> Iterator[str]:
    """Its base64 forms at the three places that it can have in a longer text, without the uncertain ends."""
    data = secret.encode()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + data).decode()
        first, last = (8 * offset + 5) // 6, 8 * (offset + len(data)) // 6
        yield text[first:last]
        yield text[first:last].replace("+", "-").replace("/", "_")


_known: dict[str, Blotter] = {}


def remember(secret: str) -> None:
    """From now on `clean` blots it out. Called where a secret is read from the environment."""
    if secret and secret not in _known:
        _known[secret] = Blotter(secret)


def clean(text: str) -> str:
    """Text without any secret that this process knows."""
    for blotter in _known.values():
        text = blotter.clean(text)
    return text


#: Control characters but for a new line and a tab: on a terminal they are commands (`ESC ] 52` fills the
#: clipboard), and text from servers and atlases is nobody's command.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Text that a terminal only shows: control characters become their code, such as `\\x1b`."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def clean_data(value: Any) -> Any:
    """Plain JSON data without secrets in its texts."""
    if not _known:
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_data(one) for one in value]
    if isinstance(value, dict):
        return {key: clean_data(one) for key, one in value.items()}
    return value
