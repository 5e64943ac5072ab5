"""The last linear layer of an ONNX classifier: find it, fit it anew on the features before it, put it back.

Deep feature reweighting (Kirichenko, Izmailov and Wilson, 2023) fits a new last layer on balanced data. Here
the penalty pulls towards the old layer and not towards zero, so that classes which no row speaks of stay as
they were. Reading and writing models needs the package `onnx` (extra `repair`).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from failscape.atlas.files import write_whole
from failscape.errors import ConfigError, MissingExtra

Floats = NDArray[np.float64]

#: Most steps of L-BFGS; both twins get the same.
STEPS = 200

#: Weight of the pull towards the old layer, in units of the features' mean square. Chosen once, before any
#: proof was looked at; a stronger pull repairs less and harms less.
PULL = 1e-3

#: The share of all weight that failures get, spread evenly over findings; clean rows share the rest.
FAILURE_SHARE = 0.5


class Layer(NamedTuple):
    """`weight` is features × classes; `bias` is `None` for a layer without one."""

    weight: Floats
    bias: Floats | None

    def scores(self, features: Floats) -> Floats:
        found = features @ self.weight
        return np.asarray(found if self.bias is None else found + self.bias, np.float64)


class Rows(NamedTuple):
    """Features with the right class of each; `group` names the finding of a row, "" for clean ones."""

    features: Floats
    labels: NDArray[np.intp]
    groups: tuple[str, ...]


def row_weights(groups: tuple[str, ...]) -> Floats:
    """Findings share `FAILURE_SHARE` evenly; clean rows share what is left, or all of it."""
    names, places = np.unique(np.array(groups), return_inverse=True)
    counts = np.bincount(places).astype(np.float64)
    clean = names == ""
    findings = int((~clean).sum())
    failing = FAILURE_SHARE if findings and clean.any() else float(findings > 0)
    total = np.where(clean, 1 - failing, failing / max(1, findings))
    return np.asarray((total / counts)[places], np.float64)


def fit_layer(old: Layer, rows: Rows, pull: float = PULL) -> Layer:
    """The layer with the smallest weighted loss plus its pull towards `old`."""
    weights = row_weights(rows.groups)
    shape, size = old.weight.shape, old.weight.size
    scale = pull * float(np.mean(rows.features**2)) * shape[0]
    start = np.concatenate([old.weight.ravel(), *([] if old.bias is None else [old.bias])])

    def unpacked(flat: Floats) -> Layer:
        return Layer(flat[:size].reshape(shape), None if old.bias is None else flat[size:])

    def loss(flat: Floats) -> tuple[float, Floats]:
        scores = unpacked(flat).scores(rows.features)
        logs = scores - special.logsumexp(scores, axis=1, keepdims=True)
        excess = np.exp(logs)
        excess[np.arange(len(excess)), rows.labels] -= 1
        excess *= weights[:, None]
        moved = flat - start
        value = -float(weights @ logs[np.arange(len(logs)), rows.labels]) + scale / 2 * float(moved @ moved)
        slope = [(rows.features.T @ excess).ravel()]
        slope += [] if old.bias is None else [excess.sum(axis=0)]
        return value, np.concatenate(slope) + scale * moved

    found: Any = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return unpacked(np.asarray(found.x, np.float64))


def placebo_rows(rows: Rows, seed: int) -> Rows:
    """As many rows without any failure: clean ones stand in for those, drawn by chance."""
    clean = np.array([not group for group in rows.groups])
    places = np.flatnonzero(clean)
    drawn = np.random.default_rng(seed).choice(places, size=int((~clean).sum()))
    chosen = np.concatenate([places, drawn])
    return Rows(rows.features[chosen], rows.labels[chosen], ("",) * len(chosen))


#: What may come after the layer: none of these mixes classes.
THROUGH = ("Softmax", "LogSoftmax", "Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Sigmoid")

#: What a weight may go through on its way from the file to the layer.
KEPT_CONSTANT = ("Cast", "Identity", "Transpose")

FIX = (
    "repair needs a model that ends in a linear layer: Gemm, or MatMul with or without Add, on stored weights"
)


class LastLayer(NamedTuple):
    """`features` names the tensor that goes in; `linear` and `add` are the nodes that make up the layer."""

    layer: Layer
    features: str
    linear: Any
    add: Any | None


def load_model(path: Path) -> Any:
    if find_spec("onnx") is None:
        raise MissingExtra("repairing a classifier", "repair")
    import onnx

    try:
        return onnx.load(str(path))
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise ConfigError(f"{path} cannot be read as ONNX: {text}", "give the .onnx file") from error


def find_last_layer(model: Any, path: Path, output: str = "") -> LastLayer:
    """Walk back from the output to the first layer that mixes features into classes."""
    graph = _Graph(model.graph)
    looked: list[str] = []
    name = start = output or model.graph.output[0].name
    while (node := graph.maker(name)) is not None:
        looked.append(f"{node.op_type} {node.name or node.output[0]!r}")
        if node.op_type not in THROUGH:
            found = _layer_at(graph, node)
            if found is not None:
                return found
            break
        name = node.input[0]
    seen = ", ".join(looked) or "no node"
    raise ConfigError(
        f"{path} has no final linear layer: back from output {start!r} these nodes were looked at: {seen}",
        FIX,
    )


def _layer_at(graph: _Graph, node: Any) -> LastLayer | None:
    if node.op_type == "Gemm":
        return _gemm(graph, node)
    if node.op_type == "MatMul":
        return _matmul(graph, node, None)
    if node.op_type != "Add":
        return None
    for name, other in (tuple(node.input), tuple(node.input)[::-1]):
        made = graph.maker(other)
        if graph.constant(name) is not None and made is not None and made.op_type == "MatMul":
            return _matmul(graph, made, node)
    return None


def _gemm(graph: _Graph, node: Any) -> LastLayer | None:
    set_to = {one.name: one for one in node.attribute}
    plain = all(name not in set_to or set_to[name].f == 1.0 for name in ("alpha", "beta"))
    weight = graph.constant(node.input[1])
    if weight is None or not plain or ("transA" in set_to and set_to["transA"].i):
        return None
    weight = weight.T if "transB" in set_to and set_to["transB"].i else weight
    bias = graph.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    if bias is None and len(node.input) > 2 and node.input[2]:
        return None
    return LastLayer(_layer(weight, bias), node.input[0], node, None)


def _matmul(graph: _Graph, node: Any, add: Any | None) -> LastLayer | None:
    weight = graph.constant(node.input[1])
    if weight is None or weight.ndim != 2:
        return None
    bias = next((one for one in map(graph.constant, add.input) if one is not None), None) if add else None
    return LastLayer(_layer(weight, bias), node.input[0], node, add)


def _layer(weight: NDArray[Any], bias: NDArray[Any] | None) -> Layer:
    width = weight.shape[1]
    wide = (
        None if bias is None else np.broadcast_to(np.asarray(bias, np.float64).reshape(-1), (width,)).copy()
    )
    return Layer(np.asarray(weight, np.float64), wide)


def with_features(model: Any, last: LastLayer) -> Any:
    """A copy whose features can be asked for as an output of their own."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kind = onnx.TensorProto.FLOAT
    size = last.layer.weight.shape[0]
    if all(one.name != last.features for one in copy.graph.output):
        copy.graph.output.append(onnx.helper.make_tensor_value_info(last.features, kind, [None, size]))
    return copy


def with_layer(model: Any, last: LastLayer, layer: Layer) -> Any:
    """A copy with another last layer. What the old one was made of goes, where nothing else uses it."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    weight, bias = "failscape.repaired.weight", "failscape.repaired.bias"
    for node in copy.graph.node:
        if node.output[0] == last.linear.output[0]:
            node.input[1] = weight
            if node.op_type == "Gemm":
                turned = any(one.name == "transB" and one.i for one in node.attribute)
                stored = layer.weight.T if turned else layer.weight
                if layer.bias is not None:
                    node.input[2] = bias
            else:
                stored = layer.weight
        elif last.add is not None and node.output[0] == last.add.output[0]:
            place = 1 if node.input[0] == last.linear.output[0] else 0
            node.input[place] = bias
    new = [numpy_helper.from_array(np.ascontiguousarray(stored, np.float32), weight)]
    new += [] if layer.bias is None else [numpy_helper.from_array(layer.bias.astype(np.float32), bias)]
    copy.graph.initializer.extend(new)
    _drop_unused(copy.graph)
    return copy


def _drop_unused(graph: Any) -> None:
    wanted = {one.name for one in graph.output}
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
    for one in [one for one in graph.initializer if one.name not in wanted]:
        graph.initializer.remove(one)
    for node in [node for node in graph.node if not wanted.intersection(node.output)]:
        graph.node.remove(node)


class _Graph:
    """Who makes a tensor, and which tensors never change."""

    def __init__(self, graph: Any) -> None:
        self._makers = {name: node for node in graph.node for name in node.output}
        self._stored = {one.name: one for one in graph.initializer}

    def maker(self, name: str) -> Any | None:
        return self._makers.get(name)

    def constant(self, name: str) -> NDArray[Any] | None:
        from onnx import numpy_helper

        if name in self._stored:
            return np.asarray(numpy_helper.to_array(self._stored[name]))
        node = self.maker(name)
        if node is None or node.op_type not in (*KEPT_CONSTANT, "Constant"):
            return None
        if node.op_type == "Constant":
            value = next((one.t for one in node.attribute if one.name == "value"), None)
            return None if value is None else np.asarray(numpy_helper.to_array(value))
        found = self.constant(node.input[0])
        if found is None or node.op_type != "Transpose":
            return found
        turn = next((list(one.ints) for one in node.attribute if one.name == "perm"), None)
        return found.transpose(turn)


def save_model(model: Any, path: Path) -> None:
    write_whole(path, model.SerializeToString())
