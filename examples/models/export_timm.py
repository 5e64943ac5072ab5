"""Exports a timm classifier to ONNX, with its labels in the order of its output.

    pip install timm onnx onnxscript
    python examples/models/export_timm.py resnet50.a1_in1k models/resnet50.onnx
    python examples/models/export_timm.py vit_base_patch16_224.augreg_in21k_ft_in1k models/vit.onnx

It prints the preprocessing that the model expects, in the form of `params` of the config.
"""

from __future__ import annotations

import sys
from pathlib import Path


def export(name: str, path: Path) -> None:
    """Writes the model to `path` and its labels to `imagenet_labels.txt` beside it."""
    import timm
    import torch
    from timm.data import ImageNetInfo, resolve_data_config

    model = timm.create_model(name, pretrained=True).eval()
    settings = resolve_data_config({}, model=model)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = torch.zeros(1, *settings["input_size"])
    torch.onnx.export(model, (picture,), str(path), input_names=["image"], output_names=["scores"])

    info = ImageNetInfo()
    labels = [info.index_to_description(index, detailed=False) for index in range(model.num_classes)]
    (path.parent / "imagenet_labels.txt").write_text("\n".join(labels) + "\n", encoding="utf-8")

    mean, deviation = list(settings["mean"]), list(settings["std"])
    print(f"params: {{size: {settings['input_size'][1]}, fit: crop, mean: {mean}, std: {deviation}}}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {sys.argv[0]} TIMM_NAME FILE.onnx")
    export(sys.argv[1], Path(sys.argv[2]))
