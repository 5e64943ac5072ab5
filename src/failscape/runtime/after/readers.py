"""Today's rules for replies that the atlas keeps: how each kind of judge and verifier is read again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from failscape.atlas import HuntRow
from failscape.atlas.records import images_of
from failscape.atlas.rows import understood
from failscape.errors import AtlasError, ConfigError
from failscape.models.contracts.asking import Read
from failscape.models.contracts.judge import JudgeContract, judge_contract
from failscape.models.contracts.vision import VerifyContract, verification_of
from failscape.models.providers import exact
from failscape.models.providers.verifier_vote import decide, said_by_each
from failscape.models.roles import Identity, Verification
from failscape.trials import Answer, Decide, Facts, Step, Verify

ASKED_AS = "asked_as"
"""Marks a model that was asked in the words of an older contract: `run` does not go on with it."""


class ReplyReader(Protocol):
    """Reads the replies of one role. `identity` is what the model is now, `outdated` whether it was another.

    `read` gets the step, the model's own words, and all steps and facts before; `None`: no reply ever came.
    """

    identity: Identity
    outdated: bool

    def read(
        self, step: Any, raw: str, steps: tuple[Step, ...], facts: Sequence[Facts]
    ) -> Read[Any] | None: ...


class JudgeReader:
    """Reads a judge's words as the contract of its name reads them now."""

    def __init__(self, before: Identity, contract: JudgeContract) -> None:
        self._contract = contract
        self.identity, self.outdated = _asked_before(before, contract.label)

    def read(
        self, step: Decide, raw: str, steps: tuple[Step, ...], facts: Sequence[Facts]
    ) -> Read[Any] | None:
        return self._contract.read(raw, step.checks, images_of(steps, facts)[-1]) if raw else None


class VerifierReader:
    """Reads what a verifier of any kind said."""

    def __init__(self, verifier: _ReadsVerifier) -> None:
        self._verifier = verifier
        self.identity, self.outdated = verifier.identity, verifier.outdated

    def read(
        self, step: Verify, raw: str, steps: tuple[Step, ...], facts: Sequence[Facts]
    ) -> Read[Any] | None:
        answers = [fact for earlier, fact in zip(steps, facts, strict=False) if isinstance(earlier, Answer)]
        return self._verifier.verify(raw, str(answers[-1]), step.truth)


class _ReadsVerifier(Protocol):
    identity: Identity
    outdated: bool

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None: ...


class _Compared:
    """`exact` has no words: it compares again. Nobody was asked, so `run` can go on with what comes of it."""

    def __init__(self, before: Identity) -> None:
        self.identity = exact.ExactVerifier().identity
        self.outdated = before.digest != self.identity.digest

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        return Read(exact.compare(answer, truth))


class _InWords:
    """A verifier that was asked first whether the question is valid, then whether the answer is right."""

    def __init__(self, before: Identity) -> None:
        self.identity, self.outdated = _asked_before(before, VerifyContract.label)

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        if not raw:
            return None
        return _right(raw) if truth else _valid_and_right(raw)


class _Panel:
    def __init__(self, before: Identity, members: Sequence[_ReadsVerifier]) -> None:
        self._members = [one for one in members for _ in range(int(before.settings["repeats"]))]
        told = {**before.settings, "members": [one.identity.data for one in members]}
        self.identity = replace(before, settings=told)
        self.outdated = any(one.outdated for one in members)

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        if not raw:
            return None
        replies = said_by_each(raw)
        if len(replies) != len(self._members):
            raise AtlasError(
                "the replies of this panel were kept as one text, and cannot be told apart",
                "verify anew: failscape run CONFIG --atlas ATLAS --fork",
            )
        read = [one.verify(said, answer, truth) for one, said in zip(self._members, replies, strict=True)]
        return Read(decide([one.value if one else None for one in read]))


def _right(raw: str) -> Read[Verification]:
    read = VerifyContract().read(raw, "right")
    return Read(None, read.invalid) if read.value is None else Read(verification_of(read.value))


def _valid_and_right(raw: str) -> Read[Verification]:
    """Both replies are one text. However it is cut so that both can be read, they must say the same."""
    lines = raw.split("\n")
    cuts = (("\n".join(lines[:at]), "\n".join(lines[at:])) for at in range(1, len(lines) + 1))
    read = [_cut(*cut) for cut in cuts]
    found = {(one.value.valid, one.value.right): one for one in read if one.value is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        return Read(None, "its two replies cannot be told apart")
    return next((one for one in read if one.invalid), Read(None, "the reply is not in form"))


def _cut(first: str, second: str) -> Read[Verification]:
    valid = VerifyContract().read(first, "valid")
    if valid.value is None:
        return Read(None, valid.invalid)
    if second:
        return _right(second) if valid.value[0] else Read(None, "a reply too many")
    if valid.value[0]:
        return Read(None, "it was not said whether the answer is right")
    return Read(Verification(False, None, f"not a valid question: {valid.value[1]}"))


def _asked_before(before: Identity, label: str) -> tuple[Identity, bool]:
    asked = str(before.settings.get("contract", ""))
    if asked == label:
        return before, False
    return replace(before, settings={**before.settings, "contract": label, ASKED_AS: asked}), True


def readers_of(row: HuntRow) -> dict[str, ReplyReader]:
    """Role → how its replies are read now, for the roles of a hunt whose words or answers are kept."""
    with understood(f"identities of hunt {row.id}"):
        return {role: reader for role, reader in _readers(row) if reader is not None}


def _readers(row: HuntRow) -> Iterator[tuple[str, ReplyReader | None]]:
    if Decide.role in row.identities:
        yield Decide.role, _judge_reader(row.identities[Decide.role])
    if Verify.role in row.identities:
        verifier = _verifier_reader(row.identities[Verify.role])
        yield Verify.role, VerifierReader(verifier) if verifier is not None else None


def _judge_reader(before: Identity) -> JudgeReader | None:
    try:
        return JudgeReader(before, judge_contract(str(before.settings.get("contract", "")).partition("/")[0]))
    except ConfigError:
        return None


def _verifier_reader(before: Identity) -> _ReadsVerifier | None:
    if before.provider == "exact":
        return _Compared(before)
    if before.provider == "panel":
        members = [_verifier_reader(Identity(**one)) for one in before.settings["members"]]
        known = [one for one in members if one is not None]
        return _Panel(before, known) if len(known) == len(members) else None
    spoken = str(before.settings.get("contract", "")).startswith("verify/")
    return _InWords(before) if spoken else None
