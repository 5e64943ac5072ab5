"""The official `openai` client against our server: models, edits, judges with a schema, errors."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import openai
import pytest
from aiohttp.test_utils import TestServer
from PIL import Image, ImageOps
from pydantic import BaseModel

from failscape.models.contracts.judge import BooleanContract, ChoiceContract
from failscape.models.roles import Reply
from failscape.models.transport.encoding import data_uri
from failscape.pictures import Picture
from failscape.servers import app as server_app
from failscape.servers.backends import Served
from failscape.spaces import Wording, load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Understanding
from failscape.trials import Check

CORPUS = load_corpus("toybox")
WORDING = Wording(CORPUS)
CHECKS = WORDING.checks(Lattice(CORPUS, depth=2).parse("cow; Base: colour=red; Background: place=beach"))
PHOTO = Picture.from_image(Image.new("RGB", (8, 8), (10, 20, 30)))


class Models:
    """A judge that holds what `facts` says, and an editor that inverts; the first pixel is the seed."""

    batch = 1

    def __init__(self, **facts: bool | None) -> None:
        self.facts = facts
        self.edited: list[tuple[str, int]] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [Reply([self.facts.get(check.value) for check in row]) for row in checks]

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        replies: list[Reply[Picture]] = []
        for image, instruction, seed in zip(images, instructions, seeds, strict=True):
            self.edited.append((instruction, seed))
            if instruction == "impossible":
                replies.append(Reply(None, "that cannot be done"))
                continue
            changed = ImageOps.invert(image.image.convert("RGB"))
            changed.putpixel((0, 0), (seed, 0, 0))
            replies.append(Reply(Picture.from_image(changed)))
        return replies


@asynccontextmanager
async def client(models: Any, *roles: str, **more: Any) -> AsyncIterator[openai.AsyncOpenAI]:
    served = Served(
        **dict.fromkeys(roles, models), understanding=Understanding(WORDING), name="org/m", **more
    )
    async with TestServer(server_app.build_app(served)) as server:
        # Proxies of the environment are not for loopback.
        http = openai.DefaultAsyncHttpxClient(trust_env=False)
        url = str(server.make_url("/v1"))
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http) as found:
            yield found


def asked(contract: Any) -> list[Any]:
    """The messages of a judge, as any client would send them."""
    image = {"type": "image_url", "image_url": {"url": data_uri(PHOTO, None, "png")}}
    return [{"role": "user", "content": [image, {"type": "text", "text": contract.ask(CHECKS, "s").text}]}]


class Answers(BaseModel):
    answers: list[bool]


class OpenAnswers(BaseModel):
    answers: list[bool | None]


class Letter(BaseModel):
    letter: str


async def test_a_model_is_listed_and_retrieved() -> None:
    async with client(Models(), "editor") as api:
        (listed,) = [model.id async for model in api.models.list()]
        assert listed == "org/m"
        assert (await api.models.retrieve("org/m")).id == "org/m"
        with pytest.raises(openai.NotFoundError, match="no model 'other' here, only: org/m"):
            await api.models.retrieve("other")


async def test_a_picture_is_edited() -> None:
    models = Models()
    async with client(models, "editor", size=(8, 8)) as api:
        reply = await api.images.edit(
            image=("photo.png", PHOTO.data),
            prompt="make it blue",
            model="org/m",
            n=2,
            size="8x8",
            response_format="b64_json",
            extra_body={"seed": 5},
        )
    pictures = [Picture(base64.b64decode(item.b64_json)).image for item in reply.data]
    assert [picture.getpixel((1, 1)) for picture in pictures] == [(245, 235, 225)] * 2
    assert [picture.getpixel((0, 0))[0] for picture in pictures] == [5, 6]
    assert models.edited == [("make it blue", 5), ("make it blue", 6)]


async def test_an_edited_picture_by_address_and_from_a_list() -> None:
    async with client(Models(), "editor") as api:
        reply = await api.images.edit(image=[("a.png", PHOTO.data)], prompt="x", response_format="url")
        address = reply.data[0].url
        found = await api.get(address, cast_to=openai.HttpxBinaryResponseContent)
        assert Picture(found.content).image.getpixel((1, 1)) == (245, 235, 225)


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"image": ("a.png", b"no picture")}, 400, "in no known format"),
        ({"image": [("a.png", PHOTO.data)] * 2}, 400, "there are 2"),
        ({"mask": ("m.png", PHOTO.data)}, 400, "`mask` must be one text"),
        ({"quality": "high"}, 400, "`quality` is not supported"),
        ({"size": "16x16"}, 400, "8x8 only"),
        ({"model": "other"}, 404, "only: org/m"),
        ({"prompt": ""}, 400, "non-empty"),
        ({"extra_body": {"seed": "x"}}, 400, "`seed` must be a whole number"),
        ({"extra_body": {"seed": "9" * 5000}}, 400, "`seed` must be a whole number"),
        ({"prompt": "impossible"}, 400, "that cannot be done"),
    ],
)
async def test_an_edit_that_cannot_be_honoured_is_refused(
    change: dict[str, Any], status: int, told: str
) -> None:
    async with client(Models(), "editor", size=(8, 8)) as api:
        with pytest.raises(openai.APIStatusError, match=told) as caught:
            await api.images.edit(**{"image": ("a.png", PHOTO.data), "prompt": "x", **change})
    assert caught.value.status_code == status
    assert caught.value.type == "invalid_request_error"


async def test_a_form_that_is_none_is_refused() -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    async with client(Models(), "editor") as api:
        address = f"{api.base_url}images/edits"
        async with aiohttp.ClientSession() as session:
            async with session.post(address, data=b"nothing", headers=headers) as reply:
                assert reply.status == 400
                assert "not a form" in (await reply.json())["error"]["message"]
            async with session.post(address, json={"prompt": "x"}) as reply:
                assert reply.status == 415
                assert "multipart/form-data" in (await reply.json())["error"]["message"]


async def test_without_an_editor_there_are_no_edits() -> None:
    async with client(Models(), "judge") as api:
        with pytest.raises(openai.NotFoundError, match="nothing at '/v1/images/edits'"):
            await api.images.edit(image=("a.png", PHOTO.data), prompt="x")


async def test_pages_of_other_sites_cannot_edit() -> None:
    models = Models()
    async with client(models, "editor") as api:
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            with pytest.raises(openai.PermissionDeniedError):
                await api.images.edit(image=("a.png", PHOTO.data), prompt="x", extra_headers=headers)
    assert models.edited == []


async def test_a_judge_replies_in_the_form_of_a_schema() -> None:
    async with client(Models(cow=True, red=False, beach=True), "judge") as api:
        reply = await api.chat.completions.parse(
            model="org/m", messages=asked(BooleanContract()), response_format=Answers
        )
    message = reply.choices[0].message
    assert message.parsed == Answers(answers=[True, False, True])
    assert message.refusal is None


@pytest.mark.parametrize("contract", [BooleanContract(), ChoiceContract()])
async def test_a_judge_that_cannot_tell_refuses_where_the_schema_wants_a_decision(contract: Any) -> None:
    schema = {"name": "reply", "strict": True, "schema": contract.ask(CHECKS, "s").schema}
    async with client(Models(), "judge") as api:
        reply = await api.chat.completions.create(
            model="org/m",
            messages=asked(contract),
            response_format={"type": "json_schema", "json_schema": schema},
        )
    message = reply.choices[0].message
    assert message.content is None
    assert message.refusal == "I cannot tell."


async def test_a_schema_may_leave_answers_open() -> None:
    async with client(Models(cow=True, red=None, beach=True), "judge") as api:
        reply = await api.chat.completions.parse(
            model="org/m", messages=asked(BooleanContract()), response_format=OpenAnswers
        )
    assert reply.choices[0].message.parsed == OpenAnswers(answers=[True, None, True])


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (Letter, "does not allow the form"),
        ({"type": "json_schema", "json_schema": {"name": "r"}}, "must be a JSON schema"),
        ({"type": "json_schema", "json_schema": {"name": "r", "schema": {"not": {}}}}, "keyword 'not'"),
        ({"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "tree"}}}, "no JSON schema"),
        ({"type": "grammar"}, "text, json_object or json_schema"),
    ],
)
async def test_a_form_that_a_judge_does_not_have_is_refused(form: Any, told: str) -> None:
    async with client(Models(cow=True, red=True, beach=True), "judge") as api:
        ask = api.chat.completions.create if isinstance(form, dict) else api.chat.completions.parse
        with pytest.raises(openai.BadRequestError, match=told):
            await ask(model="org/m", messages=asked(BooleanContract()), response_format=form)


async def test_fields_of_sampling_change_nothing() -> None:
    fields = {"top_k": 1, "min_p": 0.1, "repetition_penalty": 1.1}
    async with client(Models(cow=True, red=True, beach=True), "judge") as api:
        reply = await api.chat.completions.create(
            model="org/m",
            messages=asked(BooleanContract()),
            presence_penalty=0.5,
            frequency_penalty=0.5,
            extra_body=fields,
        )
    assert reply.choices[0].message.content == '{"answers": [true, true, true]}'


async def test_every_error_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "LARGEST_REQUEST", 1000)
    async with client(Models(), "judge", "editor") as api:
        with pytest.raises(openai.APIStatusError) as missing:
            await api.get("/nowhere", cast_to=object)
        with pytest.raises(openai.APIStatusError) as other_method:
            await api.get("/chat/completions", cast_to=object)
        with pytest.raises(openai.APIStatusError) as too_large:
            await api.chat.completions.create(
                model="org/m", messages=[{"role": "user", "content": "x" * 2000}]
            )
        with pytest.raises(openai.APIStatusError) as large_form:
            await api.images.edit(image=("a.png", b"x" * 2000), prompt="x")
    caught = [missing.value, other_method.value, too_large.value, large_form.value]
    assert [error.status_code for error in caught] == [404, 405, 413, 413]
    assert all(error.type == "invalid_request_error" for error in caught)
    assert "nothing at '/v1/nowhere'" in missing.value.message
    assert "does not take GET" in other_method.value.message
    assert other_method.value.response.headers["Allow"] == "POST"
