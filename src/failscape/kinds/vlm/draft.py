"""`failscape init --hunt vlm`: the first config of a vision-language model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from failscape.starting.asking import ConfigAsker, settle_helper, settle_target
from failscape.starting.drafts import ConfigDraft, RoleDraft


def draft(asker: ConfigAsker, flags: Mapping[str, Any]) -> ConfigDraft:
    target = settle_target(asker, "answerer", "the vision-language model", flags)
    folder = flags["photos"]
    if not folder and target.provider != "toybox" and asker.prompt is not None:
        folder = asker.prompt("A folder of photos (toybox: drawn scenes whose truth is known)?", "toybox", ())
    if folder in ("", "toybox"):
        return vlm_draft(target, None, {"source": "toybox"}, None, flags["images"])
    verifier = settle_helper(asker, "verifier", "the verifier", flags, "judge", target)
    writer = replace(verifier, hints=())
    return vlm_draft(target, verifier, {"folder": folder}, writer, flags["images"])


def vlm_draft(
    target: RoleDraft,
    verifier: RoleDraft | None,
    images: Mapping[str, Any],
    writer: RoleDraft | None,
    questions: int | None,
) -> ConfigDraft:
    """Without a verifier: pictures of the toybox world, whose truth is known."""
    roles = {"target": (target, "the vision-language model under test")}
    sections: dict[str, tuple[Any, str]] = {}
    if verifier is not None:
        roles["verifier"] = (verifier, "is the question valid, is the answer right?")
    sections["images"] = (dict(images), "a folder of photos, or source: toybox (truth is known)")
    if writer is not None:
        asked = {"writer": {"provider": writer.provider, **writer.settings}}
        sections["questioner"] = (asked, "who writes the questions")
    sections["questions"] = (questions or 2000, "put to the target in all")
    sections["seed"] = (7, "")
    return ConfigDraft("vlm", roles, sections)
