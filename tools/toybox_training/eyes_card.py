"""Measure toy-eyes on held-out scenes and write what ships beside its weights: eyes.json and eyes.md.

Torch-free: it measures the exported file through the run-time code, at the judge's operating point.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from failscape.toybox.eyes import HEADS, NONE, THRESHOLD, UNKNOWN, Eyes, Sighting
from tools.toybox_training.degrade import Labels, degraded, rendered
from tools.toybox_training.trainer_files import megabytes, write_json

#: Far away from every training seed.
SEED: Final = 9_000_001
SCENES: Final = 6000
SOURCES: Final = ("rendered", "degraded")


def scenes(source: str, n: int, seed: int = SEED) -> tuple[NDArray[np.uint8], list[Labels]]:
    """Return held-out pictures of a source with their labels."""
    rng = np.random.default_rng([seed, SOURCES.index(source)])
    rows = [rendered(rng)[:2] if source == "rendered" else degraded(rng) for _ in range(n)]
    return np.stack([picture for picture, _ in rows]).astype(np.uint8), [labels for _, labels in rows]


def accuracies(seen: Sighting, labels: list[Labels]) -> dict[str, dict[str, float]]:
    """Return the share of right labels per head, over the pictures where the head can be told."""
    found = {}
    for head, values in HEADS.items():
        pairs = [(seen.labels[head][i], row[head]) for i, row in enumerate(labels) if row[head] != UNKNOWN]
        right = sum(label == values[truth] for label, truth in pairs)
        found[head] = {"right": right, "n": len(pairs), "accuracy": round(right / len(pairs), 4)}
    return found


def checks(seen: Sighting, labels: list[Labels]) -> dict[str, dict[str, float]]:
    """Return sensitivity and specificity per kind of check, with counts.

    Every picture is asked about its true value, and about every other value of the head. Specificity weighs
    all wrong values alike.
    """
    return {head: _check(seen, labels, head) for head in HEADS}


def _check(seen: Sighting, labels: list[Labels], head: str) -> dict[str, float]:
    truth = np.array([row[head] for row in labels])
    known = truth != UNKNOWN
    accepted = seen.probabilities[head][known] >= THRESHOLD
    right = np.zeros_like(accepted)
    right[np.arange(len(right)), truth[known]] = True
    if head == "entity":
        accepted, right = accepted[:, :-1], right[:, :-1]
    hits, asked = int((accepted & right).sum()), int(right.sum())
    quiet, others = int((~accepted & ~right).sum()), int((~right).sum())
    return {
        "true_accepted": hits,
        "true_asked": asked,
        "false_rejected": quiet,
        "false_asked": others,
        "sensitivity": round(hits / asked, 5),
        "specificity": round(quiet / others, 5),
    }


def confusions(seen: Sighting, labels: list[Labels], head: str, most: int = 8) -> list[tuple[str, str, int]]:
    """Return the most frequent mistakes of a head: truth, label, how often."""
    counts: dict[tuple[str, str], int] = {}
    for i, row in enumerate(labels):
        if row[head] == UNKNOWN or seen.labels[head][i] == HEADS[head][row[head]]:
            continue
        pair = (HEADS[head][row[head]], seen.labels[head][i])
        counts[pair] = counts.get(pair, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(truth, label, n) for (truth, label), n in ranked[:most]]


def measure(path: Path, n: int = SCENES) -> dict[str, Any]:
    """Measure an exported file on both sources."""
    eyes = Eyes(path)
    result: dict[str, Any] = {}
    for source in SOURCES:
        pictures, labels = scenes(source, n)
        seen = eyes.look(pictures)
        result[source] = {
            "scenes": n,
            "accuracy": accuracies(seen, labels),
            "checks": checks(seen, labels),
            "mistakes": {head: confusions(seen, labels, head) for head in HEADS},
        }
    return result


def write(out: Path, steps: int, batch: int, seconds: float, weights: int) -> None:
    """Write eyes.json and eyes.md beside eyes.onnx."""
    path = out / "eyes.onnx"
    found = measure(path)
    training = {"steps": steps, "batch": batch, "minutes": round(seconds / 60, 1), "weights": weights}
    heads = {head: list(values) for head, values in HEADS.items()}
    about = {"model": "toy-eyes", "threshold": THRESHOLD, "none": NONE, "training": training, "heads": heads}
    write_json(out / "eyes.json", {**about, "held_out_seed": SEED, **found})
    (out / "eyes.md").write_text(_card(found, training, megabytes(path)), encoding="utf-8")


def _card(found: dict[str, Any], training: dict[str, Any], size: float) -> str:
    lines = [
        "# toy-eyes",
        "",
        "A small residual CNN (64x64 pictures, nothing convolves above 32x32) with eight heads: thing (or",
        "none), colour, count, size, place, time, style, position. It judges and captions pictures.",
        "",
        f"- Weights: {training['weights']:,}; `eyes.onnx` has {size:.1f} MB (stored in half precision).",
        f"- Training: {training['steps']:,} steps of {training['batch']} pictures,"
        f" {training['minutes']} minutes, one thread of a shared CPU.",
        "- Data: scenes rendered on the fly, 55 % clean and 45 % degraded (blur, lost detail, noise, JPEG,",
        "  warps, tints, ghosts, blends and patches of two scenes). Where no thing can be named: none.",
        "- Made by `python -m tools.toybox_training.eyes`.",
        "",
        "Accuracy per head on held-out scenes; sensitivity / specificity at the judge's operating point:",
        "",
        "| head | rendered | degraded | rendered sens. / spec. | degraded sens. / spec. |",
        "|---|---|---|---|---|",
    ]
    for head in HEADS:
        accuracy = [found[source]["accuracy"][head]["accuracy"] for source in SOURCES]
        rates = [found[source]["checks"][head] for source in SOURCES]
        both = [f"{rate['sensitivity']:.3f} / {rate['specificity']:.4f}" for rate in rates]
        lines.append(f"| {head} | {accuracy[0]:.3f} | {accuracy[1]:.3f} | {both[0]} | {both[1]} |")
    lines += [
        "",
        "Counts behind these rates are in `eyes.json`.",
        "",
        "Weak spots (most frequent mistakes on clean scenes):",
        "",
    ]
    for head in HEADS:
        mistakes = found["rendered"]["mistakes"][head][:4]
        if mistakes:
            text = ", ".join(f"{truth} seen as {label} ({n})" for truth, label, n in mistakes)
            lines.append(f"- {head}: {text}")
    return "\n".join(lines) + "\n"
