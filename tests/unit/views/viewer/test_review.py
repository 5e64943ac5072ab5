"""Reviewing through the viewer: blind, kept at once, beside a run, undone, measured."""

from __future__ import annotations

import json
import shutil

import pytest
from aiohttp.test_utils import TestClient, TestServer

from failscape.atlas import Atlas
from failscape.atlas.judging import hunt_accuracy, items_of, labels_of
from failscape.views.viewer.library import Library
from failscape.views.viewer.server import TOKEN, Guard, build_app


@pytest.fixture
def mine(folder, tmp_path):
    """A copy to write into."""
    return shutil.copytree(folder, tmp_path / "atlas")


@pytest.fixture
async def desk(mine):
    guard = Guard()
    with Library([mine]) as library:
        async with TestClient(TestServer(build_app(library, guard))) as browser:
            await browser.get("/", params={TOKEN: guard.token})
            yield browser


async def act(desk, deed, **told):
    own = {"Origin": f"http://{desk.host}:{desk.port}"}
    reply = await desk.post(f"/api/atlas/1/review/{deed}", json=told, headers=own)
    return reply.status, await reply.json()


async def begun(desk, reviewer="Ada"):
    status, state = await act(desk, "begin", reviewer=reviewer)
    assert status == 200, state
    return state


async def test_a_review_begins_with_a_sample_and_is_there_again_later(desk, mine) -> None:
    before = await (await desk.get("/api/atlas/1/review", params={"reviewer": "Ada"})).json()
    assert before["review"] is None
    state = await begun(desk)
    assert state["items"] == 300
    assert state["done"] == 0
    assert len(state["next"]) == 3
    again = await (await desk.get("/api/atlas/1/review", params={"reviewer": "Ada"})).json()
    assert again["next"] == state["next"]


async def test_nothing_tells_what_the_judge_said(desk, mine) -> None:
    state = await begun(desk)
    assert set(state["next"][0]) == {"item", "image", "statement", "question"}
    with Atlas.open(mine, readonly=True) as atlas:
        answers = {item.item: item.answer for item in items_of(atlas, state["review"])}
    order = []
    for _ in range(60):
        shown = state["next"][0]["item"]
        order.append(answers[shown])
        _, state = await act(desk, "label", reviewer="Ada", item=shown, label="unsure")
    assert 10 < sum(order) < 50, "the order does not tell either"


async def test_labels_are_in_the_atlas_at_once_and_can_be_taken_back(desk, mine) -> None:
    state = await begun(desk)
    first = state["next"][0]["item"]
    _, state = await act(desk, "label", reviewer="Ada", item=first, label="yes")
    with Atlas.open(mine, readonly=True) as atlas:
        assert [(one.item, one.label) for one in labels_of(atlas, state["review"])] == [(first, "yes")]
    assert state["done"] == 1
    _, state = await act(desk, "undo", reviewer="Ada")
    assert state["done"] == 0
    assert state["next"][0]["item"] == first


async def test_labels_are_kept_while_a_run_holds_the_atlas(desk, mine) -> None:
    with Atlas.open(mine) as run:
        state = await begun(desk)
        status, state = await act(desk, "label", reviewer="Ada", item=state["next"][0]["item"], label="no")
        assert status == 200
        run.log("warning", {"text": "the run writes on"}, 1)
    assert state["done"] == 1


async def test_what_several_people_say_is_held_together(desk, mine) -> None:
    state = await begun(desk)
    for reviewer, labels in (("Ada", "yes yes no no yes yes"), ("Bo", "yes yes no yes yes yes")):
        _, state = await act(desk, "label", reviewer=reviewer, item=state["next"][0]["item"], label="yes")
        _, state = await act(desk, "undo", reviewer=reviewer)
        for label in labels.split():
            _, state = await act(desk, "label", reviewer=reviewer, item=state["next"][0]["item"], label=label)
        state = await (await desk.get("/api/atlas/1/review", params={"reviewer": "Bo"})).json()
    assert dict(state["people"]) == {"Ada": 6, "Bo": 6}
    assert state["shared"]["answers"] == 6
    assert state["shared"]["share_text"] == "83%"


async def test_the_accuracy_is_used_when_somebody_says_so_and_follows_each_label(desk, mine) -> None:
    state = await begun(desk)
    with Atlas.open(mine, readonly=True) as atlas:
        row = atlas.hunt(1)
        answers = {item.item: item.answer for item in items_of(atlas, state["review"])}
        for _ in range(40):
            item = state["next"][0]["item"]
            _, state = await act(
                desk, "label", reviewer="Ada", item=item, label="yes" if answers[item] else "no"
            )
        assert hunt_accuracy(atlas, row) is None, "labels alone change no finding"
        everything = next(one for one in state["known"] if one["kind"] == "all checks")
        assert everything["right_text"] == "100%"
        assert everything["half_width"] < 0.25
        _, state = await act(desk, "use", reviewer="Ada")
        assert state["in_use"]
        assert "40 checks" in hunt_accuracy(atlas, row).source
        item = state["next"][0]["item"]
        _, state = await act(desk, "label", reviewer="Ada", item=item, label="no")
        assert "41 checks" in hunt_accuracy(atlas, row).source
        _, state = await act(desk, "stop-using", reviewer="Ada")
        assert hunt_accuracy(atlas, row) is None


@pytest.mark.parametrize(
    "told",
    [
        {"reviewer": "", "label": "yes"},
        {"reviewer": "x" * 80, "label": "yes"},
        {"reviewer": "Ada\x00", "label": "yes"},
        {"reviewer": "Ada", "label": "perhaps"},
        {"reviewer": "Ada", "item": "nowhere", "label": "yes"},
    ],
)
async def test_odd_labels_are_refused(desk, mine, told) -> None:
    state = await begun(desk)
    status, answer = await act(desk, "label", **{"item": state["next"][0]["item"], **told})
    assert status == 404
    assert answer["fix"]
    with Atlas.open(mine, readonly=True) as atlas:
        assert labels_of(atlas, state["review"]) == []


async def test_only_known_deeds_in_json_are_done(desk) -> None:
    own = {"Origin": f"http://{desk.host}:{desk.port}", "Content-Type": "application/json"}
    assert (await desk.post("/api/atlas/1/review/erase", json={}, headers=own)).status == 404
    assert (await desk.post("/api/atlas/1/review/label", data=json.dumps([1]), headers=own)).status == 404
    assert (await desk.post("/api/atlas/1/review/label", data="{", headers=own)).status == 400
