"""The settings of `hunt: vlm`: models, where pictures come from, who asks, what is rewarded, what counts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from failscape.config.base import HuntConfig, ModelConfig, Settings
from failscape.spaces.questions import ANNOTATIONS, GRAMMARS
from failscape.spaces.talks import MOST_TURNS
from failscape.trust import ACCURACY, ALBUM, GRAMMAR, Outside

TOYBOX = "toybox"
COMPOSITE = "composite"


#: The grammar of planted worlds: code of ours that only computes, so an atlas may name it.
PLANTED_GRAMMAR = "failscape.simulate.questions:PlantedGrammar"


class PicturesConfig(Settings):
    """Where pictures come from: a folder of photos, a generator with prompts, or the toybox world."""

    folder: Annotated[str, Outside(ALBUM)] = Field(
        "", description="photos, with `metadata.jsonl` or `captions.csv` where there is one"
    )
    generator: ModelConfig | None = Field(None, description="a model that draws the pictures")
    prompts: tuple[str, ...] = Field((), description="what the generator is to draw")
    source: Literal["", "toybox"] = Field("", description="toybox: scenes with exact truth, made to order")
    fresh_share: float = Field(0.5, gt=0, lt=1, description="share of a folder kept for confirmation")

    @model_validator(mode="after")
    def _one_source(self) -> PicturesConfig:
        if (bool(self.folder) + (self.generator is not None) + bool(self.source)) != 1:
            raise ValueError("`images` takes exactly one of `folder`, `generator` and `source: toybox`")
        if self.generator is not None and not self.prompts:
            raise ValueError("`images.generator` needs `prompts`")
        return self


class TrainingConfig(Settings):
    """How a `grpo` questioner is trained. Needs the extra `rl`."""

    model: str = Field(
        "toybox", description="a folder or hub name of a causal LM or VLM; toybox: toy-questioner"
    )
    steps: int = Field(80, ge=1, description="updates by reward")
    group: int = Field(4, ge=2, description="questions per picture")
    pictures: int = Field(16, ge=1, description="pictures per step")
    rate: float = Field(2e-4, gt=0, description="learning rate by reward")
    kl: float = Field(0.05, ge=0, description="weight of the KL divergence to where it started")
    temperature: float = Field(1.0, gt=0)
    longest: int = Field(16, ge=4, description="most tokens of a question")
    named: float = Field(0.75, ge=0, le=1, description="share of lessons that name a skill to ask about")
    adapt: bool = Field(True, description="name skills that bring failures more often")
    lora: int = Field(0, ge=0, description="rank of LoRA; 0 trains all weights")
    warmup: int = Field(
        512, ge=0, description="questions asked first; the valid ones are what SFT learns from"
    )
    warmup_epochs: int = Field(4, ge=1)
    warmup_rate: float = Field(3e-4, gt=0, description="learning rate of the warm-up")
    replay: int = Field(
        10, ge=0, description="after every second update: batches of what was found so far, learned again"
    )
    replay_rate: float = Field(1e-3, gt=0, description="learning rate of that")
    save_steps: int = Field(10, ge=1, description="updates between checkpoints")
    options: dict[str, Any] = Field(default_factory=dict, description="passed through to TRL's GRPOConfig")


class RewardConfig(Settings):
    """Reward of a question: see `docs/vlm.md`. Only failures are paid for being different."""

    failure: float = Field(1.0, ge=0)
    promise: float = Field(
        0.5, ge=0, description="what a valid question earns, times an optimistic failure rate of its skills"
    )
    semantic: float = Field(
        0.3, ge=0, description="of a failure: distance to recent questions and to those of its group"
    )
    lexical: float = Field(0.15, ge=0, description="of a failure: 1 - Self-BLEU against the same")
    invalid: float = Field(0.05, ge=0, description="what an invalid question loses")
    share: float = Field(
        0.2, gt=0, le=1, description="a failure counts less when its skills make up more of recent failures"
    )
    history: int = Field(256, ge=8, description="how many recent questions diversity is measured against")


class LearningConfig(Settings):
    """How the policy of `strategy: learn` learns which kinds of question to ask."""

    updates: int = Field(12, ge=1, description="steps of learning after each round")
    rate: float = Field(0.3, gt=0, description="length of a step")
    most_weight: float = Field(
        2.0,
        ge=1,
        description="most that an early question counts for whose kind became likelier since",
    )
    pull: float = Field(0.02, ge=0, description="pull back to where it started; more keeps it broader")
    repeats: float = Field(
        0.1,
        ge=0,
        description="how much a failure is worth less for each one already found with the same skills",
    )


class QuestionerConfig(Settings):
    """Who asks: `evolve` (no training), `zero-shot` (the baseline), `learn` (a policy that learns which kinds
    of question fail) or `grpo` (a language model that learns by reward)."""

    strategy: Literal["evolve", "zero-shot", "learn", "grpo"] = "evolve"
    writer: Literal["grammar"] | ModelConfig = Field(
        "grammar", description="a grammar that knows the right answers, or a model that writes the questions"
    )
    grammar: Annotated[str, Outside(GRAMMAR, lambda: (*GRAMMARS, ANNOTATIONS, PLANTED_GRAMMAR))] = Field(
        "toybox",
        description="toybox, toybox-parts (hundreds of forms), toybox-clips, annotations "
        "(`questions.jsonl` in the folder of photos), or `module:attribute` of your own",
    )
    skills: tuple[str, ...] = Field((), description="what a model is asked to combine; empty: a common list")
    open: bool | None = Field(
        None,
        description="take up skills that questions bring along, named by the `llm` or by their words; "
        "unless told otherwise where `skills` lists none",
    )
    round: int = Field(16, ge=4, le=512, description="most questions planned together")
    per_image: int = Field(
        1, ge=1, le=16, description="questions that a model writes about a picture at once"
    )
    learning: LearningConfig = LearningConfig()
    training: TrainingConfig = TrainingConfig()
    reward: RewardConfig = RewardConfig()

    @model_serializer(mode="wrap")
    def _learning_where_it_counts(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Other strategies are recorded as they were before there was `learn`: they are the same."""
        recorded: dict[str, Any] = dump(self)
        if self.strategy != "learn":
            recorded.pop("learning", None)
        return recorded


class ConfirmConfig(Settings):
    """From a lucky question to a failure mode: fresh pictures, other words, an anytime-valid test."""

    margin: float = Field(0.2, gt=0, lt=1, description="a mode fails when its failure rate is above")
    fdr: float = Field(0.05, gt=0, lt=1, description="expected share of false modes among those claimed")
    modes: int = Field(120, ge=1, description="most modes put to the test, one for eight questions at most")
    most: int = Field(80, ge=4, description="most questions spent on one mode")
    least: int = Field(
        20,
        ge=1,
        description="questions that the rate of a claimed mode rests on, as far as the last tenth of the "
        "questions allows",
    )
    labels: int = Field(
        40, ge=4, description="most verdicts of one mode that an auditor, or people, look at again"
    )
    share: float = Field(0.6, gt=0, lt=1, description="most of a round that may go into confirmation")


class VlmConfig(HuntConfig):
    """`hunt: vlm`: find the kinds of questions that a vision-language model answers wrongly."""

    hunt: Literal["vlm"]
    verifier: Literal["exact"] | ModelConfig | tuple[ModelConfig, ...] = "exact"
    verifications: int = Field(1, ge=1, le=9, description="how often each verifier is asked")
    accuracy: Annotated[str, ACCURACY] = Field(
        "", description="file with the verifier's measured accuracy, to correct for it"
    )
    auditor: ModelConfig | None = Field(
        None,
        description="a stronger verifier that looks again, blind, at verdicts of modes to be certified",
    )
    editor: ModelConfig | None = Field(
        None,
        description="changes one fact of a picture: minimal pairs, which no verifier decides. `composite` "
        "changes it by construction; what another editor made counts only where the `judge` sees it",
    )
    judge: ModelConfig | None = Field(
        None, description="sees what photos show, and whether an `editor` changed what it was told to"
    )
    captioner: ModelConfig | None = Field(None, description="describes photos that come without a caption")
    images: PicturesConfig = PicturesConfig(source="toybox")
    questioner: QuestionerConfig = QuestionerConfig()
    embedder: ModelConfig | None = Field(None, description="vectors for diversity and for merging names")
    llm: ModelConfig | None = Field(
        None, description="names the skills of questions that a model writes, and defines new ones"
    )
    confirm: ConfirmConfig = ConfirmConfig()
    questions: int = Field(2000, ge=1, description="questions put to the target; the hunt is over then")
    turns: int = Field(
        1,
        ge=1,
        le=MOST_TURNS,
        description="2: follow-ups that must not contradict the first answer; 3 and more: it is pressed to "
        "give up right answers; from 4 on also asked about the first picture beside another",
    )
    images_per_question: int = Field(1, ge=1, le=4)

    @model_validator(mode="after")
    def _fits_together(self) -> VlmConfig:
        by_grammar = self.questioner.writer == "grammar" and self.questioner.strategy != "grpo"
        toy = self.images.source == TOYBOX
        if self.questioner.grammar in GRAMMARS and by_grammar and not toy:
            raise ValueError("the toybox grammar asks about `images: {source: toybox}` only; name a `writer`")
        if self.verifier == "exact" and not toy and self.questioner.grammar in GRAMMARS:
            raise ValueError("`verifier: exact` needs pictures whose truth is known: name a verifier model")
        if self.images_per_question > (2 if toy else 4):
            raise ValueError("the toybox has questions about one or two pictures")
        if toy and self.images_per_question > 1 and not by_grammar:
            raise ValueError("questions about two toybox pictures come from the grammar only")
        if self.editor is not None and self.editor.provider != COMPOSITE and self.judge is None:
            raise ValueError(
                "what an `editor` changed counts only where a judge sees it: add `judge:`, or use "
                "`editor: {provider: composite}`"
            )
        if self.editor is not None and (self.images_per_question > 1 or self.questioner.strategy == "grpo"):
            raise ValueError("minimal pairs (`editor`) go with one picture a question, and not with `grpo`")
        stored = toy or self.images.generator is not None
        again = not by_grammar or self.turns > 1 or self.auditor is not None
        if stored and again and self.runtime.keep_images != "all":
            raise ValueError("pictures are shown more than once here: `runtime.keep_images` must be all")
        return self

    def models(self) -> dict[str, ModelConfig]:
        found = {"answerer": self.target, "verifier": self._verifier()}
        if self.images.source == TOYBOX:
            found["generator"] = ModelConfig(provider=TOYBOX, model="toy-world")
        elif self.images.generator is not None:
            found["generator"] = self.images.generator
        questioner = self._questioner()
        if questioner is not None:
            found["questioner"] = questioner
        for role in ("auditor", "editor", "judge", "captioner", "embedder", "llm"):
            if (model := getattr(self, role)) is not None:
                found[role] = model
        return found

    def _verifier(self) -> ModelConfig:
        if isinstance(self.verifier, str):
            return ModelConfig(provider="exact")
        members = (self.verifier,) if isinstance(self.verifier, ModelConfig) else self.verifier
        if len(members) == 1 and self.verifications == 1:
            return members[0]
        params = {"members": [one.model_dump(mode="json") for one in members], "repeats": self.verifications}
        return ModelConfig(provider="panel", params=params)

    def _questioner(self) -> ModelConfig | None:
        asking = self.questioner
        if asking.strategy == "grpo":
            training = asking.training.model_dump(mode="json")
            return ModelConfig(
                provider="grpo", model=asking.training.model, params={**training, "seed": self.seed}
            )
        return asking.writer if isinstance(asking.writer, ModelConfig) else None
