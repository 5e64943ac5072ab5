"""FailureAtlas files: what goes in comes out, bad lines are named, and findings work on them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from failscape.atlas import Atlas
from failscape.atlas.formats.failureatlas import FIELDS, export_rows
from failscape.atlas.formats.failureatlas_import import import_rows
from failscape.cli import cli
from failscape.errors import AtlasError
from failscape.kinds.t2i.build import build_hunt
from failscape.kinds.t2i.config import T2IConfig
from failscape.spaces.lattice import join_subject, parents_of, split_subject
from failscape.trials import Verdict
from failscape.views.read import load_hunt
from tests.unit.atlas.suite import CONFIG, make_recorded

SEED_EXAMPLE = {
    "idx": 123,
    "entity": "Apple",
    "value": [["Base: Colors", "Red"], ["Background: Time/Period", "Night"]],
    "parent": [12],
    "layer": 2,
    "upper_class": "Food",
    "sub_class": "Fruit",
    "caption": "An image of a red apple. The background time is night.",
    "valid": True,
    "tested": True,
    "acc": 0.5,
    "eval": [[True, True, False], [True, True, True]],
    "eval_raw": [[True, True, False], [True, True, True]],
    "predictor_score": 0.71,
}

KINDS = ["Base: Colors", "Base: Hair colour", "Background: Time/Period", "Image: Style", "Image: Angle"]
NAMES = st.sampled_from(["Red", "Night", "Wood", "up = down", "ü—ß", "x;y", "a#1"])


@st.composite
def node(draw: st.DrawFn) -> dict[str, Any]:
    kinds = draw(st.lists(st.sampled_from(KINDS), unique=True, max_size=3))
    answers = st.lists(
        st.sampled_from([True, False, True, None]), min_size=1 + len(kinds), max_size=1 + len(kinds)
    )
    images = draw(st.none() | st.lists(st.none() | answers, max_size=4))
    number = st.none() | st.floats(0, 1)
    return {
        "entity": draw(
            st.sampled_from(["Apple", "Cat", "Tree; no", "Ünicode"]).filter(lambda e: "; " not in e)
        ),
        "value": [[kind, draw(NAMES)] for kind in kinds],
        "parent": draw(st.none() | st.integers(0, 9) | st.lists(st.integers(0, 99), max_size=3)),
        "layer": draw(st.integers(0, 5)),
        "upper_class": draw(st.sampled_from(["Food", "", "Living things"])),
        "sub_class": draw(st.sampled_from(["Fruit", "", " odd\n"])),
        "caption": draw(st.text(max_size=20)),
        "valid": draw(st.booleans()),
        "tested": draw(st.booleans()),
        "acc": draw(number),
        "eval": images,
        "eval_raw": draw(st.sampled_from([images, None, [["Yes", "no"]]])),
        "predictor_score": draw(number),
    }


def same_node(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["entity"], frozenset(map(tuple, row["value"]))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Atlas]:
    with Atlas.open(tmp_path_factory.mktemp("shared"), create=True) as atlas:
        yield atlas


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(node(), min_size=1, max_size=8, unique_by=same_node))
def test_round_trip(shared: Atlas, rows: list[dict[str, Any]]) -> None:
    rows = [{"idx": number, **row} for number, row in enumerate(rows)]
    file = write(shared.folder / "in.jsonl", rows)
    hunt = import_rows(file, shared)
    assert list(export_rows(shared, shared.hunt(hunt))) == rows
    assert import_rows(file, shared) == hunt  # again: nothing new
    assert list(export_rows(shared, shared.hunt(hunt))) == rows
    config = T2IConfig.model_validate(shared.hunt(hunt).config)
    strategy = build_hunt(config)  # its corpus holds together, and it knows every subject
    for trial in shared.replay(hunt):
        strategy.tell(trial)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def atlas(tmp_path: Path) -> Iterator[Atlas]:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        yield atlas


def row(idx: int, values: list[list[str]], answers: list[Any], **other: Any) -> dict[str, Any]:
    share = sum(all(one) for one in answers if one) / len(answers)
    known = {"idx": idx, "entity": "Apple", "value": values, "parent": [], "tested": True, "eval": answers}
    return {**known, "acc": share, "valid": share > 0.8, **other}


def test_the_example_of_the_format(tmp_path: Path, atlas: Atlas) -> None:
    hunt = import_rows(write(tmp_path / "f.jsonl", [SEED_EXAMPLE]), atlas)
    assert list(export_rows(atlas, atlas.hunt(hunt))) == [SEED_EXAMPLE]
    assert [(t.verdict, t.reason) for t in atlas.replay(hunt)] == [
        (Verdict.FAIL, "not Night"),
        (Verdict.PASS, ""),
    ]
    assert list(SEED_EXAMPLE) == list(FIELDS)


def test_findings_of_an_imported_file(tmp_path: Path, atlas: Atlas) -> None:
    good, bad = [[True, True]] * 10, [[True, False]] * 10
    rows = [
        row(0, [], [[True]] * 9 + [None]),
        row(1, [["Image: Style", "Sketch"]], bad),
        row(2, [["Base: Colors", "Red"]], good[:8] + bad[:2]),
        row(3, [["Background: Place", "Sea"]], good),
    ]
    hunt = import_rows(write(tmp_path / "f.jsonl", [rows[3], *rows[:3]]), atlas)
    stored = atlas.hunt(hunt)
    assert stored.config["search"]["images_per_node"] == 10
    assert (stored.config["search"]["threshold"], stored.config["search"]["at_threshold"]) == (0.8, "fail")
    assert atlas.counts(hunt) == {Verdict.PASS: 27, Verdict.FAIL: 12, Verdict.INVALID: 1, Verdict.NONE: 0}
    strategy = build_hunt(T2IConfig.model_validate(stored.config))
    for trial in atlas.replay(hunt):
        strategy.tell(trial)
    assert strategy._tallies["Apple; Image: Style=Sketch"].outcome == "fail"
    assert strategy._tallies["Apple; Base: Colors=Red"].outcome == "fail"  # at the threshold
    assert strategy._tallies["Apple; Background: Place=Sea"].outcome == "pass"


def findings_of(atlas: Atlas, hunt: int) -> dict[str, tuple[int, int, int]]:
    return {
        found.subject: (found.failures, found.trials, found.invalid)
        for found in load_hunt(atlas, hunt).findings
    }


def test_nodes_are_settled_by_all_their_images_and_the_files_own_verdict(
    tmp_path: Path, atlas: Atlas
) -> None:
    good, bad = [True, True], [True, False]
    rows = [
        row(0, [], [[True]] * 25),
        row(1, [["Base: Colors", "Red"]], [bad] * 24 + [None], valid=False),
        row(2, [["Base: Colors", "Blue"]], [good] * 25 + [bad] * 25, valid=False),
        row(3, [["Base: Colors", "Pink"]], [bad] * 25 + [good] * 25, valid=True),
        row(4, [["Base: Size", "Big"]], [None] * 25, acc=None, valid=False),
        row(5, [["Base: Size", "Small"]], [bad] * 20 + [None], tested=True),
        *(row(6 + n, [["Image: Style", f"s{n}"]], [good] * 25) for n in range(3)),
    ]
    del rows[5]["valid"]
    hunt = import_rows(write(tmp_path / "f.jsonl", rows), atlas)
    expected = {
        "Apple; Base: Colors=Red": (24, 24, 1),
        "Apple; Base: Colors=Blue": (25, 50, 0),
        "Apple; Base: Size=Small": (20, 20, 1),
    }
    assert findings_of(atlas, hunt) == expected


def test_a_threshold_of_ones_own_goes_before_the_files_verdict(tmp_path: Path, atlas: Atlas) -> None:
    answers = [[True, True]] * 30 + [[True, False]] * 20
    rows = [row(0, [], [[True]] * 25), row(1, [["Base: Colors", "Red"]], answers, valid=True)]
    file = write(tmp_path / "f.jsonl", rows)
    assert findings_of(atlas, import_rows(file, atlas)) == {}
    strict = import_rows(file, atlas, threshold=0.7)
    assert findings_of(atlas, strict) == {"Apple; Base: Colors=Red": (20, 50, 0)}


def test_a_parent_without_images_passed_when_the_file_says_so(tmp_path: Path, atlas: Atlas) -> None:
    rows = [
        {"idx": 0, "entity": "Apple", "value": [], "valid": True, "tested": True, "acc": 0.9},
        row(1, [["Base: Colors", "Red"]], [[True, False]] * 4),
    ]
    hunt = import_rows(write(tmp_path / "f.jsonl", rows), atlas)
    assert findings_of(atlas, hunt) == {"Apple; Base: Colors=Red": (4, 4, 0)}


def test_what_the_file_does_not_have_does_not_take_a_verdict_away(tmp_path: Path, atlas: Atlas) -> None:
    """One parent is there, the other and the entity are not; the file comes back as it was."""
    fails, passes = [[True, False, False]] * 4, [[True, True]] * 4
    pair = [["Base: Colors", "Red"], ["Image: Style", "Sketch"]]
    rows = [row(0, [pair[1]], passes), row(1, pair, fails), row(2, [["Base: Size", "Big"]], passes)]
    file = write(tmp_path / "f.jsonl", rows)
    hunt = import_rows(file, atlas)
    assert findings_of(atlas, hunt) == {"Apple; Base: Colors=Red; Image: Style=Sketch": (4, 4, 0)}
    assert import_rows(file, atlas) == hunt
    assert [one["idx"] for one in export_rows(atlas, atlas.hunt(hunt))] == [0, 1, 2]
    done = CliRunner().invoke(cli, ["import", str(file), "--atlas", str(tmp_path / "other")])
    assert "1 findings" in done.output
    assert "2 simpler nodes that failing ones rest on are not in the file" in done.output


def test_answers_follow_the_corpus_order_inside(tmp_path: Path, atlas: Atlas) -> None:
    one = row(0, [["Image: Style", "Sketch"], ["Base: Colors", "Red"]], [[True, False, True]])
    hunt = import_rows(write(tmp_path / "f.jsonl", [one]), atlas)
    [trial] = atlas.replay(hunt)
    assert trial.subject == "Apple; Base: Colors=Red; Image: Style=Sketch"
    assert trial.facts == ["", [True, True, False]]
    assert next(export_rows(atlas, atlas.hunt(hunt)))["eval"] == [[True, False, True]]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ([(0.5, False), (0.9, True)], (0.8, "fail")),
        ([(0.8, False), (0.9, True)], (0.8, "fail")),
        ([(0.5, False), (0.8, True)], (0.8, "pass")),
        ([(0.25, False), (0.5, True)], (0.25, "fail")),
        ([(0.9, False), (0.1, True)], (0.8, "fail")),
        ([(1.0, True)], (0.8, "fail")),
    ],
)
def test_the_threshold_is_read_off(
    tmp_path: Path, atlas: Atlas, rule: list[tuple[float, bool]], expected: tuple[float, str]
) -> None:
    rows = [
        row(n, [["Base: Size", f"s{n}"]], [[True, True]], acc=acc, valid=valid)
        for n, (acc, valid) in enumerate(rule)
    ]
    search = atlas.hunt(import_rows(write(tmp_path / "f.jsonl", rows), atlas)).config["search"]
    assert (search["threshold"], search["at_threshold"]) == expected


def test_a_hunt_of_our_own_is_exported(atlas: Atlas) -> None:
    hunt = atlas.start_hunt("t2i", {**CONFIG, "space": {"corpus": "no such corpus"}}, {})
    red = "cat; Base: Colour=red"
    atlas.record(hunt, [make_recorded(n, "cat") for n in range(2)])
    atlas.record(hunt, [make_recorded(n, red, (True, n > 1)) for n in range(5)])
    atlas.record(hunt, [make_recorded(n, f"{red}; Image: Style=sketch", None) for n in range(2)])
    cat, colour, style = export_rows(atlas, atlas.hunt(hunt))
    assert tuple(cat) == FIELDS
    assert (cat["idx"], cat["layer"], cat["parent"], cat["acc"], cat["valid"]) == (0, 0, [], 1.0, True)
    assert (colour["parent"], colour["value"], colour["acc"]) == ([0], [["Base: Colour", "red"]], 0.6)
    assert (colour["valid"], colour["tested"], colour["upper_class"]) == (False, True, "")
    assert colour["eval"] == [[True, False]] * 2 + [[True, True]] * 3
    assert colour["eval_raw"] == ["[(True, False)]"] * 2 + ["[(True, True)]"] * 3, "the judge's own words"
    assert colour["caption"] == f"An image of {red}."
    assert (style["parent"], style["acc"], style["valid"], style["eval"]) == ([1], None, True, [None, None])


def test_a_node_that_was_not_finished_is_not_tested(atlas: Atlas) -> None:
    search = {"threshold": 0.8, "images_per_node": 4}
    hunt = atlas.start_hunt("t2i", {**CONFIG, "search": search}, {})
    for subject, valid, invalid in [("done", 4, 0), ("cut off", 3, 0), ("open", 3, 5), ("hopeless", 2, 6)]:
        holds = [(True, subject != "hopeless")] * valid + [None] * invalid
        atlas.record(hunt, [make_recorded(n, subject, one) for n, one in enumerate(holds)])
    tested = {one["entity"]: one["tested"] for one in export_rows(atlas, atlas.hunt(hunt))}
    assert tested == {"done": True, "cut off": False, "open": False, "hopeless": True}


def test_other_hunts_have_no_such_rows(atlas: Atlas) -> None:
    hunt = atlas.start_hunt("vlm", {}, {})
    with pytest.raises(AtlasError, match="vlm hunt"):
        list(export_rows(atlas, atlas.hunt(hunt)))


BAD = [
    ({"entity": ""}, "entity"),
    ({"entity": "a; b"}, "entity"),
    ({"entity": 7}, "entity"),
    ({"idx": "1"}, "idx"),
    ({"idx": None}, "idx"),
    ({"value": None}, "value"),
    ({"value": [["Base: Colors"]]}, "value"),
    ({"value": [["Colors", "Red"], ["Image: Style", "Flat"]]}, "value"),
    ({"value": [["Base: Colors", "Red"], ["Base: Colors", "Blue"]]}, "value"),
    ({"eval": [[True, True]]}, "eval"),
    ({"eval": [[True, True, 1]]}, "eval"),
    ({"eval": [["True", True, True]]}, "eval"),
    ({"eval": True}, "eval"),
    ({"acc": "high"}, "acc"),
    ({"acc": float("nan")}, "acc"),
    ({"valid": 1}, "valid"),
    ({"parent": ["x"]}, "parent"),
    ({"caption": None}, "caption"),
    ({"predictor_score": []}, "predictor_score"),
]


@pytest.mark.parametrize(("change", "field"), BAD, ids=lambda one: json.dumps(one))
def test_bad_fields_are_named(tmp_path: Path, atlas: Atlas, change: dict[str, Any], field: str) -> None:
    file = write(tmp_path / "f.jsonl", [SEED_EXAMPLE, {**SEED_EXAMPLE, **change}])
    with pytest.raises(AtlasError, match=rf"f\.jsonl, line 2, field {field}:"):
        import_rows(file, atlas)
    assert atlas.hunts() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "line 1: not an object"),
        ("", "no rows"),
        (f"{json.dumps(SEED_EXAMPLE)}\n\n{json.dumps(SEED_EXAMPLE)}", "line 3, .*same node as line 1"),
        (
            '{"idx": 1, "entity": "Cat", "value": []}\n{"idx": 2, "entity": "cat", "value": []}',
            "differ only in case",
        ),
    ],
)
def test_bad_files_are_named(tmp_path: Path, atlas: Atlas, text: str, message: str) -> None:
    (tmp_path / "f.jsonl").write_text(text)
    with pytest.raises(AtlasError, match=message):
        import_rows(tmp_path / "f.jsonl", atlas)


def test_files_that_cannot_be_read(tmp_path: Path, atlas: Atlas) -> None:
    with pytest.raises(AtlasError, match="cannot be read"):
        import_rows(tmp_path / "nowhere.jsonl", atlas)
    (tmp_path / "f.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(AtlasError, match="not UTF-8"):
        import_rows(tmp_path / "f.jsonl", atlas)


def test_an_interrupted_import_is_finished_by_the_next(
    tmp_path: Path, atlas: Atlas, monkeypatch: Any
) -> None:
    rows = [row(n, [["Base: Size", f"s{n}"]], [[True, True]] * 100) for n in range(9)]
    file = write(tmp_path / "f.jsonl", rows)
    record, calls = Atlas.record, []

    def fail_later(self: Atlas, *arguments: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        record(self, *arguments, **options)

    monkeypatch.setattr(Atlas, "record", fail_later)
    with pytest.raises(KeyboardInterrupt):
        import_rows(file, atlas)
    monkeypatch.undo()
    hunt = import_rows(file, atlas)
    assert len(atlas.hunts()) == 1
    assert sum(atlas.counts(hunt).values()) == 900


@given(st.lists(st.tuples(st.sampled_from(KINDS), NAMES), max_size=4))
def test_subjects_come_apart_as_they_were_joined(pairs: list[tuple[str, str]]) -> None:
    subject = join_subject("a = cat", pairs)
    assert split_subject(subject) == ("a = cat", pairs)
    assert len(parents_of(subject)) == len(pairs)
    assert all(len(split_subject(parent)[1]) == len(pairs) - 1 for parent in parents_of(subject))


def test_export_is_one_json_object_a_line(atlas: Atlas, tmp_path: Path) -> None:
    from failscape.atlas.formats.failureatlas import write_rows

    hunt = import_rows(write(tmp_path / "f.jsonl", [SEED_EXAMPLE]), atlas)
    out = io.StringIO()
    assert write_rows(atlas, atlas.hunt(hunt), out) == 1
    assert json.loads(out.getvalue()) == SEED_EXAMPLE


def test_a_misspelt_field_is_refused_with_its_line(tmp_path: Path, atlas: Atlas) -> None:
    good, bad = dict(SEED_EXAMPLE), {**SEED_EXAMPLE, "idx": 124, "entity": "Pear"}
    bad["evals"] = bad.pop("eval")
    with pytest.raises(AtlasError, match=r"line 2, field evals: there is no such field; 'eval' is missing"):
        import_rows(write(tmp_path / "f.jsonl", [good, bad]), atlas)


def test_fields_of_ones_own_come_back(tmp_path: Path, atlas: Atlas) -> None:
    mine = {**SEED_EXAMPLE, "annotator": "kim", "scores": {"clip": [0.3, 0.4]}}
    hunt = import_rows(write(tmp_path / "f.jsonl", [mine]), atlas)
    assert list(export_rows(atlas, atlas.hunt(hunt))) == [mine]


def test_rows_that_contradict_the_threshold_that_was_read_off_are_named(tmp_path: Path) -> None:
    """One node with 90 % fails and one with 50 % passes: no threshold explains both."""
    rows = [
        {**SEED_EXAMPLE, "idx": number, "entity": name, "acc": share, "valid": passed}
        for number, (name, share, passed) in enumerate(
            [("Apple", 0.9, True), ("Pear", 0.1, False), ("Plum", 0.5, True)]
        )
    ]
    file = write(tmp_path / "f.jsonl", rows)
    result = CliRunner().invoke(cli, ["import", str(file), "--atlas", str(tmp_path / "atlas")])
    assert result.exit_code == 0, result.output
    told = "otherwise than a threshold of"
    assert told not in result.output
    rows[0]["valid"] = False
    again = write(tmp_path / "g.jsonl", rows)
    result = CliRunner().invoke(cli, ["import", str(again), "--atlas", str(tmp_path / "atlas")])
    assert told in result.output, result.output
    assert "line " in result.output
