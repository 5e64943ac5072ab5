"""Who decided: do two sets of results come from the same judge, and is it known how it errs? Pure."""

from collections.abc import Mapping

from failscape.models.roles import Identity

JUDGES = ("judge", "verifier")


def judge_difference(first: Mapping[str, Identity], second: Mapping[str, Identity]) -> str:
    """In words how the judges differ, "" when they are the same."""
    for role in JUDGES:
        here, there = first.get(role), second.get(role)
        if here is not None and there is not None and here.digest != there.digest:
            return f"the {role} is another one ({describe(here)}, then {describe(there)})"
        if (here is None) != (there is None):
            return f"only one of them had a {role}"
    return ""


def knows_truth(identities: Mapping[str, Identity]) -> bool:
    """Whether nobody has to be calibrated: no judge at all, or a verifier that is told the right answers."""
    judges = [one for role, one in identities.items() if role in JUDGES]
    return all(one.provider == "exact" for one in judges)


def describe(identity: Identity) -> str:
    settings = {name: value for name, value in identity.settings.items() if value not in ("", None, {}, [])}
    return f"{identity.provider} {identity.model} {settings}".strip()
