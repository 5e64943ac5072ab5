"""Failscape finds, certifies and maps where vision models fail.

    import failscape

    run = failscape.run("hunt.yaml", atlas="runs/x")      # a path, a dict or a config object
    atlas = failscape.load("runs/x")                      # read only, also while a run is going on
    hunt = failscape.hunt("hunt.yaml")                    # the pure loop, for people who run their own models

All that docs and plugins need is here; nothing is imported before it is used.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {  # the same names, for type checkers, are in __init__.pyi
    "failscape.api": ("LoadedAtlas", "Run", "compare", "hunt", "load", "run", "versioned"),
    "failscape.config": ("BudgetConfig", "HuntConfig", "ModelConfig", "RuntimeConfig", "Settings"),
    "failscape.config.files": ("load_config", "parse_config"),
    "failscape.errors": (
        *("AtlasError", "BadReply", "ConfigError", "FailscapeError", "MissingExtra", "ModelError"),
        *("Permanent", "RateLimited", "Refused", "Transient"),
    ),
    "failscape.search.protocol": ("Content", "Hunt", "replay"),
    "failscape.search.surveys": ("SpaceRate", "Survey", "TestedRule"),
    "failscape.planning.foresight": ("Foresight",),
    "failscape.views.read.hunt": ("Place",),
    "failscape.views.read.answer": ("HuntAnswer", "ToldTheme"),
    "failscape.views.rows": ("FindingRow",),
    "failscape.models.roles": ("Identity", "Model", "Reply", "Usage"),
    "failscape.pictures": ("Picture",),
    "failscape.plugins": ("DatasetRows", "Demo", "HuntKind", "Provider", "find_kind", "kind_names", "lazy"),
    "failscape.views.pages.sections": ("Page", "PlainPage", "Section", "Tile"),
    "failscape.doctor.observations": ("Observation",),
    "failscape.runtime.progress": ("RunSnapshot",),
    "failscape.servers.backends": ("ImageBackend", "RequestError"),
    "failscape.spaces.corpus": ("Corpus", "load_corpus"),
    "failscape.starting.asking": ("ConfigAsker",),
    "failscape.starting.drafts": ("ConfigDraft", "RoleDraft"),
    "failscape.trials": (
        *("Check", "Facts", "Finding", "Missed", "MissedHow", "Probe", "ProbeKey", "Progress", "Purpose"),
        *("Purposes", "Status", "Step", "Subject", "SubjectForm", "SubjectValue", "Trial", "Verdict"),
        *("Answer", "Caption", "Classify", "Decide", "Edit", "Embed", "Generate", "Propose", "Recall"),
        *("Reword", "Show", "Verify", "derive_seed", "missed_by", "reach_verdict"),
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'failscape' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)
