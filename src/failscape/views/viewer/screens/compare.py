"""The hunt on show beside others of its kind: what is fixed, better, worse, new, with the same cases."""

from collections.abc import Mapping

from failscape.again.cases import AskedCase, ModelSide, cases_beside, side_of, with_cases_in
from failscape.again.comparing import ManyCompared, NotComparable, compare_sides
from failscape.again.decide import PROVEN, STATUSES, ComparedSubject
from failscape.errors import AtlasError
from failscape.views.read.numbers import percent
from failscape.views.viewer.library import Data, Library, OpenHunt

#: Rows of a status that are sent.
ROWS = 200

CASES = 24


def compare(library: Library, hunt: OpenHunt, query: Mapping[str, str]) -> Data | None:
    """`with` names other hunts as `atlas/number`, in order; `subject` asks for its cases.

    `None` until all of them are read.
    """
    chosen = [_chosen(library, text) for text in query.get("with", "").split(",") if text]
    # Hunts of the same kind that could be compared with.
    found = []
    for slug, atlas in library.atlases.items():
        for row in atlas.hunts():
            if row.kind == hunt.row.kind and (slug, row.id) != (hunt.slug, hunt.row.id):
                trials = sum(atlas.counts(row.id).values())
                target = library.hunt(slug, row.id).reader.target
                found.append({"id": f"{slug}/{row.id}", "target": target, "trials": trials})
    data: Data = {"others": found, "compared": None}
    if not chosen:
        return data
    sides = [hunt.derived("side", side_of), *(one.derived("side", side_of) for one in chosen)]
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    try:
        # Made once for each choice, as long as the hunt on show is as it was read.
        name = "compared with " + ",".join(f"{one.slug}/{one.row.id}:{one.as_of}" for one in chosen)
        made = hunt.derived(name, lambda _: compare_sides([_whole(library, side) for side in known]))
        assert made is not None
        compared = made
    except NotComparable as error:
        return {**data, "refused": {"error": error.message, "fix": error.fix}}
    data["compared"] = _data(compared)
    subject = query.get("subject", "")
    if subject:
        data["cases"] = _cases(library, compared, subject)
    return data


def _whole(library: Library, side: ModelSide) -> ModelSide:
    """With what other atlases on show know of the same model, such as that of an earlier comparison."""
    for atlas in library.atlases.values():
        if atlas.folder != side.folder:
            side = with_cases_in(side, atlas)
    return side


def _chosen(library: Library, text: str) -> OpenHunt:
    slug, _, number = text.rpartition("/")
    if not number.isdecimal():
        raise AtlasError(f"{text!r} names no hunt", "choose one from the list")
    return library.hunt(slug, int(number))


def _data(compared: ManyCompared) -> Data:
    last, data = compared.last, compared.as_data()
    rows = [row for name in STATUSES for row in last.of_status(name)[:ROWS]]
    trend = data.get("trend") or {}
    return {
        "models": data["models"],
        "subjects": len(last.rows),
        "pairs": last.pairs,
        "totals": {name: len(last.of_status(name)) for name in STATUSES},
        "says": STATUSES,
        "rows": [_row(row) for row in rows],
        "overall": data["overall"],
        "power": last.power.sentence,
        "notes": data["notes"],
        "trend": {name: trend[name] for name in ("models", "steps", "counted")} if trend else None,
    }


def _row(row: ComparedSubject) -> Data:
    low, high = row.interval
    return {
        "subject": row.subject,
        "title": row.title,
        "status": row.status,
        "proven": row.status in PROVEN,
        "rates": ["–" if rate is None else percent(rate) for rate in (row.first_rate, row.second_rate)],
        "difference": f"{100 * low:+.0f} to {100 * high:+.0f}",
        "pairs": row.all.pairs,
    }


def _cases(library: Library, compared: ManyCompared, subject: str) -> list[list[Data | None]]:
    """One list per case, one entry per model."""
    return [
        [None if case is None else _case(library, case) for case in row]
        for row in cases_beside(compared.sides, subject, CASES)
    ]


def _case(library: Library, case: AskedCase) -> Data:
    image = case.images[-1] if case.images else ""
    homes = [slug for slug, atlas in library.atlases.items() if image and atlas.images.name(image)]
    verdict = "fail" if case.failed else "pass"
    return {
        "atlas": homes[0] if homes else "",
        "image": image if homes else "",
        "verdict": verdict,
        "seed": case.seed,
    }
