"""Filters and orders of findings, the same for every screen."""

import pytest

from failscape.errors import ConfigError
from failscape.trials import Finding
from failscape.views.read import Place
from failscape.views.read.findings import short_title
from failscape.views.read.shots import shown_rate
from failscape.views.rows import FindingFilter, check_group, finding_row, finding_rows, select


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
    rows = finding_rows(Hunt())
    check_group(rows, wanted.get("group", ""))
    return [row.subject for row in select(rows, FindingFilter(**wanted))]


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


def test_a_row_has_the_corrected_rate_and_keeps_what_the_judge_saw():
    known = {"corrected": {"rate": 0.45, "interval": [0.2, 0.7]}}
    row = finding_row(Hunt(), 3, finding("red cat", rate=0.5, details=known))
    assert (row.rate, row.interval, row.corrected) == (0.45, (0.2, 0.7), True)
    assert (row.judged_rate, row.judged_interval) == (0.5, (0.25, 1.0))
    assert row.as_data()["rate"] == row.rate


def test_the_viewers_address_asks_by_the_same_filter():
    rows = finding_rows(Hunt())
    asked = {"text": "red", "least": "50", "sort": "title", "class": "ANIMALS"}
    assert [row.subject for row in select(rows, FindingFilter.from_query(asked))] == ["red cat"]
    assert len(select(rows, FindingFilter.from_query({}))) == 4
    assert len(select(rows, FindingFilter.from_query({"least": "no number"}))) == 4
