"""Turns a failing prompt and its counts into a finding: rate, interval, e-value, what its images missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from failscape.kinds.t2i.purposes import EVIDENCE
from failscape.search.checked import CorrectedRate
from failscape.stats.evalues import e_value_of_log
from failscape.stats.intervals import anytime_interval
from failscape.trials import Finding, Status

if TYPE_CHECKING:
    from failscape.kinds.t2i.prompts.hunt import PromptHunt

TITLE = 90


@dataclass(frozen=True, slots=True)
class PromptDetails:
    """What is special about one failing prompt. `missed`: check → failed images in which it dropped.

    `tested_against` is the judged success rate of a prompt exactly at the threshold; `missing` says what a
    suspect lacks to be claimed.
    """

    tags: tuple[str, ...]
    #: (kind, value) of each check.
    checks: tuple[tuple[str, str], ...]
    missed: Mapping[str, int] = field(default_factory=dict)
    posterior: float = 0.0
    tested_against: float = 0.0
    missing: str = ""
    corrected: CorrectedRate | None = None

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.checks]

    def as_data(self) -> dict[str, Any]:
        """As `findings --json` shows it. What is not known has no entry."""
        return {
            "tags": list(self.tags),
            "checks": [list(check) for check in self.checks],
            "blame": dict(self.missed),
            "posterior": self.posterior,
            "tested_against": self.tested_against,
            **({"missing": self.missing} if self.missing else {}),
            **({"corrected": asdict(self.corrected)} if self.corrected else {}),
        }


def describe_prompt(hunt: PromptHunt, at: int, status: Status, missing: str = "") -> Finding:
    prompt, ledger = hunt.prompt(at), hunt.ledger
    fails, images = int(ledger.fails[at]), int(ledger.images[at])
    return Finding(
        subject=prompt.id,
        title=prompt.text if len(prompt.text) <= TITLE else prompt.text[: TITLE - 1] + "…",
        caption=prompt.text,
        status=status,
        rate=fails / images if images else 0.0,
        interval=interval_of(fails, images),
        e_value=e_value_of_log(hunt.evidence[at]),
        trials=images,
        failures=fails,
        invalid=int(ledger.invalid[at]),
        details=PromptDetails(
            tags=tuple(map(str, prompt.tags)),
            checks=tuple((check.kind, check.value) for check in prompt.checks),
            missed={check.value: n for check, n in zip(prompt.checks, ledger.dropped[at], strict=True)},
            posterior=float(hunt.chances[at]),
            tested_against=float(hunt.limits[at]),
            missing=missing,
        ),
        counted=(EVIDENCE.name,),
    )


def describe_suspect(hunt: PromptHunt, at: int, images: int) -> Finding:
    chance = hunt.chances[at]
    missing = f"fails with a chance of {chance:.0%}; about {images:,} more images would prove it if it does"
    return describe_prompt(hunt, at, Status.SUSPECT, missing)


@lru_cache(maxsize=65536)
def interval_of(hits: int, trials: int) -> tuple[float, float]:
    low, high = anytime_interval(hits, trials)
    return float(low), float(high)


def half_width(hits: int, trials: int) -> float:
    low, high = interval_of(hits, trials)
    return (high - low) / 2
