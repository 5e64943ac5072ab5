"""One repair from start to its page: which model file, where everything goes, what became of requests."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from failscape.again.cases import AskedCase
from failscape.again.decide import UNCHANGED, UNDECIDED, CompareRules
from failscape.atlas import Atlas
from failscape.atlas.files import write_whole
from failscape.atlas.judging import plans_of
from failscape.config import ModelConfig
from failscape.errors import AtlasError, ConfigError
from failscape.jsonable import finite
from failscape.plugins import find_kind, kind_names
from failscape.repair.photos import is_in_photos, prove_on_photos
from failscape.repair.proof import (
    AFTER,
    BEFORE,
    PLACEBO,
    RepairProof,
    RepairWish,
    ask_all,
    parts_of,
    probes_for,
    weigh,
    with_seed,
)
from failscape.runtime.progress import Reporter
from failscape.runtime.walk import TESTING_STEPS
from failscape.views.export.splits import PARTS, REST
from failscape.views.pages.sections import templates, write_page
from failscape.views.read import HuntEvidence
from failscape.views.read.findings import short_title
from failscape.views.read.found import config_of
from failscape.views.thumbnails import PROOF_SIDE

PAGE, DATA = "repair.html", "repair.json"
#: Pictures of a row, those first whose verdict changed.
PICTURES = 4

#: Rows of a part on the page; `repair.json` has all.
ROWS = 60


def write_proof(
    proof: RepairProof, cases: Mapping[str, Sequence[AskedCase]], folder: Path, out: Path, made: str
) -> Path:
    """`made` says in a sentence what was done to the model. `folder` is the atlas of the proof."""
    with Atlas.open(folder, readonly=True) as atlas:
        parts = {part: _rows(proof, part, cases, atlas) for part in PARTS if proof.rows(part)}
    template = templates().get_template("repair.html")
    words = {**PARTS, REST: f"{proof.rest_name} of the hunt: harm would show here"}
    page = template.render(proof=proof, parts=parts, words=words, most=ROWS, made=made)
    return write_page(out / PAGE, page)


def _rows(
    proof: RepairProof, part: str, cases: Mapping[str, Sequence[AskedCase]], atlas: Atlas
) -> list[dict[str, Any]]:
    """What the page shows of each subject: on the repaired model, on the placebo, and pictures of some."""
    twins = {row.subject: row for row in proof.rows(part, placebo=True)}
    table = {name: {(one.subject, one.key): one for one in mine} for name, mine in cases.items()}
    rows = proof.rows(part)
    # Of the rest only what changed is worth a row.
    shown = [row for row in rows if part != REST or row.status not in (UNCHANGED, UNDECIDED)]
    return [
        {
            "row": row,
            "placebo": twins.get(row.subject),
            "pictures": _pictures(row.subject, table, atlas) if at < ROWS else [],
        }
        for at, row in enumerate(shown)
    ]


def _pictures(
    subject: str, table: Mapping[str, Mapping[tuple[str, str], AskedCase]], atlas: Atlas
) -> list[dict[str, Any]]:
    """Cases on the three models. Where the models draw, each has its own picture."""
    names = [name for name in (BEFORE, PLACEBO, AFTER) if name in table]
    shared = [
        place for place in table[BEFORE] if place[0] == subject and all(place in table[one] for one in names)
    ]
    threes = [[table[name][place] for name in names] for place in shared]
    threes.sort(key=lambda three: three[0].failed == three[-1].failed)
    found = []
    for three in threes[:PICTURES]:
        digests = dict.fromkeys(case.images[-1] for case in three)
        sources = [source for digest in digests if (source := _source(atlas, digest))]
        found.append({"sources": sources, "seed": three[0].seed, "failed": [case.failed for case in three]})
    return found


def _source(atlas: Atlas, digest: str) -> str:
    try:
        small = atlas.images.thumbnail(digest, PROOF_SIDE)
    except AtlasError:
        return ""
    return f"data:image/webp;base64,{base64.b64encode(small).decode()}"


Cases = Mapping[str, Sequence[AskedCase]]


class RepairResult(NamedTuple):
    """A proof and its page. `model` is the file of the repaired model, where it was made here."""

    proof: RepairProof
    page: Path
    model: Path | None = None


def refuse_others(hunt: HuntEvidence) -> None:
    """Raise when a hunt has no findings, is in photos, or its kind has no repair of its own."""
    if hunt.kind.repair is None:
        able = ", ".join(name for name in kind_names() if find_kind(name).repair is not None)
        raise ConfigError(
            f"hunt {hunt.row.id} is a {hunt.row.kind} hunt; failscape repairs only targets of: {able}",
            "train yours on `failscape dataset`, then give both twins: --after FILE --placebo FILE",
        )
    if is_in_photos(hunt):
        raise ConfigError(
            f"hunt {hunt.row.id} is in photos, and this repair needs pictures that it can draw",
            "train on `failscape dataset`, then prove it on the other photos: --after FILE --placebo FILE "
            "--trained-on FOLDER",
        )
    if not hunt.findings:
        raise ConfigError(
            f"hunt {hunt.row.id} has no findings to repair",
            "let it run on: failscape run CONFIG --atlas ATLAS",
        )


def _refuse_without_pairs(cases: Cases) -> None:
    """Raise when no case has a valid result on all models: "0 new failures" of 0 would say nothing."""
    places = [{(one.subject, one.key) for one in mine} for mine in cases.values()]
    if not set.intersection(*places):
        counts = ", ".join(f"{name} {len(mine):,}" for name, mine in cases.items())
        raise ConfigError(
            f"no case has a valid result on all models (valid results: {counts}), so nothing can be compared",
            "look at the log for what is wrong with a model, then run it again",
        )


async def repair(
    hunt: HuntEvidence, model: ModelConfig | None, out: Path, wish: RepairWish, reporter: Reporter
) -> RepairResult:
    """Repair the target of a hunt in the folder `out`. `model` is its file, where the hunt names none."""
    refuse_others(hunt)
    assert hunt.kind.repair is not None
    done = await hunt.kind.repair(hunt, model, out, wish, reporter)
    return RepairResult(done.proof, keep(done.proof, done.cases, out, done.made), done.model)


async def prove(
    hunt: HuntEvidence, twins: Mapping[str, ModelConfig], out: Path, wish: RepairWish, reporter: Reporter
) -> RepairResult:
    """Try a model that somebody else trained, and its placebo, on fresh cases of the hunt. Of any kind.

    Which findings the training was shown follows from the seed of the hunt, as in `parts`. A hunt in photos
    has no fresh cases: its own photos are compared, without those in `wish.trained_on`.
    """
    if is_in_photos(hunt):
        on_photos = await prove_on_photos(hunt, twins, out / "proof", wish, reporter)
        _refuse_without_pairs(on_photos.cases)
        page = keep(on_photos.proof, on_photos.cases, out, on_photos.made)
        return RepairResult(on_photos.proof, page)
    if wish.trained_on:
        raise ConfigError(
            f"--trained-on is for hunts in photos, but hunt {hunt.row.id} draws fresh pictures for its proof",
            "leave it out: no model has seen them",
        )
    parts = parts_of(hunt, wish.rest).sampled(wish.findings)
    config = with_seed(config_of(hunt.row))
    number = {
        **dict.fromkeys((*parts.shown, *parts.hidden), wish.images),
        **dict.fromkeys(parts.rest, wish.rest_images),
    }
    plans = {one: plans_of(hunt.atlas, hunt.row.id, one, TESTING_STEPS) for one in number}
    probes = probes_for(hunt.kind.tries(config, plans), number)
    if not probes:
        raise ConfigError(
            f"nothing of hunt {hunt.row.id} can be tried anew, so there is nothing to prove a repair on",
            f"compare on what was recorded: failscape compare {hunt.atlas.folder} --target FILE",
        )
    cases = await ask_all(config, twins, probes, out / "proof", reporter)
    _refuse_without_pairs(cases)
    titles = {one.subject: short_title(one) for one in hunt.findings}
    proof = weigh(cases, parts, titles, CompareRules(hunt.limit or wish.limit, wish.level))
    page = keep(proof, cases, out, f"{hunt.target} was trained on its failures by other means.")
    return RepairResult(proof, page)


def keep(proof: RepairProof, cases: Cases, out: Path, made: str) -> Path:
    """Write `repair.json` and the page; gives the page."""
    data: dict[str, Any] = {"made": made, **proof.as_data()}
    write_whole(out / DATA, json.dumps(finite(data), ensure_ascii=False, indent=1).encode())
    return write_proof(proof, cases, out / "proof", out, made)
