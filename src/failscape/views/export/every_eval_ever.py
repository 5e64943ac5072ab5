"""Writes a hunt in the shared result schema *Every Eval Ever*, version 0.3.0: a record and its samples.

The record has one result over all trials and one per finding, with interval and number of samples. Samples
are the valid trials, each of one result. Invalid trials decide nothing and are left out. Files lie as the
shared datastore wants them: `data/failscape-KIND/PROVIDER/MODEL/UUID.json` and `UUID_samples.jsonl`.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from failscape import __version__
from failscape.atlas import StoredTrial
from failscape.atlas.files import write_whole
from failscape.atlas.records import prompts_of
from failscape.jsonable import finite
from failscape.models.roles import Identity
from failscape.trials import Answer, Classify, Finding, Recall, Verdict, Verify
from failscape.views.read import HuntEvidence
from failscape.views.read.shots import Rate
from failscape.views.rows import finding_row

SCHEMA = "0.3.0"
OVERALL = "overall"
CONFIDENCE = 0.95


class WrittenRecord(NamedTuple):
    path: Path
    results: int
    samples: int


def write_record(hunt: HuntEvidence, out: Path) -> WrittenRecord:
    """The samples first: a record that is there is complete."""
    target = hunt.row.identities.get(hunt.kind.target) or Identity(hunt.kind.target, "unknown", hunt.target)
    created = str(int(max((run.started for run in hunt.runs), default=hunt.row.created)))
    model = f"{_safe(target.provider)}/{_safe(hunt.target)}"
    name = f"failscape-{hunt.row.kind}/{model}/{created}"
    folder = Path("data", f"failscape-{_safe(hunt.row.kind)}", model)
    number = _uuid(f"{name}/{hunt.row.id}/{hunt.row.created}")
    joined = {"schema_version": SCHEMA, "evaluation_id": name, "model_id": model}
    lines = [json.dumps(finite({**joined, **sample}), ensure_ascii=False) + "\n" for sample in _samples(hunt)]
    text = "".join(lines).encode()
    samples = folder / f"{number}_samples.jsonl"
    write_whole(out / samples, text)
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": name,
        "evaluation_timestamp": created,
        "retrieved_timestamp": created,
        "source_metadata": {
            "source_name": "Failscape",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "failscape", "version": __version__},
        "model_info": _model_info(hunt.target, model, target),
        "evaluation_results": [finite(one) for one in _results(hunt)],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text).hexdigest(),
            "total_rows": len(lines),
        },
    }
    path = out / folder / f"{number}.json"
    write_whole(path, json.dumps(record, ensure_ascii=False, indent=1).encode())
    return WrittenRecord(path, len(hunt.findings) + 1, len(lines))


def _results(hunt: HuntEvidence) -> Iterator[dict[str, Any]]:
    whole = hunt.seen_rate(apart=True)
    overall = whole if whole.known else hunt.seen_rate()
    yield _result(hunt, OVERALL, OVERALL, overall, {"counted": overall.counted})
    for number, finding in enumerate(hunt.findings, 1):
        row = finding_row(hunt, number, finding)
        details = {"status": row.status, "e_value": f"{row.e_value:.6g}", "subject": row.subject}
        rate = Rate(row.failures, row.trials, row.rate, row.interval, row.counted, row.corrected)
        yield _result(hunt, row.subject, row.title, rate, {**details, "counted": row.counted})


def _result(
    hunt: HuntEvidence, identity: str, title: str, rate: Rate, details: dict[str, str]
) -> dict[str, Any]:
    low, high = rate.interval
    # Who decides what failed; a classifier's labels need nobody.
    judges = {role: hunt.row.identities.get(role) for role in ("judge", "verifier")}
    return {
        "evaluation_result_id": identity,
        "evaluation_name": f"failscape-{hunt.row.kind}: {title}",
        "source_data": {
            "dataset_name": f"made by a {hunt.row.kind} hunt",
            "source_type": "other",
            "additional_details": {"seed": str(hunt.row.config.get("seed", 0))},
        },
        "metric_config": {
            "metric_id": "failscape.failure_rate",
            "metric_name": "failure rate",
            "metric_kind": "failure_rate",
            "metric_unit": "proportion",
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
            "additional_details": {
                role: f"{one.provider} {one.model}" for role, one in judges.items() if one is not None
            },
        },
        "score_details": {
            "score": rate.rate,
            "details": details,
            "uncertainty": {
                "confidence_interval": {"lower": low, "upper": high, "confidence_level": CONFIDENCE},
                "num_samples": rate.of,
            },
        },
    }


def _model_info(name: str, model: str, target: Identity) -> dict[str, Any]:
    details = {"deployment_type": "unknown", "model_availability": "unknown", "identity": target.digest}
    return {"name": name, "id": model, "inference_platform": target.provider, "additional_details": details}


def _samples(hunt: HuntEvidence) -> Iterator[dict[str, Any]]:
    claimed: dict[str, Finding] = {finding.subject: finding for finding in hunt.findings}
    for stored in hunt.atlas.trials(hunt.row.id):
        trial = stored.trial
        if trial.verdict not in (Verdict.PASS, Verdict.FAIL):
            continue
        finding = claimed.get(trial.subject)
        passed = trial.verdict is Verdict.PASS
        yield {
            "evaluation_name": f"failscape-{hunt.row.kind}: {finding.title if finding else OVERALL}",
            "evaluation_result_id": finding.subject if finding else OVERALL,
            "sample_id": trial.key,
            **_exchange(stored),
            "evaluation": {"score": float(not passed), "is_correct": passed},
            "metadata": {
                "subject": trial.subject,
                "seed": str(trial.seed),
                "reason": trial.reason,
                "images": " ".join(stored.images),
            },
        }


def _exchange(stored: StoredTrial) -> dict[str, Any]:
    """What went in and came out: a prompt and a picture, a picture and a label, questions and answers."""
    steps, facts = stored.steps, stored.trial.facts
    prompt = " ".join(prompts_of(steps, facts))
    turns, reference, said = list[tuple[str, str]](), list[str](), " ".join(stored.images)
    for step, fact in zip(steps, facts, strict=False):
        match step:
            case Recall(earlier):
                turns += earlier
            case Classify(accept):
                reference, said = list(accept), str(fact[0][0])
            case Answer(question):
                turns.append((question, str(fact)))
            case Verify(truth) if truth:
                reference = [truth]
    asked = turns[-1][0] if turns else prompt
    common = {"input": {"raw": asked, "reference": reference}, "answer_attribution": list[Any]()}
    if len(turns) > 1:
        talk = [text for turn in turns for text in turn]
        messages = [
            {"turn_idx": at, "role": ("user", "assistant")[at % 2], "content": text}
            for at, text in enumerate(talk)
        ]
        return {"interaction_type": "multi_turn", **common, "output": None, "messages": messages}
    said = turns[-1][1] if turns else said
    return {"interaction_type": "single_turn", **common, "output": {"raw": [said]}, "messages": None}


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name) or "unknown"


def _uuid(text: str) -> str:
    """The same record keeps its name, however often it is written."""
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
