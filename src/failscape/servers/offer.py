"""What a server offers: one model per role, and how each is offered. Serves nothing by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from failscape.models.roles import (
    Answerer,
    Captioner,
    Classifier,
    Embedder,
    ImageGenerator,
    Judge,
    Model,
    Questioner,
    Verifier,
)
from failscape.servers.backends import ImageBackend, RoleBackend
from failscape.spaces.understanding import Understanding


@dataclass(frozen=True)
class Served:
    """The models of a server; a role that is `None` is not offered.

    `understanding` turns a judge's instruction back into checks. Requests choose among `classifiers` by name;
    the first one answers those that name none. All other models are told apart by what is asked.
    `backend` draws in place of a `generator` where requests may choose size, steps and so on; `size` is the
    one size of a generator's pictures, where it has one. At most `queue` pictures wait; the first of a batch
    waits `linger` seconds, so that others can join it.
    """

    generator: ImageGenerator | None = None
    judge: Judge | None = None
    understanding: Understanding | None = None
    name: str = "failscape"
    captioner: Captioner | None = None
    answerer: Answerer | None = None
    verifier: Verifier | None = None
    questioner: Questioner | None = None
    embedder: Embedder | None = None
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    backend: ImageBackend | None = None
    size: tuple[int, int] | None = None
    queue: int = 512
    linger: float = 0.0

    def image_backend(self) -> ImageBackend | None:
        """What draws; a generator is put behind one."""
        if self.backend is None and self.generator is not None:
            return RoleBackend(self.generator, self.name, self.size)
        return self.backend

    def models(self) -> list[Model]:
        """All models beside the one that draws, to be started and closed."""
        chat = list(self.chat_roles().values())
        others: list[Model | None] = [self.embedder, *self.classifiers.values()]
        return [*(model for model in others if model is not None), *chat]

    def chat_roles(self) -> dict[str, Model]:
        """Role → model, of those that are reached by chat."""
        roles: dict[str, Model | None] = {
            "judge": self.judge if self.understanding is not None else None,
            "captioner": self.captioner,
            "answerer": self.answerer,
            "verifier": self.verifier,
            "questioner": self.questioner,
        }
        return {role: model for role, model in roles.items() if model is not None}

    def offers(self) -> list[str]:
        """What there is, in words: for the line that a server prints when it is ready."""
        chat = self.chat_roles()
        lines = {
            "images": self.image_backend() is not None,
            f"chat ({', '.join(chat)})": bool(chat),
            "embeddings": self.embedder is not None,
            f"classify ({', '.join(self.classifiers)})": bool(self.classifiers),
        }
        return [line for line, is_offered in lines.items() if is_offered]
