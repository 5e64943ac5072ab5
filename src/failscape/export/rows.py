"""The rows of a dataset, per kind of hunt: what is said of each picture.

A classifier's rows have labels, a vlm's a question with right and wrong answers, and the same as chats.
Half of a vlm's rows, chosen by picture, is for training, half for a re-test: no picture is in both. Where
the right answer is not known by construction a row only has the verifier's reason, and makes no chat.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.atlas.files import write_whole
from failscape.spaces.questions import Pattern, explains
from failscape.trials import Answer, Classify, Finding, Generate, Recall, Verdict, Verify

DatasetRow = dict[str, Any]
"""`images` are digests, everything else goes to the metadata as it is."""


# Classifiers


def classifier_rows(
    atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool
) -> Iterator[DatasetRow]:
    """Failed images of every finding, each once; with `passes` also those that the classifier got right."""
    seen: set[str] = set()
    for finding in findings:
        for stored in _trials(atlas, row.id, finding):
            wanted = stored.trial.verdict is Verdict.FAIL or (passes and stored.trial.verdict is Verdict.PASS)
            if wanted and stored.images and stored.images[-1] not in seen:
                seen.add(stored.images[-1])
                yield _classified(finding, stored)


def _trials(atlas: Atlas, hunt: int, finding: Finding) -> Iterator[StoredTrial]:
    """Those about a finding. Trials of photos are about their class: the finding says which photos."""
    photos = {*finding.details.get("photos", ()), *finding.details.get("decided", ())}
    if photos:
        for stored in atlas.trials(hunt, subject=str(finding.details["class"])):
            if photos.intersection(stored.images):
                yield stored
    yield from atlas.trials(hunt, subject=finding.subject)


def _classified(finding: Finding, stored: StoredTrial) -> DatasetRow:
    trial = stored.trial
    step = next(step for step in stored.steps if isinstance(step, Classify))
    ranking = trial.facts[-1]
    prompt = next((step.prompt for step in stored.steps if isinstance(step, Generate)), "")
    return {
        "images": [stored.images[-1]],
        "folder": str(finding.details.get("class", "")),
        "label": str(finding.details.get("class", step.accept[0])),
        "predicted": str(ranking[0][0]),
        "score": float(ranking[0][1]),
        "failed": trial.verdict is Verdict.FAIL,
        "prompt": prompt,
        "seed": trial.seed,
        "bug": finding.subject,
        "finding": finding.title,
        "fresh": trial.key.rpartition("#")[2].startswith("f"),
    }


# Vision-language models

TRAIN, RETEST = "train", "retest"


def vlm_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[DatasetRow]:
    """Questions of certified modes that failed; with `passes` also those that the target got right."""
    modes = {Pattern.parse(finding.subject): finding for finding in findings}
    for stored in atlas.trials(row.id):
        wanted = stored.trial.verdict is Verdict.FAIL or (passes and stored.trial.verdict is Verdict.PASS)
        if not wanted or not stored.images:
            continue
        pattern = Pattern.parse(stored.trial.subject)
        home = next((mode for mode in modes if mode == pattern or explains(mode, pattern)), None)
        if home is not None:
            yield _asked(modes[home], pattern, stored)


def _asked(finding: Finding, pattern: Pattern, stored: StoredTrial) -> DatasetRow:
    trial, steps = stored.trial, stored.steps
    place = next(at for at, step in enumerate(steps) if isinstance(step, Answer))
    question, verify = steps[place], next(step for step in steps if isinstance(step, Verify))
    assert isinstance(question, Answer)
    assert isinstance(verify, Verify)
    history = [list(turn) for step in steps if isinstance(step, Recall) for turn in step.turns]
    return {
        "images": list(stored.images),
        "folder": "",
        "question": question.question,
        # What a second turn is held against follows from the first answer, right or wrong: it is no truth.
        "answer": "" if history else verify.truth,
        "wrong_answer": str(trial.facts[place]) if trial.verdict is Verdict.FAIL else "",
        "reason": trial.reason,
        "failed": trial.verdict is Verdict.FAIL,
        "history": history,
        "skills": list(pattern.skills),
        "mode": finding.subject,
        "finding": finding.title,
        "split": part_of(stored.images),
    }


def part_of(images: Sequence[str]) -> str:
    """The part that a picture belongs to, the same in every dataset."""
    digest = hashlib.blake2b(images[0].encode(), digest_size=2).digest()
    return TRAIN if digest[0] & 1 else RETEST


def write_chats(rows: Sequence[DatasetRow], out: Path) -> None:
    """`train.jsonl` and `retest.jsonl`: one conversation a line, as SFT and GRPO trainers read them."""
    for part in (TRAIN, RETEST):
        chosen = [chat(row) for row in rows if row["split"] == part and row["answer"]]
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in chosen)
        write_whole(out / f"{part}.jsonl", lines.encode())


def chat(row: DatasetRow) -> DatasetRow:
    """Messages with the pictures before the first question, and the right answer at the end."""
    names = row.get("file_names") or [row["file_name"]]
    asked = [*(turn[0] for turn in row["history"]), row["question"]]
    said = [*(turn[1] for turn in row["history"]), row["answer"]]
    messages: list[DatasetRow] = []
    for place, (question, answer) in enumerate(zip(asked, said, strict=True)):
        shown: list[DatasetRow] = [{"type": "image"} for _ in names] if place == 0 else []
        messages.append({"role": "user", "content": [*shown, {"type": "text", "text": question}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return {
        "messages": messages,
        "prompt": messages[:-1],
        "completion": messages[-1:],
        "images": names,
        "solution": row["answer"],
        "mode": row["mode"],
    }
