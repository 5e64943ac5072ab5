"""CLIP as a zero-shot classifier: the class whose sentence is nearest to the picture.

Needs `pip install 'failscape[transformers]'`. `params` of the config become the arguments of
`ZeroShotClassifier`.
"""

from __future__ import annotations

from typing import Any


class ZeroShotClassifier:
    """Ranks `classes` by the similarity of "a photo of a <class>" to the picture."""

    batched = True
    batch = 32

    def __init__(
        self,
        classes: list[str],
        model: str = "openai/clip-vit-base-patch32",
        sentence: str = "a photo of a {}",
    ) -> None:
        from transformers import CLIPModel, CLIPProcessor

        self.classes = classes
        self.sentences = [sentence.format(name) for name in classes]
        self.model = CLIPModel.from_pretrained(model).eval()
        self.processor = CLIPProcessor.from_pretrained(model)

    def __call__(self, images: list[Any]) -> list[list[tuple[str, float]]]:
        import torch

        inputs = self.processor(text=self.sentences, images=images, return_tensors="pt", padding=True)
        with torch.inference_mode():
            scores = self.model(**inputs).logits_per_image.softmax(dim=-1)
        return [list(zip(self.classes, row.tolist(), strict=True)) for row in scores]
