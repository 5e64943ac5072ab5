"""The settings of `hunt: t2i`: the space, the search, and the two models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from failscape.config.base import EarlierWord, HuntConfig, ModelConfig, Settings
from failscape.errors import suggest
from failscape.kinds.t2i.search.rules_version import RULES_VERSION
from failscape.spaces.corpus import FAMILIES, corpus_names
from failscape.spaces.embeddings import NAMES
from failscape.spaces.pairs import PAIR_FAMILIES, RELATIONS, USUAL_RELATIONS
from failscape.trust import ACCURACY, CORPUS, PROMPTS, Outside


class SpaceConfig(Settings):
    """What can be asked of a text-to-image model: a lattice over a corpus, or a list of prompts."""

    corpus: Annotated[str, Outside(CORPUS, corpus_names)] = Field(
        "toybox", description="a shipped corpus or a folder"
    )
    prompts: Annotated[str, Outside(PROMPTS)] = Field(
        "", description="a file of prompts with their own checks, in place of a corpus"
    )
    entities: Literal["all", "sample"] | tuple[str, ...] = Field(
        "all", description="all, sample (one per sub-class) or a list"
    )
    families: tuple[Literal["Base", "Background", "Image", "Text"], ...] = Field(
        ("Base", "Background", "Image"), description="Text (words to write) is used only where it is named"
    )
    depth: int = Field(2, ge=0, le=6, description="most attribute values on one node")
    pairs: bool = Field(
        False, description="also two things: a relation, a second thing and its attributes count as values"
    )
    relations: tuple[str, ...] = Field(
        USUAL_RELATIONS,
        description=f"with pairs: how the first thing may stand to the second, of {', '.join(RELATIONS)}",
    )
    wording: Literal["canonical", "vary"] = Field(
        "canonical", description="vary: every try of a node says the same in other words"
    )

    @field_validator("relations")
    @classmethod
    def _known_relations(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for name in given:
            if name not in RELATIONS:
                raise ValueError(f"there is no relation {name!r}. {suggest(name, RELATIONS)}")
        return given

    @model_serializer(mode="wrap")
    def _without_pairs(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A space of one thing is recorded as it was before there were pairs: it is the same space."""
        recorded: dict[str, Any] = dump(self)
        if not self.pairs:
            recorded = {name: value for name, value in recorded.items() if name not in ("pairs", "relations")}
        return recorded

    @model_validator(mode="after")
    def _pairs_of_a_corpus(self) -> SpaceConfig:
        if self.pairs and self.prompts:
            raise ValueError("`pairs` combines the things of a corpus, so it takes no `prompts`: remove one")
        return self


class PredictorConfig(Settings):
    """Which nodes of a layer come first: those predicted to succeed least often, as FailureAtlas does."""

    kind: Literal["none", "transformer", "ridge"] = Field(
        "none", description="transformer: FailureAtlas's (extra `transformers`); ridge: without torch"
    )
    embeddings: Annotated[str, Outside("a file of embeddings", lambda: (NAMES,))] = Field(
        "names", description="a file of `failscape corpus embed`, or names (no model); for transformer"
    )
    warm_up: int = Field(1_000, ge=1, description="nodes settled in plain order before the first training")
    retrain_every: int = Field(10_000, ge=1, description="settled nodes between trainings")
    epochs: int = Field(20, ge=1, le=1_000)
    learning_rate: float = Field(1e-3, gt=0, le=1)
    checkpoints: Annotated[str, Outside("a folder", spare=True)] = Field(
        "", description="a folder for trained networks; none are kept without it"
    )


class SearchConfig(Settings):
    """How the space is searched, and what counts as a failure.

    `certified` and `listed` choose by model across all layers; `failureatlas` is the rule of that paper;
    `curtailed`, `sprt` and `random` are baselines. Each setting says whose it is.
    """

    strategy: Annotated[
        Literal["certified", "listed", "failureatlas", "curtailed", "sprt", "random"],
        BeforeValidator(lambda given: "listed" if given == "probable" else given),
    ] = Field(
        "listed",
        description="certified: proven failures; listed: beside them likely ones, by posterior",
    )
    threshold: float = Field(0.8, gt=0, lt=1, description="a node fails when its success rate is below")
    fdr: float = Field(
        0.05,
        gt=0,
        le=0.5,
        description="certified, listed: largest expected share of findings that are wrong in any way",
    )
    minimal: Literal["strict", "tolerant"] = Field(
        "strict",
        description="certified, listed: must parents pass at the threshold, or may they fall short of it "
        "by the tolerance",
    )
    tolerance: float = Field(
        0.1, gt=0, lt=1, description="certified, listed: how far, with `minimal: tolerant`"
    )
    panel: float = Field(
        0.04, ge=0, le=0.5, description="certified, listed: share of images for nodes drawn at random"
    )
    audit: float = Field(
        0.03, ge=0, le=0.5, description="certified, listed: share of images to audit the list at the end"
    )
    openings: float = Field(
        0.12, gt=0, le=1, description="certified: most nodes that become tests per image, beside entities"
    )
    rules: int = Field(
        RULES_VERSION,
        ge=1,
        le=RULES_VERSION,
        description="certified, listed: version of the rules that claims are made by; kept in the atlas",
    )
    at_threshold: Literal["pass", "fail"] = Field(
        "pass", description="baselines: what a rate equal to it means"
    )
    images_per_node: int = Field(25, ge=1, description="baselines: images that settle a node")
    traversal: Literal["layer", "entity"] = Field("layer", description="baselines: which nodes come first")
    batch_nodes: int = Field(32, ge=1, description="baselines: nodes opened at a time")
    predictor: PredictorConfig = PredictorConfig()

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        """`minimal_doubt` was a level of its own until version 5 of the rules; `audit` was `replication`."""
        if not isinstance(given, dict):
            return given
        kept = dict(given)
        if "minimal_doubt" in kept:
            del kept["minimal_doubt"]
            told = "`search.minimal_doubt` has no effect any more: `fdr` bounds both ways of being wrong"
            warnings.warn(told, FutureWarning, stacklevel=2)
        if "replication" in kept:
            kept.setdefault("audit", kept.pop("replication"))
            told = "`search.replication` is called `search.audit` now: the images test a sample of the list"
            warnings.warn(told, FutureWarning, stacklevel=2)
        return kept


def judge_of_families(given: Any) -> Any:
    """`{text: {provider: ocr}, "*": {…}}` becomes one judge that hands each check to its family's model."""
    if not isinstance(given, Mapping) or "provider" in given or "path" in given:
        return given
    known = {*(family.lower() for family in (*FAMILIES, *PAIR_FAMILIES)), "entity", "*"}
    for family in given:
        if str(family).lower() not in known:
            raise ValueError(
                f"a judge is a model, or models by family of check, but {family!r} is no family: "
                f"name {', '.join(sorted(known))}"
            )
    members = [ModelConfig.model_validate(section).model_dump(mode="json") for section in given.values()]
    params = {"families": [str(family).lower() for family in given], "members": members}
    return {"provider": "by_family", "params": params}


class T2IConfig(HuntConfig):
    """`hunt: t2i`: find the minimal entity × attribute combinations that the target cannot draw."""

    hunt: Literal["t2i"]
    judge: Annotated[ModelConfig, BeforeValidator(judge_of_families)] = Field(
        description='a model, or models by family of check: {text: {provider: ocr}, "*": {…}}'
    )
    polish: ModelConfig | None = Field(None, description="a language model that mends the English of prompts")
    space: SpaceConfig = SpaceConfig()
    search: SearchConfig = SearchConfig()
    judge_accuracy: Annotated[str, ACCURACY] = Field(
        "auto",
        min_length=1,
        description="how the judge errs: auto (a review in the atlas, else what ships with the judge), "
        "none (take it as perfect), or a JSON file",
    )

    earlier_words: ClassVar[Mapping[tuple[str, str], EarlierWord]] = {
        ("search.strategy", "probable"): EarlierWord("listed", (0, 3))
    }

    def models(self) -> dict[str, ModelConfig]:
        roles = {"generator": self.target, "judge": self.judge}
        return {**roles, "llm": self.polish} if self.polish else roles
