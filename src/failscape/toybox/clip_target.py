"""A target for clips with planted weaknesses. It is no network: it shows that the hunt names what is planted.

It reads the script that every toybox clip carries as its note, but only the scenes of the frames that `video`
lets it see. What those frames do not show it guesses. Besides, it

- calls a movement up a movement down,
- gets the order of appearances wrong when they are more than three frames apart,
- counts only what is there in the last frame,
- names the colour of the end when asked for that of the beginning.
"""

from collections.abc import Sequence
from typing import Final

from failscape.clips import as_clip, sample_times
from failscape.config import ModelConfig
from failscape.config.base import VideoConfig
from failscape.errors import FailscapeError
from failscape.models.in_process import Unloaded
from failscape.models.roles import Conversation, Identity, Reply, Usage
from failscape.pictures import Picture
from failscape.toybox.clip_asking import CLIP, parse_clip_question, script_of
from failscape.toybox.clip_forms import BY_KEY, ClipForm, Scenes, Slots
from failscape.toybox.clip_world import FPS, FRAMES

PLANTED_CLIPS: Final = "planted-clips"
VERSION: Final = "1"
#: Appearances further apart than this are confused.
FORGETS_AFTER: Final = 3


class PlantedClipAnswers(Unloaded):
    """`target: {provider: toybox, model: planted-clips, video: {frames: 8}}`."""

    def __init__(self, config: ModelConfig) -> None:
        self._video = config.video or VideoConfig()
        settings = {"version": VERSION, "video": self._video.model_dump(mode="json")}
        self.identity = Identity("answerer", "toybox", PLANTED_CLIPS, settings)

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        return [self._reply(talk) for talk in conversations]

    def _reply(self, talk: Conversation) -> Reply[str]:
        parsed = parse_clip_question(talk.question)
        if parsed is None:
            return Reply("I do not know.", usage=Usage(requests=0))
        try:
            scenes = script_of(_key_of(talk.images[0])).scenes()
        except (FailscapeError, IndexError):
            return Reply(None, "planted-clips looks at toybox clips only")
        return Reply(self._answer(scenes, *parsed), usage=Usage(requests=0))

    def _answer(self, scenes: Scenes, form: ClipForm, slots: Slots) -> str:
        video = self._video
        times = [at / FPS for at in range(FRAMES)]
        chosen = sample_times(times, FRAMES / FPS, video.frames, video.fps, video.sampling)
        shown = [scenes[at] for at in chosen]
        said = form.see(shown, slots) or slots.get("thing", "no")
        if form.key == "motion" and said == "up":
            return "down"
        if form.key == "appears first" and _gap(scenes, slots) > FORGETS_AFTER:
            return slots["other"] if said == slots["thing"] else slots["thing"]
        if form.key == "count over time":
            return form.see(shown[-1:], slots) or said
        if form.key == "colour before":
            return BY_KEY["colour after"].see(shown, slots) or said
        return said


def _gap(scenes: Scenes, slots: Slots) -> int:
    """Frames between the first sights of two things."""
    starts = [
        next((at for at, scene in enumerate(scenes) if any(one.entity == name for one in scene.things)), 0)
        for name in (slots["thing"], slots["other"])
    ]
    return abs(starts[0] - starts[1])


def _key_of(picture: Picture) -> str:
    clip = as_clip(picture)
    return clip.note if clip is not None and clip.note.startswith(CLIP) else ""
