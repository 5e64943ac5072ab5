"""What pictures of a t2i hunt are drawn for, by the letter in the key of their trial."""

EVIDENCE, FIRST_LOOK = "evidence", "first look"
RANDOM_SAMPLE, TRIED_AGAIN = "random sample", "tried again"

PURPOSES = {"": EVIDENCE, "s": FIRST_LOOK, "p": RANDOM_SAMPLE, "r": TRIED_AGAIN}
