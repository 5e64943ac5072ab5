"""What the vision-language hunt offers, and where each part of it is."""

from failscape.kinds.vlm.purposes import PURPOSES
from failscape.plugins import HuntKind, lazy
from failscape.trials import SubjectForm


class VlmKind(HuntKind):
    name = "vlm"
    about = "kinds of question that a vision-language model answers wrongly"
    target = "answerer"
    unit = "question"
    fails_at = "gets {share} of random questions wrong"
    purposes = PURPOSES
    subject_form = SubjectForm.QUESTION
    mapped_by_skill = True
    settings = lazy("failscape.kinds.vlm.config:VlmConfig")
    build = lazy("failscape.kinds.vlm.build:build_hunt")
    contents = lazy("failscape.kinds.vlm.build:contents")
    forewarn = lazy("failscape.kinds.vlm.build:forewarn")
    pictures = lazy("failscape.kinds.vlm.build:pictures")
    albums = lazy("failscape.kinds.vlm.build:albums")
    page = lazy("failscape.kinds.vlm.page")
    audit_limits = lazy("failscape.kinds.vlm.confirm:audit_limits")
    tries = lazy("failscape.kinds.vlm.fresh:fresh_questions")
    dataset = lazy("failscape.kinds.vlm.rows:ROWS")
    examine = lazy("failscape.kinds.vlm.doctor:examine_vlm")
    foresee = lazy("failscape.kinds.vlm.plan:foresee")
    draft = lazy("failscape.kinds.vlm.draft:draft")
    demo = lazy("failscape.kinds.vlm.demo:DEMO")
