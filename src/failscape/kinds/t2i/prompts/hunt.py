"""The search of a list of prompts: each is claimed by itself, from its own images and what its tags suggest.

A certificate rests on the prompt's own e-process alone, and e-BH counts every prompt of the list, so that the
number of tests is known before the first image. What the tags suggest chooses, and makes the list besides.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.errors import AtlasError
from failscape.kinds.t2i.prompts.belief import LEAST_PROMPTS, PromptFeatures, expect, known_before, posteriors
from failscape.kinds.t2i.prompts.findings import describe_prompt, describe_suspect, half_width
from failscape.kinds.t2i.prompts.ledger import PromptLedger
from failscape.kinds.t2i.prompts.listing import update_list
from failscape.kinds.t2i.prompts.survey import PromptSurveyInput, survey_prompts
from failscape.kinds.t2i.prompts.worth import (
    SURE,
    chance_failing,
    claims_per_image,
    images_to_claim,
    nats_to_list,
)
from failscape.kinds.t2i.purposes import EVIDENCE, RANDOM_SAMPLE, TRIED_AGAIN
from failscape.kinds.t2i.survey.judge_view import Draws, TriedCounts
from failscape.kinds.t2i.survey.list_audit import AuditCase, AuditTest
from failscape.kinds.t2i.survey.survey import T2ISurvey
from failscape.kinds.t2i.survey.unguided import NextTry, UnguidedImages
from failscape.search.certify import certify, evidence_needed
from failscape.search.protocol import Hunt
from failscape.spaces.earlier import Earlier, refuse_unshared
from failscape.spaces.lattice import Node
from failscape.spaces.prompt_list import ListedPrompt, PromptList
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import (
    Decide,
    Finding,
    Generate,
    Probe,
    ProbeKey,
    Progress,
    Status,
    Trial,
    seed_from_text,
)

Floats = NDArray[np.float64]


#: One image in so many goes to the prompt that has the fewest, whatever is believed of it.
EXPLORED = 20
#: Beliefs are formed anew after 24 images, then after 5 % more, at most 2,000.
FIRST_REFIT, REFIT_SHARE, LAST_REFIT = 24, 0.05, 2_000
#: A prompt so unlikely to fail gets no more images: they would change no claim.
SETTLED = 0.002
#: Rates of findings are made known to within so much, once nothing more is likely to be claimed.
SHARP = 0.1
#: Until then: until a further claim is expected to cost more images than this.
SHARPENING = 1 / 150
#: A certificate for what is listed already is worth so much of a new claim.
CERTAIN_LATER = 0.3
#: Without a budget, a prompt that is still undecided after so many images is left.
MOST_IMAGES = 1_000
MOST_INVALID = 8
PANEL_WITHOUT_BUDGET = 4


_LETTERS = tuple(one.letter for one in (EVIDENCE, RANDOM_SAMPLE, TRIED_AGAIN))


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """`listed`: findings are also claimed by posterior, not only by certificate."""

    threshold: float = 0.8
    fdr: float = 0.05
    listed: bool = True
    panel: float = 0.04
    audit: float = 0.03
    images: int | None = None


class PromptClaims(NamedTuple):
    """Places of prompts that are claimed: by their own e-values, and by posterior besides."""

    certified: frozenset[int]
    listed: frozenset[int]


class PromptHunt(Hunt):
    """Images are evidence (keys `#…`), random sample (`#p…`) or audit of the list (`#r…`)."""

    def __init__(
        self,
        prompts: PromptList,
        settings: PromptSettings = PromptSettings(),  # noqa: B008
        *,
        accuracy: JudgeAccuracy | None = None,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        self.settings = settings
        self.accuracy = accuracy
        self.ledger = PromptLedger(prompts.prompts[shard[0] :: shard[1]])
        self._seed = seed
        self._features = PromptFeatures.of(self.ledger.prompts)
        self._earlier: Floats | None = None
        judge = accuracy or JudgeAccuracy.perfect()
        self.limits = np.array(
            [
                judge.believed([judge.named(c.kind, c.value) for c in one.checks], settings.threshold).fail
                for one in self.ledger.prompts
            ]
        )
        self._steps = [(Generate(one.text), Decide(one.checks)) for one in self.ledger.prompts]
        self.unguided = UnguidedImages(
            self._draw_panel(),
            seed,
            images=settings.images,
            panel_share=settings.panel,
            audit_share=settings.audit,
        )
        #: Images of the search, and all images, that were told.
        self._told = 0
        self._heard = 0
        self._next_refit = FIRST_REFIT
        #: As of the last refit. What is shown now starts from them, and looking does not change them.
        self._claims = PromptClaims(frozenset(), frozenset())
        self._shown: tuple[int, PromptClaims] = -1, self._claims
        self._over = False
        self._notices: list[str] = []
        self._refit()

    def _draw_panel(self) -> Draws:
        """A random order of all prompts: as many as the share of images pays for, in turn."""
        count = len(self.ledger)
        images = self.settings.images
        wanted = PANEL_WITHOUT_BUDGET * count if images is None else round(self.settings.panel * images)
        wanted = wanted if self.settings.panel else 0
        panel = Draws("p", max(1, wanted // max(count, 1)))
        order = np.random.default_rng([self._seed, 2001]).permutation(count)
        for at in order[: min(count, wanted)].tolist():
            panel.add(self.ledger.prompts[at].id, Node(at))
        return panel

    def begin_with(self, earlier: Earlier) -> None:
        """What failed there comes first; its rates guide the search as far as new images bear them out."""
        counts = np.array([earlier.counts.get(one.id, (0, 0)) for one in self.ledger.prompts], np.float64)
        refuse_unshared(earlier, int(counts.any(axis=1).sum()), "prompts")
        self._earlier = known_before(self._features, counts[:, 0], counts[:, 1])
        self._refit()

    # Telling

    def tell(self, trial: Trial) -> None:
        key = ProbeKey.parse(trial.key)
        at = self.ledger.place(trial.subject)
        if key is None or key.number is None or key.rest or key.letter not in _LETTERS:
            raise AtlasError(f"{trial.key!r} is no try of a prompt", "use the atlas of this hunt")
        if self._count_trial(trial, at, key.letter, key.number):
            self._heard += 1
            if self.unguided.audit_should_begin(self._heard):
                self._begin_audit()

    def _count_trial(self, trial: Trial, at: int, letter: str, number: int) -> bool:
        """False if it was told before."""
        if self.unguided.is_of_audit(letter, number):
            if not self.unguided.audit_stands:
                self._begin_audit()
            return self.unguided.audit.tell(trial, number)
        if letter:
            return self.unguided.tell_draw(trial, letter, number, Node(at))
        if not self.ledger.tell(at, number, trial):
            return False
        self.unguided.note_search()
        self._told += 1
        self._look_again(at)
        if self._told >= self._next_refit:
            self._refit()
        return True

    def _refit(self) -> None:
        ledger = self.ledger
        self._next_refit = self._told + int(np.clip(REFIT_SHARE * self._told, FIRST_REFIT, LAST_REFIT))
        self._priors = expect(self._features, len(ledger), ledger.passes, ledger.fails, self._earlier)
        self.weights = posteriors(self._priors, ledger.passes, ledger.fails)
        self.chances = chance_failing(self.weights, self.limits)
        self.evidence = log_bet(ledger.passes, ledger.fails, self.limits)
        self._needed = evidence_needed(self.evidence, self.settings.fdr, len(ledger))
        self._claims = self._claim()
        self._worth = self._value(np.arange(len(ledger)))
        if self._earlier is not None and np.count_nonzero(ledger.passes + ledger.fails) < LEAST_PROMPTS:
            # Nobody knows yet how much of it holds: what failed before comes first, and is claimed no sooner.
            self._worth = self._worth * (1 + special.expit(-self._earlier))

    def _look_again(self, at: int) -> None:
        """What a new image says of its own prompt, between two refits."""
        one = slice(at, at + 1)
        ledger = self.ledger
        self.weights[one] = posteriors(self._priors[one], ledger.passes[one], ledger.fails[one])
        self.chances[one] = chance_failing(self.weights[one], self.limits[one])
        self.evidence[one] = log_bet(ledger.passes[one], ledger.fails[one], self.limits[one])
        self._worth[one] = self._value(np.array([at]))

    def _claim(self) -> PromptClaims:
        level, tests = self.settings.fdr, len(self.ledger)
        certified = certify(self.evidence, range(tests), level, tests)
        listed = update_list(self._claims.listed, certified, self.chances, self.ledger.images, level)
        return PromptClaims(frozenset(certified), frozenset(listed))

    @property
    def claims(self) -> PromptClaims:
        """What is claimed after the trials told so far."""
        if self._shown[0] != self._told:
            self._shown = self._told, self._claim()
        return self._shown[1]

    # Choosing

    def _value(self, places: NDArray[np.int64]) -> Floats:
        """What the next image of each prompt is worth, in claims."""
        weights, limits, chances = self.weights[places], self.limits[places], self.chances[places]
        missing = self._needed - self.evidence[places]
        certificate = claims_per_image(weights, limits, missing)
        if self.settings.listed:
            wanted = claims_per_image(weights, limits, nats_to_list(chances))
            certificate = np.where(chances < SURE, wanted, CERTAIN_LATER * certificate)
        worth = np.where(missing > 0, certificate, 0.0)
        worth = np.where((chances < SETTLED) & (self.ledger.images[places] > 0), 0.0, worth)
        worth = np.where(missing <= 0, self._sharpening(places), worth)
        return np.where(self._left(places), 0.0, worth)

    def _sharpening(self, places: NDArray[np.int64]) -> Floats:
        """Of those that are proven: the rates that fail most are made sharp first."""
        fails, images, found = self.ledger.fails, self.ledger.images, np.zeros(len(places))
        for row in np.flatnonzero(self.evidence[places] >= self._needed).tolist():
            at = places[row]
            if half_width(int(fails[at]), int(images[at])) > SHARP:
                found[row] = SHARPENING * (0.5 + 0.5 * fails[at] / images[at])
        return found

    def _left(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Prompts that cannot be judged; without a budget, also those that no image seems to settle."""
        invalid, images = self.ledger.invalid[places], self.ledger.images[places]
        unusable = (invalid >= MOST_INVALID) & (invalid > 2 * images)
        endless = images >= MOST_IMAGES if self.settings.images is None else np.zeros(len(places), np.bool_)
        return np.asarray(unusable | endless)

    # Asking

    def ask(self, count: int) -> list[Probe]:
        probes: list[Probe] = []
        while len(probes) < count:
            probe = self._next_panel() or self._next_audit()
            if probe is None and not self.unguided.audit_is_due(self._asked):
                probe = self._next_search() or self._next_panel(due=True)
                probe = probe or self._next_audit(search_is_over=True)
            if probe is None:
                self._finish()
                break
            probes.append(probe)
        return probes

    def _finish(self) -> None:
        if self._over or self._flying:
            return
        self._over = True
        if self.settings.images is not None and self._asked < self.settings.images:
            self._notices.append(
                f"done after {self._asked:,} images: every prompt is claimed with a rate known to within "
                f"±{SHARP:.0%}, or so surely passes that no further image could change a claim"
            )

    @property
    def _flying(self) -> int:
        return int(self.ledger.flying.sum()) + self.unguided.in_flight

    @property
    def _asked(self) -> int:
        return self._told_and_flying + self.unguided.asked

    def _next_panel(self, due: bool = False) -> Probe | None:
        return self._unguided_probe(self.unguided.next_of_panel(self._asked, due))

    def _next_audit(self, search_is_over: bool = False) -> Probe | None:
        """Near the end of the budget, or when the search is over. It waits for all that is under way."""
        unguided = self.unguided
        if not unguided.audited or not (search_is_over or unguided.audit_is_due(self._asked)):
            return None
        if not unguided.audit_stands:
            if self._flying:
                return None
            self._begin_audit()
        return self._unguided_probe(unguided.next_of_audit())

    def _unguided_probe(self, drawn: NextTry | None) -> Probe | None:
        if drawn is None:
            return None
        return self._probe(self.ledger.place(drawn.subject), drawn.stream, drawn.number)

    def _begin_audit(self) -> None:
        cases = [AuditCase(self._audit_test(at)) for at in self._surest_first()]
        self.unguided.begin_audit(cases, self._heard)

    def _audit_test(self, at: int) -> AuditTest:
        known = TriedCounts(int(self.ledger.passes[at]), int(self.ledger.fails[at]))
        return AuditTest(self.ledger.prompts[at].id, round(float(self.limits[at]), 6), False, known)

    def _surest_first(self) -> list[int]:
        return sorted(self.claimed, key=lambda at: (-self.chances[at], at))

    def _next_search(self) -> Probe | None:
        """The prompt whose next image is worth most; images under way count as if they were in."""
        at = self._explored() if self._told_and_flying % EXPLORED == 0 else None
        if at is None:
            shared = self._worth / (1 + self.ledger.flying)
            at = int(np.argmax(shared))
            if shared[at] <= 0:
                return None
        return self._probe(at, "", self.ledger.next_try(at))

    @property
    def _told_and_flying(self) -> int:
        return self._told + int(self.ledger.flying.sum())

    def _explored(self) -> int | None:
        """The prompt with the fewest images among those that might still be claimed."""
        open_ones = np.flatnonzero(self._worth > 0)
        if not len(open_ones):
            return None
        images = (self.ledger.images + self.ledger.flying)[open_ones]
        return int(open_ones[np.argmin(images)])

    def _probe(self, at: int, mark: str, number: int) -> Probe:
        prompt = self.ledger.prompts[at]
        key = ProbeKey(prompt.id, mark, number).text
        return Probe(key, prompt.id, self._steps[at], prompt_seed(self._seed, key))

    # Looking

    @property
    def claimed(self) -> list[int]:
        """Places of the prompts that are findings now: certified first, each part surest first."""
        now = self.claims
        listed = now.listed if self.settings.listed else frozenset()
        return [
            *sorted(now.certified, key=lambda at: (-self.evidence[at], at)),
            *sorted(listed, key=lambda at: (-self.chances[at], at)),
        ]

    @property
    def done(self) -> bool:
        return self._over

    def findings(self) -> list[Finding]:
        certified = self.claims.certified
        return [
            describe_prompt(self, at, Status.CERTIFIED if at in certified else Status.LISTED)
            for at in self.claimed
        ]

    def suspects(self) -> list[Finding]:
        claimed = set(self.claimed)
        looks = np.flatnonzero((self.chances >= 0.5) & (self.ledger.fails > 0))
        order = sorted((at for at in looks.tolist() if at not in claimed), key=lambda at: -self.chances[at])
        if not order:
            return []
        places = np.array(order)
        missing = self._needed - self.evidence[places]
        images = images_to_claim(self.weights[places], self.limits[places], missing)
        return [
            describe_suspect(self, at, round(float(more))) for at, more in zip(order, images, strict=True)
        ]

    def undecided(self) -> list[str]:
        places = np.arange(len(self.ledger))
        return [self.ledger.prompts[at].id for at in np.flatnonzero(self._left(places)).tolist()]

    def notices(self) -> list[str]:
        return list(self._notices)

    def progress(self) -> Progress:
        phase = "done" if self.done else "auditing the list" if self.unguided.audit.running else "searching"
        settled = int(((self.chances < SETTLED) & (self.ledger.images > 0)).sum()) + len(
            self.claims.certified
        )
        return Progress(phase, min(settled, len(self.ledger)), len(self.ledger), len(self.claimed))

    def survey(self) -> T2ISurvey:
        return survey_prompts(
            PromptSurveyInput(
                prompts=self.ledger.prompts,
                chances=self.chances,
                claimed=self.claimed,
                certified=self.claims.certified,
                passes=self.ledger.passes,
                fails=self.ledger.fails,
                panel={node.entity: counts for node, counts in self.unguided.panel.counts.items()},
                fresh={node.entity: counts for node, counts in self.unguided.replicates.counts.items()},
                list_audit=self.unguided.audit.result(self.ledger.prompts[at].id for at in self.claimed),
                accuracy=self.accuracy,
                threshold=self.settings.threshold,
                settled=SETTLED,
            )
        )

    def prompt(self, at: int) -> ListedPrompt:
        return self.ledger.prompts[at]


def prompt_seed(run_seed: int, key: str) -> int:
    """A seed of its own for every try of every prompt: prompts share no luck."""
    return seed_from_text(f"{run_seed}/{key}")
