"""Tries of a node say the same in the words that the settings ask for."""

from __future__ import annotations

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.probes import REMEMBERED, Prompting
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.trials import Decide, Generate, Reword

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, entities="sample", depth=1)
WORDING = Wording(CORPUS)
NODE = LATTICE.parse("cat; Base: Colour=red")


def prompts(prompting: Prompting, tries: int) -> list[str]:
    steps = [prompting.steps(NODE, number) for number in range(tries)]
    return [step.prompt for plan in steps for step in plan if isinstance(step, Generate)]


def test_canonical_prompting_says_one_thing() -> None:
    prompting = Prompting(WORDING)
    assert prompts(prompting, 3) == ["An image of a red cat."] * 3
    assert prompting.steps(NODE, 0) is prompting.steps(NODE, 7)
    assert prompting.variant(NODE, 5) == 0


def test_varied_prompting_takes_turns() -> None:
    prompting = Prompting(WORDING, vary=True)
    captions = list(WORDING.captions(NODE))
    assert prompts(prompting, 2 * len(captions)) == captions * 2
    assert [prompting.variant(NODE, number) for number in range(4)] == [0, 1, 2, 0]
    assert len({prompting.steps(NODE, number)[-1] for number in range(5)}) == 1, "the checks stay the same"


def test_polished_prompting_starts_with_a_rewording() -> None:
    reword, generate, decide = Prompting(WORDING, polish=True).steps(NODE, 0)
    assert (reword, generate) == (Reword("An image of a red cat."), Generate("An image of a red cat."))
    assert isinstance(decide, Decide)


def test_what_is_remembered_is_bounded() -> None:
    lattice = Lattice(CORPUS, depth=2)
    prompting = Prompting(WORDING)
    for number, node in enumerate(lattice.nodes(2)):
        prompting.steps(node, 0)
        if number > REMEMBERED + 10:
            break
    assert len(prompting._known) <= REMEMBERED


def test_the_hunt_varies_the_wording_of_its_tries() -> None:
    hunt = FailureAtlasHunt(LATTICE, WORDING, images_per_node=6, prompting=Prompting(WORDING, vary=True))
    asked: dict[str, set[str]] = {}
    for probe in hunt.ask(60):
        asked.setdefault(probe.subject, set()).add(probe.steps[0].prompt)
    assert all(len(texts) == 3 for texts in asked.values())


def test_a_varied_hunt_runs_on_a_planted_world() -> None:
    world = PlantedWorld.named(corpus="starter", regime="weak", seed=2)
    wording = Wording(world.lattice.corpus)
    hunts = [
        FailureAtlasHunt(world.lattice, wording, images_per_node=5, prompting=prompting)
        for prompting in (Prompting(wording), Prompting(wording, vary=True))
    ]
    for hunt in hunts:
        simulate(hunt, world, images=400)
    plain, varied = ([finding.subject for finding in hunt.findings()] for hunt in hunts)
    assert plain == varied, "this world does not care for words"
