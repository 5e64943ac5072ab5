"""The proof of a repair where a hunt was in photos: all three models on the same photos, pair by pair.

Nobody can draw new photos of a finding, so the pairs are the photos of the hunt. Photos that a model was
trained on are known by their content and left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failscape.again.asking import bring_pictures
from failscape.again.cases import AskedCase, side_of
from failscape.again.decide import CompareRules
from failscape.again.session import without_trained
from failscape.atlas import Atlas
from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.repair.proof import RepairProof, RepairWish, ask_all, parts_of, weigh, with_seed
from failscape.runtime.progress import Reporter
from failscape.views.read import HuntEvidence
from failscape.views.read.findings import short_title
from failscape.views.read.found import config_of

#: What requests are called where they are photos.
OTHER_PHOTOS = "other photos"
OWN_PHOTOS = "photos of the hunt"

NOT_KNOWN = "which photos the models were trained on was not said (--trained-on FOLDER)"
SELECTED = (
    "The findings were chosen by how the first model did on these photos, so its rates are somewhat too "
    "high; those of placebo and repair are not"
)


@dataclass(frozen=True, slots=True)
class PhotoProof:
    """`made` says what the models were compared on."""

    proof: RepairProof
    cases: Mapping[str, Sequence[AskedCase]]
    made: str


def is_in_photos(hunt: HuntEvidence) -> bool:
    return bool(hunt.row.config.get("photos")) and not hunt.row.config.get("generator")


async def prove_on_photos(
    hunt: HuntEvidence,
    twins: Mapping[str, ModelConfig],
    folder: Path,
    wish: RepairWish,
    reporter: Reporter,
) -> PhotoProof:
    """Ask all three models for every photo that none was trained on. `folder` is the atlas of the proof."""
    if not hunt.findings:
        raise ConfigError(
            f"hunt {hunt.row.id} has no finding that a repair could have mended",
            f"compare all photos: failscape compare {hunt.atlas.folder} --target FILE",
        )
    (side,), notes = without_trained([side_of(hunt)], wish.trained_on)
    recorded = list(side.cases.values())
    with Atlas.open(folder, create=True) as atlas:
        gone = bring_pictures(recorded, [hunt.atlas.folder], atlas)
    wanted = [case.probe() for case in recorded if not gone.intersection(case.shown)]
    asked = await ask_all(with_seed(config_of(hunt.row)), twins, wanted, folder, reporter)
    # An earlier proof in this folder may have asked for photos that are left out now.
    keys = {probe.key for probe in wanted}
    photos = {name: [case for case in mine if case.key in keys] for name, mine in asked.items()}
    slices = {one.subject: frozenset(one.details_data.get("decided") or ()) for one in hunt.findings}
    cases = {name: list(_by_finding(mine, slices)) for name, mine in photos.items()}
    parts = parts_of(hunt, 0)
    classes = sorted({case.subject for mine in cases.values() for case in mine} - set(slices))
    titles = {one.subject: short_title(one) for one in hunt.findings}
    rules = CompareRules(hunt.limit or wish.limit, wish.level)
    proof = weigh(cases, parts._replace(rest=tuple(classes)), titles, rules)
    compared = f"{hunt.target}, the placebo and the repaired model were shown the same {len(wanted):,} photos"
    told = "; ".join([compared, *(notes or [NOT_KNOWN])])
    proof = replace(
        proof, rest_name=OTHER_PHOTOS, shown_pictures=OWN_PHOTOS, notes=(f"{told}.", f"{SELECTED}.")
    )
    return PhotoProof(proof, cases, " ".join(proof.notes))


def _by_finding(cases: Sequence[AskedCase], slices: Mapping[str, frozenset[str]]) -> Iterator[AskedCase]:
    """Each photo under every finding that it belongs to; others under their class, where harm would show."""
    for case in cases:
        mine = [subject for subject, photos in slices.items() if photos.intersection(case.images)]
        for subject in mine or [case.subject]:
            yield replace(case, subject=subject)
