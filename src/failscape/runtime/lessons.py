"""A questioner that learns: what it is told while a hunt runs, and when it is let go."""

from typing import Any, Protocol, runtime_checkable

from failscape.atlas import Atlas
from failscape.atlas.files import output_folder
from failscape.runtime.engine import Engine
from failscape.runtime.progress import Reporter
from failscape.runtime.walk import Team, Walk
from failscape.search.protocol import Hunt
from failscape.trials import Propose

#: Where a questioner keeps its checkpoints, in the folder of the atlas; one folder per hunt.
FOLDER = "questioner"


#: How many times in a row a questioner must be found waiting in vain before it is let go.
PATIENCE = 2


@runtime_checkable
class LearningQuestioner(Protocol):
    """A questioner that is told what its questions were worth."""

    log: Any

    @property
    def waiting(self) -> bool: ...

    def prepare(self, home: Any, lessons: Any, begun: Any, load: Any) -> None: ...

    def teach(self, lessons: Any) -> None: ...

    def release(self) -> None: ...


def _writing(walk: Walk) -> bool:
    return any(isinstance(step, Propose) for step in walk.probe.steps)


def learner_of(team: Team) -> LearningQuestioner | None:
    model = team.models.get("questioner")
    return model if isinstance(model, LearningQuestioner) else None


def prepare_learner(team: Team, hunt: Hunt, atlas: Atlas, hunt_id: int) -> None:
    """Before the models start: where checkpoints are, what was recorded, where the trainer's figures go."""
    learner = learner_of(team)
    if learner is None:
        return
    learner.log = lambda row: atlas.log("training", row, hunt_id)
    home = output_folder(atlas.folder, FOLDER, str(hunt_id))
    learner.prepare(home, hunt.lessons(), hunt.begun(), atlas.images.get)


class LessonCarrier:
    """Carries lessons to a questioner that learns, and notices of the hunt to the screen."""

    def __init__(self, hunt: Hunt, team: Team, reporter: Reporter) -> None:
        self._hunt = hunt
        self._learner = learner_of(team)
        self._reporter = reporter
        self._noticed = 0
        self._stuck = 0

    def hand_out(self, engine: Engine) -> None:
        """Called after every group of trials."""
        if self._learner is not None:
            self._learner.teach(self._hunt.lessons())
            # It waits for answers, or for pictures, that the budget no longer allows.
            walks = engine.in_flight.values()
            limit = engine.starved
            stuck = bool(limit and walks) and self._learner.waiting and all(map(_writing, walks))
            self._stuck = self._stuck + 1 if stuck else 0
            if self._stuck > PATIENCE:
                engine.halt(limit)
                self._learner.release()
        notices = self._hunt.notices()
        for text in notices[self._noticed :]:
            self._reporter.note("warning", text)
        self._noticed = len(notices)
