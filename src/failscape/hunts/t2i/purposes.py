"""What pictures of a t2i hunt are drawn for, by the letter in the key of their trial."""

EVIDENCE, FIRST_LOOK = "evidence", "first look"
RANDOM_SAMPLE, TRIED_AGAIN = "random sample", "tried again"
RULE_TESTED, RULE_MEASURED = "test of a rule", "share of a rule"

PURPOSES = {
    "": EVIDENCE,
    "s": FIRST_LOOK,
    "p": RANDOM_SAMPLE,
    "r": TRIED_AGAIN,
    "g": RULE_TESTED,
    "m": RULE_MEASURED,
}
