"""Filters and orders of findings, the same for every screen."""

import pytest

from failscape.errors import ConfigError
from failscape.evidence import Place
from failscape.evidence.findings import FindingFilter, select, short_title
from failscape.evidence.shots import shown_rate
from failscape.trials import Finding


def finding(subject, status="certified", rate=0.5, trials=10, **more):
    return Finding(subject, subject, f"a {subject}", status, rate, (rate / 2, 1.0), 9.0, trials, 5, **more)


class Hunt:
    """As much of a hunt as filters look at."""

    findings = (
        finding("red cat", rate=0.6),
        finding("blue dog", rate=0.9, trials=4),
        finding("red cup", "listed"),
    )
    suspects = (finding("red owl", "suspect", rate=0.4),)

    def rate(self, one):
        return shown_rate(one)

    def place(self, subject):
        return Place(subject, "things" if "cup" in subject else "Animals", ())


def chosen(**wanted):
    return [one.subject for one in select(Hunt(), FindingFilter(**wanted))]


def test_suspects_are_no_findings_unless_asked_for():
    assert chosen() == ["red cat", "blue dog", "red cup"]
    assert chosen(statuses=("suspect",)) == ["red owl"]
    assert chosen(statuses=("all",)) == ["red cat", "blue dog", "red cup", "red owl"]
    assert chosen(statuses=("listed", "suspect")) == ["red cup", "red owl"]


def test_words_classes_and_rates_narrow_it():
    assert chosen(words="RED c") == ["red cat", "red cup"]
    assert chosen(group="animals") == ["red cat", "blue dog"]
    assert chosen(least=0.6) == ["red cat", "blue dog"]
    assert chosen(words="red", group="things", statuses=("all",)) == ["red cup"]


def test_orders():
    assert chosen(sort="rate") == ["blue dog", "red cat", "red cup"]
    assert chosen(sort="title") == ["blue dog", "red cat", "red cup"]
    assert chosen(sort="trials")[-1] == "blue dog"


@pytest.mark.parametrize(
    ("wanted", "fix"),
    [({"statuses": ("suspects",)}, "suspect"), ({"sort": "rates"}, "rate"), ({"group": "animal"}, "Animals")],
)
def test_unknown_names_are_said_with_the_nearest(wanted, fix):
    with pytest.raises(ConfigError) as error:
        chosen(**wanted)
    assert fix in error.value.fix


def test_a_short_title_is_taken_where_there_is_one():
    assert short_title(finding("cat", details={"short": "red cats"})) == "red cats"
    assert short_title(finding("cat")) == "cat"
