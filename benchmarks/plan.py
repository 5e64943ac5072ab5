"""Do the ranges of `failscape plan` hold what runs find, in worlds that no plan has simulated?

    python -m benchmarks.plan                           every case, three fresh worlds of each sort
    python -m benchmarks.plan large shapes --seeds 5    some of them
    python -m benchmarks.plan small --strategy certified

A plan is made as a user would make it; then the whole run is simulated in worlds with other seeds. `parts`
has the largest size that is simulated as a whole, `large` one that plans go beyond the simulated for.
`shapes` are worlds of other shapes than the simulated ones, of medium strength: there the line for the medium
model need not hold, and the span from the strong to the weak one is looked at beside it. One line a world:
those of a run that was stopped are not lost.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from failscape.config.files import parse_config
from failscape.kinds.classifier import plan as classifier
from failscape.kinds.t2i import plan as t2i
from failscape.kinds.t2i import plan_prompts as prompts
from failscape.kinds.t2i.build import build_hunt, build_lattice
from failscape.kinds.vlm import plan as vlm
from failscape.planning.foresight import PRECISE, Expectation
from failscape.simulate.planted import SHAPES, PlantedWorld, simulate

#: Plans simulate the worlds 0 to 7; tests use those from 100 on.
FIRST_SEED = 5000

TOY = {"provider": "toybox"}
Row = tuple[str, Expectation, int, Expectation | None]


def lattice_runs(
    images: int,
    space: dict[str, Any],
    seeds: range,
    strategy: str,
    shapes: Iterable[str] = ("planted",),
) -> Iterator[Row]:
    data = {"hunt": "t2i", "target": TOY, "judge": TOY, "space": space, "budget": {"images": images}}
    config: Any = parse_config({**data, "search": {"strategy": strategy}}, "the benchmark")
    lattice = build_lattice(config)
    said = {regime: t2i.expect(config, lattice, images, regime, None, PRECISE) for regime in t2i.ABOUT}
    span = Expectation("any", "", said["strong"].low, said["weak"].high)
    for shape in shapes:
        for regime in t2i.ABOUT if shape == "planted" else ("medium",):
            for seed in seeds:
                hunt = build_hunt(config)
                simulate(hunt, PlantedWorld(lattice, regime, seed, shape=shape), images)
                yield f"{strategy} {shape} {regime}", said[regime], len(hunt.findings()), span


def small(seeds: range, strategy: str) -> Iterator[Row]:
    yield from lattice_runs(800, {"corpus": "starter", "entities": "sample", "depth": 2}, seeds, strategy)


def parts(seeds: range, strategy: str) -> Iterator[Row]:
    yield from lattice_runs(4_000, {"corpus": "toybox", "depth": 2}, seeds, strategy)


def large(seeds: range, strategy: str) -> Iterator[Row]:
    yield from lattice_runs(10_000, {"corpus": "general", "entities": "sample", "depth": 2}, seeds, strategy)


def other_shapes(seeds: range, strategy: str) -> Iterator[Row]:
    space = {"corpus": "starter", "entities": "sample", "depth": 2}
    shapes = [shape for shape in SHAPES if shape != "planted"]
    yield from lattice_runs(2_000, space, seeds, strategy, shapes)


def classifier_runs(images: int, classes: int, seeds: range) -> Iterator[Row]:
    names = ["penguin", "camel", "owl", "turtle", "apple", "cow"][:classes]
    data = {"hunt": "classifier", "target": TOY, "generator": TOY, "judge": TOY, "classes": names}
    config: Any = parse_config({**data, "budget": {"images": images}}, "the benchmark")
    for name, (bugs, _) in classifier.BUGS.items():
        said = classifier.expect(config, name, classes, images / classes, None, PRECISE)
        for seed in seeds:
            found = classifier.race(config, bugs, classes, images, seed, None)
            yield f"{images} {name}", said, len(found), None


def question_runs(number: int, seeds: range) -> Iterator[Row]:
    config: Any = parse_config({"hunt": "vlm", "target": TOY, "questions": number}, "the benchmark")
    for said in vlm.foresee(config, None, PRECISE).expectations:
        for seed in seeds:
            yield f"{number} {said.like}", said, vlm.found(config, vlm.WEAK_SPOTS[said.like], seed), None


def prompt_runs(number: int, images: int, seeds: range) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prompts.jsonl"
        check = {"kind": "thing", "value": "thing", "statement": "It is there."}
        rows = ({"id": f"p{at}", "prompt": f"thing {at}", "checks": [check]} for at in range(number))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        data = {"hunt": "t2i", "target": TOY, "judge": TOY, "space": {"prompts": str(path)}}
        config: Any = parse_config({**data, "budget": {"images": images}}, "the benchmark")
        for regime in prompts.FAILING:
            said = prompts.expect(config, regime, number, images, PRECISE)
            for seed in seeds:
                yield f"{number} {regime}", said, prompts.found(config, regime, images, seed), None


CASES: dict[str, list[Callable[[range], Iterator[Row]]]] = {
    "prompts": [partial(prompt_runs, 60, 600), partial(prompt_runs, 300, 4_000)],
    "vlm": [partial(question_runs, 500), partial(question_runs, 2_000)],
    "classifier": [partial(classifier_runs, 1_200, 6), partial(classifier_runs, 4_800, 6)],
}
OF_STRATEGIES: dict[str, Callable[[range, str], Iterator[Row]]] = {
    "small": small,
    "shapes": other_shapes,
    "parts": parts,
    "large": large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    names = [*CASES, *OF_STRATEGIES]
    parser.add_argument("cases", nargs="*", choices=[*names, []], help="all of them when left out")
    parser.add_argument("--seeds", type=int, default=3, help="fresh worlds of each sort")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument(
        "--strategy", action="append", choices=["listed", "certified"], help="both when left out"
    )
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for name in options.cases or names:
        if name in CASES:
            tell(name, (row for run in CASES[name] for row in run(seeds)))
            continue
        for strategy in options.strategy or ("listed", "certified"):
            tell(f"{name}, {strategy}", OF_STRATEGIES[name](seeds, strategy))


def tell(name: str, rows: Iterable[Row]) -> None:
    held, spanned, number = 0, 0, 0
    for what, said, found, span in rows:
        inside = said.low <= found <= said.high
        held, number = held + inside, number + 1
        spanned += span is not None and span.low <= found <= span.high
        print(f"{name}: {what}: {found} in {said}: {'yes' if inside else 'NO'}", flush=True)
    within = f"; {spanned} between the strong and the weak model's" if spanned else ""
    print(f"{name}: {held} of {number} worlds lie in the range{within}", flush=True)


if __name__ == "__main__":
    main()
