from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.registry import create_model
from failscape.pictures import Picture

LABELS = ("red", "green", "blue")
COLOURS = [Picture.from_image(Image.new("RGB", (10, 6), name)) for name in ("red", "lime", "blue")]


def build(file: Path, batch: Any = "n", layout: str = "NCHW", side: Any = 4, **metadata: Any) -> str:
    """A classifier of the strongest colour channel: the mean of each channel, times ten."""
    shape = [batch, 3, side, side] if layout == "NCHW" else [batch, side, side, 3]
    axes = [2, 3] if layout == "NCHW" else [1, 2]
    nodes = [
        helper.make_node("ReduceMean", ["image", "axes"], ["features"], keepdims=0),
        helper.make_node("Mul", ["features", "ten"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(axes, np.int64), "axes"),
        numpy_helper.from_array(np.array(10, np.float32), "ten"),
    ]
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 3])
            for name in ("logits", "features")
        ],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, {name: json.dumps(value) for name, value in metadata.items()})
    onnx.save(model, str(file))
    return str(file)


async def started(role: str, path: str, **settings: Any) -> Any:
    model = create_model(role, ModelConfig(provider="onnx", path=path, **settings))
    await model.start()
    return model


@pytest.fixture
def labels(tmp_path: Path) -> str:
    file = tmp_path / "labels.txt"
    file.write_text("\n".join(LABELS) + "\n")
    return str(file)


@pytest.mark.parametrize("batch", ["n", 1, 2])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
async def test_classifies_whatever_the_layout_and_batch(
    tmp_path: Path, labels: str, batch: Any, layout: str
) -> None:
    model = await started("classifier", build(tmp_path / "m.onnx", batch, layout), labels=labels)
    replies = await model.classify(COLOURS)
    assert [reply.value[0][0] for reply in replies] == list(LABELS)
    assert sum(score for _, score in replies[0].value) == pytest.approx(1)
    assert replies[0].value[0][1] > 0.9
    await model.close()


async def test_mean_and_std_and_metadata_are_used(tmp_path: Path) -> None:
    path = build(tmp_path / "m.onnx", labels=LABELS, mean=[1.0, 0.0, 0.0], std=[0.5, 1, 1])
    model = await started("embedder", path, params={"output": "features"})
    (reply,) = await model.embed(COLOURS[:1])
    assert reply.value == pytest.approx([0, 0, 0])
    await model.close()
    model = await started("classifier", path, params={"mean": 0.0, "std": 1.0})
    assert (await model.classify(COLOURS[1:2]))[0].value[0][0] == "green"
    await model.close()


async def test_probabilities_are_left_alone(tmp_path: Path) -> None:
    model = await started("classifier", build(tmp_path / "m.onnx"), params={"output": "features"})
    assert (await model.classify(COLOURS[:1]))[0].value[0] == ("0", pytest.approx(1.0))
    await model.close()


async def test_nan_is_an_invalid_reply(tmp_path: Path) -> None:
    model = await started("classifier", build(tmp_path / "m.onnx"), params={"mean": float("nan")})
    (reply,) = await model.classify(COLOURS[:1])
    assert reply.value is None
    assert reply.invalid
    await model.close()


async def test_dynamic_size_must_be_given(tmp_path: Path) -> None:
    path = build(tmp_path / "m.onnx", side="s")
    with pytest.raises(ConfigError, match="size"):
        await started("classifier", path)
    model = await started("classifier", path, params={"size": [4, 4], "fit": "crop", "channels": "BGR"})
    assert (await model.classify(COLOURS[:1]))[0].value[0][0] == "2"
    await model.close()


@pytest.mark.parametrize(
    ("params", "part"),
    [
        ({"output": "x"}, "no output 'x'"),
        ({"input": "x"}, "no input 'x'"),
        ({"meen": 1}, "meen"),
        ({"std": 0}, "std"),
    ],
)
async def test_wrong_params_are_named(tmp_path: Path, params: dict[str, Any], part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await started("classifier", build(tmp_path / "m.onnx"), params=params)
    assert part in str(caught.value)


async def test_wrong_number_of_labels(tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("a\nb\n")
    with pytest.raises(ConfigError, match="3 classes, but there are 2 labels"):
        await started("classifier", build(tmp_path / "m.onnx"), labels=str(file))


async def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model file"):
        await started("classifier", "nowhere.onnx")
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        await started("classifier", str(junk))


async def test_an_embedder_of_images_says_no_to_texts(tmp_path: Path) -> None:
    model = await started("embedder", build(tmp_path / "m.onnx"))
    with pytest.raises(Permanent, match="images only"):
        await model.embed(["text"])
    await model.close()


def test_another_file_is_another_model(tmp_path: Path) -> None:
    path = build(tmp_path / "m.onnx")
    config = ModelConfig(provider="onnx", path=path)
    before = create_model("classifier", config).identity.digest
    build(tmp_path / "m.onnx", layout="NHWC")
    assert create_model("classifier", config).identity.digest != before
