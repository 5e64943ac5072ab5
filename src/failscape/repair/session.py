"""One repair from start to page: which model file, where everything goes, and what is told at the end."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from failscape.atlas.decisions import plans_of
from failscape.atlas.files import write_whole
from failscape.comparison import CompareRules
from failscape.comparison.cases import AskedCase
from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.evidence import HuntEvidence
from failscape.evidence.findings import short_title
from failscape.evidence.found import config_of
from failscape.jsonable import finite
from failscape.repair.classifier import RepairWish, parts_of, repair_classifier
from failscape.repair.page import DATA, write_page
from failscape.repair.proof import RepairProof, ask_all, probes_for, weigh, with_seed
from failscape.runtime.progress import Reporter
from failscape.runtime.walk import TESTING_STEPS

Cases = Mapping[str, Sequence[AskedCase]]


def refuse_others(hunt: HuntEvidence) -> None:
    """Raise when a hunt is not one of a classifier, with findings."""
    if hunt.row.kind != "classifier":
        raise ConfigError(
            f"hunt {hunt.row.id} is a {hunt.row.kind} hunt: failscape repairs classifiers by itself",
            "train yours on `failscape dataset`, then give both twins: --after FILE --placebo FILE",
        )
    if not hunt.findings:
        raise ConfigError(
            f"hunt {hunt.row.id} has no findings to repair",
            "let it run on: failscape run CONFIG --atlas ATLAS",
        )


async def repair(
    hunt: HuntEvidence, model: ModelConfig, out: Path, wish: RepairWish, reporter: Reporter
) -> tuple[RepairProof, Path]:
    """Repair the classifier of a hunt, whose file is `model`, in the folder `out`: the proof and its page."""
    refuse_others(hunt)
    done = await repair_classifier(hunt, model, out, wish, reporter)
    made = (
        f"The last layer of {hunt.target} was fitted anew on {done.failures:,} failures of {done.findings}"
        f" findings and {done.clean:,} plain pictures of all classes."
    )
    return done.proof, keep(done.proof, done.cases, out, made)


async def prove(
    hunt: HuntEvidence, twins: Mapping[str, ModelConfig], out: Path, wish: RepairWish, reporter: Reporter
) -> tuple[RepairProof, Path]:
    """Try a model that somebody else trained, and its placebo, on fresh cases of the hunt. Of any kind.

    Which findings the training was shown follows from the seed of the hunt, as in `parts`.
    """
    parts = parts_of(hunt, wish.rest).sampled(wish.findings)
    config = with_seed(config_of(hunt.row))
    number = {
        **dict.fromkeys((*parts.shown, *parts.hidden), wish.images),
        **dict.fromkeys(parts.rest, wish.rest_images),
    }
    plans = {one: plans_of(hunt.atlas, hunt.row.id, one, TESTING_STEPS) for one in number}
    probes = probes_for(hunt.kind.tries(config, plans), number)
    cases = await ask_all(config, twins, probes, out / "proof", reporter)
    titles = {one.subject: short_title(one) for one in hunt.findings}
    proof = weigh(cases, parts, titles, CompareRules(hunt.limit or wish.limit, wish.level))
    return proof, keep(proof, cases, out, f"{hunt.target} was trained on its failures by other means.")


def keep(proof: RepairProof, cases: Cases, out: Path, made: str) -> Path:
    """Write `repair.json` and the page; gives the page."""
    data: dict[str, Any] = {"made": made, **proof.as_data()}
    write_whole(out / DATA, json.dumps(finite(data), ensure_ascii=False, indent=1).encode())
    return write_page(proof, cases, out / "proof", out, made)
