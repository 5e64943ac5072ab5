"""From the settings of a vlm hunt to a hunt. This is the only place that knows all parts."""

from collections.abc import Iterator
from pathlib import Path

from failscape.errors import ConfigError
from failscape.kinds.vlm.config import COMPOSITE, VlmConfig
from failscape.kinds.vlm.confirm import Confirmation, slots_for
from failscape.kinds.vlm.errands import OpenWorld
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.kinds.vlm.training.choosing import LearningPlanner
from failscape.kinds.vlm.training.lessons import KEPT_FOR_CONFIRMATION, LessonPlanner, Schedule
from failscape.kinds.vlm.training.policy import PolicySettings
from failscape.kinds.vlm.training.rewards import Weights
from failscape.pictures import Picture
from failscape.search.protocol import Content
from failscape.spaces.albums import Album, album_of
from failscape.spaces.minimal_pairs import PairGrammar
from failscape.spaces.photo_features import photo_features
from failscape.spaces.questions import GRAMMARS, Grammar, Sights, load_grammar
from failscape.spaces.skills import AlbumSights, DrawnSights, SkillGrammar
from failscape.spaces.vocabulary import SkillVocabulary
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trust import ACCURACY, refuse_outside

LEAST_QUESTIONS = 200
#: So many forms share their skills: one skill, or two, then explain what no single form can show.
MANY_FORMS = 100


def build_hunt(
    config: VlmConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
) -> VlmHunt:
    """A round is planned from all rounds before it: there is nothing that shards could do on their own."""
    if shard != (0, 1):
        raise ConfigError(
            "a vlm hunt learns from all of its trials and cannot be split into shards",
            "raise `runtime.in_flight`, or run several hunts with other seeds",
        )
    seed = config.seed
    asking, confirm = config.questioner, config.confirm
    grammar, sights = make_grammar(config)
    ledger = QuestionLog(2 if grammar.exact else 1, shared=len(grammar.patterns()) >= MANY_FORMS)
    known = accuracy or _accuracy(config)
    exact = config.verifier == "exact"
    judged = judges_edits(config)
    limits = confirm.margin, confirm.fdr, slots_for(confirm.modes, config.questions), confirm.most
    auditor = config.auditor is not None
    confirmation = Confirmation(
        *limits, known, exact, confirm.labels, auditor, not judged, least=confirm.least
    )
    rounds = Rounds(
        asking.round, confirm.share, asking.per_image, config.turns, config.editor is not None, judged
    ).of(config.questions)
    planner: Planner
    if asking.strategy == "zero-shot":
        free = None if asking.writer == "grammar" else sights
        planner = ZeroShotPlanner(grammar, ledger, confirmation, rounds, seed, free)
    elif asking.strategy == "learn":
        learning = PolicySettings(**asking.learning.model_dump())
        planner = LearningPlanner(grammar, ledger, confirmation, rounds, seed, learning)
    elif asking.strategy == "grpo":
        schedule, weights = _schedule(config), Weights(**asking.reward.model_dump())
        planner = LessonPlanner(grammar, ledger, confirmation, rounds, seed, sights, schedule, weights)
    else:
        planner = Planner(grammar, ledger, confirmation, rounds, seed)
    return VlmHunt(grammar, ledger, confirmation, planner, config.questions, _world(config, grammar, sights))


def _world(config: VlmConfig, grammar: Grammar, sights: Sights) -> OpenWorld | None:
    """What can be learned about skills and pictures, where a model writes the questions."""
    vocabulary = getattr(grammar, "vocabulary", None)
    if vocabulary is None or config.questioner.strategy == "grpo":
        return None
    roles = (getattr(config, role) is not None for role in ("llm", "embedder", "captioner", "judge"))
    return OpenWorld(vocabulary, sights, *roles)


def judges_edits(config: VlmConfig) -> bool:
    """Whether a judge must see what the editor changed: what is composed needs none."""
    return config.editor is not None and config.editor.provider != COMPOSITE


def _schedule(config: VlmConfig) -> Schedule:
    training = config.questioner.training
    return Schedule(
        training.steps,
        training.pictures,
        training.group,
        training.warmup,
        config.questions,
        config.embedder is not None,
        training.named,
        training.adapt,
    )


def make_grammar(config: VlmConfig) -> tuple[Grammar, Sights]:
    """What makes questions, and where pictures for free questions come from."""
    grammar, sights = _own_grammar(config)
    return (PairGrammar(grammar, sights) if config.editor is not None else grammar), sights


def _own_grammar(config: VlmConfig) -> tuple[Grammar, Sights]:
    images, asking = config.images_per_question, config.questioner
    if config.images.source == "toybox":
        name = asking.grammar if asking.grammar in GRAMMARS else "toybox"
        grammar = load_grammar(name, None, images=images)
        return grammar, grammar  # type: ignore[return-value]  # the toy grammar makes its own pictures
    sights = make_sights(config)
    if asking.grammar not in GRAMMARS:
        return load_grammar(asking.grammar, sights, images=images), sights
    written = SkillGrammar(sights, asking.skills, images)
    is_open = not asking.skills if asking.open is None else asking.open
    if is_open and asking.strategy != "grpo":
        vocabulary = SkillVocabulary(written.listed, checked=config.llm is not None)
        written = SkillGrammar(sights, asking.skills, images, vocabulary)
    return written, sights


def make_sights(config: VlmConfig) -> Sights:
    source = config.images
    if source.folder:
        return AlbumSights(album_of(source.folder), source.fresh_share, config.images_per_question)
    return DrawnSights(source.prompts, source.fresh_share, config.images_per_question)


def contents(config: VlmConfig) -> dict[str, Content]:
    grammar, _ = make_grammar(config)
    found = {"grammar": Content("questions", config.questioner.grammar, grammar.digest)}
    if config.images.folder:
        found["images"] = Content("album", config.images.folder, album_of(config.images.folder).digest)
    if config.accuracy:
        known = _accuracy(config)
        if known is not None:
            found["accuracy"] = Content("accuracy", config.accuracy, known.digest, known.to_json())
    return found


def pictures(config: VlmConfig) -> Iterator[Picture]:
    if config.images.folder:
        yield from album_of(config.images.folder).pictures()


def albums(config: VlmConfig) -> list[Album]:
    return [album_of(config.images.folder)] if config.images.folder else []


def forewarn(config: VlmConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    found = []
    if config.questions < LEAST_QUESTIONS:
        found.append(
            f"{config.questions} questions are hardly enough to certify a mode: use {LEAST_QUESTIONS} or more"
        )
    if config.questioner.strategy == "grpo":
        found += _too_few_lessons(config)
    if config.llm is not None and getattr(make_grammar(config)[0], "vocabulary", None) is None:
        found.append("`llm` is not used here: the grammar knows the skills of its questions")
    if config.images.folder:
        album = album_of(config.images.folder)
        if config.captioner is None and config.judge is None and not _any_feature(album):
            found.append(
                "no photo has a caption or a column of metadata: modes are told by skills and by the words "
                "of questions, not by what pictures show; add captions, `captioner:` or `judge:`"
            )
        found += [f"skipped {line}" for line in album.skipped[:5]]
        if len(album.skipped) > 5:
            found.append(f"and {len(album.skipped) - 5} more photos were skipped")
    return found


def _any_feature(album: Album) -> bool:
    return any(photo_features(photo.captions, photo.details) or photo.captions for photo in album.photos)


def _too_few_lessons(config: VlmConfig) -> list[str]:
    training = config.questioner.training
    needed = training.steps * training.pictures * training.group + training.warmup
    room = int(config.questions * (1 - KEPT_FOR_CONFIRMATION))
    if needed <= room:
        return []
    return [
        f"{config.questions} questions leave {room} for training, but {training.steps} steps take {needed}"
    ]


def _accuracy(config: VlmConfig) -> JudgeAccuracy | None:
    if not config.accuracy:
        return None
    refuse_outside(config.accuracy, ACCURACY.what)
    path = Path(config.accuracy).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}", "name the verifier's accuracy file") from error
    return JudgeAccuracy.from_json(text, str(path))
