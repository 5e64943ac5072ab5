"""What a gate found, as typed data, as a sentence and as plain JSON data. Pure."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from failscape.comparison.harm import GateHarm, GatePower, GateRules, GateVerdict
from failscape.comparison.pairs import PairCounts


@dataclass(frozen=True)
class GateRow:
    """One subject of the baseline."""

    subject: str
    group: str
    counts: PairCounts
    interval: tuple[float, float]
    harmed: bool
    log_e: float

    def as_data(self) -> dict[str, Any]:
        pairs = max(self.counts.pairs, 1)
        return {
            "subject": self.subject,
            "group": self.group,
            "pairs": self.counts.pairs,
            "counts": self.counts._asdict(),
            "rates": [self.counts.first_failures / pairs, self.counts.second_failures / pairs],
            "difference": (self.counts.second_only - self.counts.first_only) / pairs,
            "interval": list(self.interval),
            "e_value": float(np.exp(min(self.log_e, 709.0))),
            "harmed": self.harmed,
        }


@dataclass(frozen=True)
class GateResult:
    """What a gate found. `strange` cases could not be asked alike; `asked` trials were spent in all."""

    baseline: str
    target: str
    rules: GateRules
    harm: GateHarm
    rows: tuple[GateRow, ...]
    power: GatePower
    calibrated: bool
    asked: int
    strange: int = 0
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def verdict(self) -> GateVerdict:
        return self.harm.verdict

    @property
    def harmed(self) -> list[GateRow]:
        return [row for row in self.rows if row.harmed]

    @property
    def sentence(self) -> str:
        low, high = self.harm.interval
        harm = f"{100 * self.harm.difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
        head = {
            GateVerdict.FAILED: "failed: harm is proven",
            GateVerdict.PASSED: "passed: the harm is below the margin",
            GateVerdict.OPEN: "open: neither harm nor its absence is shown",
        }[self.verdict]
        return (
            f"{head}. {self.target} against {self.baseline}: {harm} overall on {self.harm.pairs:,} cases, "
            f"margin {100 * self.rules.margin:g}; {len(self.harmed):,} of {len(self.rows):,} subjects are "
            f"proven worse by more than it"
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.value,
            "baseline": self.baseline,
            "target": self.target,
            "margin": self.rules.margin,
            "level": self.rules.level,
            "harm": {
                "difference": self.harm.difference,
                "interval": list(self.harm.interval),
                "pairs": self.harm.pairs,
            },
            "harmed": [row.as_data() for row in self.harmed],
            "subjects": [row.as_data() for row in self.rows],
            "power": {"sentence": self.power.sentence, "needed": self.power.needed, "have": self.power.have},
            "judge_calibrated": self.calibrated,
            "asked": self.asked,
            "strange": self.strange,
            "notes": list(self.notes),
        }
