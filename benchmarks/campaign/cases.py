"""All campaigns by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.campaign import (
    baselines,
    classifier,
    comparisons,
    doctor,
    judges,
    plans,
    prompts,
    small_worlds,
    survey,
    t2i,
    vlm,
    warm_starts,
)
from benchmarks.campaign.measurements import Measurement

CASES: dict[str, Callable[[], Iterator[Measurement]]] = {
    "t2i: failing entities": t2i.failing_entities,
    "classifier: single facts": classifier.single_facts,
    "classifier: disobeyed clauses": classifier.disobeyed_clauses,
    "classifier: below the margin": classifier.below_the_margin,
    "classifier: pairs of facts": classifier.pairs_of_facts,
    "classifier: leaky presence": classifier.leaky_presence_check,
    "t2i: strategies, weak": partial(t2i.strategies, "weak"),
    "t2i: strategies, medium": partial(t2i.strategies, "medium"),
    "t2i: near the threshold": t2i.near_the_threshold,
    "t2i: noisy judge": t2i.noisy_judge,
    **{f"t2i: {shape} world": partial(t2i.other_shape, shape) for shape in t2i.SHAPE_NAMES},
    "t2i: other depths": t2i.other_depths,
    "t2i: nothing fails": t2i.nothing_fails,
    "t2i: small reviews": t2i.small_reviews,
    "t2i: one entity": small_worlds.one_entity,
    "t2i: groups": small_worlds.groups,
    "t2i: warm start": warm_starts.helpful,
    "t2i: misleading start": warm_starts.misleading,
    "t2i: prompt lists": prompts.prompt_lists,
    "t2i: eight prompts": prompts.eight_prompts,
    "baseline: failureatlas": baselines.failureatlas_rule,
    "baseline: noisy judge": baselines.failureatlas_with_a_noisy_judge,
    "baseline: predictors": baselines.predictors,
    "vlm: planted modes": vlm.planted_modes,
    "vlm: small budget": vlm.small_budget,
    "vlm: narrow names": vlm.narrow_names,
    "vlm: honest targets": vlm.honest_targets,
    "vlm: verifiers that err": vlm.verifiers_that_err,
    "plan: ranges": plans.plans,
    "judge: measured accuracy": judges.measured_accuracy,
    "judge: corrected intervals": judges.corrected_intervals,
    "judge: bounds from reviews": judges.bounds_from_reviews,
    "doctor: judge exams": doctor.judge_exams,
    "map: masses": survey.masses,
    "map: masses, noisy judge": survey.masses_of_a_noisy_judge,
    "map: shares": survey.shares_of_failing_nodes,
    "map: rules": survey.rules_of_the_map,
    "map: audits": survey.audits,
    "map: interactions": survey.interactions,
    "map: wordings": survey.wordings,
    "compare: same model": comparisons.same_model,
    "compare: changed model": comparisons.changed_model,
    "compare: gates": comparisons.gates,
}
"""The long ones first, so that two processes end at about the same time."""
