"""A language model polishes prompts during a run: once per prompt, and never at the cost of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas
from failscape.kinds.t2i.config import T2IConfig
from failscape.models.contracts.language import PolishContract
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import Summary, run_session
from failscape.testing.faulty import FaultyServer, chat_reply
from failscape.trials import Reword, Verdict
from failscape.views.read.shots import lines_of

WORLD = {"corpus": "starter", "regime": "weak", "seed": 3}


def polisher(change: Callable[[str], str]) -> Any:
    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        slots = PolishContract.instruction.match(payload["messages"][0]["content"])
        assert slots is not None
        return chat_reply(change(slots["text"]))

    return answer


async def run(folder: Path, server: FaultyServer, images: int, **space: Any) -> Summary:
    config = T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": {
                "provider": "python",
                "path": "failscape.simulate.planted:PlantedGenerator",
                "params": WORLD,
            },
            "judge": {
                "provider": "python",
                "path": "failscape.simulate.planted:PlantedJudge",
                "params": WORLD,
            },
            "polish": {"provider": "openai", "model": "llm", "endpoints": [server.url], "patience": 20},
            "space": {"corpus": "starter", "depth": 1, "entities": "sample", **space},
            "search": {"strategy": "failureatlas", "images_per_node": 5},
            "budget": {"images": images},
            "seed": 4,
        }
    )
    return await run_session(config, folder, PlainReporter())


def rewordings(folder: Path) -> list[tuple[Reword, list[str], Verdict]]:
    with Atlas.open(folder, readonly=True) as atlas:
        stored = list(atlas.trials(atlas.hunt().id))
    return [
        (step, fact, one.trial.verdict)
        for one in stored
        for step, fact in zip(one.steps, one.trial.facts, strict=False)
        if isinstance(step, Reword)
    ]


async def test_each_prompt_is_polished_once_even_by_tries_side_by_side(tmp_path: Path) -> None:
    change = polisher(lambda text: text.replace("An image of", "A picture of"))
    with FaultyServer(answer=change, latency=0.02) as server:
        await run(tmp_path, server, 60)
        found = rewordings(tmp_path)
        assert server.requests == len({step.text for step, _, _ in found}) < len(found)
        before = server.requests
        await run(tmp_path, server, 90)
        found = rewordings(tmp_path)
        assert server.requests == len({step.text for step, _, _ in found}) > before
    assert all(fact == [step.text.replace("An image", "A picture"), ""] for step, fact, _ in found)
    with Atlas.open(tmp_path, readonly=True) as atlas:
        hunt = atlas.hunt().id
        sent = {prompt for subject in atlas.subjects(hunt) for prompt in atlas.prompts(hunt, subject)}
        shown = [lines_of(one.steps, one.trial.facts)[:2] for one in atlas.trials(hunt)]
    assert sent == {fact[0] for _, fact, _ in found}
    assert {lines[0].label for lines in shown} == {"prompt before polish"}
    assert {lines[1].text for lines in shown} == sent
    assert {verdict for _, _, verdict in found} == {Verdict.PASS, Verdict.FAIL}


async def test_varied_wordings_are_polished_each(tmp_path: Path) -> None:
    with FaultyServer(answer=polisher(lambda text: text)) as server:
        await run(tmp_path, server, 60, wording="vary")
        texts = {step.text for step, _, _ in rewordings(tmp_path)}
    assert server.requests == len(texts)
    assert any(text.startswith("A picture of") for text in texts)


async def test_a_polisher_that_loses_words_is_not_used_and_warned_of(tmp_path: Path) -> None:
    with FaultyServer(answer=polisher(lambda text: "An image of a giraffe.")) as server:
        summary = await run(tmp_path, server, 60)
    found = rewordings(tmp_path)
    assert all(prompt == step.text and reason for step, (prompt, reason), _ in found)
    assert Verdict.INVALID not in {verdict for _, _, verdict in found}
    assert [warning.name for warning in summary.warnings] == ["polish"]


async def test_a_polisher_that_breaks_off_does_not_make_trials_invalid(tmp_path: Path) -> None:
    with FaultyServer(rates={"non-json": 1.0}) as server:
        await run(tmp_path, server, 20)
    found = rewordings(tmp_path)
    assert all(prompt == step.text and reason for step, (prompt, reason), _ in found)
    assert Verdict.INVALID not in {verdict for _, _, verdict in found}
