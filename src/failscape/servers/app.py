"""Puts models behind HTTP: OpenAI-style images, chat, embeddings; FailureAtlas's `/generate`; `/v1/classify`.

It serves any objects that play the roles. A request is honoured in full or refused. Pictures go through a
batcher with a bounded queue; in the other roles one request is one call of the model. There are no keys.

In a chat the instruction's text tells which role is wanted. What is not an instruction of one of our
contracts is a plain question, and goes to the answerer. What is not understood is not guessed: a statement
gets `null`, a question of multiple choice makes the whole reply void.
"""

import asyncio
import json
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from failscape.models.contracts.judge import NONE_OF_THESE
from failscape.models.contracts.vision import (
    ChoiceAsked,
    ChoicesAsked,
    DescriptionAsked,
    QuestionsAsked,
    StatementsAsked,
    VerificationAsked,
    recognise,
)
from failscape.models.roles import AnswerToVerify, Classifier, Conversation, Judge, Model, Reply
from failscape.pictures import Picture
from failscape.servers.backends import (
    FORM,
    BodyGate,
    ImageBackend,
    RequestError,
    Served,
    check_chat,
    read_conversation,
    read_json,
    read_picture,
    read_texts,
)
from failscape.servers.edits import EDITS, EditHandlers
from failscape.servers.explaining import explain_errors, json_error
from failscape.servers.forms import Schema, fits, read_schema
from failscape.servers.images import Batcher, ImageHandlers, KeptPictures, check_model
from failscape.spaces.wording import Understanding
from failscape.trials import Check

Decided = list[bool | None]


class ChatAnswer(NamedTuple):
    """What is said; `sure` has the chance of each answer of a judge, in order, where it tells.

    An answer of a judge that leaves something open is not `decided`. A `refusal` is said in place of a text
    that the form of the request does not allow.
    """

    text: str
    sure: tuple[float, ...] = ()
    decided: bool = True
    refusal: str = ""


_ANSWER = re.compile(r'true|false|(?<=": ")[A-Z](?=")')


def logprobs_of(answer: ChatAnswer) -> dict[str, Any]:
    """The reply as tokens with log-probabilities, as chat servers give them: each answer is one token."""
    found = list(_ANSWER.finditer(answer.text)) if answer.sure else []
    content, end = [], 0
    for match, chance in zip(found, answer.sure, strict=False):
        other = {"true": "false", "false": "true"}.get(match.group(), "?")
        before = answer.text[end : match.start()]
        content += [_token(before, 1.0, ""), _token(match.group(), chance, other)]
        end = match.end()
    return {"content": [*content, _token(answer.text[end:], 1.0, "")]}


def _token(text: str, chance: float, other: str) -> dict[str, Any]:
    own = {"token": text, "logprob": _log(chance)}
    return {**own, "top_logprobs": [own, *([{"token": other, "logprob": _log(1 - chance)}] if other else [])]}


def _log(chance: float) -> float:
    return math.log(min(1.0, max(1e-9, chance)))


async def answer_statements(
    statements: Sequence[str], picture: Picture, judge: Judge, understanding: Understanding
) -> ChatAnswer | None:
    """The reply to contract `boolean`; `None` when the judge has none."""
    checks = [understanding.check(statement) for statement in statements]
    decided, sure = await _decide(judge, picture, checks)
    if decided is None:
        return None
    told = [chance if held else 1 - chance for held, chance in zip(decided, sure, strict=False)]
    return ChatAnswer(json.dumps({"answers": decided}), tuple(told), decided=None not in decided)


async def answer_choices(
    questions: Sequence[ChoiceAsked], picture: Picture, judge: Judge, understanding: Understanding
) -> ChatAnswer | None:
    """The reply to contract `choice`: one letter for each question; `None` when one cannot be decided."""
    letters: dict[str, str] = {}
    told: list[float] = []
    for question in questions:
        options = list(question.options.values())
        checks = _option_checks(question, options, understanding)
        decided, sure = await _decide(judge, picture, checks) if any(checks) else (None, ())
        if decided is None or all(held is None for held in decided):
            return None
        otherwise = NONE_OF_THESE if NONE_OF_THESE in options else "false"
        chosen = decided.index(True) if True in decided else options.index(otherwise)
        letters[question.name] = list(question.options)[chosen]
        told.append(max(sure) if True in decided and sure else 1 - max(sure, default=0.0))
    return ChatAnswer(json.dumps(letters), tuple(told))


def _option_checks(
    question: ChoiceAsked, options: Sequence[str], understanding: Understanding
) -> list[Check | None]:
    """One check per option; the question names their kind, or is itself a statement to call true or false."""
    if question.kind is None:
        return [understanding.check(question.text) if option == "true" else None for option in options]
    kind = "entity" if question.kind == "entity" else understanding.kind(question.kind)
    return [Check(kind, option, "") if kind and option != NONE_OF_THESE else None for option in options]


async def _decide(
    judge: Judge, picture: Picture, checks: Sequence[Check | None]
) -> tuple[Decided | None, tuple[float, ...]]:
    """One decision per check, `None` for what is no check; `None` in all when the judge has no reply.

    And how sure it is of each, where it says so and all are checks.
    """
    known = [check for check in checks if check is not None]
    if not known:
        return [None] * len(checks), ()
    (reply,) = await judge.judge([picture], [known])
    if reply.value is None:
        return None, ()
    answers = iter(reply.value)
    return [next(answers) if check is not None else None for check in checks], reply.confidence


T = TypeVar("T")
CANNOT_TELL = "I cannot tell"


async def answer_chat(served: Served, talk: Conversation, schema: Schema | None = None) -> ChatAnswer:
    """What the model that is asked for says, in the form that its contract wants.

    A judge's answer also has the form of `schema`, where there is one.
    """
    heard = recognise(talk.question)
    if isinstance(heard, StatementsAsked | ChoicesAsked):
        answer = await _judge(served, heard, talk)
        return answer if schema is None else in_form(answer, schema)
    return ChatAnswer(await _answer(served, heard, talk))


async def _answer(served: Served, heard: object, talk: Conversation) -> str:
    if isinstance(heard, DescriptionAsked):
        captioner = _need(served.captioner, "captioner", served)
        (reply,) = await captioner.caption([_one_picture(talk)])
        sentences = said(reply)
        return "\n".join(sentences)
    if isinstance(heard, VerificationAsked):
        return await _verify(served, heard, talk)
    if isinstance(heard, QuestionsAsked):
        questioner = _need(served.questioner, "questioner", served)
        (questions,) = await questioner.propose([talk.images], [heard.guidance], [heard.count])
        return json.dumps({"questions": said(questions)})
    (answer,) = await _need(served.answerer, "answerer", served).answer([talk])
    return said(answer)


def said(reply: Reply[T]) -> T:
    """The value of a reply; when there is none the client hears why."""
    if reply.value is None:
        raise RequestError(reply.invalid or "the model gave no reply")
    return reply.value


async def _judge(served: Served, heard: StatementsAsked | ChoicesAsked, talk: Conversation) -> ChatAnswer:
    judge = _need(served.judge, "judge", served)
    about = _one_picture(talk), judge, _need(served.understanding, "judge", served)
    if isinstance(heard, StatementsAsked):
        reply = await answer_statements(heard.statements, *about)
    else:
        reply = await answer_choices(heard.questions, *about)
    return reply or ChatAnswer(f"{CANNOT_TELL}.", decided=False)


def in_form(answer: ChatAnswer, schema: Schema) -> ChatAnswer:
    """The answer of a judge, if the schema allows it; a refusal if it wants a decision and there is none.

    Raises:
        RequestError: The schema wants another form than that of the judge's contract.
    """
    if fits(answer.text, schema):
        return answer
    if not answer.decided:
        return ChatAnswer("", decided=False, refusal=f"{CANNOT_TELL}.")
    told = "`response_format` does not allow the form in which the instruction wants the judge to reply"
    raise RequestError(f"{told}: {answer.text[:200]}")


async def _verify(served: Served, heard: VerificationAsked, talk: Conversation) -> str:
    verifier = _need(served.verifier, "verifier", served)
    given = AnswerToVerify(talk.images, heard.question, heard.answer, heard.history, heard.truth)
    (reply,) = await verifier.verify([given])
    found = said(reply)
    decided = found.valid if heard.wanted == "valid" else found.right
    if decided is None:
        return f"{CANNOT_TELL}: {found.reason}"
    known = {} if heard.wanted == "valid" or heard.truth else {"answer": found.answer}
    return json.dumps({"reason": found.reason, **known, heard.wanted: decided})


def _one_picture(talk: Conversation) -> Picture:
    if len(talk.images) != 1:
        raise RequestError(f"one image is needed, but there are {len(talk.images)}")
    return talk.images[0]


def _need(model: T | None, role: str, served: Served) -> T:
    if model is None:
        offered = ", ".join(served.chat_roles())
        raise RequestError(f"this request needs the role {role}, but the server has only: {offered}")
    return model


@dataclass
class Metrics:
    """Requests by path and status; the batcher counts its own."""

    batcher: Batcher | None = None
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)

    def counting(self) -> Middleware:
        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await handler(request)
            route = request.match_info.route.resource
            if route is not None:
                self.requests[route.canonical, response.status] += 1
            return response

        return count

    async def page(self, _: web.Request) -> web.Response:
        return web.Response(text="\n".join(self._lines()) + "\n", content_type="text/plain")

    def _lines(self) -> Iterator[str]:
        yield "# HELP failscape_requests_total Requests answered, by path and status."
        yield "# TYPE failscape_requests_total counter"
        for (path, status), count in sorted(self.requests.items()):
            yield f'failscape_requests_total{{path="{path}",status="{status}"}} {count}'
        if self.batcher is None:
            return
        counts, limit = self.batcher.counts, self.batcher.backend.limit
        for name, kind, about, value in (
            ("pictures_total", "counter", "Pictures drawn.", counts.pictures),
            ("batches_total", "counter", "Calls of the model.", counts.batches),
            ("pictures_failed_total", "counter", "Pictures that could not be drawn.", counts.failed),
            ("refused_total", "counter", "Requests refused because the queue was full.", counts.refused),
            ("draw_seconds_total", "counter", "Seconds spent drawing.", counts.seconds),
            ("waiting", "gauge", "Pictures in the queue.", len(self.batcher.waiting)),
            ("batch_limit", "gauge", "Most pictures of one call.", limit.most),
            ("out_of_memory_total", "counter", "Times that the batch was halved.", limit.halved),
        ):
            name = f"failscape_{name}"
            yield f"# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value:g}"


LARGEST_REQUEST = 64 * 2**20


class Loading:
    """Starts the models of an application beside it, so that it can say that it is not ready yet."""

    def __init__(self, models: Sequence[Model | ImageBackend]) -> None:
        self._models = models
        self._task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        return self._task is not None and self._task.done()

    def begin(self) -> None:
        self._task = asyncio.create_task(self._start())

    async def _start(self) -> None:
        for model in self._models:
            await model.start()

    async def wait(self) -> None:
        """Raises what went wrong, when loading failed."""
        assert self._task is not None
        await self._task

    async def close(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        for model in self._models:
            await model.close()


LOADING: web.AppKey[Loading] = web.AppKey("loading", Loading)


def build_app(served: Served, wait: bool = True) -> web.Application:
    """The application; its models are started and closed with it.

    Without `wait` it answers at once, with 503 until the models are loaded: see `app[LOADING]`.
    """
    backend = served.image_backend()
    batcher = Batcher(backend, served.queue, served.linger) if backend is not None else None
    loading = Loading([*served.models(), *([backend] if backend is not None else [])])
    metrics = Metrics(batcher)
    gate = BodyGate(LARGEST_REQUEST, served.bodies_at_once, served.body_seconds)
    checks = [metrics.counting(), explain_errors, _from_here_only, _while_loading(loading), _received(gate)]
    app = web.Application(client_max_size=LARGEST_REQUEST, middlewares=checks)
    app[LOADING] = loading
    app.add_routes([*_Handlers(served).routes(), web.get("/metrics", metrics.page)])
    kept = KeptPictures()
    if batcher is not None:
        app.add_routes(ImageHandlers(batcher, kept).routes())
    if served.editor is not None:
        app.add_routes(EditHandlers(served.editor, served.name, served.size, kept).routes())
    if batcher is not None or served.editor is not None:
        app.add_routes(kept.routes())

    async def live(_: web.Application) -> AsyncIterator[None]:
        loading.begin()
        if wait:
            await loading.wait()
        if batcher is not None:
            batcher.start()
        yield
        if batcher is not None:
            await batcher.close()
        await loading.close()

    app.cleanup_ctx.append(live)
    return app


def _while_loading(loading: Loading) -> Middleware:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if loading.done or request.path == "/metrics":
            return await handler(request)
        if request.path == "/health":
            return web.json_response({"status": "loading"}, status=503)
        return json_error(503, "the model is being loaded", "server_error", {"Retry-After": "5"})

    return check


@web.middleware
async def _from_here_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A page of another site must not use the models: browsers name the page's origin, programs none.

    Nor may it post what browsers send without asking first: forms and plain text. JSON they ask about. Edits
    are forms for every client, so there the origin alone decides.
    """
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
        raise RequestError(f"pages of {origin[:100]!r} may not use this server", 403)
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        raise RequestError("pages of other sites may not use this server", 403)
    wanted = FORM if request.path == EDITS else "application/json"
    if request.method == "POST" and request.content_type != wanted:
        told = f"send the request with `Content-Type: {wanted}`, not {request.content_type!r}"
        raise RequestError(told, 415)
    return await handler(request)


def _received(gate: BodyGate) -> Middleware:
    """The body of a request is received in time, and not beside too many others, before it is handled."""

    @web.middleware
    async def receive(request: web.Request, handler: Handler) -> web.StreamResponse:
        await gate.receive(request)
        return await handler(request)

    return receive


def _model_card(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "failscape"}


class _Handlers:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[web.RouteDef]:
        found = [
            web.get("/health", self.health),
            web.get("/v1/models", self.models),
            web.get("/v1/models/{name:.+}", self.model),  # names on the hub have a slash
        ]
        if self._served.chat_roles():
            found.append(web.post("/v1/chat/completions", self.chat))
        if self._served.embedder is not None:
            found.append(web.post("/v1/embeddings", self.embeddings))
        if self._served.classifiers:
            found.append(web.post("/v1/classify", self.classify))
        return found

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def models(self, _: web.Request) -> web.Response:
        data = [_model_card(name) for name in self._names()]
        return web.json_response({"object": "list", "data": data})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        check_model(name, *self._names())
        return web.json_response(_model_card(name))

    def _names(self) -> list[str]:
        return [self._served.name, *self._served.classifiers]

    async def chat(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        check_model(body.get("model"), self._served.name)
        check_chat(body)
        talk = read_conversation(body.get("messages"))
        schema = read_schema(body.get("response_format"))
        answer = await answer_chat(self._served, talk, schema)
        message = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.refusal:
            message |= {"content": None, "refusal": answer.refusal}
        told = logprobs_of(answer) if body.get("logprobs") else None
        usage = {"prompt_tokens": len(talk.question) // 4, "completion_tokens": len(answer.text) // 4}
        return web.json_response(
            {
                "id": "chat",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": str(body.get("model") or self._served.name),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": told}],
                "usage": {**usage, "total_tokens": sum(usage.values())},
            }
        )

    async def embeddings(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        check_model(body.get("model"), self._served.name)
        asked = body.get("input")
        texts = read_texts([asked] if isinstance(asked, str) else asked, "input")
        assert self._served.embedder is not None
        vectors = [said(reply) for reply in await self._served.embedder.embed(texts)]
        data = [
            {"object": "embedding", "index": row, "embedding": vector} for row, vector in enumerate(vectors)
        ]
        tokens = sum(len(text) // 4 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        name = str(body.get("model") or self._served.name)
        return web.json_response({"object": "list", "data": data, "model": name, "usage": usage})

    async def classify(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        images = [read_picture(text) for text in read_texts(body.get("images"), "images")]
        rankings = [said(reply) for reply in await self._classifier(body.get("model")).classify(images)]
        return web.json_response({"labels": rankings})

    def _classifier(self, name: object) -> Classifier:
        offered = self._served.classifiers
        chosen = name or next(iter(offered))
        if not isinstance(chosen, str) or chosen not in offered:
            raise RequestError(f"there is no classifier {chosen!r}, only: {', '.join(offered)}", status=404)
        return offered[chosen]
