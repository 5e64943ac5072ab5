"""From a torch network to a small ONNX file: dynamic batch, weights kept in half precision."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper


def save_onnx(net: Any, inputs: dict[str, torch.Tensor], outputs: list[str], path: Path) -> None:
    """Write `net` with named inputs and outputs; the first dimension of each is free."""
    net = net.eval().to(memory_format=torch.contiguous_format)
    axes = {name: {0: "n"} for name in [*inputs, *outputs]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    model = onnx.load(str(path))
    halve(model)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def halve(model: onnx.ModelProto, least: int = 256) -> None:
    """Store large weights as 16-bit numbers, cast back at load time: half the file, same arithmetic."""
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size < least:
            continue
        name, short = tensor.name, f"{tensor.name}.half"
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), short))
        casts.append(helper.make_node("Cast", [short], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
