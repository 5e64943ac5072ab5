"""The rows of a classifier's dataset: pictures with the right label and the one that was given."""

from collections.abc import Iterator, Sequence

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.plugins import Row
from failscape.trials import Classify, Finding, Generate, Verdict


def classifier_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
    """Failed images of every finding, each once; with `passes` also those that the classifier got right."""
    seen: set[str] = set()
    for finding in findings:
        for stored in _trials(atlas, row.id, finding):
            wanted = stored.trial.verdict is Verdict.FAIL or (passes and stored.trial.verdict is Verdict.PASS)
            if wanted and stored.images and stored.images[-1] not in seen:
                seen.add(stored.images[-1])
                yield _classified(finding, stored)


def _trials(atlas: Atlas, hunt: int, finding: Finding) -> Iterator[StoredTrial]:
    """Those about a finding. Trials of photos are about their class: the finding says which photos."""
    details = finding.details_data
    photos = {*details.get("photos", ()), *details.get("decided", ())}
    if photos:
        for stored in atlas.trials(hunt, subject=str(details["class"])):
            if photos.intersection(stored.images):
                yield stored
    yield from atlas.trials(hunt, subject=finding.subject)


def _classified(finding: Finding, stored: StoredTrial) -> Row:
    trial, details = stored.trial, finding.details_data
    step = next(step for step in stored.steps if isinstance(step, Classify))
    ranking = trial.facts[-1]
    prompt = next((step.prompt for step in stored.steps if isinstance(step, Generate)), "")
    return {
        "images": [stored.images[-1]],
        "folder": str(details.get("class", "")),
        "label": str(details.get("class", step.accept[0])),
        "predicted": str(ranking[0][0]),
        "score": float(ranking[0][1]),
        "failed": trial.verdict is Verdict.FAIL,
        "prompt": prompt,
        "seed": trial.seed,
        "subject": finding.subject,
        "finding": finding.title,
        "fresh": trial.key.rpartition("#")[2].startswith("f"),
    }
