"""The diffusers example draws with a real, tiny, untrained pipeline."""

from pathlib import Path

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.testing.tiny_pipelines import save_pipeline

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.extra("torch", "transformers", "diffusers")


@pytest.fixture(scope="module")
def tiny_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pipeline("sd", tmp_path_factory.mktemp("painter") / "pipeline")


async def test_it_draws_what_its_seed_says(tiny_pipeline: Path) -> None:
    params = {"model": str(tiny_pipeline), "device": "cpu", "dtype": "float32", "num_inference_steps": 2}
    path = f"{ROOT / 'examples/diffusers_painter.py'}:Painter"
    model = create_model("generator", ModelConfig(provider="python", path=path, params=params))
    await model.start()
    try:
        together = await model.generate(["a cat", "a cat", "a dog"], [1, 2, 1])
        alone = await model.generate(["a cat"], [2])
    finally:
        await model.close()
    pictures: list[np.ndarray] = [reply.value.array.astype(float) for reply in (*together, *alone)]
    assert pictures[0].shape == (32, 32, 3)
    assert np.abs(pictures[1] - pictures[3]).max() <= 2, "neighbours in a batch change nothing"
    assert np.abs(pictures[0] - pictures[1]).mean() > 5
