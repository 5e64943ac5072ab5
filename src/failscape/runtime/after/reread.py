"""Reads the stored replies of a judge again, by today's rules. No model is called, no picture is needed.

What comes of it is a hunt of its own in the same atlas: the same trials but for what their replies now say.
Its judge has an identity of its own, since it was asked in the words of an older contract: `run` does not go
on with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from failscape.atlas import Atlas, Call, HuntRow, Recorded, open_hunt
from failscape.atlas.records import StoredCall, StoredTrial, images_of
from failscape.errors import AtlasError, ConfigError
from failscape.models.contracts.judge import JudgeContract, judge_contract
from failscape.models.roles import Identity
from failscape.trials import Decide, Facts, Probe, Trial, Verdict, reach_verdict

GROUP = 256
ASKED_AS = "asked_as"


@dataclass(frozen=True, slots=True)
class Reread:
    """Numbers of the hunt that was read again and of the new one, and (verdict before, now) → trials."""

    first: int
    second: int
    contract: str
    changes: dict[tuple[Verdict, Verdict], int]

    @property
    def trials(self) -> int:
        return sum(self.changes.values())

    @property
    def changed(self) -> int:
        return sum(count for (before, now), count in self.changes.items() if before is not now)


def reread(atlas: Atlas, hunt_id: int | None = None) -> Reread:
    """Read a hunt's replies again, going on where an earlier session stopped."""
    row = atlas.hunt(hunt_id)
    if hunt_id is None and row.parent and ASKED_AS in _judge_of(row).settings:
        row = atlas.hunt(row.parent)
    judge, contract = _judge_of(row), _contract_of(row)
    settings = {**judge.settings, "contract": contract.label, ASKED_AS: judge.settings["contract"]}
    identities = {**row.identities, "judge": replace(judge, settings=settings)}
    stored = next(hunt for hunt in atlas.stored_hunts() if hunt.id == row.id)
    second = open_hunt(atlas, stored.config, identities, row.shard, fork=True, parent=row.id)
    done = {trial.key for trial in atlas.replay(second)}
    fresh = (one for one in atlas.trials(row.id) if one.trial.key not in done)
    while group := list(islice(fresh, GROUP)):
        atlas.record(second, [_recorded(one, contract) for one in group])
    return Reread(row.id, second, contract.label, _changes(atlas, row.id, second))


def _judge_of(row: HuntRow) -> Identity:
    judge = row.identities.get("judge")
    if judge is None:
        raise AtlasError(
            f"hunt {row.id} ({row.kind}) has no judge whose replies could be read", "give --hunt"
        )
    return judge


def _contract_of(row: HuntRow) -> JudgeContract:
    label = str(_judge_of(row).settings.get("contract", ""))
    try:
        contract = judge_contract(label.partition("/")[0])
    except ConfigError:
        raise AtlasError(
            f"the judge of hunt {row.id} does not reply in words, so there is nothing to read again",
            "show its pictures to another judge with --judge",
        ) from None
    if contract.label == label:
        raise AtlasError(f"hunt {row.id} was read by today's rules ({label})", "there is nothing to be done")
    return contract


def _recorded(stored: StoredTrial, contract: JudgeContract) -> Recorded:
    trial, calls = stored.trial, tuple(_as_call(call) for call in stored.calls)
    probe = Probe(trial.key, trial.subject, stored.steps, trial.seed)
    return Recorded(probe, _read_again(stored, contract), calls, stored.started, stored.seconds)


def _as_call(call: StoredCall) -> Call:
    return Call(
        call.key, call.role, call.identity, call.facts, call.invalid, call.raw, call.usage, cached=True
    )


def _read_again(stored: StoredTrial, contract: JudgeContract) -> Trial:
    """The trial with what its replies say now. A walk ends with the first step that is invalid."""
    trial = stored.trial
    said = (call for call in stored.calls if call.role == Decide.role)
    facts: list[Facts] = []
    for step, fact in zip(stored.steps, trial.facts, strict=False):
        if not isinstance(step, Decide):
            facts.append(fact)
            continue
        call = next(said, None)
        if call is None or not call.raw:  # no reply ever came, or it is gone: nothing new can be known
            return trial
        read = contract.read(call.raw, step.checks, images_of(stored.steps, facts)[-1])
        facts.append(read.value)
        if read.value is None:
            return _changed(trial, Verdict.INVALID, f"{Decide.role}: {read.invalid}", facts)
        verdict, reason = reach_verdict(stored.steps, facts)
        if verdict is Verdict.INVALID:
            return _changed(trial, verdict, reason, facts)
    if len(facts) < len(stored.steps):
        return _changed(trial, Verdict.INVALID, "its later steps were never asked", facts)
    return _changed(trial, *reach_verdict(stored.steps, facts), facts)


def _changed(trial: Trial, verdict: Verdict, reason: str, facts: list[Facts]) -> Trial:
    return Trial(trial.key, trial.subject, verdict, reason, facts, trial.seed)


def _changes(atlas: Atlas, first: int, second: int) -> dict[tuple[Verdict, Verdict], int]:
    before = {trial.key: trial.verdict for trial in atlas.replay(first)}
    now: Iterator[Trial] = atlas.replay(second)
    return dict(Counter((before[trial.key], trial.verdict) for trial in now))
