"""Records groups without end and says so after each; the kill test starts it and kills it."""

from __future__ import annotations

import random
import sys

from failscape.atlas import Atlas
from tests.unit.atlas.suite import CONFIG, make_recorded


def main(folder: str, seed: int) -> None:
    rng = random.Random(seed)
    with Atlas.open(folder, create=True) as atlas:
        hunts = atlas.hunts()
        hunt = hunts[0].id if hunts else atlas.start_hunt("t2i", CONFIG, {})
        atlas.begin_run(hunt)
        number = sum(1 for _ in atlas.replay(hunt))
        while True:
            size = rng.randint(1, 12)
            atlas.record(hunt, [make_recorded(n, f"thing {n % 5}") for n in range(number, number + size)])
            number += size
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
