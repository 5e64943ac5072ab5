"""The numbers of the certified search, each with its reason. Those that change a guarantee stand apart from
those that only change how many images a finding costs.
"""

from __future__ import annotations

# What a claim says of its error rests on these. Changing one changes the rules of the hunt.

LEAST_IMAGES = 3
"""An ancestor is not taken to pass on fewer images of its own: with two, a node at .5 looks spotless in one
of four cases, and the model's word would decide alone."""

TRUST = 0.6
"""How much the model's word weighs against a flat prior, on the scale of log chances, when it says that a
node passes. At 1 (the model alone) 11–14 % of claims were not minimal in planted worlds, at .6 about 4 %."""

SHARED = 0.4
"""At most so many of the claims that rest on one ancestor may be expected to fall with it."""

SHARE_AT_RISK = 0.006
"""So large a share of all claims may be expected to fall with a single ancestor, and a little more."""

LEAST_EXPECTED = 0.1
"""A child is never taken to fail by itself with a smaller chance than this when its failure is held against
its parents: the model's very low predictions are too sure of themselves."""

MOST_DOUBT = 0.5
"""What is more likely wrong than right is not claimed, however sure the other claims are."""

# What only changes speed: which node is drawn next, and when one is given up.

FIRST_IMAGES = 4
"""Every entity gets so many images before anything else: all nodes below build on it."""

MOST_IMAGES = 40
"""A node that is neither certified nor passed after so many images is left open; parents get more."""

DOUBT = (0.01, 0.03)
"""By layer: an ancestor counts as settled when its chance to fail is at most this."""

MOST_SETTLING = (150, 60)
"""By layer: images spent on showing that an ancestor passes, before it is left open."""

SETTLING_ENTITY = 13.0
"""Images that count for settling an entity: it may take more, but so many failures wait that it pays."""

WASTED = 4.0
"""Images that a node which turns out to pass has cost on average when it is given up."""

OVERSHOOT = 0.6
"""Evidence comes in steps: on average a node ends this far (in nats) above what it needed."""

MOST_FLYING = 4
"""Images of one node under way at once, where many failures wait for it."""

OPTIMISM = 0.5
"""Candidates are ranked as if they were this many standard errors worse than predicted: what nobody has tried
may hold failures, and one image tells."""

KEPT = 8_000
"""Candidates kept on the heap; far more than are opened before the next refit."""

MOST_ENUMERATED = 400_000
"""Layers with more nodes than this are sampled, not listed: a refit must stay a matter of seconds."""

SAMPLED = 120_000
"""Nodes drawn from a layer that is too large to list, at every refit."""

UNKNOWN = (0.8, 15.0)
"""Chance to pass, and images to settle, of a node with several values that nobody has looked at."""

SUSPICION = 1.8
"""The odds that an ancestor fails grow by this factor with every failure below it."""

SHARERS = 1.5
"""The price of settling an ancestor is shared with the failures that wait for it, and some that will."""

PROGRESS_EVERY = 32
"""Trials between two counts of findings, at least; a twentieth of all once there are many."""

SURE = 0.95
"""A node passes, for rules and counts, when its posterior chance to pass is at least this."""
