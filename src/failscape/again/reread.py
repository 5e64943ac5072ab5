"""Reads stored replies of judges and verifiers again, by today's rules. No model is called.

What comes of it is a hunt of its own in the same atlas: the same trials but for what their replies now say.
A model that was asked in the words of an older contract gets an identity of its own: `run` does not go on
with it. A hunt that plans in rounds would have asked for other things after a verdict that is another now:
trials that it would not have asked for are counted, but left to the first hunt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from failscape.atlas import Atlas, HuntRow, Recorded, open_hunt
from failscape.atlas.records import StoredTrial, images_of, understood
from failscape.errors import AtlasError, ConfigError
from failscape.models.contracts.asking import Read, contract_name, replies_in_text
from failscape.models.contracts.judge import JudgeContract, judge_contract
from failscape.models.contracts.vision import VerifyContract, verification_of
from failscape.models.providers import exact
from failscape.models.providers.exact import decide
from failscape.models.roles import Identity, Verification
from failscape.runtime.walk import facts_of
from failscape.runtime.warm_start import fresh_hunt
from failscape.search.protocol import Hunt
from failscape.trials import Answer, Decide, Facts, Probe, Step, Trial, Verdict, Verify, reach_verdict

#: Marks a model that was asked in the words of an older contract: `run` does not go on with it.
ASKED_AS = "asked_as"


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


class VerifierReader(ABC):
    """Reads what a verifier said; each kind of verifier has its own way."""

    identity: Identity
    outdated: bool

    @abstractmethod
    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None: ...

    def read(
        self, step: Verify, raw: str, steps: tuple[Step, ...], facts: Sequence[Facts]
    ) -> Read[Any] | None:
        answers = [fact for earlier, fact in zip(steps, facts, strict=False) if isinstance(earlier, Answer)]
        return self.verify(raw, str(answers[-1]), step.truth)


class _Compared(VerifierReader):
    """`exact` has no words: it compares again. Nobody was asked, so `run` can go on with what comes of it."""

    def __init__(self, before: Identity) -> None:
        self.identity = exact.ExactVerifier().identity
        self.outdated = before.digest != self.identity.digest

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        return Read(exact.compare(answer, truth))


class _InWords(VerifierReader):
    """A verifier that was asked first whether the question is valid, then whether the answer is right."""

    def __init__(self, before: Identity) -> None:
        self.identity, self.outdated = _asked_before(before, VerifyContract.label)

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        if not raw:
            return None
        return _right(raw) if truth else _valid_and_right(raw)


class _Panel(VerifierReader):
    def __init__(self, before: Identity, members: Sequence[VerifierReader]) -> None:
        self._members = [one for one in members for _ in range(int(before.settings["repeats"]))]
        told = {**before.settings, "members": [one.identity.data for one in members]}
        self.identity = replace(before, settings=told)
        self.outdated = any(one.outdated for one in members)

    def verify(self, raw: str, answer: str, truth: str) -> Read[Verification] | None:
        if not raw:
            return None
        replies = replies_in_text(raw)
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
    """A question that was found invalid has one reply, others have two.

    Earlier atlases keep both as one text. However it is cut so that both can be read, they must say the
    same.
    """
    if len(replies := replies_in_text(raw)) == 2:
        return _cut(*replies)
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
        yield Verify.role, _verifier_reader(row.identities[Verify.role])


def _judge_reader(before: Identity) -> JudgeReader | None:
    if before.settings.get("thresholds"):  # not its words decided, but how sure it was of them
        return None
    try:
        return JudgeReader(before, judge_contract(contract_name(before.settings.get("contract", ""))))
    except ConfigError:
        return None


def _verifier_reader(before: Identity) -> VerifierReader | None:
    if before.provider == "exact":
        return _Compared(before)
    if before.provider == "panel":
        members = [_verifier_reader(Identity(**one)) for one in before.settings["members"]]
        known = [one for one in members if one is not None]
        return _Panel(before, known) if len(known) == len(members) else None
    spoken = contract_name(before.settings.get("contract", "")) == contract_name(VerifyContract.label)
    return _InWords(before) if spoken else None


GROUP = 256
Readers = dict[str, ReplyReader]
Changes = Counter[tuple[Verdict, Verdict]]


@dataclass(frozen=True, slots=True)
class RereadHunt:
    """Numbers of the hunt that was read again and of the new one, and (verdict before, now) → trials.

    `contract` names the rules of today. `left_out` trials would not have been asked by the new verdicts.
    """

    first: int
    second: int
    contract: str
    changes: dict[tuple[Verdict, Verdict], int]
    left_out: int = 0

    @property
    def trials(self) -> int:
        return sum(self.changes.values())

    @property
    def changed(self) -> int:
        return sum(count for (before, now), count in self.changes.items() if before is not now)


def reread(atlas: Atlas, hunt_id: int | None = None) -> RereadHunt:
    """Read a hunt's replies again, going on where an earlier session stopped."""
    row = _choose(atlas, hunt_id)
    readers = _outdated(row)
    identities = {**row.identities, **{role: reader.identity for role, reader in readers.items()}}
    stored = next(hunt for hunt in atlas.stored_hunts() if hunt.id == row.id)
    second = open_hunt(atlas, stored.config, identities, row.shard, fork=True, parent=row.id)
    changes: Changes = Counter()
    hunt, again = fresh_hunt(atlas, atlas.hunt(second)), _read_all(atlas, row.id, readers, changes)
    kept = _asked_anew(hunt, again) if hunt.plans_by_verdicts else again
    known, recorded = {trial.key for trial in atlas.replay(second)}, 0
    while group := list(islice(kept, GROUP)):
        recorded += len(group)
        fresh = [one for one in group if one.trial.key not in known]
        if fresh:
            atlas.record(second, fresh)
    contract = ", ".join(_name(reader) for reader in readers.values())
    return RereadHunt(row.id, second, contract, dict(changes), changes.total() - recorded)


def _choose(atlas: Atlas, hunt_id: int | None) -> HuntRow:
    """The hunt asked for, else that of the latest trial; when that came of reading another, the other."""
    row = atlas.hunt(hunt_id)
    if hunt_id is None and row.parent:
        parent = atlas.hunt(row.parent)
        now = {role: reader.identity for role, reader in readers_of(parent).items() if reader.outdated}
        if now and all(row.identities.get(role) == identity for role, identity in now.items()):
            return parent
    return row


def _outdated(row: HuntRow) -> Readers:
    readers = readers_of(row)
    if not readers:
        raise AtlasError(
            f"hunt {row.id} ({row.kind}) has no judge or verifier that replies in words, and without"
            " `thresholds`: there is nothing to read again",
            "give another --hunt, or show its pictures to another judge with --judge",
        )
    outdated = {role: reader for role, reader in readers.items() if reader.outdated}
    if not outdated:
        rules = ", ".join(_name(reader) for reader in readers.values())
        raise AtlasError(f"hunt {row.id} was read by today's rules ({rules})", "there is nothing to be done")
    return outdated


def _name(reader: ReplyReader) -> str:
    return str(reader.identity.settings.get("contract", reader.identity.model))


def _read_all(atlas: Atlas, hunt_id: int, readers: Readers, changes: Changes) -> Iterator[Recorded]:
    for stored in atlas.trials(hunt_id):
        with understood(f"trials {stored.trial.key!r}"):
            trial = _read_again(stored, readers)
        changes[stored.trial.verdict, trial.verdict] += 1
        probe = Probe(trial.key, trial.subject, stored.steps, trial.seed)
        calls = tuple(replace(call, cached=True) for call in stored.calls)
        yield Recorded(probe, trial, calls, stored.started, stored.seconds)


def _asked_anew(hunt: Hunt, recorded: Iterator[Recorded]) -> Iterator[Recorded]:
    """The trials that a hunt asks for by the new verdicts, in an order in which it can be told them."""
    by_key = {one.trial.key: one for one in recorded}
    while probes := hunt.ask(GROUP):
        for probe in probes:
            one = by_key.get(probe.key)
            if one is not None and one.probe == probe:
                hunt.tell(one.trial)
                yield one


def _read_again(stored: StoredTrial, readers: Readers) -> Trial:
    """The trial with what its replies say now. A walk ends with the first step that is invalid."""
    trial, facts = stored.trial, list[Facts]()
    words: defaultdict[str, deque[str]] = defaultdict(deque)
    for call in stored.calls:
        words[call.role].append(call.raw)
    for step, fact in zip(stored.steps, trial.facts, strict=False):
        reader = readers.get(step.role)
        if reader is None:
            facts.append(fact)
            continue
        raw = words[step.role].popleft() if words[step.role] else ""
        read = reader.read(step, raw, stored.steps, facts)
        if read is None:  # no reply ever came, or it is gone: nothing new can be known
            return trial
        facts.append(None if read.value is None else facts_of(step, read.value))
        if read.value is None:
            return _changed(trial, Verdict.INVALID, f"{step.role}: {read.invalid}", facts)
        verdict, reason = reach_verdict(stored.steps, facts)
        if verdict is Verdict.INVALID:
            return _changed(trial, verdict, reason, facts)
    if len(facts) < len(stored.steps):
        # A later step was never asked: for a fault of another role, as before, or for what was then read.
        if trial.verdict is Verdict.INVALID and facts and facts[-1] is None:
            return trial
        return _changed(trial, Verdict.INVALID, "its later steps were never asked", facts)
    return _changed(trial, *reach_verdict(stored.steps, facts), facts)


def _changed(trial: Trial, verdict: Verdict, reason: str, facts: list[Facts]) -> Trial:
    return Trial(trial.key, trial.subject, verdict, reason, facts, trial.seed)
