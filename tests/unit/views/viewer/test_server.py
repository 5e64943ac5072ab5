"""Answers of the viewer over a made atlas, and what it refuses."""

from __future__ import annotations

import asyncio
import io
from collections import Counter

import pytest
from benchmarks.made_atlas import SERVERS
from PIL import Image

from failscape.atlas import Atlas
from failscape.trials import Subject
from failscape.views.read.numbers import percent
from failscape.views.viewer.screens.pictures import Thumbnails


async def ask(client, question, **query):
    for _ in range(2400):
        reply = await client.get(f"/api/atlas/1/{question}", params=query)
        if reply.status != 202:
            assert reply.status == 200, await reply.text()
            return await reply.json()
        await asyncio.sleep(0.05)
    raise AssertionError(f"{question} was never read")


async def test_the_overview_counts_what_the_atlas_counts(client, folder) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        counts = {verdict.value: number for verdict, number in atlas.counts(1).items()}
    data = await ask(client, "overview")
    assert data["counts"] == counts
    assert not data["running"]


async def test_every_page_of_pictures_holds_each_trial_once(client) -> None:
    first = await ask(client, "pictures", many="100")
    seen = [item["id"] for item in first["items"]]
    while len(seen) < first["total"]:
        page = await ask(client, "pictures", many="100", start=str(len(seen)))
        assert "facets" not in page
        seen += [item["id"] for item in page["items"]]
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == first["all"] == 1200


async def test_filters_agree_with_the_trials_themselves(client, folder) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        trials = list(atlas.trials(1))
    verdicts = Counter(one.trial.verdict.value for one in trials)
    for verdict in ("pass", "fail", "invalid"):
        assert (await ask(client, "pictures", verdict=verdict))["total"] == verdicts[verdict]
    facets = (await ask(client, "pictures"))["facets"]
    for kind, number in facets["check"][:3]:
        found = await ask(client, "pictures", check=kind)
        assert found["total"] == number == _missed(trials, kind)
    reason, number = facets["reason"][0]
    assert (await ask(client, "pictures", reason=reason))["total"] == number
    for server, number in facets["endpoint"]:
        assert (
            (await ask(client, "pictures", endpoint=server))["total"] == number == len(trials) / len(SERVERS)
        )
    subject = trials[5].trial.subject
    under = subject.split("; ")[0]
    wanted = sum(one.trial.subject.split("; ")[0] == under for one in trials)
    narrowed = await ask(client, "pictures", under=under)
    assert narrowed["total"] == wanted
    assert narrowed["narrowed_to"] == [Subject.parse(under).words]
    assert {item["subject_words"] for item in narrowed["items"]} == {
        Subject.parse(item["subject"]).words for item in narrowed["items"]
    }
    text = await ask(client, "pictures", text=under.upper())
    assert text["total"] >= wanted
    assert (await ask(client, "pictures", verdict="nonsense"))["total"] == 0


def _missed(trials, kind) -> int:
    missed = 0
    for one in trials:
        checks = zip(one.steps[1].checks, one.trial.facts[1], strict=True)
        missed += any(check.kind == kind and not holds for check, holds in checks)
    return missed


async def test_findings_are_those_of_the_command(client, folder) -> None:
    from failscape.views.read import load_hunt

    with Atlas.open(folder, readonly=True) as atlas:
        loaded = load_hunt(atlas)
    data = await ask(client, "findings", many="400")
    listed = [*loaded.findings, *loaded.suspects]
    assert data["all"] == len(listed)
    assert [row["subject"] for row in data["rows"]] == [one.subject for one in listed[:400]]
    for row, one in zip(data["rows"], listed, strict=False):
        rate = loaded.rate(one)
        assert (row["failures"], row["trials"]) == (rate.failures, rate.of)
        assert (row["rate_text"], row["counted"]) == (percent(rate.rate), rate.counted)


async def test_one_finding_shows_every_trial_of_its_subject(client, folder) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        subject = next(iter(atlas.subjects(1)))
        stored = list(atlas.trials(1, subject=subject))
    data = await ask(client, "finding", subject=subject)
    assert [shot["key"] for shot in data["own"]["shots"]] == [one.trial.key for one in stored]
    trial = await ask(client, "trial", id=str(stored[0].id))
    assert trial["calls"][1]["raw"] == stored[0].calls[1].raw
    assert [check["holds"] for check in trial["checks"]] == stored[0].trial.facts[1]


async def test_pictures_come_small_and_whole(client) -> None:
    digest = (await ask(client, "pictures", many="1"))["items"][0]["image"]
    small = await client.get(f"/pictures/atlas/{digest}", params={"side": "96"})
    assert small.content_type == "image/webp"
    assert max(Image.open(io.BytesIO(await small.read())).size) <= 96
    assert "immutable" in small.headers["Cache-Control"]
    whole = await client.get(f"/pictures/atlas/{digest}")
    assert whole.content_type == "image/png"


@pytest.mark.parametrize(
    "path",
    [
        "/pictures/atlas/../atlas.db",
        "/pictures/atlas/..%2f..%2fatlas.db",
        "/pictures/atlas/%2fetc%2fpasswd",
        "/pictures/atlas/" + "0" * 32,
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/js/..%2f..%2f..%2fguard.py",
        "/api/../../etc/1/overview",
    ],
)
async def test_no_path_reaches_the_disk(client, path) -> None:
    from yarl import URL

    reply = await client.get(URL(path, encoded=True))
    body = await reply.read()
    assert b"SQLite" not in body
    assert b"import" not in body[:2000] or reply.content_type == "text/html"
    assert reply.status in (204, 404) or reply.content_type == "text/html"


async def test_what_is_not_there_is_said_in_words(client) -> None:
    missing = await client.get("/api/nowhere/1/overview")
    assert missing.status == 404
    assert "nowhere" in (await missing.json())["error"]
    assert (await client.get("/api/atlas/9/overview")).status == 404
    assert (await client.get("/api/atlas/1/secrets")).status == 404
    assert (await client.get("/api/atlas/1/trial", params={"id": "-5"})).status == 404


def test_thumbnails_are_bounded(library) -> None:
    atlas = library.atlas("atlas")
    digests = list(atlas.image_digests())[:30]
    one = len(Thumbnails().get("atlas", atlas, digests[0], 96))
    shelf = Thumbnails(memory=5 * one)
    for digest in digests:
        shelf.get("atlas", atlas, digest, 96)
    assert 0 < shelf.used <= 6 * one


def test_the_page_stays_small_and_whole() -> None:
    """Without a network and without a build there is no other place to get anything from."""
    from importlib.resources import files

    static = files("failscape.views.viewer") / "static"
    all_files = [file for file in _walk(static) if file.name.endswith((".js", ".css", ".html", ".svg"))]
    assert sum(len(file.read_bytes()) for file in all_files) < 150_000
    for file in all_files:
        text = file.read_text(encoding="utf-8")
        assert "http://" not in text.replace("http://www.w3.org", ""), file.name
        assert "<script>" not in text
        assert ' style="' not in text
        assert "innerHTML" not in text or "vendor" in str(file)


def _walk(folder):
    for entry in folder.iterdir():
        yield from _walk(entry) if entry.is_dir() else [entry]
