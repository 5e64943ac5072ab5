"""Which table of a judge's accuracy is used, and what is asked again when images are judged again."""

from __future__ import annotations

from pathlib import Path

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.kinds.t2i.config import T2IConfig
from failscape.models.registry import create_model
from failscape.runtime.warm_start import choose_accuracy
from failscape.search.fresh import AskedBefore
from failscape.spaces.corpus import load_corpus
from failscape.trials import Probe, Trial, Verdict

TOYBOX = ModelConfig(provider="toybox")


def config(judge_accuracy: str) -> T2IConfig:
    return T2IConfig(hunt="t2i", target=TOYBOX, judge=TOYBOX, judge_accuracy=judge_accuracy)


def test_toy_eyes_brings_its_own_table(tmp_path: Path) -> None:
    judge = create_model("judge", TOYBOX)
    accuracy = choose_accuracy(config("auto"), judge, tmp_path / "none yet")
    assert accuracy is not None
    assert accuracy.judge == judge.identity.digest
    kinds = ["entity", *load_corpus("toybox").sub_categories]
    assert accuracy.kinds.keys() >= set(kinds)
    for kind in kinds:
        limits = accuracy.limits(["entity", kind], 0.8)
        assert 0.65 < limits.fail < limits.passes < 0.85
        assert accuracy.unreachable(["entity", kind], 0.8) == ""


def test_none_takes_the_judge_at_its_word(tmp_path: Path) -> None:
    assert choose_accuracy(config("none"), create_model("judge", TOYBOX), tmp_path) is None
    assert choose_accuracy(config("auto"), None, tmp_path) is None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"lost\.json` cannot be read"):
        choose_accuracy(config(str(tmp_path / "lost.json")), create_model("judge", TOYBOX), tmp_path)


def test_probes_are_asked_once_each_in_order() -> None:
    probes = [Probe(f"cat#{number}", "cat", ()) for number in range(5)]
    hunt = AskedBefore(iter(probes[2:]), 5)
    for probe in probes[:2]:
        hunt.tell(Trial(probe.key, "cat", Verdict.PASS))
    assert hunt.progress().finished == 2
    assert [probe.key for probe in hunt.ask(2)] == ["cat#2", "cat#3"]
    assert not hunt.done
    assert [probe.key for probe in hunt.ask(9)] == ["cat#4"]
    assert not hunt.done, "three are in flight"
    for probe in probes[2:]:
        hunt.tell(Trial(probe.key, "cat", Verdict.FAIL))
    assert hunt.done
    assert hunt.ask(1) == []
    assert (hunt.progress().finished, hunt.progress().total) == (5, 5)
