"""Lists of prompts: what may be written, what comes of it, and what errors say."""

import json
from pathlib import Path
from typing import Any

import pytest

from failscape.errors import ConfigError
from failscape.spaces.prompt_list import load_prompts, prompts_text, read_prompts

ROW: dict[str, Any] = {"id": "a", "prompt": "two red cups", "checks": ["There are two cups."]}
NODE = {
    "idx": 7,
    "entity": "cat",
    "value": [["Base: Colors", "Red"]],
    "caption": "A red cat.",
    "upper_class": "Animals",
    "sub_class": "Pets",
    "layer": 1,
    "parent": [0],
}


def read(*rows: Any) -> Any:
    return read_prompts("\n".join(json.dumps(row) for row in rows), "my.jsonl")


def test_a_row_becomes_a_prompt_with_checks_and_tags() -> None:
    checks = [
        "There are two cups.",
        {"statement": "The cups are red.", "kind": "colour", "value": "red"},
        {"question": "How many cups?", "expected": 2, "kind": "count"},
        {"question": "Is there a dog?", "expected": False},
        {"question": "What is it?", "expected": "a cup", "choices": ["a plate"]},
    ]
    one = read({**ROW, "checks": checks, "tags": {"skill": ["count", "colour"], "set": "mine"}}).prompts[0]
    assert (one.id, one.text) == ("a", "two red cups")
    assert one.kinds == ("check", "colour", "count", "check", "check")
    assert one.checks[1].value == "red"
    assert one.checks[2].statement == "The right answer to the question “How many cups?” is “2”."
    assert "“no”" in one.checks[3].statement
    assert (one.checks[4].value, one.checks[4].choices) == ("a cup", ("a plate",))
    assert list(map(str, one.tags)) == ["skill=count", "skill=colour", "set=mine"]


def test_ids_are_numbers_of_rows_unless_given_and_tags_may_be_bare() -> None:
    found = read({"prompt": "x", "checks": ["y"], "tags": ["new", "new"]}, {**ROW, "id": 12})
    assert [one.id for one in found.prompts] == ["row 1", "12"]
    assert list(map(str, found.prompts[0].tags)) == ["new"]


def test_nodes_of_failureatlas_are_prompts() -> None:
    for text in (json.dumps(NODE), json.dumps([NODE])):
        one = read_prompts(text).prompts[0]
        assert (one.id, one.text, one.kinds) == ("7", "A red cat.", ("entity", "Base: Colors"))
        assert [check.value for check in one.checks] == ["cat", "Red"]
        assert list(map(str, one.tags)) == ["class=Animals", "sub-class=Pets", "entity=cat", "layer=1"]


def test_what_is_kept_reads_back_as_the_same_list(tmp_path: Path) -> None:
    checks = [{"question": "What is it?", "expected": "a cup", "choices": ["a plate"], "kind": "thing"}]
    first = read(ROW, {"prompt": "b", "checks": checks, "tags": {"skill": "x", "tag": "y"}}, NODE)
    (tmp_path / "kept.jsonl").write_text(prompts_text(first), encoding="utf-8")
    again = load_prompts(str(tmp_path / "kept.jsonl"))
    assert again.prompts == first.prompts
    assert again.digest == first.digest != read(ROW).digest


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], ["my.jsonl", "no prompts"]),
        ([ROW, {**ROW, "prompt": "z"}], ["row 2", "field id", "'a'", "row 1", "own"]),
        ([{"prompt": "x"}], ["row 1", "field checks", "there is none", '"checks"']),
        ([{**ROW, "checks": []}], ["row 1", "field checks", "[]"]),
        ([{**ROW, "check": ["x"]}], ["field check", "did you mean 'checks'"]),
        ([{**ROW, "checks": [{"question": "How?"}]}], ["checks[0].expected", "expected answer"]),
        ([{**ROW, "checks": [{"kind": "x"}]}], ["checks[0]", "statement or a question"]),
        ([{**ROW, "checks": [{"quest": "x"}]}], ["checks[0].quest", "did you mean 'question'"]),
        ([{**ROW, "checks": ["x", "x"]}], ["checks[1]", "twice"]),
        ([{**ROW, "checks": [{"statement": "x", "expected": False}]}], ["expected", "question"]),
        ([{**ROW, "prompt": " "}], ["field prompt", "must be text"]),
        ([{**ROW, "tags": "x"}], ["field tags", '"x"', "list"]),
        ([{**ROW, "id": "a; b=c"}], ["field id", "a; b=c"]),
        ([{**NODE, "value": "red"}], ["field value", "pairs"]),
        ([["x"]], ["row 1", "object"]),
    ],
)
def test_errors_name_the_row_the_field_and_the_fix(rows: list[Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        read(*rows)
    assert error.value.fix
    for word in words:
        assert word in str(error.value)


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be a file"):
        load_prompts(str(tmp_path / "none.jsonl"))
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": 1')
    with pytest.raises(ConfigError, match="row 1: not JSON"):
        load_prompts(str(bad))
