"""Measure toy-questioner with the grammar's parser, and write questioner.json and README.md in its folder."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.questioner import ToyQuestioner
from failscape.toybox.questions import SKILLS, parse_question
from tools.toybox_training.asking import check_answer
from tools.toybox_training.trainer_files import megabytes, write_json

SEED: Final = 9_000_004
SCENES: Final = 400
EACH: Final = 4


def measure(folder: Path, scenes: int = SCENES, each: int = EACH) -> dict[str, Any]:
    """Sample questions about held-out scenes at temperature 1; count valid ones, skills and wordings."""
    rng = np.random.default_rng(SEED)
    shown = [world.sample_layout(rng) for _ in range(scenes)]
    model = ToyQuestioner(folder)
    asked = model.propose([world.caption(scene) for scene in shown], each, seed=1)
    pairs = [(scene, text) for scene, row in zip(shown, asked, strict=True) for text in row]
    checked = [check_answer(scene, text, "") for scene, text in pairs]
    parsed = sum(parse_question(text) is not None for _, text in pairs)
    tried, good = Counter(c.skill for c in checked if c.skill), Counter(c.skill for c in checked if c.valid)
    return {
        "questions": len(pairs),
        "parsed": parsed,
        "valid": sum(c.valid for c in checked),
        "valid_share": round(sum(c.valid for c in checked) / len(pairs), 4),
        "different": len({text for _, text in pairs}),
        "skills": {skill: {"asked": tried[skill], "valid": good[skill]} for skill in SKILLS},
        "named": _named(model, shown[:40]),
    }


def _named(model: ToyQuestioner, shown: list[world.Scene]) -> dict[str, float]:
    """Return how often a skill named in the prompt is the skill of the question."""
    shares = {}
    captions = [world.caption(scene) for scene in shown]
    for skill in SKILLS:
        texts = [row[0] for row in model.propose(captions, skill=skill, seed=2)]
        queries = [parse_question(text) for text in texts]
        shares[skill] = round(sum(q is not None and q.form.skill == skill for q in queries) / len(texts), 3)
    return shares


def write(folder: Path, steps: int, batch: int, seconds: float, weights: int) -> None:
    """Write questioner.json and README.md."""
    found = measure(folder)
    training = {"steps": steps, "batch": batch, "minutes": round(seconds / 60, 1), "weights": weights}
    write_json(folder / "questioner.json", {"model": "toy-questioner", "training": training, **found})
    size = megabytes(folder / "model.safetensors")
    (folder / "README.md").write_text(_card(found, training, size), encoding="utf-8")


def _card(found: dict[str, Any], training: dict[str, Any], size: float) -> str:
    lines = [
        "# toy-questioner",
        "",
        "A Llama of four narrow layers with a word-level tokenizer. It reads the caption of a picture",
        "(`world.caption`) and writes one question; a skill can be named in the prompt. It is what",
        "reinforcement learning starts from in the vlm hunt. Loads with transformers; padded on the left.",
        "",
        f"- Weights: {training['weights']:,}; `model.safetensors` has {size:.1f} MB.",
        f"- Training: {training['steps']:,} steps of {training['batch']} fresh captions with valid questions,"
        f" {training['minutes']} minutes, one thread of a shared CPU.",
        "- Made by `python -m tools.toybox_training.questioner`.",
        f"- Held-out scenes, temperature 1: of {found['questions']:,} questions {found['valid_share']:.1%}"
        f" are valid ({found['parsed'] / found['questions']:.1%} in the grammar),"
        f" {found['different']:,} different.",
        "",
        "| skill | asked | valid | asked for when named |",
        "|---|---|---|---|",
    ]
    for skill, row in found["skills"].items():
        share = row["valid"] / row["asked"] if row["asked"] else 0.0
        lines.append(f"| {skill} | {row['asked']} | {share:.0%} | {found['named'][skill]:.0%} |")
    lines += [
        "",
        "Weak spots: what must be unique in the picture (colour, size), and what a caption leaves open.",
    ]
    return "\n".join(lines) + "\n"
