"""Measure a toy-vlm per skill and per form of question, and write its JSON file and card. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.question_sampling import scene_for
from failscape.toybox.questions import BASIC, FORMS, SKILLS, parse_question
from failscape.toybox.vlm import Lexicon, ToyVlm
from tools.toybox_training.asking import Question, ask
from tools.toybox_training.trainer_files import megabytes, write_json
from tools.toybox_training.vlm_tail import FREQUENT, NEVER_COMBINED, RELATIONS, THINGS

SEED: Final = 9_000_003
PER_FORM: Final = 60
#: Compound forms are many: fewer questions of each say enough about the skills.
PER_COMPOUND: Final = 4


def questions(key: str, n: int, seed: int = SEED) -> list[tuple[world.Scene, Question]]:
    """Return held-out scenes with a question of one form each. Things and relations are asked for alike."""
    rng = np.random.default_rng([seed, [form.key for form in FORMS].index(key)])
    rows: list[tuple[world.Scene, Question]] = []
    while len(rows) < n:
        scene = scene_for(rng, key)
        question = ask(rng, scene, key)
        if question is not None:
            rows.append((scene, question))
    return rows


def right_answers(model: ToyVlm, rows: list[tuple[world.Scene, Question]]) -> list[bool]:
    """Return whether each answer is right."""
    pictures = world.render_many([scene for scene, _ in rows])
    answers = model.answer(pictures, [question.text for _, question in rows])
    return [answer == question.answer for answer, (_, question) in zip(answers, rows, strict=True)]


def _rate(flags: list[bool]) -> dict[str, float]:
    return {"right": sum(flags), "n": len(flags), "accuracy": round(sum(flags) / max(1, len(flags)), 4)}


def _rarity(question: Question) -> str:
    """Return how common the words of a question were in training: common, rare or never."""
    query = parse_question(question.text)
    slots = dict(query.slots) if query is not None else {}
    names = {slots.get("thing"), slots.get("other")}
    if names & NEVER_COMBINED and {"colour", "relation"} & slots.keys():
        return "never"
    rare = names & THINGS.keys() or RELATIONS.get(slots.get("relation", ""), 1.0) < 0.5
    return "rare" if rare else "common"


def measure(path: Path, lexicon: Lexicon, weights: Mapping[str, float]) -> dict[str, Any]:
    """Measure every form of the kind it was trained on, and group the results by skill, by rarity and by
    what training asked for."""
    model = ToyVlm(path, lexicon=lexicon)
    total = sum(weights.values())
    forms: dict[str, Any] = {}
    by_skill: dict[str, list[bool]] = {skill: [] for skill in SKILLS}
    by_rarity: dict[str, list[bool]] = {"common": [], "rare": [], "never": []}
    by_relation: dict[str, list[bool]] = {relation: [] for relation in RELATIONS}
    by_training: dict[str, list[bool]] = {"simple": [], "compound": [], "compound, never asked": []}
    simple = {form.key for form in BASIC}
    for form in FORMS:
        if form.key not in weights:
            continue
        rows = questions(form.key, PER_FORM if form.key in simple else PER_COMPOUND)
        flags = right_answers(model, rows)
        share = round(weights[form.key] / total, 5)
        forms[form.key] = {"training_share": share, **_rate(flags)}
        kind = "simple" if form.key in simple else "compound" if share else "compound, never asked"
        by_training[kind] += flags
        for skill in form.skills:
            by_skill[skill] += flags
        for (_, question), flag in zip(rows, flags, strict=True):
            by_rarity[_rarity(question)].append(flag)
            for relation, group in by_relation.items():
                if f" {relation} " in question.text:
                    group.append(flag)
    groups = {
        "skills": by_skill,
        "rarity": by_rarity,
        "relations": by_relation,
        "training_of_forms": by_training,
    }
    rates = {
        name: {key: _rate(flags) for key, flags in group.items() if flags} for name, group in groups.items()
    }
    return {"forms": forms, **rates}


def write(
    out: Path, name: str, file: str, weights: Mapping[str, float], lexicon: Lexicon, training: dict[str, Any]
) -> None:
    """Write the JSON file and the card beside the weights."""
    found = measure(out / f"{file}.onnx", lexicon, weights)
    tail = {"relations": RELATIONS, "things": THINGS, "never": sorted(NEVER_COMBINED)}
    about = {
        "model": name,
        "length": lexicon.length,
        "words": lexicon.words,
        "answers": lexicon.answers,
        "training": training,
        "tail": tail,
        "frequent": FREQUENT,
        "held_out_seed": SEED,
    }
    write_json(out / f"{file}.json", {**about, **found})
    size = megabytes(out / f"{file}.onnx")
    (out / f"{file}.md").write_text(_card(name, file, found, training, size), encoding="utf-8")


def _card(name: str, file: str, found: dict[str, Any], training: dict[str, Any], size: float) -> str:
    forms = found["forms"]
    start = (
        "its first layers start from those of toy-eyes"
        if file == "vlm"
        else "it starts from toy-vlm, which knows the simple forms, and keeps what sees"
    )
    lines = [
        f"# {name}",
        "",
        "Answers questions about 64x64 pictures of one to five things. A small CNN turns the picture into",
        "nine cell tokens and one for the whole; transformer layers read them with the words of the",
        "question; the answer is one of a closed list.",
        "",
        f"- Weights: {training['weights']:,}; `{file}.onnx` has {size:.1f} MB.",
        f"- Training: {training['steps']:,} steps of {training['pictures']} pictures with"
        f" {training['questions']} questions each, {training['minutes']} minutes,"
        f" one thread of a shared CPU; {start}.",
        "- Data: fresh rendered layouts. Skills, forms, relations and some things are long-tailed on",
        "  purpose, and some forms and combinations never occur: `tools/toybox_training/vlm_tail.py`.",
        f"- Made by `python -m tools.toybox_training.vlm --only {name}`.",
        "",
        "Accuracy on held-out scenes, things and relations asked for alike:",
        "",
        "| skill | accuracy | questions | simple forms with it |",
        "|---|---|---|---|",
    ]
    for skill in found["skills"]:
        own = [form.key for form in BASIC if skill in form.skills]
        simple = ", ".join(f"{key} {forms[key]['accuracy']:.2f}" for key in own)
        rate = found["skills"][skill]
        lines.append(f"| {skill} | {rate['accuracy']:.2f} | {rate['n']} | {simple} |")
    for name in ("training_of_forms", "rarity", "relations"):
        text = ", ".join(
            f"{key} {rate['accuracy']:.3f} (n = {rate['n']})" for key, rate in found[name].items()
        )
        lines += ["", f"By {name.replace('_', ' ')}: {text}."]
    return "\n".join(lines) + "\n"
