"""A probe is one thing to try, a trial is what came of it, a finding is what a hunt makes of many.

A hunt asks for probes; the runtime walks their steps; the atlas keeps the trials.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from failscape.notebooks import ShownInNotebooks
from failscape.trials.statuses import Status
from failscape.trials.steps import Edit, Facts, Generate, Step
from failscape.trials.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing to try now.

    `key` is the text of a `ProbeKey`: unique in its hunt and the same each time the hunt asks for this very
    try, so that nothing is recorded twice. `subject` is the text of a `Subject`: what the trial is about.
    """

    key: str
    subject: str
    steps: tuple[Step, ...]
    seed: int = 0

    @property
    def images(self) -> int:
        """How many images it will have drawn."""
        return sum([type(step) in (Generate, Edit) for step in self.steps])


class Trial:
    """What came of a probe: all that a hunt is ever told.

    `facts` has one entry per step that ran. Replayed trials keep them as JSON text until a hunt looks.
    """

    __slots__ = ("_facts", "_text", "key", "reason", "seed", "subject", "verdict")

    def __init__(
        self,
        key: str,
        subject: str,
        verdict: Verdict,
        reason: str = "",
        facts: Sequence[Facts] | None = None,
        seed: int = 0,
        text: str = "",
    ) -> None:
        self.key = key
        self.subject = subject
        self.verdict = verdict
        self.reason = reason
        self.seed = seed
        self._facts = facts
        self._text = text

    @property
    def facts(self) -> Sequence[Facts]:
        if self._facts is None:
            self._facts = json.loads(self._text) if self._text else []
        return self._facts

    @property
    def text(self) -> str:
        """`facts` as compact JSON."""
        return self._text or json.dumps(self._facts or [], separators=(",", ":"))

    def __repr__(self) -> str:
        return f"Trial({self.key!r}, {self.subject!r}, {self.verdict.value}, {self.reason!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trial) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((self.key, self.subject))

    def _state(self) -> tuple[Any, ...]:
        return self.key, self.subject, self.verdict, self.reason, self.seed, self.text


@runtime_checkable
class AsData(Protocol):
    """What a hunt tells people: typed for those who know the hunt, plain JSON data for all others."""

    def as_data(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Finding(ShownInNotebooks):
    """A failure with its evidence. `rate` is the share of valid trials that failed.

    `status` says how far to trust it; its word is taken too. Those of status `suspect` are no findings:
    a hunt tells them apart, by `suspects()`. `details` is the hunt's own: a frozen
    dataclass with `as_data()` (`AsData`), or a plain dictionary. `counted` names what the trials were drawn
    for (`HuntKind.purposes`) that make up `trials` and `failures`; empty: all that the search drew of it.
    `keys` are those very trials where they are recorded under another subject, as photos of a class are.
    """

    subject: str
    title: str
    caption: str
    status: Status
    rate: float
    interval: tuple[float, float]
    e_value: float
    trials: int
    failures: int
    invalid: int = 0
    parents: tuple[dict[str, Any], ...] = ()
    details: Any = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if type(self.status) is not Status:  # results that version 0.2 kept, and hunts of others, have words
            object.__setattr__(self, "status", Status(self.status))

    @property
    def details_data(self) -> dict[str, Any]:
        """`details` as plain JSON data."""
        found: dict[str, Any] = self.details.as_data() if isinstance(self.details, AsData) else self.details
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hunt is. `total` is `None` when nobody can know; `phase` is a short word or two."""

    phase: str
    finished: int
    total: int | None
    findings: int
