"""A judge over HTTP with log-probabilities: kept per check, merged, calibrated by labels, in the report."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas
from failscape.atlas.judging import ReviewLabel, add_labels, add_review
from failscape.atlas.merge import merge_atlases
from failscape.config.files import parse_config
from failscape.kinds.t2i.page_trust import judge_confidence
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.testing.servers import toybox_server
from failscape.trials import Trial
from failscape.views.pages import write_report
from failscape.views.read import load_hunt
from failscape.views.review.sample import draw_sample

BOX = "Does the judge know when it is sure?"


def run(server: str, folder: Path, **judge: Any) -> None:
    model = {"provider": "openai", "model": "toybox", "endpoints": [server]}
    soft = {**model, "params": {"logprobs": True, "top_logprobs": 5}, **judge}
    space = {"corpus": "toybox", "entities": ["turtle", "bicycle"], "depth": 1}
    data = {"hunt": "t2i", "target": model, "judge": soft, "space": space, "budget": {"images": 160}}
    asyncio.run(run_session(parse_config(data, "a test"), folder, PlainReporter()))


def judged(atlas: Atlas) -> list[tuple[Trial, tuple[float, ...]]]:
    found = []
    for stored in atlas.trials(1):
        sure = atlas.confidences([call.key for call in stored.calls])
        found += [(stored.trial, chances) for chances in sure.values()]
    return found


def test_confidence_is_kept_per_check_and_used(tmp_path: Path) -> None:
    with toybox_server() as server:
        run(server.url, tmp_path / "plain")
        run(server.url, tmp_path / "choice", contract="choice")
        run(server.url, tmp_path / "strict", thresholds={"*": 0.999})
    with Atlas.open(tmp_path / "plain") as atlas:
        rows = judged(atlas)
        assert len(rows) == 160
        for trial, chances in rows:
            assert [chance >= 0.5 for chance in chances] == trial.facts[1]
        assert judge_confidence(atlas, atlas.hunt(), []) is None, "nobody has labelled anything yet"
        _label(atlas)
        found = load_hunt(atlas)
        sure = judge_confidence(atlas, atlas.hunt(), found.findings)
        assert sure is not None
        assert len(sure.labelled) > 40
        assert len(sure.findings) == len(found.findings)
        page = write_report(atlas, tmp_path / "report").path
    assert BOX in page.read_text(encoding="utf-8")
    with Atlas.open(tmp_path / "choice", readonly=True) as atlas:
        assert len(judged(atlas)) == 160
    with Atlas.open(tmp_path / "strict", readonly=True) as atlas:
        decided = [
            (held, sure)
            for trial, row in judged(atlas)
            for held, sure in zip(trial.facts[1], row, strict=True)
        ]
        assert all(held == (sure >= 0.999) for held, sure in decided)
        assert any(not held and sure > 0.5 for held, sure in decided)
    merge_atlases([tmp_path / "plain"], tmp_path / "merged")
    with Atlas.open(tmp_path / "merged", readonly=True) as atlas:
        assert len(judged(atlas)) == 160


def _label(atlas: Atlas) -> None:
    """A person who nearly always agrees with the judge."""
    sample, luck = draw_sample(atlas, atlas.hunt(), 120, 1), random.Random(2)
    add_review(atlas, sample.review, 1, sample.items)
    said = [item.answer != (luck.random() < 0.1) for item in sample.items]
    labels = [
        ReviewLabel(item.item, "ada", "yes" if one else "no")
        for item, one in zip(sample.items, said, strict=True)
    ]
    add_labels(atlas, sample.review.uid, labels)
