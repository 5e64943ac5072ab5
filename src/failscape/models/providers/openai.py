"""Provider `openai`: any server that speaks the OpenAI API (vLLM, SGLang, llama.cpp, OpenAI itself …).

Judge, captioner, answerer, verifier, questioner and llm are one chat request each, with a contract that knows
what to say and how to read the reply. Generator, editor and embedder have requests of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from failscape.clips import as_clip
from failscape.config import ModelConfig
from failscape.errors import BadReply, Permanent, Refused
from failscape.models.clip_views import clip_parts
from failscape.models.contracts.asking import Read, plain_answer
from failscape.models.contracts.judge import Confidence, Token, read_tokens, tokens_of_answer
from failscape.models.contracts.vision import (
    CaptionerByContract,
    Consulted,
    JudgeByContract,
    Question,
    QuestionerByContract,
    VerifierByContract,
)
from failscape.models.roles import Conversation, Model, Reply, Usage
from failscape.models.transport.encoding import (
    PROVE_PICTURES,
    data_uri,
    off_loop,
    picture_from_base64,
    picture_from_bytes,
)
from failscape.models.transport.endpoints import Backoff
from failscape.models.transport.http import (
    IMAGE_RULES,
    NOTHING,
    HttpModel,
    decode,
    encode,
    preprocessing_of,
    with_params,
)
from failscape.picture_limits import PictureLimits
from failscape.pictures import Picture

T = TypeVar("T")
Message = dict[str, Any]
Weigh = Callable[[Sequence[Token]], Confidence]

#: A reply that its contract cannot read is asked for once more; then it is invalid.
TRIES_IN_FORM = 2


class Said(NamedTuple):
    """`unfinished` says why the reply is no whole one; `""` when it is, or when the server does not say."""

    text: str
    tokens_in: int
    tokens_out: int
    unfinished: str
    tokens: tuple[Token, ...] = ()


def split_params(params: dict[str, Any]) -> dict[str, Any]:
    """Params as request fields.

    `enable_thinking` belongs into `chat_template_kwargs` (vLLM, SGLang, llama.cpp); `extra_body` is laid
    flat over the request, as the OpenAI client does it, for servers that want something else at the top.
    """
    fields = {name: value for name, value in params.items() if name not in ("enable_thinking", "extra_body")}
    if params.get("enable_thinking") is not None:
        template = {"enable_thinking": params["enable_thinking"], **fields.get("chat_template_kwargs", {})}
        fields["chat_template_kwargs"] = template
    return {**fields, **(params.get("extra_body") or {})}


#: Tokens of a target's answer, unless `params` say otherwise.
LONGEST_ANSWER = 512
#: How servers call that limit.
LENGTHS = frozenset(("max_tokens", "max_completion_tokens", "max_new_tokens"))


class ChatModel(Consulted, HttpModel):
    """One chat request, and what all roles share. By itself it is the role `llm`: plain text in and out."""

    role = "llm"
    defaults: dict[str, Any] = {}  # noqa: RUF012 - read-only

    def more_settings(self, config: ModelConfig) -> dict[str, Any]:
        chosen = {"contract": self.contract_label(config), "thresholds": config.thresholds}
        shown = {} if self.role == "llm" else preprocessing_of(config)  # an llm sees no pictures
        return {name: value for name, value in chosen.items() if value} | shown

    async def chat(self, messages: Sequence[Message], schema: dict[str, Any] | None = None) -> Reply[str]:
        """The model's text for OpenAI-style messages, in the form of `schema` where one is given."""
        return await self._converse(lambda: list(messages), (), schema, plain_answer)

    async def consult(self, questions: Sequence[Question[T]]) -> list[Reply[T]]:
        """Show images, say what the contract says, read the reply as the contract reads it."""
        return [await self._consult(question) for question in questions]

    async def _consult(self, asked: Question[T]) -> Reply[T]:
        def compose() -> list[Message]:
            return [self.user(asked.ask.text, asked.images)]

        return await self._converse(compose, asked.images, asked.ask.schema, asked.read, asked.weigh)

    async def _converse(
        self,
        compose: Callable[[], list[Message]],
        images: Sequence[Picture],
        schema: dict[str, Any] | None,
        read: Callable[[str], Read[T]],
        weigh: Weigh | None = None,
    ) -> Reply[T]:
        """One conversation, asked again when the reply is out of form. `compose` may meet a broken image."""
        spent = Usage(requests=0)
        outcome: Read[T]
        try:
            body = await off_loop(self.is_work(images), lambda: encode(self._payload(compose(), schema)))
            for _ in range(TRIES_IN_FORM):
                answer = await self.pool.post("/chat/completions", body, _read_chat)
                said = answer.value
                spent += self.bill(answer, (said.tokens_in, said.tokens_out))
                # Half an answer in form is none; free text is taken as far as it goes.
                outcome = Read(None, said.unfinished) if schema and said.unfinished else read(said.text)
                self.forms.note(outcome)
                if outcome.value is not None:
                    break
        except (BadReply, Refused) as error:
            return self.invalid(error, spent)
        spelled = tokens_of_answer(said.tokens, said.text) if weigh and outcome.value is not None else ()
        sure = weigh(spelled) if weigh and spelled else ()
        return Reply(outcome.value, outcome.invalid, said.text, spent, sure)

    def _payload(self, messages: list[Message], schema: dict[str, Any] | None) -> dict[str, Any]:
        fields = {"model": self.config.model, "messages": messages, **self.defaults}
        if schema:
            form = {"name": "reply", "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": form}
        return with_params(fields, split_params(self.config.params))

    def user(self, text: str, images: Sequence[Picture] = ()) -> Message:
        """A user's turn: images first, as most vision models were trained."""
        if not images:
            return {"role": "user", "content": text}
        parts = [part for image in images for part in self._shown(image)]
        return {"role": "user", "content": [*parts, {"type": "text", "text": text}]}

    def _shown(self, image: Picture) -> list[Message]:
        """The parts of a message that show a picture, or a clip where `video` says how."""
        side, format = self.config.image_max_side, self.config.image_format
        clip = as_clip(image) if self.config.video else None
        if clip is None or self.config.video is None:
            return [{"type": "image_url", "image_url": {"url": data_uri(image, side, format)}}]
        return clip_parts(clip, self.config.video, side, format)


class OpenAIJudge(JudgeByContract, ChatModel):
    defaults = {"temperature": 0}  # noqa: RUF012 - read-only


class OpenAICaptioner(CaptionerByContract, ChatModel): ...


class OpenAIAnswerer(ChatModel):
    """The question as it is, without instructions of ours: the target is to be seen as users see it.

    An answer has an end: a target that rambles would hold up the hunt, and the verifier reads no more.
    """

    role = "answerer"

    def more_settings(self, config: ModelConfig) -> dict[str, Any]:
        limit = {} if LENGTHS & config.params.keys() else {"max_tokens": LONGEST_ANSWER}
        return super().more_settings(config) | limit

    def _payload(self, messages: list[Message], schema: dict[str, Any] | None) -> dict[str, Any]:
        fields = super()._payload(messages, schema)
        told = LENGTHS & (fields.keys() | self.config.params.keys())
        return fields if told else {**fields, "max_tokens": LONGEST_ANSWER}

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        return [
            await self._converse(partial(self._turns, conversation), conversation.images, None, plain_answer)
            for conversation in conversations
        ]

    def _turns(self, conversation: Conversation) -> list[Message]:
        questions = [question for question, _ in conversation.history] + [conversation.question]
        messages = [self.user(questions[0], conversation.images)]
        for (_, answer), following in zip(conversation.history, questions[1:], strict=True):
            messages += [{"role": "assistant", "content": answer}, self.user(following)]
        return messages


class OpenAIVerifier(VerifierByContract, ChatModel):
    defaults = {"temperature": 0}  # noqa: RUF012 - read-only


class OpenAIQuestioner(QuestionerByContract, ChatModel): ...


#: How servers of different makes say that a reply came to its end; a few say nothing.
FINISHED = frozenset(
    [
        "",
        "stop",
        "eos",
        "eos_token",
        "end_turn",
        "stop_sequence",
        "stop_token",
        "end",
        "complete",
        "completed",
    ]
)
#: How they say that it reached its longest length.
CUT_OFF = frozenset(
    [
        "length",
        "max_tokens",
        "max_length",
        "model_length",
        "max_output_tokens",
        "max_new_tokens",
        "token_limit",
    ]
)
#: How they say that a filter stopped it.
FILTERED = frozenset(
    [
        "content_filter",
        "safety",
        "refusal",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "sensitive",
    ]
)
#: A number of tokens beyond this is none, and would not fit where it is kept.
MOST_TOKENS = 2**40


#: Lists and objects of a chat reply: 30,000 tokens with their five likeliest alternatives. An empty one takes
#: two bytes of a body, and thirty times as much once it is decoded.
MOST_PARTS = 2**18


def _read_chat(body: bytes) -> Said:
    if body.count(b"[") + body.count(b"{") > MOST_PARTS:
        raise BadReply(f"the reply holds more than {MOST_PARTS:,} lists and objects")
    data = decode(body)
    choice = data["choices"][0]
    message = choice["message"]
    if fault := data.get("error") or choice.get("error"):
        raise BadReply(f"the reply tells of an error: {str(fault)[:200]}")
    ending = str(choice.get("finish_reason") or "").lower()
    if message.get("refusal") or ending in FILTERED:
        raise Refused(f"the model refused: {message.get('refusal') or ending}")
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Said(
        _text_of(message.get("content")),
        _tokens(counts.get("prompt_tokens")),
        _tokens(counts.get("completion_tokens")),
        _unfinished(ending),
        read_tokens(choice.get("logprobs")),
    )


def _text_of(content: Any) -> str:
    """What is said. Parts of another kind, such as `reasoning` or `thinking`, are not."""
    if isinstance(content, list):
        said = [part for part in content if part.get("type", "text") in ("text", "output_text")]
        content = "".join(part.get("text") or "" for part in said)
    if not isinstance(content, str | None):
        raise BadReply("the reply holds no text")
    return content or ""


def _unfinished(ending: str) -> str:
    if ending in FINISHED:
        return ""
    if ending in CUT_OFF:
        return "the reply was cut off: raise `max_tokens`, or switch thinking off"
    return f"the reply is not finished: its finish_reason is {ending[:40]!r}"


def _tokens(count: Any) -> int:
    """A number that a server gives; 0 for what cannot be one (1e30, "many", true)."""
    is_number = isinstance(count, int | float) and not isinstance(count, bool)
    return int(count) if is_number and 0 <= count <= MOST_TOKENS else 0


#: Fixed, so that equal requests are equal bytes; long enough not to occur in an image by chance.
BOUNDARY = "failscape-5c1f0b7e9a3d4286"


class OpenAIImages(HttpModel):
    """What generator and editor share: one image a request, in the reply or where the reply says."""

    def longest_item(self) -> int:
        return self.longest_picture()

    async def _drawn(self, path: str, compose: Callable[[], bytes], heavy: bool = False) -> Reply[Picture]:
        """`compose` may meet a broken image; it is `heavy` where it has an image to make ready."""
        spent = NOTHING
        try:
            body = await off_loop(heavy, compose)
            read = partial(_read_image, limits=self.limits)
            answer = await self.pool.post(path, body, read, PROVE_PICTURES)
            picture, spent = answer.value, self.bill(answer)
            if isinstance(picture, str):
                picture = await self.download(picture, answer.base)
        except (BadReply, Refused) as error:
            return self.invalid(error, spent)
        return Reply(picture, usage=spent)


class OpenAIEditor(OpenAIImages):
    """Params are fields of the form. The seed is sent unless `params` has one."""

    role = "editor"

    def more_settings(self, config: ModelConfig) -> dict[str, Any]:
        return {"image_rules": IMAGE_RULES}

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        super().__init__(config, backoff)
        self._headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **self._access}

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        return [await self._edit(*row) for row in zip(images, instructions, seeds, strict=True)]

    async def _edit(self, image: Picture, instruction: str, seed: int) -> Reply[Picture]:
        fields = {"model": self.config.model, "prompt": instruction, "n": 1, "response_format": "b64_json"}
        fields |= {"seed": seed, **self.config.params}
        return await self._drawn("/images/edits", lambda: form_of(fields, image.plain()), heavy=True)


def form_of(fields: Mapping[str, Any], image: Picture) -> bytes:
    """A `multipart/form-data` body."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    kind = image.format.lower()
    head = f'name="image"; filename="image.{kind}"\r\nContent-Type: image/{kind}'
    parts.append(f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode())
    return b"".join([*parts, image.data, f"\r\n--{BOUNDARY}--\r\n".encode()])


class OpenAIGenerator(OpenAIImages):
    """`POST {base}/images/generations`."""

    role = "generator"

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [await self._draw(*row) for row in zip(prompts, seeds, strict=True)]

    async def _draw(self, prompt: str, seed: int) -> Reply[Picture]:
        fields = {"model": self.config.model, "n": 1, "response_format": "b64_json", "seed": seed}
        payload = {"prompt": prompt, **with_params(fields, self.config.params)}
        return await self._drawn("/images/generations", lambda: encode(payload))


def _read_image(body: bytes, limits: PictureLimits) -> Picture | str:
    """The picture, or the address where it lies. Some servers reply with the bare file."""
    if Picture(body).format:
        return picture_from_bytes(body, limits, proven=False)
    item = decode(body)["data"][0]
    if item.get("b64_json"):
        return picture_from_base64(item["b64_json"], limits, proven=False)
    url = item["url"]
    if not isinstance(url, str):
        raise BadReply("the reply holds neither `b64_json` nor `url`")
    return picture_from_base64(url, limits, proven=False) if url.startswith("data:") else url


#: Bytes of one vector as JSON: 8,192 numbers with room to spare.
LONGEST_VECTOR = 2**18


class OpenAIEmbedder(HttpModel):
    """`POST {base}/embeddings`, texts only: the API has no images here."""

    role = "embedder"
    items = 32

    def longest_item(self) -> int:
        return LONGEST_VECTOR

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        if not items:
            return []
        if not all(isinstance(item, str) for item in items):
            raise Permanent(
                "an openai embedder takes texts only, but got an image",
                "use `provider: onnx` or `provider: python` for image embeddings",
            )
        return await self.at_once([str(item) for item in items], self._embed)

    async def _embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        fields = {"model": self.config.model, "input": list(texts)}
        payload = with_params(fields, self.config.params)
        answer = await self.ask("/embeddings", payload, lambda body: _read_vectors(body, len(texts)))
        vectors, tokens = answer.value
        return vectors, self.bill(answer, (tokens, 0))


def _read_vectors(body: bytes, count: int) -> tuple[list[list[float]], int]:
    data = decode(body)
    rows = sorted(data["data"], key=lambda row: int(row["index"]))
    vectors = [[float(number) for number in row["embedding"]] for row in rows]
    if len(vectors) != count:
        raise BadReply(f"the reply holds {len(vectors)} embeddings for {count} texts")
    usage = data.get("usage")
    return vectors, _tokens(usage.get("prompt_tokens") if isinstance(usage, dict) else 0)


ROLES: dict[str, type[HttpModel]] = {
    kind.role: kind
    for kind in (
        *(OpenAIGenerator, OpenAIEditor, OpenAIEmbedder, OpenAIJudge, OpenAICaptioner, OpenAIAnswerer),
        *(OpenAIVerifier, OpenAIQuestioner, ChatModel),
    )
}


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    return ROLES[role](config, backoff)
