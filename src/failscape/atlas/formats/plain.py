"""Plain files: trials as JSON lines, counts or Parquet, and pictures; tables of others' results as hunts.

The Parquet table has a row a trial, with steps and facts as JSON (extra `export`). A table of (model, case,
passes, trials) becomes a hunt for each model, a trial for each try. In which order tries passed nobody knows:
they are mixed by chance, each model's for itself, so that pairing two models by number is a fair matching.
"""

import csv
import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from failscape.atlas.records import HuntRow, Recorded, StoredCall, StoredTrial, prompts_of
from failscape.atlas.store import Atlas
from failscape.csv_tables import csv_of_text
from failscape.errors import AtlasError, MissingExtra
from failscape.models.roles import Identity
from failscape.trials import (
    IMPORTED,
    Check,
    Decide,
    Generate,
    Probe,
    Trial,
    Verdict,
    key_of_try,
    reach_verdict,
    steps_to_json,
    thing_text,
)

COLUMNS = ("hunt", "subject", "caption", "trials", "valid", "pass", "fail", "invalid", "none", "failure_rate")


def write_jsonl(atlas: Atlas, hunt: HuntRow, out: TextIO) -> int:
    """One trial per line, in the order recorded; gives their number."""
    number = 0
    for stored in atlas.trials(hunt.id):
        line = json.dumps(trial_to_data(stored), ensure_ascii=False)
        # A model may have said half of a surrogate pair, which no encoding can write.
        out.write(line.encode("utf-8", "replace").decode() + "\n")
        number += 1
    return number


def trial_to_data(stored: StoredTrial) -> dict[str, Any]:
    trial = stored.trial
    return {
        "id": stored.id,
        "hunt": stored.hunt,
        "key": trial.key,
        "subject": trial.subject,
        "seed": trial.seed,
        "verdict": trial.verdict.value,
        "reason": trial.reason,
        "steps": json.loads(steps_to_json(stored.steps)),
        "facts": trial.facts,
        "calls": [_call_to_data(call) for call in stored.calls],
        "started": stored.started,
        "seconds": stored.seconds,
    }


def _call_to_data(call: StoredCall) -> dict[str, Any]:
    usage = call.usage
    return {
        "key": call.key.hex(),
        "role": call.role,
        "model": call.identity.data,
        "facts": call.facts,
        "invalid": call.invalid,
        "raw": call.raw,
        "image": call.image or None,
        "file": call.file or None,
        "requests": usage.requests,
        "seconds": usage.seconds,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
    }


def write_pictures(atlas: Atlas, hunt: HuntRow, folder: Path) -> tuple[int, int]:
    """Every kept picture of a hunt's trials as a file; gives how many, and how many cannot be read."""
    written, gone = set[str](), set[str]()
    for stored in atlas.trials(hunt.id):
        for digest in stored.images:
            if digest in written or atlas.images.name(digest) is None:
                continue
            try:
                atlas.images.copy_out(digest, folder)
                written.add(digest)
            except AtlasError:
                gone.add(digest)
    return len(written), len(gone)


def no_formula(text: str) -> str:
    """Text for a cell. Spreadsheets run what begins with one of these signs; an apostrophe stops that."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write_csv(atlas: Atlas, hunt: HuntRow, out: TextIO) -> int:
    """One subject per line; `failure_rate` is the share of valid trials that failed."""
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    number = 0
    for subject, counts in atlas.subject_counts(hunt.id):
        steps, _ = atlas.facts_of(hunt.id, subject)
        caption = next((step.prompt for step in steps if isinstance(step, Generate)), "")
        valid = counts[Verdict.PASS] + counts[Verdict.FAIL]
        rate = f"{counts[Verdict.FAIL] / valid:.6g}" if valid else ""
        numbers = [counts[verdict] for verdict in Verdict]
        table.writerow(
            (hunt.id, no_formula(subject), no_formula(caption), sum(numbers), valid, *numbers, rate)
        )
        number += 1
    return number


#: Rows that are in memory at once.
GROUP = 10_000


def write_parquet(atlas: Atlas, hunt: HuntRow, path: Path) -> int:
    """One trial a row, in the order recorded; gives their number."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, whole = pa.string(), pa.int64()
    schema = pa.schema(
        [
            ("id", whole), ("hunt", whole), ("key", text), ("subject", text), ("seed", whole),
            ("verdict", text), ("reason", text), ("prompts", pa.list_(text)),
            ("images", pa.list_(text)), ("steps", text), ("facts", text), ("started", pa.float64()),
            ("seconds", pa.float64()),
        ]
    )  # fmt: skip
    number = 0
    with pq.ParquetWriter(path, schema) as table:
        for group in _groups(atlas, hunt.id):
            table.write_table(pa.Table.from_pylist(group, schema))
            number += len(group)
    return number


def _groups(atlas: Atlas, hunt_id: int) -> Iterator[list[dict[str, Any]]]:
    rows = map(_row, atlas.trials(hunt_id))
    while group := list(islice(rows, GROUP)):
        yield group


def _row(stored: StoredTrial) -> dict[str, Any]:
    """A line of `jsonl` without its calls, with what nests as text, and prompts and pictures beside it."""
    row = trial_to_data(stored)
    del row["calls"]
    nested = {name: json.dumps(row[name], ensure_ascii=False) for name in ("steps", "facts")}
    prompts = prompts_of(stored.steps, stored.trial.facts)
    return {**row, **nested, "prompts": prompts, "images": list(stored.images)}


TABLE_COLUMNS = ("model", "case", "passes", "trials")
#: Of one case: each becomes a row, and more would prove nothing more.
MOST_TRIALS = 100_000

_GROUP_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class TableRow:
    """`passes` of `trials` tries of a case passed on a model. `group` is what the case is about, or ""."""

    line: int
    model: str
    case: str
    passes: int
    trials: int
    group: str = ""

    @property
    def subject(self) -> str:
        return thing_text(self.group, [self.case]) if self.group else self.case


def looks_like_table(path: Path) -> bool:
    """Whether a file has the columns of a table: CSV or TSV with a head, or JSON lines with those names."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise AtlasError(f"{path}: cannot be read: {error}", "name a readable UTF-8 file") from None
    if first.lstrip().startswith("{"):
        try:
            return {"model", "case"} <= set(json.loads(first))
        except (ValueError, RecursionError):
            return False
    return path.suffix.lower() in (".csv", ".tsv")


def read_table(path: Path) -> list[TableRow]:
    """Every row, checked; a fault names its line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        rows = [_parsed(path, number, data) for number, data in _json_lines(path, text)]
    else:
        table = csv_of_text(text, path, AtlasError)
        table.need_columns(TABLE_COLUMNS, ("group",))
        rows = [_parsed(path, row.line, row.cells) for row in table]
    if not rows:
        raise AtlasError(f"{path}: has no rows", f"one row per case, with {', '.join(TABLE_COLUMNS)}")
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        first = seen.setdefault((row.model, row.subject), row.line)
        if first != row.line:
            raise AtlasError(
                f"{path}, line {row.line}: {row.case!r} of {row.model!r} stands in line {first} already",
                "add the two up, or name them apart",
            )
    return rows


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, dict(json.loads(line))
            except (ValueError, TypeError, RecursionError) as error:
                raise AtlasError(f"{path}, line {number}: is no JSON object: {error}") from None


def _parsed(path: Path, number: int, data: Mapping[str, Any]) -> TableRow:
    try:
        model, case = str(data["model"] or "").strip(), str(data["case"] or "").strip()
        passes, trials = int(str(data["passes"])), int(str(data["trials"]))
    except (KeyError, ValueError) as error:
        raise AtlasError(
            f"{path}, line {number}: {type(error).__name__}: {error}",
            f"a row has {', '.join(TABLE_COLUMNS)}; the last two are whole numbers",
        ) from None
    if not model or not case:
        raise AtlasError(f"{path}, line {number}: a row needs a model and a case")
    if not 0 <= passes <= trials or not 0 < trials <= MOST_TRIALS:
        raise AtlasError(
            f"{path}, line {number}: `0 <= passes <= trials <= {MOST_TRIALS:,}` and `trials > 0` must hold, "
            f"but got {passes} and {trials}"
        )
    return TableRow(number, model, case, passes, trials, str(data.get("group") or "").strip())


def import_table(path: Path, atlas: Atlas, threshold: float | None = None) -> dict[str, int]:
    """A hunt for each model of the table, by name. The same table again adds nothing."""
    rows = read_table(path)
    found: dict[str, int] = {}
    for model in dict.fromkeys(row.model for row in rows):
        mine = [row for row in rows if row.model == model]
        found[model] = _import_model(atlas, model, mine, 0.8 if threshold is None else threshold)
    return found


def _import_model(atlas: Atlas, model: str, rows: list[TableRow], threshold: float) -> int:
    digest = hashlib.blake2b(repr([(r.subject, r.passes, r.trials) for r in rows]).encode(), digest_size=16)
    identity = Identity("table", "table", model)
    source = Identity("results", "table", model, {"digest": digest.hexdigest()})
    config = {
        "hunt": "table",
        "target": {"provider": "table", "model": model},
        "search": {"threshold": threshold},
    }
    identities = {"table": identity, "results": source}
    for hunt in atlas.stored_hunts():
        same = hunt.kind == "table" and hunt.identities == identities
        same = same and hunt.config["search"] == config["search"]
        if same and sum(atlas.counts(hunt.id).values()) == sum(row.trials for row in rows):
            return hunt.id
    number = atlas.start_hunt("table", config, identities)
    run = atlas.begin_run(number)
    stream = _recorded(rows)
    while group := list(islice(stream, _GROUP_SIZE)):
        atlas.record(number, group)
    atlas.end_run(run, "imported", 0.0)
    return number


def _recorded(rows: list[TableRow]) -> Iterator[Recorded]:
    for row in rows:
        steps = (Decide((Check("case", row.case, f"passes {row.case}"),)),)
        tries = [at < row.passes for at in range(row.trials)]
        random.Random(f"{row.model}|{row.subject}").shuffle(tries)
        for place, passed in enumerate(tries):
            facts = [[passed]]
            verdict, reason = reach_verdict(steps, facts)
            key = key_of_try(row.subject, IMPORTED, place)
            trial = Trial(key, row.subject, verdict, reason, facts, place)
            yield Recorded(Probe(key, row.subject, steps, place), trial, (), 0.0, 0.0)
