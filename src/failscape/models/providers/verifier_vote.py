"""Provider `panel`: several verifiers, each asked once or more; the majority decides.

`params` holds `members` (the settings of each model) and `repeats`. A tie, or a panel of which fewer than
half commit themselves, decides nothing. How many agree is kept with every verification.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import cast

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.providers.exact import plain_words
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Identity, Model, Reply, Usage, Verification, Verifier

Vote = tuple[bool, bool | None]


def decide(said: Sequence[Verification | None]) -> Verification:
    """The majority's word, with the share of the whole panel that gave it. `None`: no usable reply."""
    votes: Counter[Vote] = Counter()
    reasons: dict[Vote, str] = {}
    for one in said:
        if one is not None and one.valid is not None and (one.right is not None or not one.valid):
            vote = (one.valid, one.right if one.valid else None)
            votes[vote] += 1
            reasons.setdefault(vote, one.reason)
    ranked = votes.most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    if not ranked or tied or votes.total() * 2 < len(said):
        agreed = ranked[0][1] / len(said) if ranked else 0.0
        return Verification(None, None, f"the panel did not agree: {_told(votes, len(said))}", agreed)
    vote, number = ranked[0]
    like_minded = [one for one in said if one is not None and (one.valid, one.right) == vote]
    answer, share = common_answer([one.answer for one in like_minded], len(said))
    return Verification(*vote, reasons[vote], number / len(said), answer, share)


def common_answer(answers: Sequence[str], members: int) -> tuple[str, float]:
    """The right answer that most name, in the words of the first, and the share of the panel that does.

    Empty at a tie: two answers that are named equally often are no consensus.
    """
    named = [(answer, " ".join(plain_words(answer))) for answer in answers if answer]
    ranked = Counter(plain for _, plain in named).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return "", 1.0
    common, number = ranked[0]
    return next(answer for answer, plain in named if plain == common), number / members


def _told(votes: Counter[Vote], members: int) -> str:
    names = {(True, True): "right", (True, False): "wrong", (False, None): "no valid question"}
    parts = [f"{number} say {names[vote]}" for vote, number in sorted(votes.items(), key=str)]
    silent = members - votes.total()
    return ", ".join([*parts, f"{silent} do not commit"] if silent else parts)


def said_by_each(raw: str) -> list[str]:
    """What each member said, from the panel's own record; empty when that is of another form."""
    try:
        said = json.loads(raw)
    except ValueError:
        return []
    return said if isinstance(said, list) and all(isinstance(one, str) for one in said) else []


class VerifierPanel:
    batch = 1
    parallel = 1

    def __init__(self, members: Sequence[Verifier], repeats: int) -> None:
        self._members = members
        self._repeats = repeats
        settings = {"members": [member.identity.data for member in members], "repeats": repeats}
        self.identity = Identity("verifier", "panel", f"{len(members)} verifiers", settings)

    async def start(self) -> None:
        for member in self._members:
            await member.start()

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        return [await self._verify(given) for given in answers]

    async def _verify(self, given: AnswerToVerify) -> Reply[Verification]:
        asked = [member for member in self._members for _ in range(self._repeats)]
        replies = [row[0] for row in await asyncio.gather(*(member.verify([given]) for member in asked))]
        spent = reduce(Usage.__add__, (reply.usage for reply in replies), Usage(requests=0))
        raw = json.dumps([reply.raw for reply in replies], ensure_ascii=False)
        return Reply(decide([reply.value for reply in replies]), raw=raw, usage=spent)


def create(role: str, config: ModelConfig) -> Model:
    members = config.params.get("members") or ()
    if not members:
        raise ConfigError("a panel needs members", "list models under `verifier:`")
    made = [cast(Verifier, create_model(role, ModelConfig.model_validate(one))) for one in members]
    return VerifierPanel(made, int(config.params.get("repeats", 1)))
