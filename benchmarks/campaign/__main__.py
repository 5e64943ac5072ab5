"""Play the campaigns, print their table, and compare it with the committed one.

    python -m benchmarks.campaign                      all cases
    python -m benchmarks.campaign "t2i: shapes" vlm    those whose names begin like this
    python -m benchmarks.campaign --write              keep the new numbers in table.csv

Everything follows from fixed seeds, so a number changes only with the code. The exit code is 1 when a number
differs from the committed table or a promise is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from benchmarks.campaign.cases import CASES
from benchmarks.campaign.measurements import (
    Measurement,
    Table,
    differences,
    lines_of,
    read_table,
    write_table,
)


def play(name: str) -> tuple[str, list[Measurement], float]:
    started = time.monotonic()
    return name, list(CASES[name]()), time.monotonic() - started


def play_all(names: list[str], processes: int) -> Table:
    table: Table = {}
    with ProcessPoolExecutor(processes) as pool:
        for done in as_completed([pool.submit(play, name) for name in names]):
            name, measurements, seconds = done.result()
            print("\n".join(lines_of(name, measurements)))
            print(f"{name}: {seconds:.0f} s", flush=True)
            table.update({(name, one.name): one for one in measurements})
    return table


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help="beginnings of names; all cases when left out")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep what was measured in table.csv")
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    given = parser.parse_args()
    names = [name for name in CASES if not given.cases or name.startswith(tuple(given.cases))]
    if given.list:
        print("\n".join(names))
        return 0
    found = play_all(names, given.processes)
    committed = read_table()
    changed = differences(found, committed)
    broken = [f"{case}: {name}" for (case, name), one in found.items() if not one.kept]
    print("\n".join([f"{len(changed)} of {len(found)} numbers differ from the committed table", *changed]))
    print("\n".join([f"{len(broken)} promises are broken", *broken]))
    if given.write:
        kept = {key: one for key, one in committed.items() if key[0] in CASES and key[0] not in names}
        write_table(kept | found)
    return int(bool(broken or (changed and not given.write)))


if __name__ == "__main__":
    sys.exit(main())
