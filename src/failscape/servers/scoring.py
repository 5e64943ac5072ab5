"""A judge behind HTTP for trainers: `POST /v1/score` gives each picture the share of its checks that hold.

A request has `images` (base64) and, for each, a prompt that a dataset of Failscape knows the checks of, or
the statements themselves. What the judge does not decide is `null`, never a guess: trainers can skip it.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from failscape.errors import ConfigError
from failscape.models.roles import Judge
from failscape.servers.app import build_app
from failscape.servers.backends import RequestError, Served, read_json, read_picture, read_texts
from failscape.trials import Check

SCORE = "/v1/score"
#: The kind of a check that a request brings along.
STATEMENT = "statement"

Checks = tuple[Check, ...]


def read_prompts(folder: Path) -> dict[str, Checks]:
    """Prompt → its checks, from the `metadata.jsonl` of a t2i dataset."""
    path = folder / "metadata.jsonl"
    found: dict[str, Checks] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            checks = row.get("checks") or ()
            if checks:
                found[row["prompt"]] = tuple(
                    Check(one["kind"], one["value"], one["statement"]) for one in checks
                )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", "give a folder of `failscape dataset`"
        ) from error
    if not found:
        raise ConfigError(f"{path} has no prompts with checks", "give the dataset of a t2i hunt")
    return found


def scoring_app(judge: Judge, prompts: Mapping[str, Checks], name: str = "judge") -> web.Application:
    """The application; the judge is started and closed with it."""
    app = build_app(Served(name=name))
    app.router.add_post(SCORE, _Scoring(judge, prompts).score)

    async def live(_: web.Application) -> AsyncIterator[None]:
        await judge.start()
        yield
        await judge.close()

    app.cleanup_ctx.append(live)
    return app


@dataclass
class _Scoring:
    judge: Judge
    prompts: Mapping[str, Checks]

    async def score(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        pictures = [read_picture(text) for text in read_texts(body.get("images"), "images")]
        wanted = self._wanted(body)
        if len(wanted) != len(pictures):
            raise RequestError(
                f"there are {len(pictures)} images, but prompts or statements for {len(wanted)}"
            )
        replies = await self.judge.judge(pictures, wanted)
        rows = [reply.value or [None] * len(checks) for reply, checks in zip(replies, wanted, strict=True)]
        told = [
            [{"statement": check.statement, "holds": holds} for check, holds in zip(checks, row, strict=True)]
            for checks, row in zip(wanted, rows, strict=True)
        ]
        return web.json_response({"scores": [share_held(row) for row in rows], "checks": told})

    def _wanted(self, body: Mapping[str, Any]) -> list[Checks]:
        if ("prompts" in body) == ("statements" in body):
            raise RequestError("give either `prompts` or `statements`, one for each of `images`")
        if "prompts" in body:
            prompts = read_texts(body["prompts"], "prompts")
            for prompt in prompts:
                if prompt not in self.prompts:
                    others = f"the dataset has {len(self.prompts):,} others"
                    known = others if self.prompts else "there is no dataset"
                    raise RequestError(f"no checks are known for the prompt {prompt!r}: {known}", 404)
            return [self.prompts[prompt] for prompt in prompts]

        given = body["statements"]
        if not isinstance(given, list) or not all(given):
            raise RequestError("`statements` must be a list with one list of texts for each image")
        return [
            tuple(Check(STATEMENT, text, text) for text in read_texts(one, "statements")) for one in given
        ]


def share_held(row: Sequence[bool | None]) -> float | None:
    """The share of checks that hold; `None` where one of them is undecided."""
    decided = [holds for holds in row if holds is not None]
    return sum(decided) / len(decided) if decided and len(decided) == len(row) else None
