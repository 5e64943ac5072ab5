"""The last linear layer of an ONNX file: found in its usual forms, replaced, or named as missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from failscape.errors import ConfigError
from failscape.repair.last_layer import Layer, find_last_layer, load_model, with_features, with_layer

WEIGHT = np.arange(6, dtype=np.float32).reshape(3, 2)
BIAS = np.array([1.0, -1.0], np.float32)
X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def made(nodes: list[Any], stored: dict[str, Any], output: str = "y", width: int = 2) -> Any:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["f"]), *nodes],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None, width])],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


FORMS = {
    "gemm": made([helper.make_node("Gemm", ["f", "w", "b"], ["y"])], {"w": WEIGHT, "b": BIAS}),
    "gemm, turned": made(
        [helper.make_node("Gemm", ["f", "w", "b"], ["y"], transB=1)], {"w": WEIGHT.T.copy(), "b": BIAS}
    ),
    "matmul and add": made(
        [helper.make_node("MatMul", ["f", "w"], ["m"]), helper.make_node("Add", ["b", "m"], ["y"])],
        {"w": WEIGHT, "b": BIAS},
    ),
    "half weights": made(
        [
            helper.make_node("Cast", ["h"], ["w"], to=TensorProto.FLOAT),
            helper.make_node("Gemm", ["f", "w", "b"], ["y"]),
        ],
        {"h": WEIGHT.astype(np.float16), "b": BIAS},
    ),
}


def run(model: Any, name: str = "y") -> np.ndarray[Any, Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run([name], {"x": X})
    return np.asarray(found)


@pytest.mark.parametrize("form", FORMS)
def test_the_layer_is_found_read_and_replaced(form: str) -> None:
    model = FORMS[form]
    last = find_last_layer(model, Path("net.onnx"))
    assert np.array_equal(last.layer.weight, WEIGHT)
    assert last.layer.bias is not None
    assert np.array_equal(last.layer.bias, BIAS)
    features = run(with_features(model, last), last.features)
    assert np.allclose(features, np.maximum(X, 0))
    same = with_layer(model, last, last.layer)
    assert np.allclose(run(same), run(model), atol=1e-5)
    other = Layer(-last.layer.weight, 2 * last.layer.bias)
    assert np.allclose(run(with_layer(model, last, other)), features @ -WEIGHT + 2 * BIAS, atol=1e-5)
    assert np.allclose(run(model), features @ WEIGHT + BIAS, atol=1e-5), "the model itself stays as it was"
    assert len(same.graph.initializer) == 2, "nothing of the old layer is left"


def test_softmax_may_follow_and_a_bias_may_be_missing() -> None:
    model = made(
        [helper.make_node("MatMul", ["f", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["y"])],
        {"w": WEIGHT},
    )
    last = find_last_layer(model, Path("net.onnx"))
    assert last.layer.bias is None
    assert np.allclose(run(with_layer(model, last, last.layer)), run(model), atol=1e-6)


def test_a_model_without_a_final_linear_layer_is_refused_by_its_nodes() -> None:
    model = made(
        [helper.make_node("Mul", ["f", "s"], ["m"], name="scale"), helper.make_node("Softmax", ["m"], ["y"])],
        {"s": np.ones((1,), np.float32)},
        width=3,
    )
    with pytest.raises(
        ConfigError, match=r"no final linear layer.*'y' these nodes.*Softmax 'y', Mul 'scale'"
    ):
        find_last_layer(model, Path("net.onnx"))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match="cannot be read as ONNX"):
        load_model(tmp_path / "a.onnx")
    assert onnx.__version__
