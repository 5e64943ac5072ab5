"""A review from export to use: blind, weighted, checked, kept."""

from __future__ import annotations

import asyncio
import csv
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.atlas.judging import decisions, hunt_accuracy, items_of, reviewed_accuracy
from failscape.atlas.merge import merge_atlases
from failscape.errors import AtlasError, ConfigError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.views.read import load_hunt
from failscape.views.review.labels import measure
from failscape.views.review.sample import draw_sample
from tests.integration.judges.conftest import ERRORS, failscape, label, settings


@pytest.fixture
def exported(atlas: Path, tmp_path: Path) -> Path:
    done = failscape("review", "export", atlas, "--out", tmp_path / "review", "--count", 600)
    assert done.returncode == 0, done.stderr
    return tmp_path / "review"


def test_the_folder_is_complete_and_does_not_tell_what_the_judge_said(atlas: Path, exported: Path) -> None:
    rows = list(csv.DictReader((exported / "review.csv").open(encoding="utf-8")))
    assert len(rows) == 600
    assert all((exported / row["image"]).is_file() and row["statement"] and not row["label"] for row in rows)
    with Atlas.open(atlas, readonly=True) as opened:
        answers = [item.answer for item in items_of(opened, rows[0]["review"])]
    assert 150 < sum(answers) < 450, "both answers are well represented, whatever their share in the hunt"


def test_every_stratum_is_there_with_what_it_stands_for(atlas: Path) -> None:
    with Atlas.open(atlas, readonly=True) as opened:
        sample = draw_sample(opened, opened.hunt(), 60, 3)
        again = draw_sample(opened, opened.hunt(), 60, 3)
        other = draw_sample(opened, opened.hunt(), 60, 4)
        facts = [fact for trial in opened.replay(1) for fact in (trial.facts[1] or [])]
    assert sample == again
    assert sample.review.uid != other.review.uid
    assert sum(item.stands_for for item in sample.items) == pytest.approx(len(facts))
    assert {item.answer for item in sample.items} == {True, False}
    assert {item.near for item in sample.items} == {True, False}


@pytest.mark.parametrize("count", [2, 5, 9, 31])
def test_no_more_checks_than_asked_for_and_kinds_stay_whole(atlas: Path, count: int) -> None:
    with Atlas.open(atlas, readonly=True) as opened:
        sample = draw_sample(opened, opened.hunt(), count, 3)
        sizes = Counter(kind for one in decisions(opened, 1) for kind in [(one.check.kind, one.answer)])
        with pytest.raises(AtlasError, match="--count 2"):
            draw_sample(opened, opened.hunt(), 1, 3)
    assert count - 1 <= len(sample.items) <= count
    for kind in {item.kind for item in sample.items if "=" not in item.kind}:
        answers = {item.answer for item in sample.items if item.kind == kind}
        assert answers == {answer for known, answer in sizes if known == kind}, "both answers, or neither"


def test_labels_measure_the_judge_and_are_used_from_then_on(
    atlas: Path, exported: Path, tmp_path: Path
) -> None:
    filled = label(atlas, exported / "review.csv", tmp_path / "ada.csv")
    done = failscape("review", "import", atlas, filled, "--out", tmp_path / "accuracy.json")
    assert done.returncode == 0, done.stderr
    assert "review of 600 checks by 1 person" in done.stdout
    written = JudgeAccuracy.from_json((tmp_path / "accuracy.json").read_text())
    assert len(written.kinds) > 3
    for kind in written.kinds.keys() - {"*"}:
        found, (sensitivity, specificity) = written.of(kind), ERRORS.get(kind, ERRORS["*"])
        assert found.sensitivity.at_least(0.0001) <= sensitivity <= found.sensitivity.at_most(0.0001), kind
        assert found.specificity.at_least(0.0001) <= specificity <= found.specificity.at_most(0.0001), kind
    with Atlas.open(atlas, readonly=True) as opened:
        row = opened.hunt()
        assert reviewed_accuracy(opened, row.identities["judge"].digest) == written
        assert hunt_accuracy(opened, row) == written
    assert failscape("findings", atlas).returncode == 0
    asyncio.run(run_session(settings(budget={"images": 910}), atlas, PlainReporter()))  # resumes, not refused
    with Atlas.open(atlas, readonly=True) as opened:
        assert [event.kind for event in opened.events()].count(
            "accuracy"
        ) == 2  # the review, the run's use of it


def test_several_reviewers_agree_or_are_disputed(atlas: Path, exported: Path, tmp_path: Path) -> None:
    ada = label(atlas, exported / "review.csv", tmp_path / "ada.csv")
    rows = list(csv.DictReader(ada.open(encoding="utf-8")))
    flipped = {row["item"]: "no" if row["label"] == "yes" else "yes" for row in rows[:30]}
    bob = label(atlas, exported / "review.csv", tmp_path / "bob.csv", "bob", **flipped)
    done = failscape("review", "import", atlas, ada, bob)
    assert "by 2 people; 30 unsure or disputed" in done.stdout
    assert "agree on 95% of 600 shared labels" in done.stdout
    failscape("review", "import", atlas, label(atlas, exported / "review.csv", bob, "bob"))
    with Atlas.open(atlas, readonly=True) as opened:
        judge = opened.hunt().identities["judge"].digest
        assert measure(opened, judge).unsure == 0, "what a reviewer says anew replaces what was said before"


def test_a_spreadsheets_habits_are_understood(atlas: Path, exported: Path, tmp_path: Path) -> None:
    text = label(atlas, exported / "review.csv", tmp_path / "a.csv").read_text()
    rows = list(csv.reader(text.splitlines()))
    lines = [";".join(row[at] for at in (0, 1, 4)).replace("yes", "YES") for row in rows]
    (tmp_path / "eve.csv").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    done = failscape("review", "import", atlas, tmp_path / "eve.csv")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [[*row[:4], ""] for row in rows], "has no labels"),
        (lambda rows: [*rows, rows[0]], "is already on line 2"),
        (lambda rows: [rows[0], [rows[0][0], "0123456789ab", *rows[1][2:]]], "line 3: item '0123456789ab'"),
        (lambda rows: [["feedfeedfeed", *row[1:]] for row in rows], "does not belong to"),
        (lambda rows: [rows[0], ["feedfeedfeed", *rows[1][1:]]], "after"),
        (lambda rows: [[*row[:4], "perhaps"] for row in rows], "label 'perhaps' is not understood"),
        (lambda rows: [[*row[:4], "unsure"] for row in rows], "all 600 labels are unsure"),
        (lambda rows: [], "has no rows"),
    ],
)
def test_bad_tables_are_refused_with_line_and_fix(atlas: Path, exported: Path, change, message: str) -> None:
    rows = list(csv.reader((exported / "review.csv").open(encoding="utf-8")))
    bad = exported / "bad.csv"
    with bad.open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *change([[*row[:4], "yes"] for row in rows[1:]])])
    done = failscape("review", "import", atlas, bad)
    assert done.returncode == 2
    assert message in done.stderr
    assert "fix:" in done.stderr
    with Atlas.open(atlas, readonly=True) as opened:
        assert reviewed_accuracy(opened, opened.hunt().identities["judge"].digest) is None


def test_a_table_without_its_columns_is_refused(atlas: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("picture,good\n1,yes\n")
    assert "no column review, item, label" in failscape("review", "import", atlas, tmp_path / "t.csv").stderr


def test_an_export_does_not_overwrite_labels(atlas: Path, exported: Path) -> None:
    done = failscape("review", "export", atlas, "--out", exported)
    assert done.returncode == 2
    assert "is not empty" in done.stderr


def test_pictures_that_were_not_kept_are_said(tmp_path: Path) -> None:
    config = settings(runtime={"keep_images": "failures"}, budget={"images": 120})
    asyncio.run(run_session(config, tmp_path / "a", PlainReporter()))
    done = failscape("review", "export", tmp_path / "a", "--out", tmp_path / "review")
    assert "are left out" in done.stderr
    none = settings(runtime={"keep_images": "none"}, budget={"images": 40})
    asyncio.run(run_session(none, tmp_path / "b", PlainReporter()))
    assert "was kept" in failscape("review", "export", tmp_path / "b", "--out", tmp_path / "r").stderr


def test_a_review_survives_merging_twice(atlas: Path, exported: Path, tmp_path: Path) -> None:
    failscape("review", "import", atlas, label(atlas, exported / "review.csv", tmp_path / "ada.csv"))
    merge_atlases([atlas], tmp_path / "all")
    merge_atlases([atlas], tmp_path / "all")
    with Atlas.open(tmp_path / "all", readonly=True) as opened, Atlas.open(atlas, readonly=True) as before:
        judge, merged = before.hunt().identities["judge"].digest, opened.hunt()
        assert measure(opened, judge, merged.id) == measure(before, judge)
        assert hunt_accuracy(opened, merged) == reviewed_accuracy(before, judge)
        assert reviewed_accuracy(opened, judge) is None, "it holds for the hunt that was merged"


def test_accuracy_from_a_file_is_bound_to_its_judge(tmp_path: Path) -> None:
    file = tmp_path / "accuracy.json"
    file.write_text('{"kinds": {"*": {"sensitivity": {"hits": 90, "of": 100}, "specificity": 0.9}}}')
    config = settings(judge_accuracy=str(file), budget={"images": 40})
    asyncio.run(run_session(config, tmp_path / "a", PlainReporter()))
    file.unlink()
    with Atlas.open(tmp_path / "a", readonly=True) as opened:
        kept = hunt_accuracy(opened, opened.hunt())
        assert kept is not None
        assert kept.of("entity").sensitivity.of == 100, "told from the atlas alone"
    file.write_text(JudgeAccuracy(kept.kinds, judge="another").to_json())
    with pytest.raises(ConfigError, match="measured for another judge"):
        asyncio.run(run_session(config, tmp_path / "a", PlainReporter()))
    asyncio.run(
        run_session(config.model_copy(update={"judge_accuracy": "none"}), tmp_path / "a", PlainReporter())
    )
    with Atlas.open(tmp_path / "a", readonly=True) as opened:
        assert hunt_accuracy(opened, opened.hunt()) is None


def make_older(atlas: Path) -> None:
    """An atlas of the first version: no reviews, no packs, a file for each picture."""
    with Atlas.open(atlas, readonly=True) as opened:
        for digest in opened.image_digests():
            opened.images.copy_out(digest, atlas / "images" / digest[:2])
    for pack in (atlas / "images").glob("*.pack"):
        pack.unlink()
    with sqlite3.connect(atlas / "atlas.db") as db:
        for table in (
            "accuracies",
            "reviews",
            "review_items",
            "review_labels",
            "packs",
            "results",
            "confidences",
        ):
            db.execute(f"DROP TABLE {table}")
        for column in ("pack", "start"):
            db.execute(f"ALTER TABLE images DROP COLUMN {column}")
        db.execute("ALTER TABLE calls DROP COLUMN endpoint")
        db.execute("PRAGMA user_version = 1")


def test_an_atlas_from_before_reviews_can_be_read(atlas: Path) -> None:
    make_older(atlas)
    assert failscape("findings", atlas).returncode == 0
    assert failscape("review", "export", atlas, "--out", atlas.parent / "review").returncode == 0


def test_rates_are_told_without_the_judges_errors(tmp_path: Path) -> None:
    """A judge that errs is corrected for: what it calls failing too often is told with its true rate."""
    file = tmp_path / "accuracy.json"
    file.write_text(JudgeAccuracy.from_rates(ERRORS).to_json())
    config = settings(judge_accuracy=str(file))
    asyncio.run(run_session(config, tmp_path / "atlas", PlainReporter()))
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        findings = load_hunt(opened).findings
    assert findings
    for finding in findings:
        corrected = finding.details.corrected
        low, high = corrected.interval
        assert low <= corrected.rate <= high
        # Failures are made up by the judge more often than they are missed, unless nearly all are real.
        assert corrected.rate <= finding.rate or finding.rate > 0.7
    assert "Rates allow for the judge's errors" in failscape("findings", tmp_path / "atlas").stdout


def test_an_export_that_was_killed_can_be_repeated(atlas: Path, tmp_path: Path) -> None:
    left = tmp_path / ".review.part" / "images"  # as a kill leaves it
    left.mkdir(parents=True)
    (left / "half.png").write_bytes(b"half")
    done = failscape("review", "export", atlas, "--out", tmp_path / "review", "--count", 20)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "review" / "review.csv").is_file()
    assert not (tmp_path / "review" / "images" / "half.png").exists()
    assert not (tmp_path / ".review.part").exists()


def test_importing_a_table_twice_adds_no_row(atlas: Path, exported: Path, tmp_path: Path) -> None:
    filled = label(atlas, exported / "review.csv", tmp_path / "ada.csv")
    counts = []
    for _ in range(2):
        done = failscape("review", "import", atlas, filled)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(atlas / "atlas.db") as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            counts.append({name: db.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables})
    assert counts[0] == counts[1]
