"""What the classifier hunt offers, and where each part of it is."""

from failscape.kinds.classifier.purposes import PURPOSES
from failscape.plugins import HuntKind, lazy


class ClassifierKind(HuntKind):
    name = "classifier"
    about = "descriptions of pictures that an image classifier gets wrong more often than usual"
    target = "classifier"
    unit = "picture"
    fails_at = "gets {share} of random pictures wrong"
    purposes = PURPOSES
    names_have_usual_rates = True
    settings = lazy("failscape.kinds.classifier.config:ClassifierConfig")
    build = lazy("failscape.kinds.classifier.build:build_hunt")
    contents = lazy("failscape.kinds.classifier.build:contents")
    forewarn = lazy("failscape.kinds.classifier.build:forewarn")
    photo_probes = lazy("failscape.kinds.classifier.build:photo_probes")
    pictures = lazy("failscape.kinds.classifier.build:pictures")
    albums = lazy("failscape.kinds.classifier.build:albums")
    page = lazy("failscape.kinds.classifier.page")
    dataset = lazy("failscape.kinds.classifier.rows:ROWS")
    examine = lazy("failscape.kinds.classifier.doctor:examine_classifier_hunt")
    foresee = lazy("failscape.kinds.classifier.plan:foresee")
    draft = lazy("failscape.kinds.classifier.draft:draft")
    demo = lazy("failscape.kinds.classifier.demo:DEMO")
    repair = lazy("failscape.kinds.classifier.repair:repair_classifier")
    repair_demo = lazy("failscape.kinds.classifier.demo:REPAIR_DEMO")
