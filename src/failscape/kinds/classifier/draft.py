"""`failscape init --hunt classifier`: the first config of an image classifier."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from failscape.starting.asking import ConfigAsker, settle_corpus, settle_helper, settle_target, with_eyes
from failscape.starting.drafts import FEWEST_IMAGES, ConfigDraft, RoleDraft
from failscape.starting.model_file import FUNCTIONS


def draft(asker: ConfigAsker, flags: Mapping[str, Any]) -> ConfigDraft:
    target = settle_target(asker, "classifier", "the classifier", flags)
    if flags["photos"]:
        return _in_photos(asker, flags, target)
    source = settle_helper(asker, "generator", "what draws the pictures", flags, "generator", target)
    helper = settle_helper(asker, "judge", "the judge", flags, "judge", with_eyes(source))
    if helper.provider == "python":
        asker.to_fill.append("captioner")
    likely = {"toybox": "all", "python": EXAMPLE_CLASSES}
    classes = _classes(asker, flags, likely.get(target.provider, ""))
    corpus = settle_corpus(asker, flags, target)
    return classifier_draft(target, source, helper, classes, corpus, flags["images"])


def _in_photos(asker: ConfigAsker, flags: Mapping[str, Any], target: RoleDraft) -> ConfigDraft:
    """Photos have labels, so nobody needs to judge them; a judge that was named describes failures."""
    helper = None
    if flags["judge"] or flags["judge_endpoint"]:
        helper = settle_helper(asker, "judge", "the judge", flags, "judge")
    return classifier_draft(target, flags["photos"], helper, _classes(asker, flags, "all"), "", None)


#: Stand for the names of a model of one's own, which nobody else knows.
EXAMPLE_CLASSES = "cat, dog, car"


def _classes(asker: ConfigAsker, flags: Mapping[str, Any], likely: str) -> Any:
    question = "Which classes (names by comma, or all)?"
    named = asker.ask(question, "--classes", flags["classes"], likely)
    if named == EXAMPLE_CLASSES:
        asker.told.append(f"write the names of your own classes in place of {EXAMPLE_CLASSES}")
    return named if named == "all" else [name.strip() for name in named.split(",") if name.strip()]


def classifier_draft(
    target: RoleDraft,
    source: RoleDraft | str,
    helper: RoleDraft | None,
    classes: Any,
    corpus: str,
    images: int | None,
) -> ConfigDraft:
    """`source` draws the pictures, or is a folder of photos; `helper` judges presence and writes captions."""
    roles = {"target": (target, "the image classifier under test")}
    sections: dict[str, tuple[Any, str]] = {}
    if isinstance(source, RoleDraft):
        roles["generator"] = (source, "draws the pictures")
    else:
        sections["photos"] = (source, "a folder of photos, one sub-folder a class, or with metadata.jsonl")
    if helper is not None:
        roles["judge"] = (helper, "is the class visible at all?")
        roles["captioner"] = (_as_captioner(helper), "describes failures")
    sections["classes"] = (classes, "all, or names of classes")
    if isinstance(source, RoleDraft):
        number = 20 if classes == "all" else len(classes)
        sections["space"] = ({"corpus": corpus}, "where descriptions to try come from")
        sections["budget"] = ({"images": images or max(FEWEST_IMAGES, 1000 * number)}, "")
    sections["seed"] = (7, "")
    return ConfigDraft("classifier", roles, sections)


def _as_captioner(helper: RoleDraft) -> RoleDraft:
    """A model that is reached over the network does both; Python code has a function for each."""
    if helper.provider != "python":
        return helper
    file = str(helper.settings["path"]).rpartition(":")[0]
    return replace(helper, settings={**helper.settings, "path": f"{file}:{FUNCTIONS['captioner']}"})
