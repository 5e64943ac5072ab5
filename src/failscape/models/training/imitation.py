"""Learning from questions that were asked: supervised fine-tuning on valid ones, most of all on what fails.

Before any reward it is the warm-up. Between the updates by reward it is a replay: reward alone settles on the
first kind that fails and forgets the rarer ones, of which a step has one example or none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failscape.models.training.classroom import Task, ValidQuestion

if TYPE_CHECKING:
    from failscape.models.training.grpo import Study

BATCH = 32

SHARPNESS = 2.5
"""A kind of question is learned in proportion to its failure rate to this power. With 1, the many kinds that
hardly ever fail make up half of what is learned; with 3, a questioner came down to seven questions."""

FAILED = 4.0
"""How much more than others a question counts, within its kind, that the target got wrong."""


class Examples:
    """Draws questions to learn from: for each name, or none, what fails most of what takes that skill.

    Questions of a kind share what the kind is worth, so that what was seldom written counts as much as what
    was written often. A question is learned under any of its skills, whichever was named for it.
    """

    def __init__(self, rows: Sequence[ValidQuestion], named: float, seed: str) -> None:
        self._rows = rows
        self._rng = random.Random(seed)
        valid = Counter(kind for _, _, _, kind in rows)
        failed = Counter(kind for _, _, outcome, kind in rows if outcome > 1)
        worth = {kind: ((failed[kind] + 0.5) / (valid[kind] + 1)) ** SHARPNESS for kind in valid}
        mass = {kind: valid[kind] + (FAILED - 1) * failed[kind] for kind in valid}
        self._odds = [
            worth[kind] * (FAILED if outcome > 1 else 1.0) / mass[kind] for _, _, outcome, kind in rows
        ]
        self._of: dict[str, list[int]] = {"": list(range(len(rows)))}
        for at, (_, _, _, kind) in enumerate(rows):
            for skill in filter(None, kind.split("+")):
                self._of.setdefault(skill, []).append(at)
        self._names = sorted(self._of.keys() - {""})
        self._named = named if self._names else 0.0

    def draw(self) -> tuple[Task, str]:
        name = self._rng.choice(self._names) if self._rng.random() < self._named else ""
        among = self._of[name]
        (at,) = self._rng.choices(among, [self._odds[one] for one in among])
        task, text = self._rows[at][:2]
        assert task.lesson is not None, "only questions of lessons are learned from"
        return replace(task, guidance=replace(task.lesson, skill=name).text), text


def imitate(
    study: Study, model: Any, rows: Sequence[ValidQuestion], batches: int, named: float, step: int = 0
) -> None:
    """Fine-tune on so many batches, a share of them with a named skill; step 0 is the warm-up.

    An optimizer of its own each time, and nothing drawn by global chance: a resumed training does the same.
    """
    import torch

    params = study.params
    examples = Examples(rows, named, f"{params.get('seed', 0)}/{step}")
    learning = [value for value in model.parameters() if value.requires_grad]
    rate = params.get("replay_rate", 1e-3) if step else params.get("warmup_rate", 3e-4)
    optimizer = torch.optim.AdamW(learning, lr=float(rate))
    for _ in range(batches):
        optimizer.zero_grad()
        loss = _loss(study, model, [examples.draw() for _ in range(BATCH)])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        study.log({"phase": "replay" if step else "warm-up", "step": step, "loss": float(loss.detach())})
    optimizer.zero_grad()  # else the next update by reward would add to the last batch's gradient


def _loss(study: Study, model: Any, examples: Sequence[tuple[Task, str]]) -> Any:
    """The language model's loss on the questions only, each alike. A VLM learns them one by one: pictures
    differ in size."""
    import torch

    device = next(model.parameters()).device
    end = study.tokenizer.eos_token or ""
    rows = []
    for task, text in examples:
        inputs = study.inputs(study.row(task))
        answer = study.tokenizer(f"{text}{end}", return_tensors="pt", add_special_tokens=False)["input_ids"]
        size = inputs["input_ids"].shape[1]
        tokens = torch.cat([inputs["input_ids"], answer], dim=1)
        labels = torch.cat([torch.full((1, size), -100), answer], dim=1)
        kinds = {
            key: torch.cat([value, torch.zeros_like(answer)], dim=1)
            for key, value in inputs.items()
            if key in ("token_type_ids", "mm_token_type_ids")
        }
        known = ("input_ids", "attention_mask", *kinds)
        pixels = {key: value for key, value in inputs.items() if key not in known}
        rows.append({"input_ids": tokens, "labels": labels, **kinds, **pixels})
    if not study.sees:
        rows = [{key: _padded([row[key] for row in rows], fill) for key, fill in _FILLS.items()}]
    losses = []
    for row in rows:
        labels = row.pop("labels").to(device)[:, 1:]
        row["attention_mask"] = (row["input_ids"] != _NONE).long()
        row["input_ids"] = row["input_ids"].clamp(min=0)
        logits = model(**{key: value.to(device) for key, value in row.items()}).logits[:, :-1]
        each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
        asked = labels >= 0
        losses.append((each * asked).sum(dim=1) / asked.sum(dim=1))
    return torch.cat(losses).mean()


_NONE = -1
_FILLS = {"input_ids": _NONE, "labels": -100}


def _padded(values: Sequence[Any], fill: int) -> Any:
    """Rows of different lengths as one tensor, filled up on the right."""
    import torch

    return torch.nn.utils.rnn.pad_sequence([value[0] for value in values], True, fill)
