"""Small real role objects and a small real hunt, for tests of the runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from failscape.models.roles import AnswerToVerify, Conversation, Identity, Ranking, Reply, Verification
from failscape.pictures import Picture
from failscape.trials import Check, Decide, Finding, Generate, Probe, Progress, Trial, derive_seed

CHECK = Check("entity", "cat", "It is a cat.")


def picture_of(prompt: str, seed: int) -> Picture:
    rng = np.random.default_rng([seed, len(prompt), *prompt.encode()])
    return Picture.from_array(rng.integers(0, 255, (4, 4, 3), dtype=np.uint8))


@dataclass
class FakeModel:
    role: str
    batch: int = 1
    parallel: int = 1
    calls: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.identity = Identity(self.role, "fake", self.role)
        self.started = self.closed = False

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.closed = True


class FakeGenerator(FakeModel):
    def __init__(self, batch: int = 1, wait: float = 0.0, errors: Sequence[Exception] = ()) -> None:
        super().__init__("generator", batch)
        self.wait = wait
        self.at_once = self.most_at_once = 0
        self.errors = list(errors)

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        self.calls.append(len(prompts))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.wait)
        self.at_once -= 1
        if self.errors:
            raise self.errors.pop(0)
        return [Reply(picture_of(prompt, seed)) for prompt, seed in zip(prompts, seeds, strict=True)]


class FakeJudge(FakeModel):
    """Says yes to even first pixels."""

    def __init__(self, batch: int = 1, errors: Sequence[Exception] = (), invalid: str = "") -> None:
        super().__init__("judge", batch)
        self.errors = list(errors)
        self.invalid = invalid

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        self.calls.append(len(images))
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        if self.invalid:
            return [Reply(None, self.invalid, "no idea") for _ in images]
        pairs = zip(images, checks, strict=True)
        return [Reply([bool(image.array[0, 0, 0] % 2 == 0)] * len(wanted)) for image, wanted in pairs]


class FakeClassifier(FakeModel):
    def __init__(self) -> None:
        super().__init__("classifier")

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        return [Reply([("dog", 0.7), ("cat", 0.3)]) for _ in images]


class FakeAnswerer(FakeModel):
    def __init__(self) -> None:
        super().__init__("answerer")
        self.asked: list[Conversation] = []

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        self.asked.extend(conversations)
        return [Reply(f"answer to {conversation.question}") for conversation in conversations]


class FakeVerifier(FakeModel):
    def __init__(self) -> None:
        super().__init__("verifier")
        self.claims: list[AnswerToVerify] = []

    async def verify(self, claims: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        self.claims.extend(claims)
        return [Reply(Verification(True, False, f"it is {claim.truth}")) for claim in claims]


class FakeEmbedder(FakeModel):
    def __init__(self, batch: int = 16) -> None:
        super().__init__("embedder", batch)

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        self.calls.append(len(items))
        return [Reply([float(len(item if isinstance(item, str) else item.data))]) for item in items]


class CountingHunt:
    """Asks for `total` drawings of one prompt and remembers what it was told."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.told: list[Trial] = []
        self._asked: set[int] = set()
        self._known: set[int] = set()

    def ask(self, count: int) -> list[Probe]:
        wanted = [i for i in range(self.total) if i not in self._asked | self._known][:count]
        self._asked.update(wanted)
        steps = (Generate("a cat"), Decide((CHECK,)))
        return [Probe(f"cat#{index}", "cat", steps, derive_seed(0, index)) for index in wanted]

    def tell(self, trial: Trial) -> None:
        self.told.append(trial)
        self._known.add(int(trial.key.partition("#")[2]))

    @property
    def done(self) -> bool:
        return len(self._known) == self.total

    def findings(self) -> list[Finding]:
        return []

    def progress(self) -> Progress:
        return Progress("counting", len(self._known), self.total, 0)
