"""Findings of a vlm hunt as rows of a dataset: questions with right and wrong answers, and chats of them.

The right answer is known by construction or is what the verifiers agree on, and a row says which. Where
nobody knows it, a row has the verifier's reason alone and makes no chat.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.plugins import DatasetRows, Row
from failscape.spaces.questions import Pattern, explains
from failscape.trials import Answer, Edit, ExpectChange, Finding, Recall, Step, Verdict, Verify
from failscape.views.export.files import write_lines
from failscape.views.export.splits import RETEST, TRAIN


class VlmRows(DatasetRows):
    """Questions of certified modes, and chats and preferences of them."""

    task = "visual-question-answering"
    about_files = (
        "`train.jsonl` and `retest.jsonl` have a chat a line (`messages`; `prompt` and `completion`;"
        " `solution`), `dpo_train.jsonl` and `dpo_retest.jsonl` the right answer `chosen` and the model's own"
        " `rejected`. `answer_from` says who knows the right answer, `agreement` which share of them names"
        " it; answers without a majority are in no chat."
    )

    def rows(self, atlas: Atlas, hunt: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
        return vlm_rows(atlas, hunt, findings, passes)

    def beside(self, rows: Sequence[Row], folder: Path, parquet: bool) -> None:
        write_chats(rows, folder)


#: Answers that a smaller share of the verifiers names stay in their row, but nothing learns from them.
MAJORITY = 0.5


def vlm_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
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


def _asked(finding: Finding, pattern: Pattern, stored: StoredTrial) -> Row:
    trial, steps = stored.trial, stored.steps
    place = next(at for at, step in enumerate(steps) if isinstance(step, Answer))
    question = steps[place]
    assert isinstance(question, Answer)
    failed = trial.verdict is Verdict.FAIL
    answer, source, share = _right_answer(steps, trial.facts, failed)
    return {
        "images": list(shown_last(steps, stored.images)),
        "folder": "",
        "question": question.question,
        "answer": answer,
        "answer_from": source,
        "agreement": share,
        "wrong_answer": str(trial.facts[place]) if failed else "",
        "reason": trial.reason,
        "failed": failed,
        "history": [list(turn) for step in steps if isinstance(step, Recall) for turn in step.turns],
        "skills": list(pattern.skills),
        "seed": trial.seed,
        "subject": finding.subject,
        "finding": finding.title,
    }


def shown_last(steps: Sequence[Step], images: Sequence[str]) -> Sequence[str]:
    """What the target saw: an edited picture stands for those that it was made of."""
    return images[-1:] if any(isinstance(step, Edit) for step in steps) else images


def _right_answer(steps: Sequence[Step], facts: Sequence[Any], failed: bool) -> tuple[str, str, float]:
    """The right answer, who says so (`truth`, `verifiers` or nobody), and the share of them that does.

    What a second turn is held against follows from the first answer, right or wrong: it is no truth. Of a
    minimal pair it is only known that the answers must differ.
    """
    if any(isinstance(step, Recall | ExpectChange) for step in steps):
        return "", "", 0.0
    place, verify = next((at, step) for at, step in enumerate(steps) if isinstance(step, Verify))
    if verify.truth:
        return verify.truth, "truth", 1.0
    said = facts[place]
    agreement = float(said[3]) if len(said) > 3 else 1.0
    if not failed:  # what the target said is what they agree on
        return str(facts[place - 1]), "verifiers", agreement
    return (str(said[4]), "verifiers", float(said[5])) if len(said) > 5 else ("", "", 0.0)


def write_chats(rows: Sequence[Row], out: Path) -> None:
    """`train.jsonl` and `retest.jsonl`, a conversation a line, for SFT and GRPO; `dpo_…` for preferences."""
    for half in (TRAIN, RETEST):
        known = [row for row in rows if row["split"] == half and row["agreement"] > MAJORITY]
        write_lines(out / f"{half}.jsonl", map(chat, known))
        write_lines(out / f"dpo_{half}.jsonl", (preference(row) for row in known if row["wrong_answer"]))


def chat(row: Row) -> Row:
    """Messages with the pictures before the first question, and the right answer at the end."""
    messages = _messages(row, row["answer"])
    return {
        "messages": messages,
        "prompt": messages[:-1],
        "completion": messages[-1:],
        "images": _names(row),
        "solution": row["answer"],
        "failed": row["failed"],
        "subject": row["subject"],
    }


def preference(row: Row) -> Row:
    """The right answer chosen, the target's own rejected."""
    *prompt, chosen = _messages(row, row["answer"])
    rejected = _said(row["wrong_answer"])
    return {"prompt": prompt, "chosen": [chosen], "rejected": [rejected], "images": _names(row)}


def _messages(row: Row, answer: str) -> list[Row]:
    asked = [*(turn[0] for turn in row["history"]), row["question"]]
    said = [*(turn[1] for turn in row["history"]), answer]
    messages: list[Row] = []
    for place, (question, reply) in enumerate(zip(asked, said, strict=True)):
        shown: list[Row] = [{"type": "image"} for _ in _names(row)] if place == 0 else []
        asking: Row = {"role": "user", "content": [*shown, {"type": "text", "text": question}]}
        messages += [asking, _said(reply)]
    return messages


def _said(text: str) -> Row:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def _names(row: Row) -> list[str]:
    names: list[str] = row.get("file_names") or [row["file_name"]]
    return names


ROWS = VlmRows()
