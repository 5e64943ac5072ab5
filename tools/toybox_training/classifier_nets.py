"""Three small classifiers of different families: a plain CNN, a residual CNN and a vision transformer."""

from typing import Any

import torch
from torch import nn

from tools.toybox_training.nets import Residual, conv


class Scaled(nn.Module):  # type: ignore[misc,unused-ignore]
    """Maps 0..1 to -1..1 before the network, so that the file takes plain pixels."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.inner(image * 2 - 1)


def cnn(classes: int) -> Any:
    """Plain convolutions, no shortcuts."""
    return nn.Sequential(
        nn.PixelUnshuffle(2),
        conv(12, 24),
        conv(24, 48, 2),
        conv(48, 96, 2),
        conv(96, 128),
        conv(128, 160, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(160, classes),
    )


def resnet(classes: int) -> Any:
    """A narrow residual network that starts at a quarter of the resolution."""
    return nn.Sequential(
        nn.PixelUnshuffle(4),
        conv(48, 48),
        Residual(48),
        conv(48, 96, 2),
        Residual(96),
        conv(96, 160, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(160, classes),
    )


class Tokens(nn.Module):  # type: ignore[misc,unused-ignore]
    """A small transformer over the 8x8 cells of a convolutional stem."""

    def __init__(self, classes: int, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.PixelUnshuffle(2), conv(12, 32, 2), conv(32, width, 2))
        self.place = nn.Parameter(torch.randn(1, 64, width) * 0.02)
        self.layers = nn.ModuleList([Attention(width, 4) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        tokens = self.stem(image).flatten(2).transpose(1, 2) + self.place
        for layer in self.layers:
            tokens = layer(tokens)
        return self.head(self.norm(tokens).mean(dim=1))


class Attention(nn.Module):  # type: ignore[misc,unused-ignore]
    """One transformer layer: attention and a feed-forward part, both before a shortcut."""

    def __init__(self, width: int, heads: int, grow: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, grow * width), nn.GELU(), nn.Linear(grow * width, width))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """`mask` is added to the attention scores: very negative where a token must not be read."""
        parts = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5)
        if mask is not None:
            scores = scores + mask
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.feed(self.norm2(x))


def build(name: str, classes: int) -> Any:
    """Return the network of a name, laid out for fast convolutions."""
    inner = {"cnn": cnn, "resnet": resnet, "vit": Tokens}[name](classes)
    return Scaled(inner).to(memory_format=torch.channels_last)
