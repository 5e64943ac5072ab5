"""Every mistake in a config becomes one clear line: file, key, value, nearest valid key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from failscape.config.files import load_config
from failscape.errors import ConfigError

GOOD = """
hunt: t2i
target: {provider: openai, model: painter, endpoints: ["http://127.0.0.1:1/v1"]}
judge: {provider: openai, model: eyes, endpoints: ["http://127.0.0.1:2/v1"]}
budget: {images: 100}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "hunt.yaml"
    path.write_text(text)
    return path


def test_a_good_file_loads_and_overrides_apply(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    config = load_config(path, ["budget.images=7", "search.threshold=0.5", "space.entities=[cat, dog]"])
    assert config.budget.images == 7
    assert config.search.threshold == 0.5
    assert config.space.entities == ("cat", "dog")
    assert set(config.models()) == {"generator", "judge"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("budget:", "buget:"), "unknown key `buget` (did you mean budget"),
        (("{images: 100}", "{image: 100}"), "unknown key `budget.image` (did you mean images"),
        (("{images: 100}", "{images: none}"), "`budget.images`"),
        (("judge:", "#"), "missing key `judge`"),
        (("hunt: t2i", "hunt: t2j"), "did you mean t2i"),
        (("hunt: t2i", "hunt: [t2i"), "not valid YAML: line 3"),
        (("budget: {images: 100}", "search: {threshold: 1.5}"), "`search.threshold`"),
        (("hunt: t2i", "hunt: [t2i]"), "`hunt` must be one of"),
        (("budget: {images: 100}", "search: {strategy: failureatlass}"), "did you mean failureatlas"),
        (("budget: {images: 100}", "space: {entities: cat}"), "`space.entities`"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert said in str(caught.value)
    assert "hunt.yaml" in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("http://127.0.0.1:1", "http://me:s3cret@127.0.0.1:1"))
    with pytest.raises(ConfigError, match=r"`target.endpoints`.*api_key_env") as caught:
        load_config(path)
    assert "s3cret" not in str(caught.value)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="is empty"):
        load_config(write(tmp_path, ""))


@pytest.mark.parametrize("override", ["budget", "=3", "hunt.x=3", "budget.images=[1"])
def test_bad_overrides_are_named(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        load_config(write(tmp_path, GOOD), [override])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"# nothing but a word\n", "is empty"),
        (b"- a\n- b\n", "must hold `key: value` lines, but holds list"),
        ("hunt: t2i\n# caf\u00e9\n".encode("latin-1"), "is not UTF-8"),
        (b"hunt: t2i\nseed: 1\nseed: 2\n", "the key `seed` is there twice"),
        (b"hunt: t2i\ntarget: {provider: toybox, model: a, model: b}\n", "the key `model` is there twice"),
    ],
)
def test_unusable_files_get_a_line_that_says_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        load_config(file)
    assert caught.value.fix


def test_merged_keys_may_be_set_again(tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text(
        "hunt: t2i\ntarget: &model {provider: toybox, model: toy-painter}\n"
        "judge: &judge {<<: *model, model: toy-eyes}\npolish: {<<: *judge, model: other}\n"
    )
    config = load_config(file)
    assert config.models()["judge"].model == "toy-eyes"


@pytest.mark.parametrize("key", ["endpoints", "image_hosts"])
def test_one_text_in_place_of_a_list_is_explained(tmp_path: Path, key: str) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(f"hunt: t2i\ntarget: {{provider: openai, model: m, {key}: 'http://secret@gpu:8000'}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert f'`{key}: ["…"]`' in caught.value.message
    assert "secret" not in caught.value.message or key == "image_hosts"
