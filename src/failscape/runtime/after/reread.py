"""Reads stored replies of judges and verifiers again, by today's rules. No model is called.

What comes of it is a hunt of its own in the same atlas: the same trials but for what their replies now say.
A model that was asked in the words of an older contract gets an identity of its own: `run` does not go on
with it. A hunt that plans in rounds would have asked for other things after a verdict that is another now:
trials that it would not have asked for are counted, but left to the first hunt.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from failscape.atlas import Atlas, Call, HuntRow, Recorded, open_hunt
from failscape.atlas.records import StoredCall, StoredTrial
from failscape.atlas.rows import understood
from failscape.errors import AtlasError
from failscape.hunts.protocol import Hunt
from failscape.runtime.after.readers import ReplyReader, readers_of
from failscape.runtime.walk import facts_of
from failscape.runtime.warm_start import fresh_hunt
from failscape.trials import Facts, Probe, Trial, Verdict, reach_verdict

GROUP = 256
Readers = dict[str, ReplyReader]
Changes = Counter[tuple[Verdict, Verdict]]


@dataclass(frozen=True, slots=True)
class Reread:
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


def reread(atlas: Atlas, hunt_id: int | None = None) -> Reread:
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
    return Reread(row.id, second, contract, dict(changes), changes.total() - recorded)


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
            f"hunt {row.id} ({row.kind}) has no judge or verifier that replies in words: there is nothing to"
            " read again",
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
        calls = tuple(_as_call(call) for call in stored.calls)
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


def _as_call(call: StoredCall) -> Call:
    return Call(
        call.key, call.role, call.identity, call.facts, call.invalid, call.raw, call.usage, cached=True
    )


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
        return _unfinished(trial, facts)
    return _changed(trial, *reach_verdict(stored.steps, facts), facts)


def _unfinished(trial: Trial, facts: list[Facts]) -> Trial:
    """A later step was never asked: for a fault of another role, as before, or for what was then read."""
    if trial.verdict is Verdict.INVALID and facts and facts[-1] is None:
        return trial
    return _changed(trial, Verdict.INVALID, "its later steps were never asked", facts)


def _changed(trial: Trial, verdict: Verdict, reason: str, facts: list[Facts]) -> Trial:
    return Trial(trial.key, trial.subject, verdict, reason, facts, trial.seed)
