"""Vectors for words: kept in safe files, tied to their words, and made of names where there is no model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from failscape.errors import ConfigError
from failscape.spaces import load_corpus
from failscape.spaces.embeddings import (
    Embeddings,
    digest_of_words,
    embed_names,
    load_embeddings,
    save_embeddings,
    texts_of,
)

CORPUS = load_corpus("starter")


def some() -> Embeddings:
    rng = np.random.default_rng(1)
    entities, values = (
        rng.normal(size=(len(rows), 5)).astype(np.float32) for rows in (CORPUS.entities, CORPUS.values)
    )
    return Embeddings(entities, values, "a-model", digest_of_words(CORPUS))


@pytest.mark.parametrize(
    "suffix", [".npz", pytest.param(".safetensors", marks=pytest.mark.extra("safetensors"))]
)
def test_a_file_gives_back_what_was_saved(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"deep/words{suffix}"
    save_embeddings(path, some())
    loaded = load_embeddings(str(path), CORPUS)
    assert loaded.digest == some().digest
    assert (loaded.source, loaded.size) == ("a-model", 5)


def test_a_file_of_other_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.npz"
    save_embeddings(path, some())
    with pytest.raises(ConfigError, match="made for other words than those of corpus 'toybox'"):
        load_embeddings(str(path), load_corpus("toybox"))


def test_the_words_decide_not_the_whitelist() -> None:
    assert digest_of_words(replace(CORPUS, allowed=~CORPUS.allowed)) == digest_of_words(CORPUS)
    assert digest_of_words(replace(CORPUS, values=CORPUS.values[1:])) != digest_of_words(CORPUS)
    entities, values = texts_of(CORPUS)
    assert len(set(values)) == len(CORPUS.values), "the same word in two families must not be one"
    assert "cat" in entities
    assert "base colour: red" in values


def test_files_that_are_no_embeddings(tmp_path: Path) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(ConfigError, match="cannot be read as embeddings"):
        load_embeddings(str(broken), CORPUS)
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, entities=np.array([{}]), values=np.zeros(1), source=np.array("x"), words=np.array("y"))
    with pytest.raises(ConfigError, match="cannot be read as embeddings"):
        load_embeddings(str(pickled), CORPUS)
    with pytest.raises(ConfigError, match=r"there are no embeddings 'nowhere\.npz'"):
        load_embeddings("nowhere.npz", CORPUS)
    other = tmp_path / "words.pkl"
    other.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"neither \.npz nor \.safetensors"):
        load_embeddings(str(other), CORPUS)
    short = tmp_path / "short.npz"
    save_embeddings(short, Embeddings(np.zeros((2, 5)), np.zeros((1, 5)), "m", digest_of_words(CORPUS)))
    with pytest.raises(ConfigError, match="wrong shape"):
        load_embeddings(str(short), CORPUS)


def test_names_that_belong_together_are_near() -> None:
    embeddings = load_embeddings("names", CORPUS)
    assert embeddings.digest == embed_names(CORPUS).digest

    def near(first: str, second: str) -> float:
        one, two = (embeddings.entities[CORPUS.find_entity(name)] for name in (first, second))
        return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))

    by_class: dict[bool, list[float]] = {True: [], False: []}
    for one in CORPUS.entities:
        for two in CORPUS.entities:
            if one.name < two.name:
                by_class[one.sub_class == two.sub_class].append(near(one.name, two.name))
    assert min(by_class[True]) > np.quantile(by_class[False], 0.9)
