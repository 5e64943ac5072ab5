"""What is said of a rule that was tested as one group."""

from failscape.kinds.t2i.survey.survey import GroupTest, Rule, Share


def test_all_shares_are_of_the_tested_nodes() -> None:
    """Twelve draws of nine nodes: the draws are named as such, and the exception was among the tested."""
    rule = Rule(
        scope="class",
        who="animals",
        values=("green",),
        covers=8,
        certified=3,
        exceptions=("owl; Base: Colour=green",),
        held_out=Share(10.0, 12, (0.55, 0.98)),
        test=GroupTest(20, 24, (0.6, 0.95), 0.6, 500.0, 0),
    )
    assert rule.proof == (
        "most of its 9 nodes fail, at least 60% of them for sure; "
        "83% (55–98%) of 12 draws at random failed, each node any number of times"
    )
