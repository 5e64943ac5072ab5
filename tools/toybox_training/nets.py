"""The building blocks of the toybox networks: cheap on a CPU (nothing convolves above 32x32)."""

from typing import Any

import torch
from torch import nn


class Residual(nn.Module):  # type: ignore[misc,unused-ignore]
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.inner(x))


def conv(inside: int, outside: int, stride: int = 1) -> Any:
    """A 3x3 convolution with normalisation and ReLU."""
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(),
    )


class EyesNet(nn.Module):  # type: ignore[misc,unused-ignore]
    """64x64 picture (0..1) to the numbers of all heads. Pooled features say what, a small map says where."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.PixelUnshuffle(2),
            conv(12, 32),
            conv(32, 64, 2),
            Residual(64),
            conv(64, 128, 2),
            Residual(128),
            conv(128, 256, 2),
        )
        self.where = nn.Sequential(
            nn.Conv2d(256, 48, 1), nn.ReLU(), nn.Flatten(), nn.Linear(768, 256), nn.ReLU()
        )
        self.heads = nn.Linear(512, outputs)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        seen = self.trunk(image * 2 - 1)
        return self.heads(torch.cat([seen.mean(dim=(2, 3)), self.where(seen)], dim=1))
