"""What the text-to-image hunt offers, and where each part of it is."""

from failscape.kinds.t2i.purposes import PURPOSES
from failscape.plugins import HuntKind, lazy


class T2IKind(HuntKind):
    name = "t2i"
    about = "the smallest combinations of things and attributes that a text-to-image model cannot draw"
    unit = "picture"
    fails_at = "cannot draw {share} of random requests"
    purposes = PURPOSES
    settings = lazy("failscape.kinds.t2i.config:T2IConfig")
    build = lazy("failscape.kinds.t2i.build:build_hunt")
    recorded = lazy("failscape.kinds.t2i.build:recorded")
    contents = lazy("failscape.kinds.t2i.build:contents")
    forewarn = lazy("failscape.kinds.t2i.build:forewarn")
    corpus = lazy("failscape.kinds.t2i.build:corpus_of")
    judged_again = True
    page = lazy("failscape.kinds.t2i.page")
    dataset = lazy("failscape.kinds.t2i.rows:ROWS")
    examine = lazy("failscape.kinds.t2i.doctor:examine_t2i")
    foresee = lazy("failscape.kinds.t2i.plan:foresee")
    draft = lazy("failscape.kinds.t2i.draft:draft")
    demo = lazy("failscape.kinds.t2i.demo:DEMO")
