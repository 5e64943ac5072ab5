"""Errors that a user can act on. Each says what rule was broken, by what, and how to mend it.

The command line prints them without a traceback and turns `exit_code` into the process's exit code. What a
user may have meant by a name that does not exist is suggested by one rule for the whole product.
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar, Self


class FailscapeError(Exception):
    """Something a user can mend. `fix` is the next thing to do, often a command."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.fix}" if self.fix else self.message


class ConfigError(FailscapeError):
    """A configuration, corpus or command line that cannot be used."""


class MissingExtra(FailscapeError):
    """A part that needs an optional dependency which is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed", f"pip install 'failscape[{extra}]'")


class AtlasError(FailscapeError):
    """An atlas that cannot be opened, written or understood."""


class ModelError(FailscapeError):
    """A model call that did not give a usable reply. Sub-classes say what the runtime should do next."""

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, fix: str = "", endpoint: str = "") -> None:
        super().__init__(message, fix)
        self.endpoint = endpoint
        #: How many requests were spent before giving up, so that a budget can count them.
        self.requests = 0
        #: How many of them were answered, and so are paid for.
        self.answered = 0

    def counting(self, requests: int, answered: int) -> Self:
        self.requests, self.answered = requests, answered
        return self


class RateLimited(ModelError):
    """The endpoint asks us to slow down; `retry_after` is in seconds when it said so."""

    def __init__(self, message: str, endpoint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, "", endpoint)
        self.retry_after = retry_after


class Transient(ModelError):
    """A fault that may pass: a dropped connection, a 5xx, a time-out."""


class BadReply(ModelError):
    """The endpoint answered, but not in the form we need. Worth one more try, then the trial is invalid."""


class Refused(ModelError):
    """The endpoint declines this one request (content policy, too long): the trial is invalid."""


class Permanent(ModelError):
    """Trying again cannot help: wrong key, unknown model, unknown path. The run stops at once."""


MOST_SHOWN = 8


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names like `name`, the nearest first."""
    spelled = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), list(spelled), n=3, cutoff=0.5)
    return [spelled[each] for each in close]


def suggest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'openai'?`, or, when nothing is near, the first of what there is."""
    names = list(known)
    if close := nearest_names(name, names):
        return f"did you mean {close[0]!r}?"
    more = ", …" if len(names) > MOST_SHOWN else ""
    return f"known: {', '.join(names[:MOST_SHOWN])}{more}"
