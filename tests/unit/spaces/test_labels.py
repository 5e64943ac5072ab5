"""Label sets: what ships, what files may look like, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failscape.errors import ConfigError
from failscape.spaces.albums import label_set_names, load_labels


def test_imagenet_ships_with_superclasses_and_synonyms() -> None:
    labels = load_labels("imagenet")
    assert len(labels.labels) == 1000
    assert labels.labels[0].name == "tench"
    assert {"tench", "Tinca tinca", "tench, Tinca tinca", "n01440764"} <= set(labels.labels[0].accept)
    assert labels.find("king penguin").superclass == "bird"
    assert labels.find("great_white_shark").name == "great white shark"
    assert labels.find("school bus").superclass == "bus"
    assert all(label.superclass for label in labels.labels)
    assert "imagenet" in label_set_names()


def test_no_spelling_belongs_to_two_classes_but_for_namesakes() -> None:
    owners: dict[str, list[str]] = {}
    for label in load_labels("imagenet").labels:
        for name in label.accept:
            owners.setdefault(name, []).append(label.name)
    shared = {name for name, mine in owners.items() if len(mine) > 1}
    assert shared == {"crane", "maillot"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"name": "tench", "superclass": "fish", "synonyms": ["Tinca tinca"]}, "goldfish"]),
        json.dumps({"tench": {"superclass": "fish", "synonyms": ["Tinca tinca"]}, "goldfish": ""}),
        "tench, Tinca tinca\ngoldfish\n\n",
    ],
)
def test_files_of_several_forms(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels"
    path.write_text(text)
    labels = load_labels(str(path))
    assert [label.name for label in labels.labels] == ["tench", "goldfish"]
    assert labels.find("tinca TINCA").name == "tench"
    assert labels.digest == load_labels(str(path)).digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[1, 2]", "not understood"),
        ('[{"superclass": "fish"}]', "not understood"),
        ('["a", "A"]', "two classes are called"),
        ('["a; b"]', "cannot be the name"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_labels(str(path))


def test_unknown_sets_and_names() -> None:
    with pytest.raises(ConfigError, match="neither shipped nor a file"):
        load_labels("imagnet")
    with pytest.raises(ConfigError) as error:
        load_labels("imagenet").find("kng penguin")
    assert "king penguin" in error.value.fix
