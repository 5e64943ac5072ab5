"""Is the new model worse than it may be? Where a gate looks next, what it decides, and the files that say so.

Harm is the failure rate of the new model minus that of the baseline: overall, on as many cases of every
subject; and of each subject, with an e-process against "no more than the margin". Pure but for the writing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from failscape.again.decide import PairCounts
from failscape.atlas.files import write_whole
from failscape.stats.differences import grouped_difference, log_e_more
from failscape.stats.evalues import Floats, e_value_of_log, log_e_bh

Ints = NDArray[np.int64]

#: The share of the budget that all subjects get alike: the overall harm is of these cases.
BASE_SHARE = 0.4

#: The rest goes in so many turns, each to half as many subjects as the one before, those that look worst.
TURNS = 8

#: After so many halvings the same few are looked at again and again.
HALVINGS = 5

#: What the line about power is for: ten points more failures on a twentieth of the subjects, nine in ten.
REGRESSION, AFFECTED, CAUGHT = 0.1, 0.05, 0.9

#: The share of made-up gates that must find it: with so many, a true chance below 90 % is unlikely.
AIM = 0.95

#: Made-up gates to find about the right budget, and to be sure of it.
ROUGH, THOROUGH = 24, 100


#: A margin near the regression itself needs more than anybody draws: the search ends here.
MOST_NEEDED = 1 << 22


class GateVerdict(StrEnum):
    """What a gate says. `open`: neither harm nor its absence is shown."""

    FAILED = "failed"
    PASSED = "passed"
    OPEN = "open"


@dataclass(frozen=True)
class GateRules:
    """`margin` is the harm that is allowed; `level` the chance of a false alarm, at most."""

    margin: float = 0.02
    level: float = 0.05


@dataclass(frozen=True)
class GateHarm:
    """`harmed` are the places of subjects that are proven worse by more than the margin."""

    verdict: GateVerdict
    difference: float
    interval: tuple[float, float]
    pairs: int
    harmed: tuple[int, ...]
    log_e: Floats = field(repr=False)


def judge_harm(
    base: Sequence[tuple[str, int]], more: Floats, less: Floats, pairs: Floats, rules: GateRules
) -> GateHarm:
    """Half of the level is for the overall harm, half for all subjects together (e-BH).

    `base` has the subject and the difference (-1, 0 or 1) of every base case. `more`, `less` and `pairs` are
    counts of each subject: only the new model failed, only the old one did, all.
    """
    names, values = [name for name, _ in base], [value for _, value in base]
    difference, (low, high) = grouped_difference(values, names, 1 - rules.level / 2)
    logs = log_e_more(more, less, pairs, rules.margin)
    harmed = tuple(np.flatnonzero(log_e_bh(logs, rules.level / 2)).tolist()) if len(logs) else ()
    verdict = GateVerdict.OPEN
    if harmed or (base and low > rules.margin):
        verdict = GateVerdict.FAILED
    elif base and high < rules.margin:
        verdict = GateVerdict.PASSED
    return GateHarm(verdict, difference, (low, high), len(base), harmed, logs)


def base_cases(budget: int, subjects: int) -> int:
    """How many cases every subject gets at first, as far as there are so many."""
    return max(1, int(BASE_SHARE * budget) // max(subjects, 1))


def next_cases(log_e: Floats, room: Ints, left: int, turn: int) -> Ints:
    """How many more cases each subject gets in a turn: those that look worst share it alike."""
    given = np.zeros(len(room), dtype=np.int64)
    able = np.flatnonzero(room > 0)
    if not len(able) or left <= 0:
        return given
    keep = max(1, len(room) >> min(turn + 1, HALVINGS))
    worst = able[np.argsort(-log_e[able], kind="stable")][:keep]
    size = left if turn >= TURNS - 1 else -(-left // (TURNS - turn))
    given[worst] = np.minimum(room[worst], -(-size // len(worst)))
    over = int(given.sum()) - left
    for place in worst[::-1]:  # what is too much goes back, from those that look best
        if over <= 0:
            break
        back = min(over, int(given[place]))
        given[place] -= back
        over -= back
    return given


@dataclass(frozen=True)
class GatePower:
    """What a budget can catch. `needed` trials catch the regression; `have` is what there is."""

    needed: int
    have: int

    @property
    def sentence(self) -> str:
        return (
            f"catches a {100 * REGRESSION:.0f}-point regression of {100 * AFFECTED:.0f} % of the "
            f"subjects with {100 * CAUGHT:.0f} % at {self.needed:,} trials; you have {self.have:,}"
        )


def gate_power(rates: Sequence[float], rules: GateRules, have: int) -> GatePower:
    """Counted over made-up gates: old rates as known, models that err independently of each other.

    That is the worst case: models that fail on the same cases differ less by chance, and are told apart
    sooner. Subjects may get any number of cases.
    """
    before = np.clip(np.asarray(rates, np.float64), 0.0, 1.0)
    low, high = 1, max(64, 16 * len(before))
    while caught_share(before, rules, high, ROUGH) < AIM and high < MOST_NEEDED:
        low, high = high, high * 2
    while high - low > high // 6:
        middle = (low + high) // 2
        enough = caught_share(before, rules, middle, ROUGH) >= AIM
        low, high = (low, middle) if enough else (middle, high)
    while caught_share(before, rules, high, THOROUGH) < AIM and high < MOST_NEEDED:
        high += high // 8
    return GatePower(high, have)


def caught_share(before: Floats, rules: GateRules, budget: int, runs: int, seed: int = 11) -> float:
    """How many of so many made-up gates find the regression."""
    chance = np.random.default_rng(seed)
    caught = 0
    for _ in range(runs):
        after = before.copy()
        hit = chance.permutation(len(before))[: max(1, round(AFFECTED * len(before)))]
        after[hit] = np.minimum(1.0, after[hit] + REGRESSION)
        caught += bool(made_up_gate(before, after, rules, budget, chance).any())
    return caught / runs


def made_up_gate(
    before: Floats, after: Floats, rules: GateRules, budget: int, chance: np.random.Generator
) -> NDArray[np.bool_]:
    """Which subjects a gate would call harmed, if cases went as these rates say."""
    counts = np.zeros((3, len(before)), dtype=np.int64)
    room = np.full(len(before), budget, dtype=np.int64)
    chances = np.stack([after * (1 - before), before * (1 - after)])

    def draw(given: Ints) -> None:
        more = chance.binomial(given, chances[0])
        less = chance.binomial(given - more, np.clip(chances[1] / np.maximum(1 - chances[0], 1e-9), 0, 1))
        counts[0] += more
        counts[1] += less
        counts[2] += given

    draw(np.full(len(before), base_cases(budget, len(before)), dtype=np.int64))
    for turn in range(TURNS):
        logs = log_e_more(counts[0], counts[1], counts[2], rules.margin)
        draw(next_cases(logs, room, budget - int(counts[2].sum()), turn))
    logs = log_e_more(counts[0], counts[1], counts[2], rules.margin)
    return log_e_bh(logs, rules.level / 2)


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
            "e_value": e_value_of_log(self.log_e),
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


#: Comments of common forges are cut at 64 kB.
MOST_BYTES = 60_000

#: Signs that XML does not allow.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(result: GateResult, path: Path) -> None:
    """One test for the whole, one for each subject that is proven worse."""
    cases = [_case("overall harm", _overall_body(result))]
    cases += [
        _case(row.subject, f"<failure message={_attribute(_row_words(row))}/>") for row in result.harmed
    ]
    failures = len(result.harmed) + (result.verdict is GateVerdict.FAILED)
    skipped = int(result.verdict is GateVerdict.OPEN)
    said = escape(_UNFIT.sub("?", "\n".join([result.sentence, result.power.sentence, *result.notes])))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites><testsuite name="failscape gate" tests="{len(cases)}" failures="{failures}" '
        f'errors="0" skipped="{skipped}">\n' + "\n".join(cases) + f"\n<system-out>{said}"
        "</system-out>\n</testsuite></testsuites>\n"
    )
    write_whole(path, text.encode())


def _case(name: str, body: str) -> str:
    return f'<testcase classname="failscape.gate" name={_attribute(name)}>{body}</testcase>'


def _overall_body(result: GateResult) -> str:
    words = _attribute(result.sentence)
    if result.verdict is GateVerdict.FAILED:
        return f"<failure message={words}/>"
    return f"<skipped message={words}/>" if result.verdict is GateVerdict.OPEN else ""


def _attribute(text: str) -> str:
    return quoteattr(_UNFIT.sub("?", text))


def markdown(result: GateResult) -> str:
    """Never longer than `MOST_BYTES`, whatever the subjects are called."""
    head = [f"## Failscape gate: {result.verdict.value}", "", _cell(result.sentence) + ".", ""]
    tail = ["", f"Power: {result.power.sentence}.", *(f"Note: {note}." for note in result.notes), ""]
    rows = result.harmed or [row for row in result.rows if row.counts.pairs][:20]
    title = "Proven worse" if result.harmed else "Nearest to harm, not proven"
    table = [f"| {title} | before | now | difference | pairs |", "|---|---|---|---|---|"]
    size = len("\n".join([*head, *table, *tail]).encode()) + 100
    lines: list[str] = []
    for row in rows:
        data = row.as_data()
        low, high = row.interval
        before, now = data["rates"]
        line = (
            f"| {_cell(row.subject)} | {before:.0%} | {now:.0%} | {100 * data['difference']:+.0f} "
            f"({100 * low:+.0f} to {100 * high:+.0f}) | {row.counts.pairs} |"
        )
        size += len(line.encode()) + 1
        if size > MOST_BYTES:
            break
        lines.append(line)
    left = len(rows) - len(lines)
    more = [f"and {left:,} more"] if left else []
    return "\n".join([*head, *(table if lines else []), *lines, *more, *tail])


def _row_words(row: GateRow) -> str:
    data = row.as_data()
    low, high = row.interval
    return (
        f"fails {data['rates'][1]:.0%} of {row.counts.pairs} cases, before {data['rates'][0]:.0%} "
        f"(difference {100 * low:+.0f} to {100 * high:+.0f} points)"
    )


def _cell(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    flat = " ".join(text.split())[:300]
    return re.sub(r"([\\`*_{}\[\]<>|#@])", r"\\\1", flat)
