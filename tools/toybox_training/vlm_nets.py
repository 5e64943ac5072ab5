"""The network of toy-vlm: a CNN whose 3x3 cells become tokens, read together with the question's words."""

import torch
from torch import nn

from tools.toybox_training.classifier_nets import Attention
from tools.toybox_training.nets import Residual, conv

CELLS = 9


def _thirds() -> torch.Tensor:
    """Return the weights (64, 9) that average an 8x8 map over the nine cells; training may refine them."""
    rows = torch.zeros(8, 3)
    for i, (first, last) in enumerate(((0, 3), (2, 6), (5, 8))):
        rows[first:last, i] = 1 / (last - first)
    return torch.einsum("ai,bj->abij", rows, rows).reshape(64, CELLS)


class VlmNet(nn.Module):  # type: ignore[misc,unused-ignore]
    """Picture and word numbers to answer scores. Word 0 is padding.

    Layers of attention run over nine cells of the picture, one token for the whole of it and the words; the
    answer is read from a token of its own. Cell heads, which training supervises, say what is in a cell;
    what they say enters its token in the question's own words, together with a note which words of the
    question fit the cell; each word's token is told where, and how often, it fits.
    """

    def __init__(
        self,
        words: int,
        answers: torch.Tensor,
        cells: dict[str, torch.Tensor],
        length: int,
        width: int = 128,
        depth: int = 4,
    ) -> None:
        super().__init__()
        self.steady = False
        self.trunk = nn.Sequential(
            nn.PixelUnshuffle(2),
            conv(12, 32),
            conv(32, 64, 2),
            Residual(64),
            conv(64, 128, 2),
            Residual(128),
        )
        self.cells = conv(128, 192)
        self.pool = nn.Parameter(_thirds())
        self.cell_in = nn.Linear(192, width)
        self.whole_in = nn.Linear(128, width)
        self.cell_heads = nn.ModuleDict({name: nn.Linear(192, len(rows)) for name, rows in cells.items()})
        for name, rows in cells.items():
            self.register_buffer(f"{name}_words", rows)
        self.register_buffer("answer_words", answers)
        self.match = nn.Linear(length, width)
        self.ground = nn.Linear(3, width)
        self.register_buffer("spots", torch.tensor([[i % 3 - 1.0, i // 3 - 1.0, 1.0] for i in range(CELLS)]))
        self.embed = nn.Embedding(words, width)
        nn.init.normal_(self.embed.weight, std=0.15)
        self.spot = nn.Parameter(torch.randn(1, CELLS + 2 + length, width) * 0.1)
        self.layers = nn.ModuleList([Attention(width, 8) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.answer = nn.Linear(width, len(answers))
        self.ask = nn.Parameter(torch.randn(1, 1, width) * 0.1)

    def keep_eyes(self) -> None:
        """Train no layer that sees: they were trained before, and their norms are folded in."""
        self.steady = True
        for part in (self.trunk, self.cells):
            part.requires_grad_(False)
        self.pool.requires_grad_(False)

    def train(self, mode: bool = True) -> "VlmNet":
        super().train(mode)
        if self.steady:
            self.trunk.eval()
            self.cells.eval()
        return self

    def see(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cell features (n, 9, 192) and features of the whole picture (n, 128)."""
        seen = self.trunk(image * 2 - 1)
        return (self.cells(seen).flatten(2) @ self.pool).transpose(1, 2), seen.mean(dim=(2, 3))

    def think(self, cells: torch.Tensor, whole: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        """Return answer scores."""
        spoken = torch.cat([head(cells).softmax(dim=-1) for head in self.cell_heads.values()], dim=2)
        spoken = spoken @ torch.cat([getattr(self, f"{name}_words") for name in self.cell_heads])
        places = question[:, None].expand(-1, CELLS, -1)
        fits = spoken.gather(2, places)
        said = self.cell_in(cells) + spoken @ self.embed.weight + self.match(fits)
        told = self.embed(question) + self.ground(fits.transpose(1, 2) @ self.spots)
        sight = torch.cat([said, self.whole_in(whole)[:, None]], dim=1)
        ask = self.ask + torch.zeros_like(sight[:, :1])
        tokens = torch.cat([ask, sight, told], dim=1) + self.spot
        padded = (question == 0).to(tokens.dtype) * -1e4
        mask = torch.cat([torch.zeros_like(tokens[:, : CELLS + 2, 0]), padded], dim=1)[:, None, None]
        for layer in self.layers:
            tokens = layer(tokens, mask)
        last = self.norm(tokens[:, 0])
        return self.answer(last) + last @ (self.answer_words @ self.embed.weight).T

    def forward(self, image: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        return self.think(*self.see(image), question)
