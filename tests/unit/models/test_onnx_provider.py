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


def build_grey(file: Path, shape: list[Any], **metadata: str) -> str:
    """Two outputs: the mean of all numbers of a picture, and one minus it."""
    axes = numpy_helper.from_array(np.array(range(1, len(shape)), np.int64), "axes")
    one = numpy_helper.from_array(np.array(1, np.float32), "one")
    flat = numpy_helper.from_array(np.array([-1, 1], np.int64), "column")
    nodes = [
        helper.make_node("ReduceMean", ["image", "axes"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["light"]),
        helper.make_node("Sub", ["one", "light"], ["dark"]),
        helper.make_node("Concat", ["light", "dark"], ["shares"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "light",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("shares", TensorProto.FLOAT, [shape[0], 2])],
        [axes, one, flat],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, metadata)
    onnx.save(model, str(file))
    return str(file)


WHITE = [Picture.from_image(Image.new("RGB", (10, 6), "white"))]


@pytest.mark.parametrize(
    ("shape", "params"),
    [
        (["n", 1, 28, 28], {}),
        (["n", 28, 28, 1], {}),
        (["n", "c", 28, 28], {"layout": "NCHW", "channels": 1}),
        (["n", 28, 28], {}),
        (["n", 784], {"size": 28}),
    ],
)
async def test_one_channel_is_read_from_the_graph_or_from_params(
    tmp_path: Path, shape: list[Any], params: dict[str, Any]
) -> None:
    model = await started("classifier", build_grey(tmp_path / "grey.onnx", shape), params=params)
    (reply,) = await model.classify(WHITE)
    assert reply.value[0] == ("0", pytest.approx(1.0))
    about, assumed = model.about_input
    assert "28 × 28 grey pixels" in about
    assert {"mean", "std", "scale"} <= set(assumed)
    await model.close()


async def test_wrong_channels_are_refused_with_the_shape(tmp_path: Path) -> None:
    path = build_grey(tmp_path / "grey.onnx", ["n", 1, 28, 28])
    with pytest.raises(ConfigError, match=r"takes 1 channels .*but `channels` is 'BGR'"):
        await started("classifier", path, params={"channels": "BGR"})


async def test_the_image_fields_of_the_standard_are_read(tmp_path: Path) -> None:
    fields = {"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": "NominalRange_0_255"}
    model = await started(
        "embedder", build_grey(tmp_path / "m.onnx", ["n", 3, 4, 4], **fields), params={"output": "shares"}
    )
    (reply,) = await model.embed(WHITE)
    assert reply.value == pytest.approx([255.0, -254.0])
    about, assumed = model.about_input
    assert "BGR" in about
    assert assumed == ("fit", "std")
    await model.close()
