"""`failscape doctor` on real models: every role of a config is examined, photo hunts too, also over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from failscape.cli import cli
from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.doctor.experiments import examine_endpoints, examine_judges
from failscape.doctor.observations import Observation
from failscape.doctor.samples import known_pictures
from failscape.errors import ConfigError
from failscape.models.roles import Reply
from failscape.pictures import Picture
from failscape.plugins import kind_of
from failscape.testing.servers import free_port, toybox_server
from failscape.toybox import world

TOY = {"provider": "toybox"}
DEAD = {
    "provider": "openai",
    "model": "gone",
    "endpoints": ["http://127.0.0.1:9"],
    "timeout": 2,
    "patience": 0.2,
}
CLASSES = ["penguin", "camel", "owl", "car"]


def examine(data: dict[str, Any]) -> dict[str, Observation]:
    settings = parse_config(data, "a test")
    found = kind_of(settings).examine
    assert found is not None
    return {one.name: one for one in asyncio.run(found(settings))}


def failed(found: dict[str, Observation]) -> set[str]:
    return {name for name, one in found.items() if one.status == "fail"}


def test_init_then_doctor_over_http(tmp_path: Path) -> None:
    hunt = str(tmp_path / "hunt.yaml")
    with toybox_server() as server:
        flags = ["--hunt", "t2i", "--target", "openai", "--endpoint", server.url, "--yes", "-o", hunt]
        several = CliRunner().invoke(cli, ["init", *flags])
        assert isinstance(several.exception, ConfigError)
        assert "4 models: toybox, cnn" in several.exception.message
        written = CliRunner().invoke(cli, ["init", *flags, "--model", "toybox"])
        assert written.exit_code == 0, written.output
        assert "note:" not in written.output, "the judge sees"
        done = CliRunner().invoke(cli, ["doctor", hunt, "--json", "--set", "space.depth=1"])
    assert done.exit_code == 0, done.output
    found = {one["name"]: one for one in json.loads(done.output)}
    assert found["judge-picture: entity"]["status"] == "ok"
    assert found["judge-picture: entity"]["n"] >= 13
    assert found["judge-text: entity"]["status"] == "ok"


def test_dead_helpers_do_not_pass() -> None:
    config = {
        "hunt": "classifier",
        "target": {**TOY, "model": "cnn"},
        "generator": {**TOY, "model": "renderer"},
        "captioner": DEAD,
        "embedder": DEAD,
        "llm": DEAD,
        "classes": CLASSES,
    }
    found = examine(config)
    assert failed(found) == {"captioner-answers", "embedder-answers", "llm-answers"}
    assert found["classifier-right"].status == "ok"


def test_photo_hunts_are_examined_with_all_their_roles(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name in CLASSES:
        (tmp_path / name).mkdir()
        for number in range(8):
            scene = world.render_attributes(world.Attributes(name), world.sample_nuisance(rng))
            (tmp_path / name / f"{number}.png").write_bytes(Picture.from_array(scene).data)
    config = {
        "hunt": "classifier",
        "target": {**TOY, "model": "cnn"},
        "photos": str(tmp_path),
        "judge": TOY,
        "captioner": TOY,
        "editor": TOY,
        "embedder": TOY,
        "match": "embedding",
    }
    found = examine(config)
    assert failed(found) == set()
    assert {"judge-picture: entity", "classifier-right", "captioner-names", "editor-edits"} <= set(found)
    assert found["embedder-matches"].n == 20
    assert found["judge-picture: entity"].n == 32
    assert found["photos-labelled"].status == "ok"


def test_photos_without_labels_are_found_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(Picture.from_array(np.zeros((8, 8, 3), np.uint8)).data)
    found = examine({"hunt": "classifier", "target": {**TOY, "model": "cnn"}, "photos": str(tmp_path)})
    assert failed(found) == {"photos-labelled"}
    assert found["photos-labelled"].seen.startswith("0 of 1 photos")


def test_a_role_that_cannot_even_be_made_is_named() -> None:
    config = {
        "hunt": "t2i",
        "target": TOY,
        "judge": {"provider": "python", "path": "no_such_module:judge"},
        "space": {"corpus": "toybox"},
    }
    found = examine(config)
    assert failed(found) == {"judge-answers"}
    assert found["image-decodes"].status == "ok"


def test_vlm_helpers_are_examined() -> None:
    port = free_port()
    llm = {**DEAD, "endpoints": [f"http://127.0.0.1:{port}"]}
    found = examine({"hunt": "vlm", "target": TOY, "llm": llm, "embedder": TOY})
    assert failed(found) == {"llm-answers"}
    assert found["verifies"].n >= 13


def test_each_endpoint_of_a_pool_is_asked_by_itself() -> None:
    async def say(model: Any) -> Reply[Any]:
        return (await model.judge([known_pictures()[0].picture], [known_pictures()[0].checks]))[0]

    with toybox_server() as one, toybox_server() as other:
        urls = (one.url, other.url, "http://127.0.0.1:9")
        config = ModelConfig(provider="openai", model="toybox", endpoints=urls, patience=0.2, timeout=120)
        found = {seen.name: seen for seen in asyncio.run(examine_judges(config))}
        assert found["judge-endpoints"].status == "fail"
        assert "127.0.0.1:9" in found["judge-endpoints"].seen
        assert found["judge-endpoints-agree"].status == "ok"
        odd = asyncio.run(examine_endpoints("judge", config, say, lambda one, other: False))
    assert [seen.status for seen in odd] == ["fail", "warn"]
