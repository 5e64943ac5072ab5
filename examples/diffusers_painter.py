"""Any text-to-image pipeline of diffusers as a generator: SDXL-Turbo, FLUX and others, on one GPU.

pip install 'failscape[diffusers]'

In process, in a config:
  target:
    provider: python
    path: "examples/diffusers_painter.py:Painter"
    params: {model: stabilityai/sdxl-turbo, device: cuda, num_inference_steps: 1, guidance_scale: 0}

Behind HTTP, one process per GPU; `provider: generate` or `provider: openai` reaches them:
  CUDA_VISIBLE_DEVICES=0 python -m failscape.servers --name sdxl-turbo --host 0.0.0.0 --port 9000 \
    --generator '{"provider": "python", "path": "examples/diffusers_painter.py:Painter",
      "params": {"model": "stabilityai/sdxl-turbo", "num_inference_steps": 1, "guidance_scale": 0}}'
"""

from __future__ import annotations

from typing import Any

from PIL import Image


class Painter:
    """`settings` go to the pipeline's call: num_inference_steps, guidance_scale, height, width …"""

    batched = True
    batch = 4

    def __init__(self, model: str, device: str = "cuda", dtype: str = "float16", **settings: Any) -> None:
        import torch
        from diffusers import AutoPipelineForText2Image

        self._pipeline = AutoPipelineForText2Image.from_pretrained(model, torch_dtype=getattr(torch, dtype))
        self._pipeline.to(device)
        self._pipeline.set_progress_bar_config(disable=True)
        self._settings = settings

    def __call__(self, prompts: list[str], seeds: list[int]) -> list[Image.Image]:
        """Every picture has its own generator on the CPU: its noise depends on its seed alone."""
        import torch

        noise = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        images: list[Image.Image] = self._pipeline(prompts, generator=noise, **self._settings).images
        return images
