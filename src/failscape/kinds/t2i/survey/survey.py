"""What a t2i hunt says about the whole space, beyond single findings. Plain data; `as_data` gives JSON.

Findings say what was caught. The survey says how much there is, by what rules, and what may have been missed.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from failscape.search.surveys import SpaceRate, Survey
from failscape.shown_numbers import lower_bound, percent, spread

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `of`, with a 95 % interval of the share.

    `hits` need not be whole: how many of 20 nodes fail is an estimate when each has a few images only.
    """

    hits: float
    of: int
    interval: Interval

    @property
    def rate(self) -> float:
        return self.hits / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A group tested as one: `failures` of `images`, each of a random member, failed. `interval` is that of
    the mean failure rate; the share `at_least` of the members fails at the least. Claimed after `since`."""

    failures: int
    images: int
    interval: Interval
    at_least: float
    e_value: float
    since: int

    @property
    def rate(self) -> float:
        return self.failures / self.images


@dataclass(frozen=True, slots=True)
class Rule:
    """`who` (an entity, sub-class or class, or "" for all; `scope` says which) fails with all of `values`.

    It speaks of nodes with exactly `layer` values: those of `values`, and any others up to that number.
    `covers` nodes of the space are meant; `certified` of them were found to fail (`examples` names some);
    `exceptions` were found to pass. `held_out` is its precision: the
    share of nodes that fail, of those it speaks of, which the search did not choose. `test` is there where
    the rule was tested as one and is claimed; others sum up what was found.
    """

    scope: str
    who: str
    values: tuple[str, ...]
    covers: int
    certified: int
    examples: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    held_out: Share | None = None
    layer: int = 1
    text: str = ""
    test: GroupTest | None = None

    @property
    def proof(self) -> str:
        """What is known of a rule that was tested as one, in words; empty for others.

        All shares are of the nodes that were tested, exceptions included. Nodes can be drawn repeatedly, so
        there may be more draws than nodes.
        """
        if self.test is None:
            return ""
        at_least = f", at least {lower_bound(self.test.at_least)} of them for sure"
        least = at_least if self.test.at_least >= 0.5 else ""
        measured = ""
        if self.held_out is not None:
            share = f"{percent(self.held_out.rate)} ({spread(self.held_out.interval)})"
            measured = (
                f"; {share} of {self.held_out.of} draws at random failed, each node any number of times"
            )
        nodes = self.covers + len(self.exceptions)
        return f"most of its {nodes:,} nodes fail{least}{measured}"

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Mass:
    """The mean failure rate over a group of nodes, without the search's bias.

    `group` is what is grouped by: all, layer, class, sub-class, entity, family, kind, or `cell` (a class
    and a kind, joined by " × " in `name`). `nodes` of the space belong to it; `images` speak for it.
    """

    group: str
    name: str
    nodes: int
    rate: float
    interval: Interval
    images: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What pruning skipped: of about `skipped` nodes below failures or never opened, `sampled` were tried.

    `missed` estimates the share of all minimal failures in the space that the search had closed off, which
    is below about `closed` nodes; `minimal` how many there are in all, found or not.
    """

    skipped: int
    sampled: int
    missed: float
    interval: Interval
    closed: int = 0
    minimal: float = 0.0
    minimal_interval: Interval = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ListAuditPart:
    """The `surest` part of the list: of its `findings`, `audited` were tested, and `confirmed` to fail.

    With 95 % confidence at least the share `failing_at_least` of the part fails, and at least
    `minimal_at_least` of it is minimal: of `audited_inside` findings, whose simpler nodes were tested to pass
    as well, `minimal` were confirmed in every way. These are None where nothing is inside anything.
    """

    surest: float
    findings: int
    audited: int
    confirmed: int
    failing_at_least: float
    audited_inside: int | None = None
    minimal: int | None = None
    minimal_at_least: float | None = None


@dataclass(frozen=True, slots=True)
class ListAudit:
    """A random sample of the list as it was after `since` trials, tested with `images` fresh images.

    `parts` are the surest so many of it, the whole last. `refuted` are audited findings that the fresh images
    show to pass, `not_minimal` those with a simpler node inside that they show to fail. `added` and
    `withdrawn` tell how the list has changed since.
    """

    findings: int
    since: int
    images: int
    parts: tuple[ListAuditPart, ...]
    refuted: tuple[str, ...] = ()
    not_minimal: tuple[str, ...] = ()
    added: int = 0
    withdrawn: int = 0

    @property
    def sentence(self) -> str:
        """What is shown of the whole list."""
        whole = self.parts[-1]
        if self.findings == 1:
            return self._of_one(whole)
        these = f"these {self.findings:,} findings"
        if self.added or self.withdrawn:
            these = f"the {self.findings:,} findings as of {self.since:,} images"
        said = f"With 95% confidence at least {_floor(whole.failing_at_least)} of {these} fail"
        if whole.minimal_at_least is None or whole.audited_inside is None:
            return f"{said} ({whole.audited:,} audited)."
        if not whole.minimal_at_least:
            return f"{said} ({whole.audited:,} audited); how many are minimal takes a larger audit."
        if whole.audited_inside == whole.audited:
            minimal = _floor(whole.minimal_at_least)
            return f"{said}, and at least {minimal} are minimal ({whole.audited:,} audited)."
        return (
            f"{said} ({whole.audited:,} audited), and at least {_floor(whole.minimal_at_least)} are minimal "
            f"({whole.audited_inside:,} audited with all that is simpler inside)."
        )

    def _of_one(self, whole: ListAuditPart) -> str:
        """One finding cannot be bounded by a share: its fresh images are told instead."""
        said = "was confirmed" if whole.confirmed else "was not confirmed"
        return f"The one finding {said} by {self.images:,} fresh images."


def _floor(share: float) -> str:
    """A lower bound, rounded down to whole per cent."""
    return f"{math.floor(100 * share + 1e-9)}%"


@dataclass(frozen=True, slots=True)
class PassingSpace:
    """What holds of a space in which little fails, all of it together with 95 % confidence, as judged.

    At most the share `requests_at_most` of images of random nodes fails, so at most `nodes_at_most` of the
    nodes fail; no entity by itself fails more often than `entity_at_most`. `images` are those of the panel.
    """

    nodes: int
    images: int
    requests_at_most: float
    nodes_at_most: float
    entities: int
    entity_at_most: float

    @property
    def sentence(self) -> str:
        said = (
            f"With 95% confidence at most {_ceiling(self.requests_at_most)} of all requests of this space "
            f"fail, and at most {_ceiling(self.nodes_at_most)} of its {self.nodes:,} nodes"
        )
        if self.entity_at_most > 0.5:  # an entity with few images: nothing worth saying
            return f"{said}."
        alone = f"none of its {self.entities:,} entities by itself fails more than"
        return f"{said}; {alone} {_ceiling(self.entity_at_most)} of the time."


def _ceiling(share: float) -> str:
    """An upper bound, rounded up to whole per cent."""
    return f"{min(100, math.ceil(100 * share - 1e-9))}%"


@dataclass(frozen=True, slots=True)
class Replicated:
    """One finding tried again with fresh seeds: `failures` of `images`.

    `verdict` is `confirmed` or `refuted` where these images alone leave no doubt (95 %), else `unclear`.
    """

    subject: str
    found_rate: float
    failures: int
    images: int
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Replication:
    """Findings tried again, as it was done before there was a list audit. `confirmed` is the share whose
    fresh rate is failing.

    `found_rate` is their mean failure rate when found, `fresh_rate` with fresh seeds: what was picked for
    failing looks somewhat worse than it is. `parents` is the share that passes of the simpler nodes inside
    them, drawn again too: whether the findings are minimal rests on these.
    """

    rows: tuple[Replicated, ...]
    confirmed: Share
    found_rate: float
    fresh_rate: float
    fresh_interval: Interval = (0.0, 1.0)
    parents: Share | None = None


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Predicted pass rates of about the same height, and what was seen on nodes that nobody chose."""

    predicted: float
    observed: float
    interval: Interval
    images: int


@dataclass(frozen=True, slots=True)
class WordingEffect:
    """Pass rates of the same nodes in other words. `p_value` tests that words make no difference.

    `worst` names nodes that fail in one wording only.
    """

    nodes: int
    variants: tuple[Share, ...]
    p_value: float
    worst: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WithdrawnClaim:
    """Claimed after `since` trials, and withdrawn after `at`: new images spoke against it."""

    subject: str
    since: int
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class T2ISurvey(Survey):
    """Parts that a strategy cannot give, or not yet, are empty or `None`."""

    rules: tuple[Rule, ...] = ()
    masses: tuple[Mass, ...] = ()
    audit: Audit | None = None
    replication: Replication | None = None
    list_audit: ListAudit | None = None
    passing: PassingSpace | None = None
    calibration: tuple[CalibrationBin, ...] = ()
    wording: WordingEffect | None = None
    #: Of the panel nodes that any rule speaks of, the share that fails.
    rule_precision: Share | None = None
    withdrawn: tuple[WithdrawnClaim, ...] = ()
    notes: tuple[str, ...] = ()
    #: Nodes by state: opened, certified, not minimal yet, passed, open, pruned …
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def tested_rules(self) -> list[Rule]:
        """Those that were tested as one group, and are claimed."""
        return [rule for rule in self.rules if rule.test is not None]

    @property
    def space_rates(self) -> list[SpaceRate]:
        """The masses that images speak for."""
        return [
            SpaceRate(mass.group, mass.name, mass.nodes, mass.rate, mass.interval)
            for mass in self.masses
            if mass.images
        ]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)
