"""Writes findings as an adversarial dataset: an image folder with `metadata.jsonl`, a card, Parquet if asked.

The layout is the one that Hugging Face's `imagefolder` loader reads. Each kind of hunt has its own rows.

The rows of a vlm hunt's dataset: pictures, question, right and wrong answer; and the same as chats.

Half of the rows, chosen by picture, is for training, half for a re-test: no picture is in both. Where the
right answer is not known by construction a row only has the verifier's reason, and makes no chat.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.atlas.faults import explained
from failscape.atlas.images import link_or_copy, write_whole
from failscape.errors import ConfigError, MissingExtra
from failscape.spaces.questions import Pattern, explains
from failscape.trials import Answer, Classify, Finding, Generate, Recall, Verdict, Verify

TRAIN, RETEST = "train", "retest"
Item = dict[str, Any]
"""One row: `images` are digests, everything else goes to the metadata as it is."""


def vlm_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Item]:
    """Questions of certified modes that failed; with `passes` also those that the target got right."""
    modes = {Pattern.parse(finding.subject): finding for finding in findings}
    for stored in atlas.trials(row.id):
        wanted = stored.trial.verdict is Verdict.FAIL or (passes and stored.trial.verdict is Verdict.PASS)
        if not wanted or not stored.images:
            continue
        pattern = Pattern.parse(stored.trial.subject)
        home = next((mode for mode in modes if mode == pattern or explains(mode, pattern)), None)
        if home is not None:
            yield _row(modes[home], pattern, stored)


def _row(finding: Finding, pattern: Pattern, stored: StoredTrial) -> Item:
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


def write_chats(rows: Sequence[Item], out: Path) -> None:
    """`train.jsonl` and `retest.jsonl`: one conversation a line, as SFT and GRPO trainers read them."""
    for part in (TRAIN, RETEST):
        chosen = [chat(row) for row in rows if row["split"] == part and row["answer"]]
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in chosen)
        write_whole(out / f"{part}.jsonl", lines.encode())


def chat(row: Item) -> Item:
    """Messages with the pictures before the first question, and the right answer at the end."""
    names = row.get("file_names") or [row["file_name"]]
    asked = [*(turn[0] for turn in row["history"]), row["question"]]
    said = [*(turn[1] for turn in row["history"]), row["answer"]]
    messages: list[Item] = []
    for place, (question, answer) in enumerate(zip(asked, said, strict=True)):
        shown: list[Item] = [{"type": "image"} for _ in names] if place == 0 else []
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


METADATA = "metadata.jsonl"
CARD = "README.md"
PARQUET = "data.parquet"

Rows = Callable[[Atlas, HuntRow, Sequence[Finding], bool], Iterator[Item]]


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """`missing` rows were left out: their pictures were not kept."""

    folder: Path
    rows: int
    findings: int
    missing: int


def classifier_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Item]:
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


def _classified(finding: Finding, stored: StoredTrial) -> Item:
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


ROWS: dict[str, Rows] = {"classifier": classifier_rows, "vlm": vlm_rows}
"""Hunt kind → what makes its rows."""

EXTRAS: dict[str, Callable[[Sequence[Item], Path], None]] = {"vlm": write_chats}
"""Hunt kind → what else is written beside the rows."""


def write_dataset(
    atlas: Atlas,
    row: HuntRow,
    findings: Sequence[Finding],
    out: Path,
    licence: str,
    passes: bool = False,
    parquet: bool = False,
) -> WrittenDataset:
    """Fill the folder `out`, which must not hold a dataset yet. `metadata.jsonl` is written last."""
    if row.kind not in ROWS:
        raise ConfigError(f"{row.kind} hunts have no dataset", f"it is for hunts of kind {', '.join(ROWS)}")
    if (out / METADATA).exists():
        raise ConfigError(f"{out} holds a dataset already", "give another folder with -o, or remove it")
    if parquet and find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")
    rows: list[Item] = []
    missing = 0
    with explained(out):
        for item in ROWS[row.kind](atlas, row, findings, passes):
            placed = _place(atlas, item, out)
            missing += placed is None
            rows += [] if placed is None else [{**placed, **_sources(row), "license": licence}]
        if not rows:
            raise ConfigError("there is nothing to write: no finding has failed images that were kept")
        write_whole(out / CARD, _card(row, rows, findings, licence).encode())
        if row.kind in EXTRAS:
            EXTRAS[row.kind](rows, out)
        if parquet:
            _write_parquet(rows, out)
        lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in rows)
        write_whole(out / METADATA, lines.encode())
    return WrittenDataset(out, len(rows), len(findings), missing)


def _place(atlas: Atlas, item: Item, out: Path) -> Item | None:
    """Put the pictures of a row into the folder; `None` when one of them is gone."""
    digests: list[str] = item["images"]
    found = [atlas.images.find(digest) for digest in digests]
    names = []
    for digest, path in zip(digests, found, strict=True):
        if path is None:
            return None
        name = Path("images", _safe(item.get("folder", "")), f"{digest}{path.suffix}")
        goal = out / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        if not goal.exists():
            link_or_copy(path, goal)
        names.append(name.as_posix())
    rest = {key: value for key, value in item.items() if key not in ("images", "folder")}
    shown = {"file_name": names[0]} if len(names) == 1 else {"file_name": names[0], "file_names": names}
    return {**shown, **rest}


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name)


def _sources(row: HuntRow) -> Item:
    """Which models drew and failed."""
    roles = {role: f"{one.provider} {one.model}".strip() for role, one in row.identities.items()}
    target = {"t2i": "generator", "classifier": "classifier", "vlm": "answerer"}[row.kind]
    return {"generator": roles.get("generator", ""), "target": roles.get(target, "")}


def _card(row: HuntRow, rows: Sequence[Item], findings: Sequence[Finding], licence: str) -> str:
    first = rows[0]
    named = "\n".join(f"- {finding.title}" for finding in findings[:200])
    return (
        f"---\nlicense: {json.dumps(licence)}\n---\n\n# Pictures that {first['target']} gets wrong\n\n"
        f"{len(rows):,} pictures of {len(findings):,} findings, written by Failscape from hunt {row.id}. "
        f"Drawn by: {first['generator'] or 'a folder of photos'}. One line of `{METADATA}` per picture.\n\n"
        f"Licence of the pictures: {licence}. What a generator's pictures may be used for is said by its own "
        f"licence; check it before you pass them on.\n\n## Findings\n\n{named}\n"
    )


def _write_parquet(rows: Sequence[Item], out: Path) -> None:
    """One file with the pictures inside, as the `datasets` library reads images: bytes and path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in rows[0]}
    names = columns.pop("file_name")
    columns["image"] = [{"bytes": (out / name).read_bytes(), "path": name} for name in names]
    features = {"info": {"features": {"image": {"_type": "Image"}}}}
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(features)})
    pq.write_table(table, out / PARQUET)
