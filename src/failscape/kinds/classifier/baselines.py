"""Plain requests for pictures of every class that a classifier knows: the prompt of the baseline. Pure."""

from failscape.kinds.classifier.build import known_labels, targets_of
from failscape.kinds.classifier.config import ClassifierConfig
from failscape.kinds.classifier.prompts import Template
from failscape.kinds.classifier.tallies import Target
from failscape.trials import Classify, Decide, Generate, Step


def all_targets(config: ClassifierConfig) -> list[Target]:
    """Every class that the model is known to have; those of the hunt where nobody knows more."""
    whole = config.model_copy(update={"classes": "all", "aim": ""}) if known_labels(config) else config
    return targets_of(whole)


def baseline_plans(config: ClassifierConfig) -> dict[str, list[tuple[Step, ...]]]:
    """Class → the steps of a plain picture of it, checked for presence where the hunt has a judge."""
    template = Template(config.template)
    found: dict[str, list[tuple[Step, ...]]] = {}
    for target in all_targets(config):
        prompt = template.prompt(target.name, target.superclass, ())
        gate: tuple[Step, ...] = (Decide((target.presence(),)),) if config.judge is not None else ()
        found[target.name] = [(Generate(prompt), *gate, Classify(target.accept, config.top_k))]
    return found
