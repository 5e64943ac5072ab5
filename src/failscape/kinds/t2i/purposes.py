"""What pictures of a t2i hunt are drawn for."""

from failscape.trials import Purpose, Purposes

EVIDENCE = Purpose("evidence", "")
FIRST_LOOK = Purpose("first look", "s")
RANDOM_SAMPLE = Purpose(
    "random sample", "p", follows_search=False, fixed_beforehand=True, sample_name="random sample"
)
TRIED_AGAIN = Purpose("tried again", "r", follows_search=False, fixed_beforehand=True, after_search=True)
RULE_TESTED = Purpose("test of a rule", "g", follows_search=False)
RULE_MEASURED = Purpose("share of a rule", "m", follows_search=False, fixed_beforehand=True)

PURPOSES = Purposes(EVIDENCE, FIRST_LOOK, RANDOM_SAMPLE, TRIED_AGAIN, RULE_TESTED, RULE_MEASURED)
