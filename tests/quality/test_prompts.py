"""The hunt over a list of prompts in a model without luck. Levels and yields: `make campaign`."""

from __future__ import annotations

import pytest
from benchmarks.planted_prompts import PlantedPrompts

from failscape.kinds.t2i.prompts.hunt import PromptHunt, PromptSettings
from tests.quality.sure_worlds import play


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("failing", [set[str](), {"p1", "p4"}, {f"p{at}" for at in range(8)}])
def test_just_the_prompts_that_fail_are_claimed(failing: set[str], listed: bool) -> None:
    prompts = PlantedPrompts(8).list
    hunt = PromptHunt(prompts, PromptSettings(listed=listed, images=400), seed=1)
    play(hunt, failing.__contains__, 400)
    assert {finding.subject for finding in hunt.findings()} == failing
