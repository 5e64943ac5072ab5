"""The one evidence model: a typed read model of a hunt that commands, pages, viewer and Python API share.

Each number has one definition and one named denominator (`Rate.counted`), wherever it appears.
"""

from failscape.views.read.findings import BeforeAfter, varied_examples
from failscape.views.read.found import Build, Found, WatchTelling, choose_hunt, config_of, rebuild_hunt
from failscape.views.read.hunt import (
    HuntEvidence,
    HuntReader,
    Place,
    Placer,
    PurposeCounts,
    SubjectCounts,
    limit_of,
    load_hunt,
)
from failscape.views.read.shots import (
    CheckTally,
    FindingEvidence,
    Mark,
    Quote,
    Rate,
    Shot,
    ShotRow,
    missing_of,
)

__all__ = [
    "BeforeAfter",
    "Build",
    "CheckTally",
    "FindingEvidence",
    "Found",
    "HuntEvidence",
    "HuntReader",
    "Mark",
    "Place",
    "Placer",
    "PurposeCounts",
    "Quote",
    "Rate",
    "Shot",
    "ShotRow",
    "SubjectCounts",
    "WatchTelling",
    "choose_hunt",
    "config_of",
    "limit_of",
    "load_hunt",
    "missing_of",
    "rebuild_hunt",
    "varied_examples",
]
