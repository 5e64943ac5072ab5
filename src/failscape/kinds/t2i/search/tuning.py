"""The numbers of the t2i search, each with its reason. Those that change a guarantee stand apart from
those that only change how many images a finding costs.
"""

from __future__ import annotations

import numpy as np

# What a claim says of its error rests on these. Changing one changes the rules of the hunt.

#: An ancestor is not taken to pass on fewer images of its own: with two, a node at .5 looks spotless in one
#: of four cases, and the model's word would decide alone.
LEAST_IMAGES = 3

#: A child is never taken to fail by itself with a smaller chance than this when its failure is held against
#: its parents: the model's very low predictions are too sure of themselves.
LEAST_EXPECTED = 0.1

#: What is more likely wrong than right is not claimed, however sure the other claims are; what is more likely
#: to fail than not is a suspect.
EVEN_ODDS = 0.5

#: A node is not listed on a single image of its own: the model's word would decide almost alone.
LEAST_OWN_IMAGES = 2

#: The shares of `fdr` that are spent on entities and on groups; nodes above entities have the rest. Both are
#: few, so they need little; and how many other nodes are tested then takes nothing from them.
FOR_ENTITIES, FOR_GROUPS = 0.15, 0.1

#: At most so many groups become tests: e-BH counts that limit, which no outcome can move.
GROUPS_PER_IMAGE, FEWEST_GROUPS = 0.002, 4

#: How many members of a claimed group fail is measured on so many, drawn at random after the claim; each has
#: as many images as an ancestor needs (`LEAST_IMAGES`).
MEASURED_MEMBERS = 12

#: Where at least this share of a group's members is shown to fail, they get no images of their own.
WHOLE_GROUP = 0.6

# What only changes speed: which node is drawn next, and when one is given up.

#: The share of images that groups may take, where some are promising.
GROUP_IMAGES = 0.04

#: A group is tested when its members are expected to succeed at this part of τ or less in the mean, and no
#: more of the images passed that were seen of them. Half of τ must be refuted, what was expected at first is
#: not yet extreme, and what looks best turns out somewhat better than it looked.
PROMISING, SEEN_PASSING = 0.35, 0.15

#: A group has at least so many members that are not claimed yet, and most of so many were seen to fail: fewer
#: are findings, not a rule.
LEAST_MEMBERS = 5

#: A group is given up after some images when at this pace it would not have the evidence that the easiest
#: claim needs after so many.
LEAST_GROUP_IMAGES, MOST_GROUP_IMAGES = 20, 80

#: This share of the images goes to claims drawn at random and to their ancestors. What is settled gets no
#: images for the search's sake, so nothing else would show how many were settled by luck. It is a choice.
CHECKS = 0.03

#: Every entity gets so many images before anything else: all nodes below build on it.
FIRST_IMAGES = 4

#: Numbers of images at which one may plan to give a node up: none is a limit, the best for each is taken.
STOPS = np.array([3, 6, 10, 16, 25, 40, 64, 100, 160, 250, 400, 640, 1000, 1600], dtype=np.float64)

#: The rate of a finding is sharp when its interval is no wider than this to either side.
SHARP = 0.1

#: Images go to sharper rates once all that are left would give fewer new claims than this.
LITTLE = 0.05

#: Without a budget a hunt ends where one more claim would take more images than this.
TOO_DEAR = 2_000

#: To certify what is listed is worth this part of a new claim: it adds trust, not a finding. At .2 a fifth of
#: the images of large planted worlds went to certificates of which hardly any was ever reached; at .02 hardly
#: any finding of the demo was certified, for 3 % more findings.
CERTIFICATE = 0.05

#: A node less likely to fail than this gets no more images for its own sake: one claim in 500 such nodes
#: costs far more than the last undecided node of any hunt.
NEGLIGIBLE = 0.002

#: A node with so many images without a verdict, and twice as many as with one, cannot be judged.
MOST_INVALID = 12

#: Images that a node which turns out to pass has cost on average when it is given up.
WASTED = 4.0

#: Evidence comes in steps: on average a node ends this far (in nats) above what it needed.
OVERSHOOT = 0.6

#: Images of one node under way at once, where many failures wait for it; and of one group, each of another
#: member.
MOST_FLYING = 4

#: Candidates are ranked as if they were this many standard errors worse than predicted: what nobody has
#: tried may hold failures, and one image tells.
OPTIMISM = 0.5

#: After a warm start choices go by this share of what the earlier hunt knew, for so many images; then by the
#: share that holds. Planted worlds moved by .4 in log-odds kept .4 to 1 of what was known of single values.
HOPE, HOPEFUL = 0.7, 1_000

#: Candidates kept on the heap, per trial until the next refit: far more than are opened before it.
KEPT_PER_TRIAL = 4

#: Layers with more nodes than this are sampled, not listed: a refit must stay a matter of seconds.
MOST_ENUMERATED = 400_000

#: Nodes drawn from a layer that is too large to list, at every refit.
SAMPLED = 120_000

#: Chance to pass, and images to settle, of a node with several values that nobody has looked at.
UNKNOWN = (0.8, 15.0)

#: The odds that an ancestor fails grow by this factor with every failure below it.
SUSPICION = 1.8

#: The price of settling an ancestor is shared with the failures that wait for it, and some that will.
SHARERS = 1.5

#: Claims are looked at again after so many trials, or a thirtieth of all once there are many: they are never
#: older, and looking costs little.
FIRST_REVISION, REVISIONS = 16, 30
