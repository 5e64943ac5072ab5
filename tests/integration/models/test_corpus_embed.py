"""`failscape corpus embed` with a real, tiny T5 encoder that is made here."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from failscape.cli import cli
from failscape.errors import ConfigError
from failscape.spaces import load_corpus
from failscape.spaces.embeddings import load_embeddings

pytestmark = pytest.mark.extra("torch", "transformers")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letters are its tokens; its weights are random."""
    folder = tmp_path_factory.mktemp("t5")
    letters = ["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz", ":", "-", " "]
    model = tokenizers.models.WordLevel({letter: place for place, letter in enumerate(letters)}, "<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    fast.save_pretrained(folder)
    settings = transformers.T5Config(
        vocab_size=len(letters), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, pad_token_id=0
    )
    torch.manual_seed(0)
    transformers.T5Model(settings).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["words.safetensors", "words.npz"])
def test_all_words_are_embedded_once(tiny_t5: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    run = CliRunner().invoke(cli, ["corpus", "embed", "starter", "--model", str(tiny_t5), "-o", str(out)])
    assert run.exit_code == 0, run.output
    corpus = load_corpus("starter")
    embeddings = load_embeddings(str(out), corpus)
    assert embeddings.entities.shape == (len(corpus.entities), 16)
    assert embeddings.values.shape == (len(corpus.values), 16)
    assert np.isfinite(embeddings.entities).all()
    assert len(np.unique(embeddings.values.round(5), axis=0)) == len(corpus.values)
    with pytest.raises(ConfigError, match="other words"):
        load_embeddings(str(out), load_corpus("toybox"))


def test_padding_does_not_change_a_vector(tiny_t5: Path) -> None:
    from failscape.cli.corpus import embeddings_of

    corpus = load_corpus("starter")
    together, alone = (embeddings_of(corpus, str(tiny_t5), batch, "cpu") for batch in (64, 1))
    assert np.allclose(together.entities, alone.entities, atol=1e-5)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    out = str(tmp_path / "words.npz")
    run = CliRunner().invoke(cli, ["corpus", "embed", "starter", "--model", str(tmp_path), "-o", out])
    assert isinstance(run.exception, ConfigError)
    assert "cannot be loaded" in str(run.exception)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    run = CliRunner().invoke(cli, ["corpus", "embed", "starter", "-o", str(tmp_path / "words.pkl")])
    assert isinstance(run.exception, ConfigError)
    assert "must end in .npz or .safetensors" in str(run.exception)
