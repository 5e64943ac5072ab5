"""When a hunt may go on, and what is said when it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas, open_hunt
from failscape.atlas.hunts import diff_configs
from failscape.errors import AtlasError
from failscape.kinds.t2i.config import T2IConfig
from tests.unit.atlas.suite import JUDGE, PAINTER, make_recorded

MODELS = {"target": PAINTER, "judge": JUDGE}


def settings(**changes: Any) -> T2IConfig:
    base: dict[str, Any] = {
        "hunt": "t2i",
        "target": {
            "provider": "openai",
            "model": "painter",
            "endpoints": ["http://a/v1"],
            "params": {"steps": 4},
        },
        "judge": {"provider": "openai", "model": "judge"},
        "seed": 3,
    }
    for path, value in changes.items():
        place = base
        *parents, last = path.split("__")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return T2IConfig.model_validate(base)


FREE = [
    {"budget__images": 100},
    {"runtime__in_flight": 8},
    {"runtime__keep_images": "failures"},
    {"target__endpoints": ["http://b/v1", "http://c/v1"]},
    {"judge__api_key_env": "MY_KEY"},
    {"judge__timeout": 5.0},
    {"judge__price": 0.01},
    {"target__concurrency": 3},
    {"search__predictor__kind": "ridge"},
]
FIXED = [
    ({"search__threshold": 0.9}, "search.threshold: 0.8 -> 0.9"),
    ({"seed": 4}, "seed: 3 -> 4"),
    ({"target__model": "other"}, "target.model: painter -> other"),
    ({"target__params": {"steps": 4, "size": 512}}, "target.params.size: (not set) -> 512"),
    ({"space__entities": ["cat"]}, "space.entities: all -> ['cat']"),
    ({"judge__image_max_side": 64}, "judge.image_max_side: (none) -> 64"),
    ({"judge__contract": "choice"}, "judge.contract: boolean -> choice"),
]


@pytest.mark.parametrize("changes", FREE, ids=lambda changes: next(iter(changes)))
def test_what_may_change_resumes(tmp_path: Path, changes: dict[str, Any]) -> None:
    with Atlas.open(tmp_path, create=True) as atlas:
        first = open_hunt(atlas, settings(), MODELS)
        assert open_hunt(atlas, settings(**changes), MODELS) == first
        assert atlas.hunt(first).config == settings(**changes).model_dump(mode="json")
        [event] = atlas.events(first)
        assert event.kind == "settings"
        assert len(event.detail["changed"]) == 1


@pytest.mark.parametrize(("changes", "line"), FIXED, ids=lambda one: one if isinstance(one, str) else "")
def test_what_may_not_change_is_refused_with_the_difference(
    tmp_path: Path, changes: dict[str, Any], line: str
) -> None:
    assert diff_configs(settings().model_dump(), settings(**changes).model_dump()) == [line]
    with Atlas.open(tmp_path, create=True) as atlas:
        first = open_hunt(atlas, settings(), MODELS)
        atlas.record(first, [make_recorded(1)])
        with pytest.raises(AtlasError) as caught:
            open_hunt(atlas, settings(**changes), MODELS)
        assert line in caught.value.message
        assert "--fork" in caught.value.fix
        fork = open_hunt(atlas, settings(**changes), MODELS, fork=True)
        assert atlas.hunt(fork).parent == first
        assert open_hunt(atlas, settings(**changes), MODELS) == fork
        assert open_hunt(atlas, settings(), MODELS) == first


def test_shards_and_identities_are_compared_too(tmp_path: Path) -> None:
    from dataclasses import replace

    with Atlas.open(tmp_path, create=True) as atlas:
        atlas.record(open_hunt(atlas, settings(), MODELS, shard=(0, 2)), [make_recorded(1)])
        with pytest.raises(AtlasError, match="shard: 1/2 -> 2/2"):
            open_hunt(atlas, settings(), MODELS, shard=(1, 2))
        newer = {**MODELS, "judge": replace(JUDGE, settings={"contract": "boolean/2"})}
        with pytest.raises(AtlasError, match=r"judge.settings.contract: boolean -> boolean/2 \(the model's"):
            open_hunt(atlas, settings(), newer, shard=(0, 2))


def test_equal_configs_differ_in_nothing() -> None:
    assert diff_configs({"a": {"b": (1, 2)}}, {"a": {"b": [1, 2]}}) == []
    assert diff_configs({"a": {}}, {"a": {"b": None}}) == ["a: {} -> (not set)", "a.b: (not set) -> (none)"]


def test_a_setting_that_was_not_there_yet_has_its_default(tmp_path: Path) -> None:
    old = settings().model_dump(mode="json")
    del old["search"]["batch_nodes"], old["space"]["depth"]
    with Atlas.open(tmp_path, create=True) as atlas:
        first = atlas.start_hunt("t2i", old, MODELS)
        assert open_hunt(atlas, settings(), MODELS) == first
        assert atlas.hunt(first).config == settings().model_dump(mode="json")
        assert atlas.events(first) == []
        atlas.record(first, [make_recorded(1)])
        with pytest.raises(AtlasError, match=r"space.depth: 2 -> 3"):
            open_hunt(atlas, settings(space__depth=3), MODELS)


def test_settings_that_are_no_longer_understood_are_compared_as_they_are(tmp_path: Path) -> None:
    old = {**settings().model_dump(mode="json"), "abolished": 1}
    with Atlas.open(tmp_path, create=True) as atlas:
        atlas.record(atlas.start_hunt("t2i", old, MODELS), [make_recorded(1)])
        with pytest.raises(AtlasError, match=r"abolished: 1 -> \(not set\)"):
            open_hunt(atlas, settings(), MODELS)


def test_a_hunt_that_recorded_nothing_does_not_block_a_corrected_config(tmp_path: Path) -> None:
    with Atlas.open(tmp_path, create=True) as atlas:
        first = open_hunt(atlas, settings(), MODELS)
        mended = open_hunt(atlas, settings(seed=4), MODELS)
        assert mended != first
        assert atlas.hunt(mended).parent is None
        atlas.record(mended, [make_recorded(1)])
        assert atlas.hunt().id == mended
        with pytest.raises(AtlasError, match="seed: 4 -> 5"):
            open_hunt(atlas, settings(seed=5), MODELS)
