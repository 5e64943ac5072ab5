"""What makes two trials the same case, and how to ask a case of another model. Pure.

A case leaves out the model under test: of a generator it is prompt, seed and checks; of a classifier the
picture and the labels that are right; of an answerer the pictures, what was said before, and the question; of
a table the number of the trial.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.trials import (
    Answer,
    Classify,
    Decide,
    Edit,
    Facts,
    Generate,
    Probe,
    Recall,
    Reword,
    Show,
    Step,
    Verify,
)

GENERATOR, CLASSIFIER, ANSWERER, TABLE = "generator", "classifier", "answerer", "table"


@dataclass(frozen=True, slots=True)
class AskedCase:
    """A case as it was asked of one model. `images` are the digests of its pictures, in order.

    `steps` ask the same of another model: pictures that the model under test did not draw are shown as they
    were, and checks on them that held are not asked again.
    """

    case: str
    subject: str
    key: str
    seed: int
    steps: tuple[Step, ...]
    asked: tuple[Step, ...]
    images: tuple[str, ...]
    failed: bool

    @property
    def shown(self) -> tuple[str, ...]:
        """Pictures that must be at hand to ask it."""
        return tuple(digest for step in self.steps if isinstance(step, Show) for digest in step.images)

    @property
    def mark(self) -> str:
        """The letter in its key that says what it was drawn for."""
        letter = self.key[len(self.subject) + 1 : len(self.subject) + 2]
        return letter if letter.isalpha() else ""

    def probe(self) -> Probe:
        return Probe(self.key, self.subject, self.steps, self.seed)


def case_of(target: str, probe: Probe, facts: Sequence[Facts], failed: bool) -> AskedCase | None:
    """The case of a trial with a valid verdict; `None` where its steps do not test `target`."""
    images = _images(probe.steps, facts)
    found = _READ[target](probe, facts, images) if target in _READ else None
    if found is None:
        return None
    again, mark = found
    name = hashlib.blake2b(repr(mark).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return AskedCase(name, probe.subject, probe.key, probe.seed, again, probe.steps, images, failed)


#: The steps that ask a case again, and what it is known by.
Read = tuple[tuple[Step, ...], Any]


def _drawn(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    again: tuple[Step, ...] = tuple(s for s in probe.steps if isinstance(s, Generate | Decide | Reword))
    prompts = _prompts(probe.steps, facts)
    checks = [step.checks for step in probe.steps if isinstance(step, Decide)]
    if not prompts or not checks:
        return None
    return again, (prompts, [(check.kind, check.value, check.statement) for check in checks[-1]], probe.seed)


def _classified(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    last = next((step for step in reversed(probe.steps) if isinstance(step, Classify)), None)
    if last is None or not images:
        return None
    return (Show(images[-1:]), last), (images[-1], last.accept, last.top_k, last.aim)


def _answered(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    asked = [step for step in probe.steps if isinstance(step, Answer)]
    check = next((step for step in probe.steps if isinstance(step, Verify)), None)
    if len(asked) != 1 or check is None or not images:
        return None
    turns = [step for step in probe.steps if isinstance(step, Recall)]
    mark = images, [turn.turns for turn in turns], asked[0].question, check.truth
    return (Show(images), *turns, asked[0], check), mark


def _tabled(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read:
    """A row of somebody's table: known by its number, and never asked again."""
    return (), probe.seed


_READ: dict[str, Callable[[Probe, Sequence[Facts], tuple[str, ...]], Read | None]] = {
    GENERATOR: _drawn,
    CLASSIFIER: _classified,
    ANSWERER: _answered,
    TABLE: _tabled,
}


def _images(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[str, ...]:
    found: list[str] = []
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Generate | Edit) and isinstance(fact, str):
            found.append(fact)
        elif isinstance(step, Show) and fact:
            found.extend(map(str, fact))
    return tuple(found)


def _prompts(steps: Sequence[Step], facts: Sequence[Facts]) -> list[str]:
    """What pictures were drawn from: what was asked for, also where a language model said it otherwise."""
    reworded = {at: fact[0] for at, fact in enumerate(facts) if isinstance(steps[at], Reword) and fact}
    return [
        str(reworded.get(at - 1, step.prompt)) for at, step in enumerate(steps) if isinstance(step, Generate)
    ]


#: New cases are numbered from here on: searches number theirs from 0, and a key is recorded once.
FIRST_NUMBER = 1_000


def fresh_probe(target: str, like: AskedCase, number: int) -> Probe | None:
    """The `number`-th new case of a subject: a seed of its own, under a key that no search uses for evidence.

    `None` where a new picture would not be drawn: photos, and questions about one certain picture.
    """
    if not any(isinstance(step, Generate) for step in like.asked) or target == ANSWERER:
        return None
    steps = tuple(step for step in like.asked if isinstance(step, Generate | Decide | Reword | Classify))
    mark = "r" if target == GENERATOR else "f"
    digest = hashlib.blake2b(f"compare|{like.subject}|{number}".encode(), digest_size=4).digest()
    seed = int.from_bytes(digest, "big") & 0x7FFFFFFF
    return Probe(f"{like.subject}#{mark}{FIRST_NUMBER + number}", like.subject, steps, seed)
