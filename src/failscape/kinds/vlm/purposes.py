"""What questions of a vlm hunt are asked for. Its keys have no letters: the hunt says it of each trial."""

from failscape.trials import Purpose, Purposes

SEARCH = Purpose("search")
FIRST_LOOK = Purpose("first look")
CONFIRMATION = Purpose("confirmation")
AUDIT = Purpose("audit")
PREPARATION = Purpose("preparation")

PURPOSES = Purposes(SEARCH, FIRST_LOOK, CONFIRMATION, AUDIT, PREPARATION)
