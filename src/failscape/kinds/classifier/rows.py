"""Findings of a classifier hunt as rows of a dataset: pictures with the right label and the one given."""

from collections.abc import Iterator, Sequence

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.kinds.classifier.purposes import FRESH
from failscape.plugins import DatasetRows, Row
from failscape.trials import Classify, Finding, Generate, Verdict


class ClassifierRows(DatasetRows):
    """Failed images of every finding, each once; with `passes` also those that the classifier got right."""

    task = "image-classification"

    def rows(self, atlas: Atlas, hunt: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
        return classifier_rows(atlas, hunt, findings, passes)


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
    across = [str(row["name"]) for row in details.get("classes", ())]
    for name in (across or [str(details["class"])]) if photos else ():
        for stored in atlas.trials(hunt, subject=name):
            if photos.intersection(stored.images):
                yield stored
    yield from atlas.trials(hunt, subject=finding.subject)


def _classified(finding: Finding, stored: StoredTrial) -> Row:
    trial, details = stored.trial, finding.details_data
    step = next(step for step in stored.steps if isinstance(step, Classify))
    ranking = trial.facts[-1]
    # A photo keeps its own class where the finding is about several.
    name = trial.subject if details.get("classes") else str(details.get("class", ""))
    prompt = next((step.prompt for step in stored.steps if isinstance(step, Generate)), "")
    return {
        "images": [stored.images[-1]],
        "folder": name,
        "label": name or step.accept[0],
        "predicted": str(ranking[0][0]),
        "score": float(ranking[0][1]),
        "failed": trial.verdict is Verdict.FAIL,
        "prompt": prompt,
        "seed": trial.seed,
        "subject": finding.subject,
        "finding": finding.title,
        "fresh": FRESH.is_of(trial.key),
    }


ROWS = ClassifierRows()
