"""The card of a dataset: what it holds, how it was made, by which models, under which licence. Pure."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from failscape.atlas import HuntRow
from failscape.export.splits import RETEST, SHOWN, TRAIN
from failscape.plugins import Row
from failscape.trials import Finding

#: Findings and prompts named in the card; `metadata.jsonl` has all.
LISTED = 200

_TASKS = {"t2i": "text-to-image", "classifier": "image-classification", "vlm": "visual-question-answering"}
_FILES = {
    "t2i": "`pairs_train.jsonl` and `pairs_retest.jsonl` have a passing and a failed picture of one prompt"
    " a line (`chosen`, `rejected`). `reward` is the share of checks that hold.",
    "vlm": "`train.jsonl` and `retest.jsonl` have a chat a line (`messages`; `prompt` and `completion`;"
    " `solution`), `dpo_train.jsonl` and `dpo_retest.jsonl` the right answer `chosen` and the model's own"
    " `rejected`. `answer_from` says who knows the right answer, `agreement` which share of them names it;"
    " answers without a majority are in no chat.",
}


def card_of(
    hunt: HuntRow, rows: Sequence[Row], findings: Sequence[Finding], licence: str, split: Sequence[str] = ()
) -> str:
    """Markdown with the front matter that dataset hubs read."""
    return "\n".join(
        chain(_head(hunt, rows, findings, licence), _body(hunt, rows, licence, split), _lists(rows, findings))
    )


def _head(hunt: HuntRow, rows: Sequence[Row], findings: Sequence[Finding], licence: str) -> Iterator[str]:
    yield "---"
    yield f"license: {json.dumps(licence)}"
    if hunt.kind in _TASKS:
        yield f"task_categories: [{_TASKS[hunt.kind]}]"
    yield "tags: [failures, failscape]"
    yield "---"
    yield f"\n# Pictures that {rows[0]['target']} gets wrong\n"
    failed = sum(bool(row["failed"]) for row in rows)
    yield (
        f"{len(rows):,} rows, {failed:,} of them failures, of {len(findings):,} findings, written by"
        f" Failscape from hunt {hunt.id}. One line of `metadata.jsonl` per row."
    )


def _body(hunt: HuntRow, rows: Sequence[Row], licence: str, split: Sequence[str]) -> Iterator[str]:
    if hunt.kind in _FILES:
        yield f"\n{_FILES[hunt.kind]}"
    counts = Counter(row["split"] for row in rows)
    shared = " and no ".join(["no picture", *("finding" if one == SHOWN else one for one in split)])
    yield (
        f"\n`split` says which half a row belongs to: {counts[TRAIN]:,} to {TRAIN}, {counts[RETEST]:,} to"
        f" {RETEST}. The halves share {shared}."
    )
    yield "\n## Licence\n"
    yield (
        f"{licence}. What a generator's pictures may be used for is said by its own licence; check it before"
        " you pass them on."
    )
    yield "\n## How it was made\n"
    yield "| role | provider | model | identity |\n|---|---|---|---|"
    for role, one in hunt.identities.items():
        yield f"| {role} | {one.provider} | {one.model} | `{one.digest[:12]}` |"
    yield f"\nSeed of the hunt: {hunt.config.get('seed', 0)}. Each row has the seed of its picture."


def _lists(rows: Sequence[Row], findings: Sequence[Finding]) -> Iterator[str]:
    yield "\n## Findings\n"
    yield from (f"- {finding.title} ({finding.status})" for finding in findings[:LISTED])
    prompts = list(dict.fromkeys(row["prompt"] for row in rows if row.get("prompt")))
    if prompts:
        yield "\n## Prompts\n"
        yield from (f"- {prompt}" for prompt in prompts[:LISTED])
    yield ""
