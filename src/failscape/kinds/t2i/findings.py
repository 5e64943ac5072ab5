"""Turns a failing node and its counts into a finding: rate, interval, e-value, parents, explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.search.checked import CorrectedRate
from failscape.search.counts import Tally
from failscape.spaces.corpus import Value
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.pair_words import is_about_pairs, say_kind, say_subject_of_two
from failscape.spaces.wording import Wording, capitalised
from failscape.stats.contrasts import Blame, Interaction, blame, interaction
from failscape.stats.evalues import e_value
from failscape.stats.intervals import exact_interval
from failscape.trials import Finding, Status, Subject

CountsOf = Callable[[Node], TriedCounts | None]
TallyOf = Callable[[str], Tally | None]
#: The kind of the check that the thing itself is there.
ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class ClaimDetails:
    """What the certified hunt adds: is the failure minimal, and what is it tested against.

    `images` are all valid ones of the node, also those that are no evidence; `tested_against` is the judged
    success rate of a node exactly at the threshold; `parents_pass_at` the success rate from which ancestors
    pass. `since` is the number of trials after which it was first claimed; `missing`, for what is not
    claimed, what would decide it. `rule` is the claimed rule that it is a case of, if there is one.
    """

    minimal: bool
    doubt_minimal: float
    posterior: float
    images: int
    tested_against: float
    parents_pass_at: float
    since: int | None = None
    missing: str = ""
    rule: str = ""

    def as_data(self) -> dict[str, Any]:
        return {name: part for name, part in asdict(self).items() if part not in (None, "")}


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """What is special about one failing node. `missed`: kind of check → failed images in which it dropped."""

    entity: str
    #: (kind, name) of each attribute value.
    values: tuple[tuple[str, str], ...]
    upper_class: str
    sub_class: str
    missed: Mapping[str, int] = field(default_factory=dict)
    interaction: Interaction | None = None
    blamed: Blame | None = None
    claim: ClaimDetails | None = None
    corrected: CorrectedRate | None = None

    @property
    def layer(self) -> int:
        return len(self.values)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the node's checks."""
        return [ENTITY, *(kind for kind, _ in self.values)]

    def as_data(self) -> dict[str, Any]:
        """As `findings --json` shows it. What is not known has no entry."""
        optional = {"interaction": self.interaction, "blamed": self.blamed}
        return {
            "entity": self.entity,
            "values": [list(value) for value in self.values],
            "class": self.upper_class,
            "sub_class": self.sub_class,
            "layer": self.layer,
            "blame": dict(self.missed),
            **{name: asdict(part) for name, part in optional.items() if part is not None},
            **(self.claim.as_data() if self.claim else {}),
            **({"corrected": asdict(self.corrected)} if self.corrected else {}),
        }


class NodeEvidence(NamedTuple):
    """The images that a finding rests on, and what follows from them."""

    passes: int
    fails: int
    interval: tuple[float, float]
    e_value: float

    @property
    def images(self) -> int:
        return self.passes + self.fails


def all_images(tally: Tally, threshold: float) -> NodeEvidence:
    """For strategies that decide a node by all of its images, a number fixed beforehand."""
    return NodeEvidence(
        tally.passes,
        tally.fails,
        exact_interval(tally.fails, tally.valid),
        _e_value(tally.passes, tally.fails, threshold),
    )


def describe_failure(
    tally: Tally,
    evidence: NodeEvidence,
    lattice: Lattice,
    wording: Wording,
    status: Status,
    tally_of: TallyOf,
    counted: tuple[str, ...] = (),
) -> Finding:
    """Rate, interval and e-value rest on `evidence`, the explanation on all images of the `tally`.

    `tally_of` looks up the parents' counts by subject.
    """
    node = tally.node
    return Finding(
        subject=lattice.subject(node),
        title=_title(lattice, node),
        caption=wording.caption(node),
        status=status,
        rate=evidence.fails / evidence.images if evidence.images else 0.0,
        interval=evidence.interval,
        e_value=evidence.e_value,
        trials=evidence.images,
        failures=evidence.fails,
        invalid=tally.invalid,
        parents=tuple(_parent(lattice.subject(parent), tally_of) for parent in lattice.parents(node)),
        details=_details(tally, lattice, tally_of),
        counted=counted,
    )


@lru_cache(maxsize=65536)
def _e_value(passes: int, fails: int, threshold: float) -> float:
    return float(e_value(passes, fails, threshold))


def _title(lattice: Lattice, node: Node) -> str:
    entity = lattice.corpus.entities[node.entity].name
    two_things = say_subject_of_two(Subject.parse(lattice.subject(node)))
    if two_things:
        return two_things
    values = ", ".join(lattice.corpus.values[value].name for value in node.values)
    return f"{entity}: {values}" if values else entity


def _parent(subject: str, tally_of: TallyOf) -> dict[str, Any]:
    tally = tally_of(subject)
    if tally is None or not tally.valid:
        return {"subject": subject, "rate": None, "trials": 0, "failures": 0}
    return {
        "subject": subject,
        "rate": tally.fails / tally.valid,
        "trials": tally.valid,
        "failures": tally.fails,
    }


def _details(tally: Tally, lattice: Lattice, tally_of: TallyOf) -> NodeDetails:
    def counts_of(node: Node) -> TriedCounts | None:
        other = tally if node == tally.node else tally_of(lattice.subject(node))
        return TriedCounts(other.passes, other.fails) if other is not None else None

    corpus, node = lattice.corpus, tally.node
    entity = corpus.entities[node.entity]
    kinds = [ENTITY, *(corpus.values[value].kind for value in node.values)]
    excess, blamed = explain(lattice, node, counts_of, tally.dropped or ())
    return NodeDetails(
        entity=entity.name,
        values=tuple((corpus.values[value].kind, corpus.values[value].name) for value in node.values),
        upper_class=entity.upper_class,
        sub_class=entity.sub_class,
        missed=dict(zip(kinds, tally.dropped or [0] * len(kinds), strict=False)),
        interaction=excess,
        blamed=blamed,
    )


def explain(
    lattice: Lattice, node: Node, counts_of: CountsOf, dropped: Sequence[int] = ()
) -> tuple[Interaction | None, Blame | None]:
    """Does it fail more than its parts explain, and which check is to blame? `None` where counts are missing.

    `dropped` counts the failed images in which each check did not hold, in the order of the node's checks.
    """
    own = counts_of(node)
    if own is None:
        return None, None
    parents = [counts_of(parent) or TriedCounts(0, 0) for parent in lattice.parents(node)]
    excess = interaction(own, parents, counts_of(Node(node.entity)) or TriedCounts(0, 0))
    return excess, blame(dict(zip(_check_names(lattice, node), dropped, strict=False)), own.fails)


def _check_names(lattice: Lattice, node: Node) -> list[str]:
    values = [lattice.corpus.values[value] for value in node.values]
    entity = lattice.corpus.entities[node.entity].name
    return [f"The {entity}", *(_check_name(value) for value in values)]


def _check_name(value: Value) -> str:
    name = capitalised(say_kind(value.kind)) if is_about_pairs(value.kind) else value.sub_category
    return f"{name} “{value.name}”"
