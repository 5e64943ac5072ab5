"""Lets a language model say which Base values are plausible for which entity, and remembers every vote.

Votes are appended to a file as they come, so that a run can be killed and goes on where it was. Nothing that
has a vote is asked again. It writes no corpus: `cli/corpus.py` does.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from failscape.errors import BadReply, ConfigError, Refused
from failscape.models.contracts.language import MOST, PlausibilityContract
from failscape.models.roles import Identity, Model, Reply
from failscape.spaces.corpus import Corpus
from failscape.spaces.wording import HEADS, Wording

BARE = HEADS.index("{scene}")
#: A question is put this often before its reply counts as unusable.
TRIES = 3

#: An entity's name and a value's label.
Pair = tuple[str, str]


@runtime_checkable
class Chat(Model, Protocol):
    """The role `llm`."""

    async def chat(self, messages: Sequence[Any], schema: dict[str, Any] | None = None) -> Reply[str]: ...


@dataclass(frozen=True, slots=True)
class MatchQuestion:
    """Values of one sub-category, for one entity, for the `vote`-th time."""

    entity: int
    values: tuple[int, ...]
    vote: int


@dataclass(slots=True)
class MatchVotes:
    """Scores by pair and vote, and what they were gathered with."""

    scores: dict[Pair, dict[int, int]] = field(default_factory=dict)

    def add(self, entity: str, vote: int, scores: dict[str, int]) -> None:
        for label, score in scores.items():
            self.scores.setdefault((entity, label), {})[vote] = score

    def mean(self, pair: Pair, votes: int) -> float | None:
        """Between 0 and 1, over the first `votes` votes; `None` when there is none."""
        given = [score for vote, score in self.scores.get(pair, {}).items() if vote < votes]
        return sum(given) / (MOST * len(given)) if given else None


def read_votes(path: Path, identity: Identity) -> MatchVotes:
    """The votes of earlier runs. A last line that broke off is passed over; another model's are refused."""
    votes = MatchVotes()
    if not path.exists():
        return votes
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        try:
            row = json.loads(line)
            if "model" in row:
                if row != json.loads(json.dumps(_head(identity))):
                    had = row["model"].get("model", "another model")
                    raise ConfigError(
                        f"{path}: holds votes of {had!r} with other params or another question",
                        "use the same model, or another --out folder, or remove the file",
                    )
            else:
                votes.add(row["entity"], row["vote"], row["scores"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}, line {number}: is no vote ({error!r})", "remove the line") from error
    return votes


def _head(identity: Identity) -> dict[str, Any]:
    return {"model": identity.data, "contract": PlausibilityContract.label}


def open_questions(
    corpus: Corpus, entities: Sequence[int], votes: MatchVotes, wanted: int, most_values: int
) -> Iterator[MatchQuestion]:
    """What still has to be asked, the first vote of everything before the second."""
    groups = [group for kind, group in corpus.sub_categories.items() if kind.startswith("Base: ")]
    for vote in range(wanted):
        for entity in entities:
            name = corpus.entities[entity].name
            for group in groups:
                missing = [
                    value
                    for value in group
                    if vote not in votes.scores.get((name, corpus.values[value].label), {})
                ]
                for start in range(0, len(missing), most_values):
                    yield MatchQuestion(entity, tuple(missing[start : start + most_values]), vote)


class CorpusMatcher:
    """Puts questions, many at a time, and keeps what comes back."""

    def __init__(self, corpus: Corpus, model: Chat, path: Path, votes: MatchVotes) -> None:
        self.unusable: list[tuple[MatchQuestion, str]] = []
        self.answered = 0
        self._corpus = corpus
        self._model = model
        self._path = path
        self._votes = votes
        self._wording = Wording(corpus)
        self._contract = PlausibilityContract()

    async def ask_all(
        self, questions: Sequence[MatchQuestion], at_once: int, told: Callable[[], None] = lambda: None
    ) -> None:
        waiting = iter(questions)
        fresh = not self._path.exists()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # A run that was killed in the middle of a line leaves half of it: cut it off.
        if self._path.exists():
            whole = self._path.read_bytes()
            if whole and not whole.endswith(b"\n"):
                self._path.write_bytes(whole[: whole.rfind(b"\n") + 1])
        with self._path.open("a", encoding="utf-8") as file:
            if fresh:
                _append(file, _head(self._model.identity))

            async def work() -> None:
                for question in waiting:
                    await self._ask(question, file)
                    told()

            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(at_once, len(questions))):
                        group.create_task(work())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None

    async def _ask(self, question: MatchQuestion, file: IO[str]) -> None:
        phrases = [self._phrase(question.entity, value) for value in question.values]
        ask = self._contract.ask(phrases, question.vote)
        reason = ""
        for _ in range(TRIES):
            try:
                reply = await self._model.chat([{"role": "user", "content": ask.text}], ask.schema)
            except (BadReply, Refused) as error:
                reply = Reply(None, error.message)
            if reply.value is None:
                reason = reply.invalid
                continue
            read = self._contract.read(reply.value, phrases, question.vote)
            if read.value is not None:
                self._keep(question, read.value, file)
                return
            reason = read.invalid
        self.unusable.append((question, reason))

    def _keep(self, question: MatchQuestion, scores: list[int], file: IO[str]) -> None:
        name = self._corpus.entities[question.entity].name
        labels = [self._corpus.values[value].label for value in question.values]
        row = dict(zip(labels, scores, strict=True))
        _append(file, {"entity": name, "vote": question.vote, "scores": row})
        self._votes.add(name, question.vote, row)
        self.answered += 1

    def _phrase(self, entity: int, value: int) -> str:
        """As in the prompt, without its start: `a cat made of glass`."""
        return self._wording.compose(entity, [(value, 0)], head=BARE)


def matched(
    corpus: Corpus, entities: Sequence[int], votes: MatchVotes, wanted: int, threshold: float
) -> tuple[NDArray[np.bool_], int]:
    """The new whitelist, and how many pairs without a vote are left out. Other entities stay as they are."""
    allowed, left_out = corpus.allowed.copy(), 0
    base = [index for index, value in enumerate(corpus.values) if value.family == "Base"]
    for entity in entities:
        for value in base:
            mean = votes.mean((corpus.entities[entity].name, corpus.values[value].label), wanted)
            left_out += mean is None
            allowed[entity, value] = mean is not None and mean >= threshold
    return allowed, left_out


def _append(file: IO[str], row: dict[str, Any]) -> None:
    """One line at once, handed to the system before anything else happens: a kill loses nothing of it."""
    file.write(json.dumps(row, ensure_ascii=False) + "\n")
    file.flush()
