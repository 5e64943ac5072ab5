"""The predictors that a config can name, and what is said before a run when one cannot work."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.errors import ConfigError, MissingExtra
from failscape.kinds.t2i.baselines import predictors
from failscape.kinds.t2i.baselines.predictors import Training, TransformerPredictor
from failscape.kinds.t2i.build import build_hunt, forewarn
from failscape.kinds.t2i.config import T2IConfig
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, load_corpus
from failscape.spaces.embeddings import embed_names

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, families=("Base",), depth=2)
WORLD = PlantedWorld(LATTICE, "medium", seed=4)
with_torch = pytest.mark.extra("torch")


def config(**predictor: Any) -> T2IConfig:
    model = {"provider": "python", "path": "none:none"}
    return T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": model,
            "judge": model,
            "space": {"corpus": "starter", "families": ["Base"]},
            "search": {
                "strategy": "failureatlas",
                "predictor": {"warm_up": 40, "retrain_every": 60, "epochs": 2, **predictor},
            },
            "budget": {"images": 3_000},
        }
    )


def make(epochs: int = 8, folder: Path | None = None) -> TransformerPredictor:
    return TransformerPredictor(lambda: embed_names(CORPUS), Training(2, epochs=epochs), folder)


def halves() -> tuple[list[Any], list[float], list[Any], list[float]]:
    nodes = [node for layer in range(3) for node in LATTICE.nodes(layer)]
    order = np.random.default_rng(0).permutation(len(nodes))[:1200]
    some = [nodes[place] for place in order]
    rates = [WORLD.rate(node) for node in some]
    return some[:800], rates[:800], some[800:], rates[800:]


def test_a_config_without_predictor_keeps_the_plain_order() -> None:
    settings = config(kind="none")
    assert forewarn(settings) == []
    assert build_hunt(settings)._order is None  # type: ignore[attr-defined]


def test_ridge_needs_nothing() -> None:
    settings = config(kind="ridge")
    assert forewarn(settings) == []
    hunt = build_hunt(settings)
    assert simulate(hunt, WORLD, 3_000).images == 3_000


def test_a_budget_that_ends_within_the_warm_up_is_foretold() -> None:
    assert "never be asked" in forewarn(config(kind="ridge", warm_up=500))[0]


def test_a_strategy_that_chooses_by_itself_says_so() -> None:
    settings = config(kind="transformer")
    search = settings.search.model_copy(update={"strategy": "random"})
    assert forewarn(settings.model_copy(update={"search": search})) == [
        "search.predictor is not used by strategy random"
    ]


def test_without_torch_the_run_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictors, "find_spec", lambda name: None)
    settings = config(kind="transformer")
    with pytest.raises(MissingExtra, match=r"pip install 'failscape\[transformers\]'"):
        forewarn(settings)
    build_hunt(settings).progress()  # looking at such a hunt needs no torch


@with_torch
def test_missing_embeddings_are_told_before_the_run() -> None:
    with pytest.raises(ConfigError, match="there are no embeddings"):
        forewarn(config(kind="transformer", embeddings="nowhere.safetensors"))


@with_torch
def test_it_learns_and_what_it_learns_is_always_the_same() -> None:
    import torch

    nodes, rates, others, truth = halves()
    torch.manual_seed(11)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first = make()
    first.fit(nodes, rates)
    guesses = first.predict(others)
    assert torch.equal(torch.get_rng_state(), state), "global randomness is left alone"
    assert torch.get_num_threads() == threads
    assert ((guesses > 0) & (guesses < 1)).all()
    assert np.corrcoef(guesses, truth)[0, 1] > 0.4
    torch.manual_seed(12)
    second = make()
    second.fit(others, truth)
    second.fit(nodes, rates)
    assert (second.predict(others) == guesses).all()


@with_torch
def test_a_checkpoint_is_read_instead_of_training_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, rates, others, _ = halves()
    first = make(1, tmp_path)
    first.fit(nodes, rates)
    (kept,) = tmp_path.iterdir()
    assert kept.suffix == ".safetensors"
    guesses = first.predict(others)
    monkeypatch.setattr(TransformerPredictor, "_train", None)
    again = make(1, tmp_path)
    again.fit(nodes, rates)
    assert (again.predict(others) == guesses).all()
    with pytest.raises(TypeError):  # other rates are another training
        again.fit(nodes, rates[::-1])
    monkeypatch.undo()
    kept.write_bytes(kept.read_bytes()[:100])
    damaged = make(1, tmp_path)
    damaged.fit(nodes, rates)
    assert (damaged.predict(others) == guesses).all(), "a damaged file is trained and written anew"
    assert len(kept.read_bytes()) > 100


@with_torch
def test_a_folder_for_checkpoints_that_cannot_be_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be made a folder"):
        forewarn(config(kind="transformer", checkpoints=str(tmp_path / "file" / "deeper")))


@with_torch
def test_a_hunt_with_the_transformer_resumes_to_the_same_nodes() -> None:
    settings = config(kind="transformer")
    assert forewarn(settings) == []
    whole, resumed = build_hunt(settings), build_hunt(settings)
    for trial in simulate(whole, WORLD, 2_000, in_flight=1, keep=True).trials:
        resumed.tell(trial)
    follow = [simulate(hunt, WORLD, 500, in_flight=1, keep=True).trials for hunt in (whole, resumed)]
    assert [trial.key for trial in follow[0]] == [trial.key for trial in follow[1]]


def test_building_a_hunt_imports_no_torch() -> None:
    code = "import sys, failscape.kinds.t2i.build; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
