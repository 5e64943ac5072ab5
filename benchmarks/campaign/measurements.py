"""One measured number with the promise it is held to, and the table of all of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

TABLE = Path(__file__).parent / "table.csv"
COLUMNS = ("case", "measurement", "seen", "promise", "kept")


@dataclass(frozen=True)
class Measurement:
    """`promise` is empty where nothing is promised of the number."""

    name: str
    seen: str
    promise: str = ""
    kept: bool = True


Key = tuple[str, str]
Table = dict[Key, Measurement]


def just(name: str, seen: float) -> Measurement:
    """A number of which nothing is promised."""
    return Measurement(name, as_text(seen))


def at_most(name: str, seen: float, limit: float) -> Measurement:
    return Measurement(name, as_text(seen), f"<= {as_text(limit)}", bool(seen <= limit))


def at_least(name: str, seen: float, limit: float) -> Measurement:
    return Measurement(name, as_text(seen), f">= {as_text(limit)}", bool(seen >= limit))


def few_of(name: str, seen: int, total: int, share: float, alarm: float = 1e-4) -> Measurement:
    """`seen` of `total` may happen with the chance `share` each.

    The limit is what a binomial count exceeds with the chance `alarm`.
    """
    limit = int(stats.binom.isf(alarm, total, share)) if total else 0
    return Measurement(name, f"{seen} of {total}", f"<= {limit} ({share:.0%} and luck)", seen <= limit)


def as_text(number: float) -> str:
    return f"{number:,}" if float(number).is_integer() else f"{number:.3f}"


def read_table(path: Path = TABLE) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["case"], row["measurement"]): Measurement(
                row["measurement"], row["seen"], row["promise"], row["kept"] == "yes"
            )
            for row in csv.DictReader(file)
        }


def write_table(table: Mapping[Key, Measurement], path: Path = TABLE) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (case, name), one in sorted(table.items()):
            writer.writerow((case, name, one.seen, one.promise, "yes" if one.kept else "no"))


def differences(found: Mapping[Key, Measurement], committed: Mapping[Key, Measurement]) -> list[str]:
    """One line for every measurement that is not as it was, of the cases that were played."""
    played = {case for case, _ in found}
    lines = []
    for key in sorted(found.keys() | {key for key in committed if key[0] in played}):
        was = committed.get(key)
        now = found.get(key)
        if was != now:
            lines.append(f"{key[0]}: {key[1]}: {_shown(was)} -> {_shown(now)}")
    return lines


def _shown(one: Measurement | None) -> str:
    if one is None:
        return "not measured"
    return f"{one.seen}{'' if one.kept else ' (promise broken)'}"


def lines_of(case: str, measurements: Iterable[Measurement]) -> list[str]:
    return [
        f"{case:<28} {one.name:<72} {one.seen:>14}  {one.promise:<28} {'' if one.kept else 'BROKEN'}".rstrip()
        for one in measurements
    ]
