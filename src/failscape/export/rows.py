"""The rows of a dataset, by kind of hunt, and the files that hold them: JSON lines, Parquet (extra `export`).

Classifiers: pictures with the right label and the one that was given. Text-to-image models: prompts,
pictures, what the judge said of each check; passing pictures of the same prompts are always among them,
since a preference needs both; `reward` is the share of checks that hold. Vision-language models: questions
with right and wrong answers, and chats of them; the right answer is known by construction or is what the
verifiers agree on, and a row says which. Where nobody knows it, a row has the verifier's reason alone and
makes no chat.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.atlas.files import write_whole
from failscape.atlas.judging import decided
from failscape.atlas.records import prompts_of
from failscape.errors import MissingExtra
from failscape.export.splits import RETEST, TRAIN
from failscape.plugins import Row
from failscape.spaces.questions import Pattern, explains
from failscape.trials import (
    Answer,
    Classify,
    Edit,
    ExpectChange,
    Finding,
    Generate,
    Recall,
    Step,
    Verdict,
    Verify,
)

DATA_TABLE, PAIRS_TABLE = "data.parquet", "pairs.parquet"


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    """One JSON object a line, all of the file or nothing."""
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def need_parquet() -> None:
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")


def write_data_table(rows: Sequence[Row], out: Path) -> None:
    """All rows with their pictures, as the `datasets` library reads images: bytes and path."""
    columns = _columns([{name: value for name, value in row.items() if name != "file_name"} for row in rows])
    columns["image"] = [_picture(out, row["file_name"]) for row in rows]
    _write_table(columns, ("image",), out / DATA_TABLE)


def write_pairs_table(pairs: Sequence[Row], out: Path) -> None:
    """Preferences in the columns that trainers of diffusion DPO read: the chosen picture comes first."""
    columns: dict[str, list[Any]] = {
        "caption": [pair["prompt"] for pair in pairs],
        "jpg_0": [(out / pair["chosen"]).read_bytes() for pair in pairs],
        "jpg_1": [(out / pair["rejected"]).read_bytes() for pair in pairs],
        "label_0": [1.0] * len(pairs),
        "split": [pair["split"] for pair in pairs],
    }
    _write_table(columns, (), out / PAIRS_TABLE)


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _picture(out: Path, name: str) -> dict[str, Any]:
    return {"bytes": (out / name).read_bytes(), "path": name}


def _write_table(columns: dict[str, list[Any]], images: Sequence[str], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns)
    if images:
        features = {"info": {"features": {name: {"_type": "Image"} for name in images}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
    pq.write_table(table, path)


def classifier_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
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
    details = finding.details_data
    photos = {*details.get("photos", ()), *details.get("decided", ())}
    if photos:
        for stored in atlas.trials(hunt, subject=str(details["class"])):
            if photos.intersection(stored.images):
                yield stored
    yield from atlas.trials(hunt, subject=finding.subject)


def _classified(finding: Finding, stored: StoredTrial) -> Row:
    trial, details = stored.trial, finding.details_data
    step = next(step for step in stored.steps if isinstance(step, Classify))
    ranking = trial.facts[-1]
    prompt = next((step.prompt for step in stored.steps if isinstance(step, Generate)), "")
    return {
        "images": [stored.images[-1]],
        "folder": str(details.get("class", "")),
        "label": str(details.get("class", step.accept[0])),
        "predicted": str(ranking[0][0]),
        "score": float(ranking[0][1]),
        "failed": trial.verdict is Verdict.FAIL,
        "prompt": prompt,
        "seed": trial.seed,
        "subject": finding.subject,
        "finding": finding.title,
        "fresh": trial.key.rpartition("#")[2].startswith("f"),
    }


def t2i_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
    """Every kept picture of every finding whose checks were decided, failed or not."""
    seen: set[str] = set()
    for finding in findings:
        for stored in atlas.trials(row.id, subject=finding.subject):
            judged = stored.trial.verdict in (Verdict.FAIL, Verdict.PASS)
            if judged and stored.images and stored.images[-1] not in seen:
                seen.add(stored.images[-1])
                yield _drawn(finding, stored)


def _drawn(finding: Finding, stored: StoredTrial) -> Row:
    trial = stored.trial
    checks = [
        {"kind": check.kind, "value": check.value, "statement": check.statement, "holds": bool(holds)}
        for _, check, holds, _ in decided(stored.steps, trial.facts)
    ]
    return {
        "images": [stored.images[-1]],
        "folder": "",
        "prompt": prompts_of(stored.steps, trial.facts)[-1],
        "seed": trial.seed,
        "failed": trial.verdict is Verdict.FAIL,
        "reward": sum(check["holds"] is True for check in checks) / len(checks),
        "checks": checks,
        "reason": trial.reason,
        "subject": finding.subject,
        "finding": finding.title,
    }


def write_pairs(rows: Sequence[Row], out: Path, parquet: bool = False) -> None:
    """`pairs_train.jsonl` and `pairs_retest.jsonl`: a passing and a failed picture of one prompt a line.

    With `parquet` also `pairs.parquet` with the pictures inside, in the columns of diffusion DPO.
    """
    halves = {half: pairs_of([row for row in rows if row["split"] == half]) for half in (TRAIN, RETEST)}
    for half, pairs in halves.items():
        write_lines(out / f"pairs_{half}.jsonl", pairs)
    if parquet:
        write_pairs_table([{**pair, "split": half} for half in halves for pair in halves[half]], out)


def pairs_of(rows: Sequence[Row]) -> list[Row]:
    """Each failed picture with a passing one of its prompt, in turn; prompts that only fail give none."""
    passing: dict[str, list[Row]] = {}
    for row in rows:
        if not row["failed"]:
            passing.setdefault(row["prompt"], []).append(row)
    pairs, used = list[Row](), dict[str, int]()
    for row in rows:
        others = passing.get(row["prompt"], [])
        if row["failed"] and others:
            number = used[row["prompt"]] = used.get(row["prompt"], -1) + 1
            better = others[number % len(others)]
            pairs.append(
                {
                    "prompt": row["prompt"],
                    "chosen": better["file_name"],
                    "rejected": row["file_name"],
                    "chosen_seed": better["seed"],
                    "rejected_seed": row["seed"],
                    "why": row["reason"],
                    "subject": row["subject"],
                }
            )
    return pairs


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


def write_chats(rows: Sequence[Row], out: Path, parquet: bool = False) -> None:
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
