"""What a hunt over a list says of the whole list: failure mass by tag, rules over tags and checks. Pure.

Masses come from images that do not follow the search: prompts drawn at random, each tried the same number of
times. Rules are groups of prompts (a tag, a kind of check, or two of these) of which nearly all fail.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.survey import (
    ListAudit,
    Mass,
    Replicated,
    Replication,
    Rule,
    Share,
    T2ISurvey,
)
from failscape.spaces.prompt_list import ListedPrompt
from failscape.stats.deconvolve import share_below
from failscape.stats.intervals import clopper_pearson, mean_interval
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Status

Floats = NDArray[np.float64]

#: A rule is told when so large a share of its prompts is expected to fail.
PRECISION = 0.8
LEAST_COVERED = 3
MOST_RULES = 60
MOST_GROUPS = 20_000
MOST_NAMED = 40


@dataclass(frozen=True, slots=True)
class PromptSurveyInput:
    """`panel` and `fresh` have, by place of a prompt, images drawn at random and of findings tried again."""

    prompts: Sequence[ListedPrompt]
    chances: Floats
    claimed: Sequence[int]
    certified: Collection[int]
    passes: Floats
    fails: Floats
    panel: Mapping[int, TriedCounts]
    fresh: Mapping[int, TriedCounts]
    list_audit: ListAudit | None
    accuracy: JudgeAccuracy | None
    threshold: float
    settled: float


def survey_prompts(data: PromptSurveyInput) -> T2ISurvey:
    passing = int(((data.chances < data.settled) & (data.passes > 0)).sum())
    opened = int((data.passes + data.fails > 0).sum())
    states = {
        "prompts": len(data.prompts),
        "opened": opened,
        Status.CERTIFIED.value: len(data.certified),
        Status.LISTED.value: len(data.claimed) - len(set(data.claimed) & set(data.certified)),
        "passing": passing,
        "not decided": max(0, opened - passing - len(data.claimed)),
    }
    return T2ISurvey(
        rules=tuple(find_rules(data)),
        masses=tuple(masses_of(data)),
        replication=replication_of(data),
        list_audit=data.list_audit,
        counts=states,
    )


def groups_of(prompts: Sequence[ListedPrompt]) -> dict[tuple[str, str], list[int]]:
    """(group, name) → places: all prompts, those with a tag, those with a kind of check."""
    found: dict[tuple[str, str], list[int]] = {("all", "all"): list(range(len(prompts)))}
    for at, prompt in enumerate(prompts):
        for tag in prompt.tags:
            found.setdefault(("tag", str(tag)), []).append(at)
        for kind in dict.fromkeys(prompt.kinds):
            found.setdefault(("check", kind), []).append(at)
    return found


def masses_of(data: PromptSurveyInput) -> Iterator[Mass]:
    """The mean failure rate of each group, with the judge's errors taken out where they are known."""
    rates = {at: _true_failure(data, at, counts) for at, counts in data.panel.items() if counts.images}
    low, high = min([0.0, *rates.values()]), max([1.0, *rates.values()])
    for (group, name), places in groups_of(data.prompts).items():
        known = [at for at in places if at in rates]
        if known:
            images = sum(data.panel[at].images for at in known)
            rate, (bottom, top) = mean_interval([rates[at] for at in known], low, high)
            inside = max(0.0, bottom), min(1.0, top)
            yield Mass(group, name, len(places), float(np.clip(rate, 0.0, 1.0)), inside, images)


def _true_failure(data: PromptSurveyInput, at: int, counts: TriedCounts) -> float:
    """An unbiased guess of how often the prompt fails; outside 0 … 1 when luck and judge conspire."""
    good, bad = _seen(data, at)
    return (good - counts.passes / counts.images) / max(good - bad, 1e-6)


def _seen(data: PromptSurveyInput, at: int) -> tuple[float, float]:
    """How often a good and a bad image of a prompt pass the judge."""
    if data.accuracy is None:
        return 1.0, 0.0
    now = data.accuracy.chances(data.prompts[at].kinds)
    return now.right, (now.wrong(min) + now.wrong(max)) / 2


def find_rules(data: PromptSurveyInput) -> list[Rule]:
    """Greedy cover of what was found: groups nearly all of whose prompts fail, the largest gain first."""
    found, groups = set(data.claimed), _candidates(data.prompts)
    open_groups = {
        names: places
        for names, places in groups.items()
        if len(found.intersection(places)) >= LEAST_COVERED and data.chances[places].mean() >= PRECISION
    }
    rules: list[Rule] = []
    left = set(found)
    while open_groups and len(rules) < MOST_RULES:
        # More of what is not told yet; then fewer words; then by name, so that the order is always the same.
        names = min(
            open_groups, key=lambda one: (-len(left.intersection(open_groups[one])), len(one), str(one))
        )
        places = open_groups.pop(names)
        if len(left.intersection(places)) < LEAST_COVERED:
            break
        left -= set(places)
        rules.append(_rule(data, names, places, found))
    return rules


Name = tuple[str, str]


def _candidates(prompts: Sequence[ListedPrompt]) -> dict[tuple[Name, ...], list[int]]:
    """Groups by one or two of: a tag, a kind of check, a check that several prompts share."""
    members: dict[tuple[Name, ...], list[int]] = {}
    for at, prompt in enumerate(prompts):
        names = [("tag", str(tag)) for tag in prompt.tags]
        names += [("check", kind) for kind in dict.fromkeys(prompt.kinds)]
        names += [("check", f"{check.kind}={check.value}") for check in prompt.checks]
        chosen: list[tuple[Name, ...]] = [(name,) for name in names]
        if len(members) < MOST_GROUPS:
            chosen += [pair for pair in combinations(names, 2) if not _one_says_both(*pair)]
        for group in chosen:
            members.setdefault(group, []).append(at)
    return {names: places for names, places in members.items() if len(places) >= LEAST_COVERED}


def _one_says_both(first: Name, second: Name) -> bool:
    return second[1].startswith(first[1]) or first[1].startswith(second[1])


def _rule(data: PromptSurveyInput, names: tuple[Name, ...], places: list[int], found: set[int]) -> Rule:
    claimed = [at for at in places if at in found]
    passing = [at for at in places if at not in found and data.chances[at] < 1 - PRECISION]
    tags = [name for kind, name in names if kind == "tag"]
    expected = float(data.chances[places].mean())
    return Rule(
        scope="tag" if tags else "check",
        who=tags[0] if tags else "",
        values=(*tags[1:], *(name for kind, name in names if kind == "check")),
        covers=len(places),
        certified=len(claimed),
        examples=tuple(data.prompts[at].id for at in claimed[:MOST_NAMED]),
        exceptions=tuple(data.prompts[at].id for at in passing[:MOST_NAMED]),
        held_out=_measured(data, places),
        layer=len(names) - bool(tags),
        text=f"{len(claimed)} of {len(places)} found failing; {expected:.0%} expected to",
    )


def _measured(data: PromptSurveyInput, places: Sequence[int]) -> Share | None:
    """The share of a rule's prompts that fails, by images drawn at random: they did not make the rule."""
    counts = [(at, data.panel[at]) for at in places if at in data.panel and data.panel[at].images]
    if not counts:
        return None
    passes, fails = ([getattr(one, part) for _, one in counts] for part in ("passes", "fails"))
    share, interval = share_below(passes, fails, data.threshold, [_seen(data, at) for at, _ in counts])
    return Share(share * len(counts), len(counts), interval)


def replication_of(data: PromptSurveyInput) -> Replication | None:
    """Findings tried again: the share that truly fails is fitted to the fresh counts, not counted."""
    counts = {at: one for at, one in data.fresh.items() if one.images}
    if not counts:
        return None
    places = list(counts)
    seen = [_seen(data, at) for at in places]
    passes, fails = ([getattr(counts[at], part) for at in places] for part in ("passes", "fails"))
    share, interval = share_below(passes, fails, data.threshold, seen)
    fresh, fresh_interval = mean_interval([counts[at].fails / counts[at].images for at in places], 0.0, 1.0)
    before = {at: float(data.fails[at] / max(data.fails[at] + data.passes[at], 1.0)) for at in places}
    rows = tuple(
        Replicated(
            data.prompts[at].id,
            before[at],
            counts[at].fails,
            counts[at].images,
            _verdict(counts[at], _seen(data, at), data.threshold),
        )
        for at in places
    )
    confirmed = Share(share * len(places), len(places), interval)
    return Replication(rows, confirmed, float(np.mean(list(before.values()))), fresh, fresh_interval)


def _verdict(counts: TriedCounts, seen: tuple[float, float], threshold: float) -> str:
    good, bad = seen
    low, high = clopper_pearson(counts.passes, counts.images)
    limit = bad + (good - bad) * threshold
    return "confirmed" if float(high) < limit else "refuted" if float(low) > limit else "unclear"
