"""One rate per finding, with a denominator that can be said."""

from failscape.trials import Finding
from failscape.views.read.shots import counted_words, judged_rate, missing_of, rate_of_counts, shown_rate


def finding(**more):
    given = {"rate": 0.8, "interval": (0.4, 0.95), "e_value": 30.0, "trials": 10, "failures": 8}
    return Finding("cat", "cat", "a cat", "certified", **{**given, **more})


def test_the_judges_errors_change_the_rate_and_not_the_counts():
    details = {"corrected": {"rate": 0.7, "interval": [0.3, 0.9]}}
    plain, known = shown_rate(finding()), shown_rate(finding(details=details))
    assert (plain.rate, plain.interval, plain.corrected) == (0.8, (0.4, 0.95), False)
    assert (known.rate, known.interval, known.corrected) == (0.7, (0.3, 0.9), True)
    assert (known.failures, known.of) == (plain.failures, plain.of) == (8, 10)
    assert "errors are allowed for" in known.counted
    assert judged_rate(finding(details=details)).rate == 0.8


def test_the_denominator_has_a_name():
    one = finding(counted=("evidence",))
    assert counted_words(one, "picture") == "valid pictures of this very request drawn as evidence"
    assert "drawn as" not in counted_words(finding(), "picture")


def test_nothing_tried_is_no_rate():
    assert not rate_of_counts(0, 0).known
    assert rate_of_counts(0, 0).interval == (0.0, 1.0)


def test_suspects_say_what_is_missing():
    assert missing_of(finding()) == ""
    assert missing_of(finding(details={"missing": "about 30 more images"})) == "about 30 more images"
