"""`failscape init --hunt classifier`: the first config of an image classifier."""

from collections.abc import Mapping
from typing import Any

from failscape.starting.asking import ConfigAsker, settle_corpus, settle_helper, settle_target, with_eyes
from failscape.starting.drafts import FEWEST_IMAGES, ConfigDraft, RoleDraft


def draft(asker: ConfigAsker, flags: Mapping[str, Any]) -> ConfigDraft:
    target = settle_target(asker, "classifier", "the classifier", flags)
    source: RoleDraft | str = flags["photos"]
    if not source:
        source = settle_helper(asker, "generator", "what draws the pictures", flags, "generator", target)
    helper = settle_helper(asker, "judge", "the judge", flags, "judge", _pictures_from(source))
    toys = target.provider == "toybox" or isinstance(source, str)
    named = asker.ask(
        "Which classes (names by comma, or all)?", "--classes", flags["classes"], "all" if toys else ""
    )
    classes = named if named == "all" else [name.strip() for name in named.split(",") if name.strip()]
    corpus = settle_corpus(asker, flags, target)
    return classifier_draft(target, source, helper, classes, corpus, flags["images"])


def _pictures_from(source: RoleDraft | str) -> RoleDraft | None:
    return with_eyes(source) if isinstance(source, RoleDraft) else None


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
        roles["captioner"] = (helper, "describes failures")
    number = 20 if classes == "all" else len(classes)
    sections["classes"] = (classes, "all, or names of classes")
    sections["space"] = ({"corpus": corpus}, "where descriptions to try come from")
    sections["budget"] = ({"images": images or max(FEWEST_IMAGES, 1000 * number)}, "")
    sections["seed"] = (7, "")
    return ConfigDraft("classifier", roles, sections)
