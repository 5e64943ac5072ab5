"""The settings of `hunt: classifier`: the models, the classes, what may be described, and the search."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from failscape.config.base import HuntConfig, ModelConfig, Settings
from failscape.spaces.albums import label_set_names
from failscape.spaces.corpus import corpus_names
from failscape.trust import ACCURACY, ALBUM, CORPUS, LABELS, Outside

TEMPLATE = "a realistic photograph of a {class} ({superclass})."

#: Its features are what photos are clustered by where nobody names an embedder: it comes with the package.
TOY_EYES = ModelConfig(provider="toybox", model="toy-eyes")


class DescriptionsConfig(Settings):
    """Where candidate descriptions come from besides captions and the language model."""

    corpus: Annotated[str, Outside(CORPUS, corpus_names)] = Field(
        "starter", description="a shipped corpus or a folder; empty: none"
    )
    families: tuple[Literal["Base", "Background", "Image"], ...] = ("Base", "Background", "Image")


#: Settings of the search of version 0.2, accepted so that its configs still run.
SUPERSEDED = ("baseline_more", "candidates", "proposed", "most_images", "captions")


class RaceConfig(Settings):
    """How descriptions are tested. The budget fixes in advance how many tests error control is over."""

    margin: float = Field(
        0.05, ge=0, lt=1, description="a bug exceeds its class's baseline by more than this"
    )
    fdr: float = Field(0.05, gt=0, lt=1, description="expected share of false findings, at most")
    baseline: int = Field(50, ge=8, description="images per class to begin with")
    baseline_more: int | None = Field(None, ge=8, description="of earlier versions; has no effect")
    candidates: int = Field(60, ge=1, description="of earlier versions; the budget fixes the number of tests")
    proposed: int = Field(16, ge=0, description="of earlier versions; has no effect")
    most_images: int | None = Field(None, ge=8, description="of earlier versions; has no effect")
    together: int = Field(5, ge=0, le=8, description="values of the corpus that are shown together at first")
    confirm: int = Field(50, ge=8, description="fresh images for the rate of a finding")
    toggles: int = Field(25, ge=0, description="fresh images for each counterfactual, paired by seed")
    alternatives: int = Field(1, ge=0, description="other values tried in the place of each clause")
    captions: int = Field(24, ge=0, description="of earlier versions; every failure is captioned")
    proposals: int = Field(12, ge=1, description="descriptions asked from the llm, per class")
    round: int = Field(128, ge=8, le=4096, description="probes planned together")


class ClassifierConfig(HuntConfig):
    """`hunt: classifier`: find descriptions of pictures that a classifier gets wrong more than usual."""

    hunt: Literal["classifier"]
    generator: ModelConfig | None = Field(None, description="draws the pictures; or give `photos`")
    photos: Annotated[str, Outside(ALBUM)] = Field("", description="a folder of real photos with labels")
    editor: ModelConfig | None = Field(
        None, description="changes photos by instruction: counterfactuals for hunts in `photos`"
    )
    match: Literal["captions", "embedding"] = Field(
        "captions", description="how photos like a finding are found; embedding needs texts and images"
    )
    judge: ModelConfig | None = Field(None, description="decides whether the class is visible at all")
    judge_accuracy: Annotated[str, ACCURACY] = Field(
        "auto", description="auto, none, or a JSON file: how the judge errs"
    )
    captioner: ModelConfig | None = Field(None, description="describes failures, and some passes")
    embedder: ModelConfig | None = Field(
        None,
        description="vectors of images, to group `photos` (toy-eyes unless told) and for `match: embedding`",
    )
    llm: ModelConfig | None = Field(None, description="proposes descriptions: plain chat")
    classes: Literal["all"] | tuple[str, ...] = Field("all", description="all, or the names of classes")
    labels: Annotated[str, Outside(LABELS, label_set_names)] = Field(
        "", description="imagenet, or a file: names, synonyms and superclasses of classes"
    )
    descriptions: tuple[str, ...] | dict[str, tuple[str, ...]] = Field(
        (), description="what somebody wants tested, for all classes or by class: `it is walking in the snow`"
    )
    clause_check: bool = Field(True, description="ask the judge whether pictures show what was asked for")
    both_present: Literal["pass", "fail"] = Field(
        "pass", description="a wrong label whose object is in the picture too is no failure, unless `fail`"
    )
    realistic: bool = Field(False, description="only pictures count that the judge takes for photographs")
    template: str = Field(TEMPLATE, description="the prompt of the baseline")
    top_k: int = Field(1, ge=1, description="right when the class is among the first k labels")
    aim: str | dict[str, str] = Field("", description="targeted mode: the one wrong label that counts")
    space: DescriptionsConfig = DescriptionsConfig()
    search: RaceConfig = RaceConfig()

    @model_validator(mode="after")
    def _a_source_of_pictures(self) -> ClassifierConfig:
        if self.generator is None and not self.photos:
            raise ValueError("a classifier hunt needs a `generator`, or a folder of `photos`")
        if self.match == "embedding" and self.embedder is None:
            raise ValueError("`match: embedding` needs an `embedder`")
        return self

    def models(self) -> dict[str, ModelConfig]:
        roles = {
            "generator": self.generator,
            "editor": self.editor if self.generator is None else None,
            "judge": self.judge,
            "classifier": self.target,
            "captioner": self.captioner,
            "embedder": self.embedder or (TOY_EYES if self.generator is None else None),
            "llm": self.llm,
        }
        return {role: model for role, model in roles.items() if model is not None}
