"""One model under test with its helpers, asked cases of a comparison, a gate or a proof.

Everything is recorded as any hunt does it: durable, resumable, paid for once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from failscape.again.cases import ANSWERER, CLASSIFIER, GENERATOR, AskedCase, cases_of
from failscape.atlas import Atlas, open_hunt
from failscape.atlas.hunts import keep_pictures
from failscape.config import BudgetConfig, HuntConfig
from failscape.engines import model_maker
from failscape.errors import AtlasError, ConfigError
from failscape.models.roles import Identity
from failscape.plugins import kind_of
from failscape.runtime.progress import Reporter
from failscape.runtime.session import run_hunt
from failscape.runtime.walk import Team
from failscape.search.fresh import AskedBefore
from failscape.trials import Probe

#: The role under test → those that a case calls. Others of a hunt (captioners, questioners) stay at home.
NEEDED = {
    GENERATOR: ("generator", "judge", "llm"),
    CLASSIFIER: ("classifier", "generator", "judge"),
    ANSWERER: ("answerer", "verifier"),
}


class ModelAsker:
    """One model under test with its helpers. Entered once, so that weights are loaded once.

    What it is asked becomes a hunt in `atlas`; `identities` say who answered. With `draws`, pictures of
    questions are drawn anew and not shown from an atlas.
    """

    def __init__(self, config: HuntConfig, atlas: Atlas, reporter: Reporter, draws: bool = False) -> None:
        self.kind = kind_of(config)
        if self.kind.target not in NEEDED:
            raise ConfigError(
                f"a {self.kind.name} hunt has no cases that another model could be asked",
                f"compare hunts whose target is one of: {', '.join(NEEDED)}",
            )
        make = model_maker(config)
        needed = (*NEEDED[self.kind.target], *(("generator",) if draws else ()))
        self.team = Team(
            {role: make(role, model) for role, model in config.models().items() if role in needed}
        )
        self.identities = {role: model.identity for role, model in self.team.models.items()}
        for name, content in self.kind.contents(config).items():
            self.identities[name] = Identity(name, content.kind, content.source, {"digest": content.digest})
        self.config = config.model_copy(update={"budget": BudgetConfig(), "warm_start": ""})
        self.interrupted = False
        self.atlas = atlas
        self._reporter = reporter
        settings: dict[str, Any] = self.config.model_dump(mode="json")
        self.hunt_id = open_hunt(atlas, settings, self.identities, fork=True)
        self.asked = {trial.key for trial in atlas.replay(self.hunt_id)}

    @property
    def target(self) -> Identity:
        return self.identities[self.kind.target]

    async def __aenter__(self) -> ModelAsker:
        await self.team.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.team.__aexit__(*error)

    async def ask(self, probes: Sequence[Probe]) -> int:
        """Ask what has not been asked yet; gives how many those were."""
        wanted = list({probe.key: probe for probe in probes if probe.key not in self.asked}.values())
        if not wanted:
            return 0
        self.asked.update(probe.key for probe in wanted)
        hunt = AskedBefore(wanted, len(wanted), f"asking {self.config.target.model or self.target.provider}")
        summary = await run_hunt(
            self.config, self.atlas, self.hunt_id, hunt, self.team, self._reporter, resumed=0
        )
        self.interrupted = summary.stop.is_interrupted
        return summary.trials

    def cases(self) -> list[AskedCase]:
        """Every valid case that it has been asked, in this session or before."""
        return cases_of(self.atlas, self.hunt_id, self.kind.target)


def bring_pictures(cases: Sequence[AskedCase], sources: Sequence[Path], atlas: Atlas) -> set[str]:
    """Copy what the cases show into `atlas`; gives the digests that nobody has any more."""
    missing = {digest for case in cases for digest in case.shown if atlas.images.name(digest) is None}
    for folder in sources:
        if not missing or folder == atlas.folder:
            continue
        with Atlas.open(folder, readonly=True) as source:
            found = []
            for one in sorted(missing):
                try:
                    if source.images.name(one) is not None:
                        found.append(source.images.get(one))
                except AtlasError:
                    continue
            keep_pictures(atlas, found)
            missing -= {picture.digest for picture in found}
    return missing
