"""Stored replies read again by today's rules: no calls, nothing lost, and examples are no verdicts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failscape.again.reread import reread
from failscape.atlas import Atlas
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import AtlasError
from failscape.models.contracts import judge as contracts
from failscape.models.contracts.asking import Read, json_values
from failscape.models.providers import exact
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.testing.faulty import FaultyServer, chat_reply, scripted_answer
from failscape.trials import Verdict
from failscape.views.read.found import read_found
from tests.integration.judges.conftest import failscape, settings

CLEAR, EXAMPLE = '{{"answers": {answers}}}', 'Such as {{"answers": {answers}}}: I do not know.'


class ReadsAnything(contracts.BooleanContract):
    """As replies were once read: any JSON anywhere."""

    label = "boolean/1"

    def read(self, text: str, checks: Any, salt: str) -> Read[contracts.Decisions]:
        found = [value["answers"] for value in json_values(text) if isinstance(value, dict)]
        return Read(found[0]) if found else Read(None, "nothing")


def sometimes_an_example() -> Callable[[str, Any], Any]:
    """Every third reply is only an example of the form."""
    count = 0

    def answer(path: str, payload: Any) -> Any:
        nonlocal count
        if not path.endswith("/chat/completions"):
            return scripted_answer(path, payload)
        count += 1
        form = EXAMPLE if count % 3 == 0 else CLEAR
        schema = payload["response_format"]["json_schema"]["schema"]
        number = schema["properties"]["answers"]["minItems"]
        return chat_reply(form.format(answers=json.dumps([False] * number)))

    return answer


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An atlas made when JSON anywhere in a reply was a verdict."""
    folder = tmp_path / "atlas"
    with FaultyServer(answer=sometimes_an_example()) as server, monkeypatch.context() as patch:
        patch.setitem(contracts.JUDGE_CONTRACTS, "boolean", ReadsAnything())
        model = {"provider": "openai", "model": "scripted", "endpoints": [server.url]}
        config = settings(judge=model, budget={"images": 60})
        asyncio.run(run_session(config, folder, PlainReporter()))
    return folder


def test_examples_are_no_verdicts_any_more(old: Path) -> None:
    with Atlas.open(old) as atlas:
        assert atlas.counts(1)[Verdict.FAIL] == 60
        done = reread(atlas)
        assert (done.first, done.second, done.contract) == (1, 2, "boolean/3")
        assert done.changes == {
            (Verdict.FAIL, Verdict.FAIL): 40,
            (Verdict.FAIL, Verdict.INVALID): 20,
        }
        assert atlas.spent(2).requests == 0, "nothing is asked"
        assert atlas.hunt(2).identities["judge"].settings["asked_as"] == "boolean/1"
        first, second = list(atlas.trials(1)), list(atlas.trials(2))
        assert [one.trial.key for one in first] == [two.trial.key for two in second]
        assert [one.calls for one in first] == [two.calls for two in second], "what was said stays"


def test_a_second_time_adds_nothing_and_an_interrupted_one_goes_on(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Atlas.open(old) as atlas:
        done = reread(atlas)
        assert reread(atlas) == done
        with atlas.writing() as db:
            db.execute("DELETE FROM trials WHERE hunt = 2 AND id % 2 = 0")
        assert reread(atlas).changes == done.changes
        with pytest.raises(AtlasError, match="today's rules"):
            reread(atlas, 2)


def test_the_command_tells_what_changed(old: Path) -> None:
    shown = failscape("rejudge", old, "--reread")
    assert shown.returncode == 0, shown.stderr
    assert "20 of 60 verdicts differ" in " ".join(shown.stdout.split())
    assert "fail -> invalid: 20" in shown.stdout
    told = json.loads(failscape("rejudge", old, "--reread", "--json").stdout.splitlines()[-1])
    assert told["changes"] == {"fail -> fail": 40, "fail -> invalid": 20}
    assert failscape("findings", old, "--hunt", 2).returncode == 0


def test_neither_or_both_is_refused(old: Path, tmp_path: Path) -> None:
    assert failscape("rejudge", old).returncode == 2
    both = failscape("rejudge", old, "--reread", "--judge", tmp_path / "judge.yaml")
    assert both.returncode == 2
    assert "either another judge or --reread" in both.stderr


def test_a_judge_without_words_cannot_be_read_again(atlas: Path) -> None:
    refused = failscape("rejudge", atlas, "--reread")
    assert refused.returncode == 2
    assert "no judge or verifier that replies in words" in refused.stderr


@pytest.fixture
def compared_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, HuntConfig]:
    """A vlm hunt of a time when the verifier called every short answer right."""
    folder = tmp_path / "vlm"
    config = parse_config(
        {
            "hunt": "vlm",
            "target": {"provider": "toybox", "model": "toy-vlm"},
            "verifier": "exact",
            "images": {"source": "toybox"},
            "questions": 400,
            "budget": {"images": 160},
            "seed": 5,
        },
        "vlm",
    )
    compare = exact.compare
    with monkeypatch.context() as patch:
        patch.setattr(exact, "LABEL", "exact/0")
        patch.setattr(
            exact, "compare", lambda answer, truth: compare(truth if len(answer) < 7 else answer, truth)
        )
        asyncio.run(run_session(config, folder, PlainReporter()))
    return folder, config


def test_a_hunt_in_rounds_keeps_what_it_would_ask_by_the_verdicts_of_now(
    compared_otherwise: tuple[Path, HuntConfig],
) -> None:
    folder, config = compared_otherwise
    with Atlas.open(folder) as atlas:
        done = reread(atlas)
        assert done.contract == exact.LABEL
        assert done.changes[Verdict.PASS, Verdict.FAIL] > 0
        assert done.changed == done.changes[Verdict.PASS, Verdict.FAIL]
        assert done.trials == sum(atlas.counts(1).values())
        assert 0 < done.left_out < done.trials
        assert sum(atlas.counts(2).values()) == done.trials - done.left_out
        assert reread(atlas) == done, "a second time adds nothing"
        first = {trial.key: trial for trial in atlas.replay(1)}
        for trial in atlas.replay(2):
            assert (trial.subject, trial.facts[:2]) == (first[trial.key].subject, first[trial.key].facts[:2])
        read_found(atlas, atlas.hunt(2))  # tells all of them to a hunt that refuses what is not its own
        before = len(first)
    asyncio.run(run_session(config, folder, PlainReporter()))
    with Atlas.open(folder, readonly=True) as atlas:
        assert len(list(atlas.hunts())) == 2, "run goes on with it"
        assert sum(atlas.counts(2).values()) > before - done.left_out
