"""One search for contexts × facts: the minimal patterns under which a model fails more often than usual.

A *context* is what has a usual failure rate: a class of a classifier, or simply "any question". *Facts* are
what a trial shows: clauses of a prompt, skills, forms of a question. A *pattern* is one to three facts of a
context. The search finds patterns under which the model fails more often than it should, names them by as
few facts as possible, and proves them. It is pure: it draws nothing, reads no clock, and the same rows give
the same search.

How a hunt uses it:

1. Say what there is, what it may cost, and what a claim has to exceed::

       space = FactSpace(classes, {"snow": "weather", "fog": "weather", "street": "place"}, conflicts=…)
       settings = SearchSettings(budget=20_000, seed=7, confirm_images=20, described_passes=16)
       search = PatternSearch(space, settings, ExcessOverPlain(margin=0.05))

   A vlm hunt has one context, its forms, skills and clauses are facts (`implied` says which skills a form
   has and which thresholds a number meets), every question is known to lack what it does not show
   (`complete=True`), `crowd_size` is 1 or 2, and the rule is `AboveFixedRate(margin)`. Derive from a rule
   where a judge's or a verifier's known errors change what a claim has to exceed.

2. In each round, ask for requests and turn each into a probe: `search.choose(200)`. A `PatternRequest` has
   the context, the facts to show, and the purpose: plain, explore, look into, test, check name, confirm. A
   hunt may show other facts than an *explore* request asks for (`zero-shot` does); all others are to be
   followed. The returned requests count as spent. `charge` accounts for trials that a hunt uses for itself.

3. When the round is over, tell every request in the order returned: `search.observe(request, TrialRow(…))`.
   `failed=None` is a trial that cannot be used. `facts` leaves out what a trustworthy judge does not see
   (set `search.judge_sees_facts` once that is known; `distrust_judge()` takes it back). `described` adds
   what a caption says; `space.add(fact, kind)` makes a new fact known before it is told. `note` takes
   trials that were not asked for.

4. Read the results at any time: `claims()` (proven, minimal names), `general_claims()` ("black backdrop: 4
   of 4 classes"), `suspects()` with what each lacks, and `tests()` with the counts behind all of it.

`propose` puts in what an earlier hunt, a language model or a user suspects. `skip` gives a context up.
Resume is replay: make the same search, choose and observe as before.

How it works: `exploring` shows many facts at once; `weighing` gives every pattern the odds of being a bug
by *all* trials that show it, where accepted patterns explain their failures away and other contexts count
as hints; `causes` draws parts of unexplained failures again, those that tell most; patterns with even odds
get a test with trials of its own (`confirmation`, `evidence`, `ledger`: anytime-valid, e-BH over slots
fixed by the budget); `naming` finds the shortest exact name.
"""

from failscape.search.patterns.confirmation import ConfirmationTest, TestState
from failscape.search.patterns.evidence import AboveFixedRate, EvidenceRule, ExcessOverPlain
from failscape.search.patterns.facts import FactSpace
from failscape.search.patterns.requests import PatternRequest, RequestPurpose, TrialRow
from failscape.search.patterns.results import GeneralClaim, PatternClaim, PatternSuspect, SuspectLack
from failscape.search.patterns.rows import ContextRows, FailureCounts
from failscape.search.patterns.search import PatternSearch
from failscape.search.patterns.settings import SearchSettings

__all__ = [
    "AboveFixedRate",
    "ConfirmationTest",
    "ContextRows",
    "EvidenceRule",
    "ExcessOverPlain",
    "FactSpace",
    "FailureCounts",
    "GeneralClaim",
    "PatternClaim",
    "PatternRequest",
    "PatternSearch",
    "PatternSuspect",
    "RequestPurpose",
    "SearchSettings",
    "SuspectLack",
    "TestState",
    "TrialRow",
]
