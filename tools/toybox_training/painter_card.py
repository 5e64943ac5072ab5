"""Measure toy-painter and write what ships beside its weights: painter.json and painter.md.

Torch-free. Usage, to measure the shipped file again: python -m tools.toybox_training.painter_card
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from failscape.toybox import world
from failscape.toybox.eyes import Eyes
from failscape.toybox.networks import MODELS
from failscape.toybox.painter import ToyPainter, training_counts
from tools.toybox_training import painter_tiers as tiers
from tools.toybox_training.painter_page import PAGE
from tools.toybox_training.trainer_files import megabytes, write_json

PICTURES: Final = 400


def measure(painter: ToyPainter, counts: Mapping[str, int], n: int = PICTURES) -> dict[str, Any]:
    """Return, per number of values, tier and judge, the share of right checks."""
    eyes = Eyes() if (MODELS / "eyes.onnx").exists() else None
    table: dict[str, Any] = {}
    for values in (1, 2):
        for tier, rows in tiers.cases(counts, values, n).items():
            paintings = tiers.paint(painter, rows)
            found = {"nearest render": tiers.shares(tiers.right_by_renders(paintings, rows))}
            if eyes is not None:
                found["toy-eyes"] = tiers.shares(tiers.right_by_eyes(eyes, paintings, rows))
            table[f"{tier}, {values} value{'s' if values > 1 else ''}"] = found
    return table


def entities(painter: ToyPainter, counts: Mapping[str, int], each: int = 20) -> dict[str, dict[str, float]]:
    """Return for every thing without attributes how often it was shown and how often it is right."""
    table = {}
    for entity in world.ENTITIES:
        rows = [tiers.Case(entity, (), 6_000_000 + i) for i in range(each)]
        right = tiers.shares(tiers.right_by_renders(tiers.paint(painter, rows), rows))
        table[entity] = {"captions": counts.get(entity, 0), "right": right["all"]}
    return table


def speeds(model: Path, seconds: float = 2.0) -> dict[str, float]:
    """Return pictures per second of one core, by batch. Processor time does not mind a busy machine."""
    painter = ToyPainter(model, threads=1)
    table = {}
    for batch in (1, 8, 32):
        prompts, seeds = ["a red cow on a beach at night"] * batch, list(range(batch))
        painter.paint(prompts, seeds)
        start, done = time.process_time(), 0
        while time.process_time() - start < seconds:
            done += len(painter.paint(prompts, seeds))
        table[f"batch {batch}"] = round(done / (time.process_time() - start), 1)
    return table


def write_card(out: Path, facts: Mapping[str, Any], counts: Mapping[str, int]) -> None:
    """Measure the exported file and write painter.json and painter.md beside it."""
    model = out / "painter.onnx"
    painter = ToyPainter(model, threads=2)
    card = {
        **facts,
        "megabytes": round(megabytes(model), 2),
        "tiers": {"frequent from": tiers.FREQUENT, "rare up to": tiers.RARE},
        "accuracy": measure(painter, counts),
        "things": entities(painter, counts),
        "pictures_per_second": speeds(model),
    }
    write_json(out / "painter.json", card)
    (out / "painter.md").write_text(page(card), encoding="utf-8")


def page(card: Mapping[str, Any]) -> str:
    """Word the card."""
    pictures = card["steps"] * card["batch"]
    weakest = sorted(card["things"].items(), key=lambda item: item[1]["right"])[:6]
    weak = "\n".join(
        f"  - {name}: {row['right']:.0%} right after {row['captions']} captions"
        for name, row in weakest
        if row["right"] < 1
    )
    speed = "\n".join(f"| {name} | {value:g} |" for name, value in card["pictures_per_second"].items())
    return PAGE.format(
        **{key: card[key] for key in ("steps", "batch", "seed", "training_minutes", "megabytes")},
        weights=f"{card['weights'] / 1e6:.1f} million",
        pictures=f"{pictures:,}",
        accuracy=_accuracy(card["accuracy"]),
        weak=weak or "  - none",
        note=f"\n{card['note']}\n" if card.get("note") else "",
        speed=speed,
        **{f"often{n}": least for n, least in tiers.FREQUENT.items()},
        **{f"rare{n}": most for n, most in tiers.RARE.items()},
    )


def _accuracy(table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    names = ["all", "entity", *world.ATTRIBUTES]
    lines = [f"| combinations | judged by | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for tier, judges in table.items():
        for judge, row in judges.items():
            cells = [f"{row[name]:.3f}" if name in row else "" for name in names]
            lines.append(f"| {tier} | {judge} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the shipped file again; how it was trained stays as it is written there."""
    old = json.loads((MODELS / "painter.json").read_text(encoding="utf-8"))
    kept = ("weights", "steps", "batch", "seed", "training_minutes", "note")
    facts = {key: old[key] for key in kept if key in old}
    write_card(MODELS, facts, training_counts())


if __name__ == "__main__":
    main()
