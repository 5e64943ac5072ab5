"""The network of toy-painter: words and a noise vector in, one 64x64 picture out, in a single step.

A small transformer reads the caption. Learned questions to it decide four things: a sheet with the subject,
how often and where it is pasted, the backdrop, and the finish. All parts are learned together, from pixels.
"""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SIDE: Final = 64
SLOTS: Final = 4
SUBJECT: Final = 48
BACKDROP: Final = 80


def _act(x: Tensor) -> Tensor:
    return F.leaky_relu(x, 0.1)


class TextEncoder(nn.Module):
    """Reads word numbers (0 is padding) and answers a few learned questions about them."""

    def __init__(self, words: int, width: int, layers: int, questions: int, longest: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(longest, width) * 0.1)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.questions = nn.Parameter(torch.randn(questions, width) * 0.5)
        self.pool = Attention(width)
        self.norm = nn.LayerNorm(width)
        self.think = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (batch, questions, width)."""
        bias = (tokens == 0).float()[:, None, None, :] * -1e4
        x = self.embed(tokens) + self.places[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        asked = self.questions.expand(tokens.shape[0], -1, -1)
        answers = asked + self.pool(asked, self.norm(x), bias)
        return answers + self.think(answers)


class Attention(nn.Module):
    """Plain multi-head attention, spelled out so that it exports to a small graph."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        """Let every row of `x` look at `memory`."""
        q = self._split(self.q(x))
        k, v = self.kv(memory).chunk(2, dim=-1)
        scores = q @ self._split(k).transpose(-1, -2) / q.shape[-1] ** 0.5 + bias
        mixed = scores.softmax(-1) @ self._split(v)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """One transformer layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Return the words with their context."""
        y = self.norm1(x)
        x = x + self.attention(y, y, bias)
        return x + self.mlp(self.norm2(x))


class Modulated(nn.Module):
    """Two convolutions beside an identity; a vector scales and shifts the channels between them."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.film = nn.Linear(width, 2 * channels)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor, vector: Tensor) -> Tensor:
        """Return x plus what the vector makes of it."""
        gain, shift = self.film(vector)[..., None, None].chunk(2, dim=1)
        y = self.first(_act(x)) * (1 + gain) + shift
        return x + self.second(_act(y))


class Sheet(nn.Module):
    """Turns a vector into a square of pixels: a coarse grid, modulated blocks, then a pixel shuffle."""

    def __init__(self, width: int, coarse: int, channels: int, fine: int, shuffle: int, out: int) -> None:
        super().__init__()
        self.shape = (channels, coarse, coarse)
        self.base = nn.Linear(width, channels * coarse * coarse)
        self.one = Modulated(channels, width)
        self.narrow = nn.Conv2d(channels, fine, 1)
        self.two = Modulated(fine, width)
        self.paint = nn.Conv2d(fine, out * shuffle * shuffle, 3, padding=1)
        self.shuffle = nn.PixelShuffle(shuffle)

    def forward(self, vector: Tensor) -> Tensor:
        """Return (batch, out, side, side)."""
        x = self.one(self.base(vector).unflatten(1, self.shape), vector)
        x = F.interpolate(self.narrow(x), scale_factor=2.0, mode="nearest")
        return self.shuffle(self.paint(_act(self.two(x, vector))))


def tents(centre: Tensor, extent: Tensor, cells: int) -> Tensor:
    """Return the (batch, 64, cells) matrix that resamples `cells` cells to `extent` pixels around `centre`.

    Cells that fall outside the picture are lost and pixels outside the cells stay zero, as when pasting.
    """
    pixels = torch.arange(SIDE, device=centre.device) + 0.5
    ratio = cells / extent
    where = (pixels - centre[..., None]) * ratio[..., None] + cells / 2 - 0.5
    reach = ratio.clamp(min=1.0)[..., None, None]
    distance = (where[..., None] - torch.arange(cells, device=centre.device)).abs()
    return (1 - distance / reach).clamp(min=0) / reach


class Layout(nn.Module):
    """Decides where the subject is pasted, and how the backdrop is cropped and lit."""

    def __init__(self, width: int, noise: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(width + noise, 2 * width),
            nn.GELU(),
            nn.Linear(2 * width, 2 * width),
            nn.GELU(),
            nn.Linear(2 * width, 4 * SLOTS + 5),
        )
        nn.init.normal_(self.mlp[4].weight, std=0.003)
        nn.init.zeros_(self.mlp[4].bias)
        # The slots start apart, so that each can become one of several things.
        start = [
            [0.0, 0.0, 0.0, 2.0],
            [0.6, 0.0, -0.4, -2.0],
            [-0.6, 0.6, -0.4, -3.0],
            [0.6, 0.6, -0.4, -3.0],
        ]
        self.start = nn.Parameter(torch.tensor(start))

    def forward(self, vector: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return slots (batch, slots, 4: x, y, log size, presence) and the backdrop's five numbers."""
        numbers = self.mlp(torch.cat([vector, noise], dim=1))
        slots = numbers[:, : 4 * SLOTS].unflatten(1, (SLOTS, 4)) + self.start
        return slots, numbers[:, 4 * SLOTS :]


class Finish(nn.Module):
    """Weather and style: a sheet laid over the picture, then convolutions at half size that may change it."""

    def __init__(self, width: int, noise: int, channels: int) -> None:
        super().__init__()
        self.join = nn.Linear(width + noise, width)
        self.over = Sheet(width, 8, 32, 24, 4, 4)
        self.maps = nn.Parameter(torch.randn(8, SIDE // 2, SIDE // 2) * 0.5)
        self.enter = nn.Conv2d(4 * 4 + 8, channels, 3, padding=1)
        self.one, self.two = Modulated(channels, width), Modulated(channels, width)
        self.leave = nn.Conv2d(channels, 12, 3, padding=1)
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)

    def forward(self, picture: Tensor, cover: Tensor, vector: Tensor, noise: Tensor) -> Tensor:
        """Return the finished picture."""
        vector = vector + _act(self.join(torch.cat([vector, noise], dim=1)))
        over = self.over(vector)
        share = (over[:, 3:] - 3).sigmoid()
        picture = picture * (1 - share) + over[:, :3] * share
        halves = F.pixel_unshuffle(torch.cat([picture, cover], dim=1), 2)
        x = self.enter(torch.cat([halves, self.maps.expand(halves.shape[0], -1, -1, -1)], dim=1))
        x = self.two(self.one(x, vector), vector)
        return picture + F.pixel_shuffle(self.leave(_act(x)), 2)


class Painter(nn.Module):
    """Caption and noise to picture. Pixels are in [-1, 1], shape (batch, 3, 64, 64)."""

    def __init__(self, words: int, noise: int, longest: int = 32, width: int = 192, layers: int = 2) -> None:
        super().__init__()
        self.text = TextEncoder(words, width, layers, 4, longest)
        self.subject = Sheet(width, 12, 64, 48, 2, 4)
        self.backdrop = Sheet(width, 10, 64, 48, 4, 3)
        self.layout = Layout(width, noise)
        self.finish = Finish(width, noise, 32)

    def forward(self, tokens: Tensor, noise: Tensor) -> Tensor:
        """Paint one picture per caption."""
        subject, layout, backdrop, finish = self.text(tokens).unbind(1)
        slots, crop = self.layout(layout, noise)
        picture = self._backdrop(self.backdrop(backdrop), crop)
        sheet = self.subject(subject)
        cover, colour = self._paste(sheet, slots)
        picture = picture * (1 - cover) + colour
        return self.finish(picture, cover, finish, noise)

    def _backdrop(self, sheet: Tensor, crop: Tensor) -> Tensor:
        middle = SIDE / 2 + 8 * crop[:, :2]
        whole = torch.full_like(middle[:, 0], float(BACKDROP))
        rows, columns = tents(middle[:, 1], whole, BACKDROP), tents(middle[:, 0], whole, BACKDROP)
        picture = rows[:, None] @ sheet @ columns[:, None].transpose(-1, -2)
        # Light is a factor on black-based pixels.
        return (picture + 1) * (1 + crop[:, 2:, None, None]) - 1

    def _paste(self, sheet: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Return how much is covered, and the colour that covers it, in the end."""
        x, y = SIDE / 2 + 16 * slots[..., 0], SIDE / 2 + 16 * slots[..., 1]
        extent = 36 * (slots[..., 2].clamp(-2, 1)).exp()
        rows = tents(y, extent, SUBJECT)[:, :, None]
        columns = tents(x, extent, SUBJECT)[:, :, None].transpose(-1, -2)
        alpha = sheet[:, 3:].sigmoid()
        layers = torch.cat([sheet[:, :3] * alpha, alpha], dim=1)[:, None]
        pasted = rows @ layers @ columns * slots[..., 3].sigmoid()[..., None, None, None]
        cover, colour = torch.zeros_like(pasted[:, 0, :1]), torch.zeros_like(pasted[:, 0, :3])
        for slot in range(SLOTS):
            clear = 1 - pasted[:, slot, 3:]
            colour = colour * clear + pasted[:, slot, :3]
            cover = 1 - (1 - cover) * clear
        return cover, colour
