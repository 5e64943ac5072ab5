"""Atlases for report tests: a small planted run, and recorders for hunts of any kind."""

import hashlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from failscape.atlas import Atlas, Call, Recorded
from failscape.kinds.t2i.config import T2IConfig
from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.search.protocol import Hunt
from failscape.trials import Finding, Generate, Probe, Progress, Trial, reach_verdict

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>\" ' & {{ 7 * 7 }}"

PLANTED = {
    "hunt": "t2i",
    "target": {
        "provider": "python",
        "path": "failscape.simulate.planted:PlantedGenerator",
        "params": {"regime": "weak"},
    },
    "judge": {
        "provider": "python",
        "path": "failscape.simulate.planted:PlantedJudge",
        "params": {"regime": "weak"},
    },
    "space": {"corpus": "starter", "entities": "sample", "depth": 1},
    "search": {"strategy": "failureatlas", "images_per_node": 6},
    "budget": {"images": 500},
}


@pytest.fixture(scope="package")
def planted_atlas(tmp_path_factory):
    """The folder of a real run; read it only."""
    import asyncio

    folder = tmp_path_factory.mktemp("planted") / "atlas"
    asyncio.run(run_session(T2IConfig.model_validate(PLANTED), folder, PlainReporter()))
    return folder


class ListedHunt(Hunt):
    """A hunt of any kind that knows its findings beforehand."""

    done = True

    def __init__(self, findings):
        self.told = []
        self.listed = findings

    def ask(self, count: int) -> list[Probe]:
        return []

    def tell(self, trial: Trial) -> None:
        self.told.append(trial.key)

    def findings(self) -> list[Finding]:
        return self.listed

    def progress(self) -> Progress:
        return Progress("trying", len(self.told), None, len(self.listed))


def finding(subject, **more):
    given = {
        "title": subject,
        "caption": f"An image of {subject}.",
        "status": "certified",
        "rate": 0.75,
        "interval": (0.4, 0.9),
        "e_value": 123.0,
        "trials": 4,
        "failures": 3,
    }
    return Finding(subject, **{**given, **more})


def picture(number: int) -> Picture:
    from PIL import Image

    colour = tuple(hashlib.blake2b(str(number).encode(), digest_size=3).digest())
    return Picture.from_image(Image.new("RGB", (32, 32), colour))


def recorded(subject, number, steps, facts, raw="yes", letter=""):
    """One trial; a `Generate` step gets a picture of its own in place of its fact."""
    drawn = picture(number) if isinstance(steps[0], Generate) else None
    facts = [drawn.digest, *facts[1:]] if drawn else facts
    verdict, reason = reach_verdict(steps, facts)
    key = f"{subject}#{letter}{number}"
    calls = []
    for place, step in enumerate(steps):
        if step.role:
            call_key = hashlib.blake2b(f"{key}/{place}".encode(), digest_size=16).digest()
            image = drawn if place == 0 else None
            identity = Identity(step.role, "python", "test")
            calls.append(Call(call_key, step.role, identity, facts[place], "", raw, Usage(), image))
    trial = Trial(key, subject, verdict, reason, facts, number)
    return Recorded(Probe(key, subject, steps, number), trial, tuple(calls), 1e9, 0.1)


@pytest.fixture
def empty_atlas(tmp_path: Path):
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        yield atlas


VOID = {"meta", "link", "input", "img", "br", "rect", "line", "polyline", "polygon"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def sources(self, *names):
        return [value for _, given in self.tags for name, value in given.items() if name in names]


def read(written):
    return Page(written.path.read_text())
