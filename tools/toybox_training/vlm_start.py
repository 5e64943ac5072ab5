"""Start a toy-vlm from the weights of a shipped one, read from its ONNX file.

Words and answers that both know keep their weights. Norms of convolutions are folded into them in the file:
here they become the convolution's weights and the norm's offset. Layers beyond the file's add nothing
at first.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from torch import nn

from failscape.toybox.vlm import Lexicon
from tools.toybox_training.vlm_nets import CELLS, VlmNet


def start_from(net: VlmNet, path: Path, old: Lexicon, new: Lexicon) -> None:
    """Fill `net` with what the file knows, and keep its eyes as they are."""
    graph = onnx.load(str(path)).graph
    known = {tensor.name.removesuffix(".half"): _tensor(tensor) for tensor in graph.initializer}
    used = [[name for name in node.input if name in known] for node in graph.node]
    pairs = zip(graph.node, used, strict=True)
    by_kind = [(node.op_type, [known[name] for name in names]) for node, names in pairs]
    with torch.no_grad():
        _convolutions(net, [tensors for kind, tensors in by_kind if kind == "Conv"])
        products = [
            names[0]
            for node, names in zip(graph.node, used, strict=True)
            if node.op_type == "MatMul" and names
        ]
        _linears(
            net, [known[name] for name in products if name.startswith("onnx::") and len(known[name]) != 56]
        )
        _named(net, known)
        _words(net, known, old, new)
        for layer in list(net.layers)[_depth(known) :]:
            for part in (layer.out, layer.feed[2]):
                nn.init.zeros_(part.weight)
                nn.init.zeros_(part.bias)
    net.keep_eyes()


def _tensor(stored: Any) -> torch.Tensor:
    return torch.tensor(numpy_helper.to_array(stored)).float()


def _depth(known: dict[str, torch.Tensor]) -> int:
    return sum(name.endswith("norm1.weight") for name in known)


def _parts(module: nn.Module, kind: type[nn.Module]) -> Iterator[Any]:
    return (part for part in module.modules() if isinstance(part, kind))


def _convolutions(net: VlmNet, folded: Sequence[list[torch.Tensor]]) -> None:
    eyes = nn.ModuleList([net.trunk, net.cells])
    convs, norms = list(_parts(eyes, nn.Conv2d)), list(_parts(eyes, nn.BatchNorm2d))
    for conv, norm, (weight, bias) in zip(convs, norms, folded, strict=True):
        conv.weight.copy_(weight)
        norm.running_mean.zero_()
        norm.running_var.fill_(1 - norm.eps)
        norm.weight.fill_(1)
        norm.bias.copy_(bias)


def _linears(net: VlmNet, products: Sequence[torch.Tensor]) -> None:
    """In the order in which the network uses them; the file has them transposed."""
    parts: list[Any] = [*net.cell_heads.values(), net.cell_in, net.match, net.ground]
    for layer in net.layers:
        parts += [layer.qkv, layer.out, layer.feed[0], layer.feed[2]]
    for part, product in zip(parts, products, strict=False):
        if part is net.match:
            nn.init.zeros_(part.weight)
            part.weight[:, : len(product)] = product.T
        else:
            part.weight.copy_(product.T)


def _named(net: VlmNet, known: dict[str, torch.Tensor]) -> None:
    """Whatever has a name of its own and the same shape."""
    own = dict(net.named_parameters())
    for name, value in known.items():
        if name in own and own[name].shape == value.shape and name != "embed.weight":
            own[name].copy_(value)


def _words(net: VlmNet, known: dict[str, torch.Tensor], old: Lexicon, new: Lexicon) -> None:
    first = CELLS + 2
    seen = known["spot"].shape[1] - first
    net.spot[:, : first + seen].copy_(known["spot"])
    net.spot[:, first + seen :].copy_(known["spot"][:, -1:])
    net.embed.weight[0].copy_(known["embed.weight"][0])
    for at, word in enumerate(new.words):
        if word in old.words:
            net.embed.weight[at + 1].copy_(known["embed.weight"][old.words.index(word) + 1])
    for at, answer in enumerate(new.answers):
        if answer in old.answers:
            net.answer.weight[at].copy_(known["answer.weight"][old.answers.index(answer)])
            net.answer.bias[at].copy_(known["answer.bias"][old.answers.index(answer)])
