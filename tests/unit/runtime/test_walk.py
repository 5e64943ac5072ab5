"""A walk carries images, turns and truth from step to step, for every kind of hunt."""

from __future__ import annotations

from failscape.pictures import Picture
from failscape.runtime.walk import Team, Walk
from failscape.trials import (
    Answer,
    Check,
    Classify,
    Decide,
    Embed,
    Generate,
    Probe,
    Show,
    Step,
    Verdict,
    Verify,
)

from .fakes import (
    FakeAnswerer,
    FakeClassifier,
    FakeEmbedder,
    FakeGenerator,
    FakeJudge,
    FakeVerifier,
    picture_of,
)

GATE = Check("presence", "cat", "A cat is visible.", gate=True)


def stored(digest: str) -> Picture:
    pictures = {picture.digest: picture for picture in (picture_of("a", 1), picture_of("b", 2))}
    return pictures[digest]


def walk(team: Team, *steps: Step, seed: int = 5) -> Walk:
    return Walk(Probe("key", "subject", steps, seed), team, stored, None)


async def test_classifier_hunts_generate_check_and_classify() -> None:
    team = Team({"generator": FakeGenerator(), "judge": FakeJudge(), "classifier": FakeClassifier()})
    seen = set()
    for seed in range(12):
        one = walk(team, Generate("a cat"), Decide((GATE,)), Classify(("cat",)), seed=seed)
        recorded = await one.run()
        present = picture_of("a cat", seed).array[0, 0, 0] % 2 == 0
        assert recorded.trial.verdict is (Verdict.FAIL if present else Verdict.INVALID)
        assert len(recorded.calls) == (3 if present else 2), "a closed gate saves the classifier's call"
        seen.add(present)
    assert seen == {True, False}


async def test_vlm_hunts_show_images_and_carry_turns() -> None:
    answerer, verifier = FakeAnswerer(), FakeVerifier()
    team = Team({"answerer": answerer, "verifier": verifier})
    first, second = picture_of("a", 1).digest, picture_of("b", 2).digest
    steps = (Show((first, second)), Answer("How many?"), Answer("Which colour?"), Verify("red"))
    recorded = await walk(team, *steps).run()
    assert recorded.trial.verdict is Verdict.FAIL
    assert recorded.trial.reason == "it is red"
    turn = ("How many?", "answer to How many?")
    assert [conversation.history for conversation in answerer.asked] == [(), (turn,)]
    claim = verifier.claims[0]
    assert (claim.question, claim.history, claim.truth) == ("Which colour?", (turn,), "red")
    assert [image.digest for image in claim.images] == [first, second]


async def test_equal_requests_have_equal_keys_and_others_differ() -> None:
    team = Team({"generator": FakeGenerator(), "judge": FakeJudge()})
    one = await walk(team, Generate("a cat"), Generate("a cat")).run()
    two = await walk(team, Generate("a cat")).run()
    other = await walk(team, Generate("a dog")).run()
    assert one.calls[0].key == two.calls[0].key
    assert len({one.calls[0].key, one.calls[1].key, other.calls[0].key}) == 3


async def test_embedding_gives_one_vector_per_text_in_one_batch() -> None:
    embedder = FakeEmbedder()
    recorded = await walk(Team({"embedder": embedder}), Embed(("a", "bbb", "cc"))).run()
    assert recorded.trial.facts == [[[1.0], [3.0], [2.0]]]
    assert recorded.trial.verdict is Verdict.NONE
    assert embedder.calls == [3]
