"""The words that a hunt was run with stay in its atlas, whatever becomes of the folder they came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas, open_hunt
from failscape.atlas.hunts import changed_corpus, copy_corpus
from failscape.atlas.merge import merge_atlases
from failscape.errors import AtlasError
from failscape.kinds.t2i.config import T2IConfig
from failscape.models.roles import Identity
from failscape.spaces.corpus import load_corpus
from tests.unit.atlas.suite import make_recorded


def write_corpus(folder: Path, *entities: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "entities.json").write_text(json.dumps({"Animals": {"Pets": list(entities)}}))
    (folder / "attributes_base.json").write_text(json.dumps({"Colour": ["red", "blue"]}))
    return folder


def wish(corpus: Path | str) -> tuple[dict[str, Any], dict[str, Identity]]:
    model = {"provider": "python", "path": "a:b"}
    config = T2IConfig.model_validate(
        {"hunt": "t2i", "target": model, "judge": model, "space": {"corpus": str(corpus)}}
    )
    digest = load_corpus(str(corpus)).digest
    space = Identity("space", "corpus", str(corpus), {"digest": digest})
    return config.model_dump(mode="json"), {"space": space}


def test_a_folder_is_copied_and_read_from_the_atlas(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "words", "cat", "dog")
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = open_hunt(atlas, *wish(corpus))
        shutil.rmtree(corpus)
        kept = Path(atlas.hunt(hunt).config["space"]["corpus"])
    assert kept.is_relative_to(tmp_path / "atlas" / "corpora")
    assert [entity.name for entity in load_corpus(str(kept)).entities] == ["cat", "dog"]
    merge_atlases([tmp_path / "atlas"], tmp_path / "all")
    (tmp_path / "all").rename(tmp_path / "moved")
    with Atlas.open(tmp_path / "moved", readonly=True) as atlas:
        moved = Path(atlas.hunts()[0].config["space"]["corpus"])
    assert moved.is_relative_to(tmp_path / "moved")
    assert load_corpus(str(moved)).digest == load_corpus(str(kept)).digest


def test_resuming_compares_with_the_users_own_folder(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "words", "cat")
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = open_hunt(atlas, *wish(corpus))
        assert open_hunt(atlas, *wish(corpus)) == hunt
        elsewhere = shutil.copytree(corpus, tmp_path / "elsewhere")
        assert open_hunt(atlas, *wish(elsewhere)) == hunt
        assert open_hunt(atlas, *wish(corpus)) == hunt
        atlas.record(hunt, [make_recorded(1)])
        write_corpus(corpus, "cat", "dog")
        with pytest.raises(AtlasError, match=r"space.settings.digest"):
            open_hunt(atlas, *wish(corpus))
        fork = open_hunt(atlas, *wish(corpus), fork=True)
        corpora = [load_corpus(atlas.hunt(one).config["space"]["corpus"]) for one in (hunt, fork)]
    assert [len(corpus.entities) for corpus in corpora] == [1, 2]


def test_shipped_corpora_keep_their_name(tmp_path: Path) -> None:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = open_hunt(atlas, *wish("starter"))
        assert atlas.hunt(hunt).config["space"]["corpus"] == "starter"
    assert not (tmp_path / "atlas" / "corpora").exists()


def test_a_corpus_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "words", "cat")
    config, identities = wish(corpus)
    write_corpus(corpus, "dog")
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        with pytest.raises(AtlasError, match="changed while"):
            open_hunt(atlas, config, identities)
        assert atlas.hunts() == []
    assert list((tmp_path / "atlas" / "corpora").iterdir()) == []


def test_a_shipped_corpus_that_has_changed_is_noticed() -> None:
    config, identities = wish("starter")
    assert changed_corpus(config, identities) == ""
    other = {"space": Identity("space", "corpus", "starter", {"digest": "0" * 32})}
    assert "starter" in changed_corpus(config, other)
    assert changed_corpus(config, {}) == ""


def test_only_the_files_of_a_corpus_are_copied(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "mine", "cat", "dog")
    (tmp_path / "atlas" / "corpora").mkdir(parents=True)
    (source / "notes.json").write_text("[" + "0," * 50_000 + "0]")
    (source / "backup").mkdir()
    (source / "backup" / "entities.json").write_text("{}")
    copy = copy_corpus(source, tmp_path / "atlas" / "corpora" / "goal", follow=True)
    names = {path.name for path in copy.rglob("*")}
    assert "entities.json" in names
    assert not names & {"notes.json", "backup"}
