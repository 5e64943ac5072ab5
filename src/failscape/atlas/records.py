"""What goes into an atlas and what comes out of it, as plain data. Nothing here touches a file."""

from dataclasses import dataclass
from typing import Any, Literal

from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.trials import Facts, Generate, Probe, Reword, Step, Trial

KeepImages = Literal["all", "failures", "none"]


@dataclass(slots=True)
class Call:
    """One finished model call.

    `key` is 16 bytes made from the model's identity and the request. `cached` calls came from the atlas:
    there is nothing to store and nothing was paid.
    """

    key: bytes
    role: str
    identity: Identity
    facts: Facts
    invalid: str
    raw: str
    usage: Usage
    picture: Picture | None = None
    cached: bool = False
    confidence: tuple[float, ...] = ()


@dataclass(slots=True)
class Recorded:
    """One finished probe, ready to be recorded. `started` is in unix seconds."""

    probe: Probe
    trial: Trial
    calls: tuple[Call, ...]
    started: float
    seconds: float


@dataclass(slots=True)
class Spent:
    """What a hunt has cost over all its runs. Cached calls cost nothing; `images` counts generator calls."""

    images: int = 0
    requests: int = 0
    seconds: float = 0.0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class HuntRow:
    """One hunt of an atlas. `parent` is the hunt it was forked from."""

    id: int
    kind: str
    config: dict[str, Any]
    identities: dict[str, Identity]
    shard: tuple[int, int]
    parent: int | None
    created: float


@dataclass(frozen=True, slots=True)
class RunRow:
    """One session of a hunt. `why` is empty while it runs, and for ever when it was killed."""

    id: int
    hunt: int
    started: float
    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth remembering: a start, a stop, an error, a warning."""

    id: int
    at: float
    kind: str
    hunt: int | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call as the atlas keeps it. `image` is the digest of what a generator drew, `file` the name of its
    picture when that was kept."""

    key: bytes
    role: str
    identity: Identity
    facts: Facts
    invalid: str
    raw: str
    usage: Usage
    image: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial with everything known about it. `calls` has one entry per model call, in order."""

    id: int
    hunt: int
    trial: Trial
    steps: tuple[Step, ...]
    calls: tuple[StoredCall, ...]
    started: float
    seconds: float

    @property
    def images(self) -> tuple[str, ...]:
        """The digests of its pictures, drawn or shown, in order."""
        return images_of(self.steps, self.trial.facts)


def images_of(steps: tuple[Step, ...], facts: Facts) -> tuple[str, ...]:
    """The digests that the facts of `generate`, `edit` and `show` steps name."""
    found: list[str] = []
    for step, fact in zip(steps, facts, strict=False):
        kind = type(step).__name__
        if kind in ("Generate", "Edit") and isinstance(fact, str):
            found.append(fact)
        elif kind == "Show":
            found.extend(fact)
    return tuple(found)


def prompts_of(steps: tuple[Step, ...], facts: Facts) -> list[str]:
    """What images were really drawn from: the reworded prompt where there is one."""
    found, reworded = [], ""
    for place, step in enumerate(steps):
        if isinstance(step, Reword) and place < len(facts) and facts[place]:
            reworded = facts[place][0]
        elif isinstance(step, Generate):
            found.append(reworded or step.prompt)
            reworded = ""
    return found
