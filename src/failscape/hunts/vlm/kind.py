"""What the vision-language hunt offers, and where each part of it is."""

from failscape.plugins import HuntKind, lazy


class VlmKind(HuntKind):
    name = "vlm"
    about = "kinds of question that a vision-language model answers wrongly"
    target = "answerer"
    unit = "question"
    settings = lazy("failscape.hunts.vlm.config:VlmConfig")
    build = lazy("failscape.hunts.vlm.build:build_hunt")
    contents = lazy("failscape.hunts.vlm.build:contents")
    forewarn = lazy("failscape.hunts.vlm.build:forewarn")
    pictures = lazy("failscape.hunts.vlm.build:pictures")
    albums = lazy("failscape.hunts.vlm.build:albums")
    page = lazy("failscape.report.kinds.vlm")
    tries = lazy("failscape.hunts.vlm.fresh:fresh_questions")
    dataset = lazy("failscape.export.datasets:VLM")
    examine = lazy("failscape.doctor.vlm:examine_vlm")
    foresee = lazy("failscape.planning.vlm:foresee")
    demo = lazy("failscape.toybox.demos:VLM")
