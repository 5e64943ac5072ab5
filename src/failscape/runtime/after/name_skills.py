"""After a session: lets a language model name the skills of questions that failed, and merges the names.

What it says goes to the event log, for the report's tree. A model that does not answer in form costs nothing
but its names; the hunt and its findings never depend on them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from failscape.atlas import Atlas
from failscape.errors import ModelError
from failscape.hunts.protocol import Hunt
from failscape.hunts.vlm.taxonomy import merged_names, named_skills
from failscape.models.contracts.skills import SkillsContract
from failscape.runtime.progress import Reporter
from failscape.runtime.stages import Stage, Team

EVENT = "skills"
MOST = 300
"""Most questions that are named in one session."""

AT_ONCE = 16


async def name_skills(atlas: Atlas, hunt_id: int, hunt: Hunt, team: Team, reporter: Reporter) -> int:
    """Returns how many questions got names."""
    if "llm" not in team.stages:
        return 0
    known = named_skills([one.detail for one in atlas.events(hunt_id) if one.kind == EVENT])
    waiting = [text for text in hunt.failed_questions() if text not in known][:MOST]
    found: dict[str, list[str]] = {}
    try:
        for start in range(0, len(waiting), AT_ONCE):
            some = waiting[start : start + AT_ONCE]
            replies = await asyncio.gather(*(_name(team.stages["llm"], text) for text in some))
            found.update({text: names for text, names in zip(some, replies, strict=True) if names})
    except ModelError as error:
        reporter.note("warning", f"skills are not named: {error.message}")
    if found:
        names = {name for skills in [*known.values(), *found.values()] for name in skills}
        merged = merged_names(names, await _vectors(team, sorted(names)))
        atlas.log(EVENT, {"skills": found, "merged": merged}, hunt_id)
    return len(found)


async def _name(stage: Stage, question: str) -> list[str]:
    contract = SkillsContract()
    reply = await stage.call((contract.messages(question),))
    return contract.read(str(reply.value)).value or [] if not reply.invalid else []


async def _vectors(team: Team, names: list[str]) -> dict[str, Any] | None:
    """Of an embedder, if there is one that can embed words; else the names' own words have to do."""
    if "embedder" not in team.stages:
        return None
    try:
        replies = await asyncio.gather(*(team.stages["embedder"].call((name,)) for name in names))
    except ModelError:
        return None
    if any(reply.invalid for reply in replies):
        return None
    return {name: reply.value for name, reply in zip(names, replies, strict=True)}
