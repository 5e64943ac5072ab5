"""What the text-to-image hunt offers, and where each part of it is."""

from failscape.hunts.t2i.purposes import PURPOSES
from failscape.plugins import HuntKind, lazy


class T2IKind(HuntKind):
    name = "t2i"
    about = "the smallest combinations of things and attributes that a text-to-image model cannot draw"
    unit = "picture"
    purposes = PURPOSES
    apart = "prgm"
    fresh = "prm"
    sampled = "p"
    settings = lazy("failscape.hunts.t2i.config:T2IConfig")
    build = lazy("failscape.hunts.t2i.build:build_hunt")
    recorded = lazy("failscape.hunts.t2i.build:recorded")
    contents = lazy("failscape.hunts.t2i.build:contents")
    forewarn = lazy("failscape.hunts.t2i.build:forewarn")
    corpus = lazy("failscape.hunts.t2i.build:corpus_of")
    judged_again = True
    page = lazy("failscape.report.kinds.t2i")
    dataset = lazy("failscape.export.datasets:T2I")
    examine = lazy("failscape.doctor.t2i:examine_t2i")
    foresee = lazy("failscape.planning.t2i:foresee")
    demo = lazy("failscape.toybox.demos:T2I")
