"""What the classifier hunt offers, and where each part of it is."""

from failscape.plugins import HuntKind, lazy


class ClassifierKind(HuntKind):
    name = "classifier"
    about = "descriptions of pictures that an image classifier gets wrong more often than usual"
    target = "classifier"
    unit = "picture"
    purposes = {  # noqa: RUF012
        "": "search",
        "w": "first look",
        "k": "first look",
        "?": "is the wrong label's object there too",
        "f": "fresh pictures",
        "x": "counterfactual",
        "p": "photo",
        "s": "what the judge sees in a photo",
        "c": "caption",
        "v": "photo of a set",
    }
    fresh = "bfp"
    sampled = "bp"
    sample_names = {"b": "plain pictures", "p": "photos"}  # noqa: RUF012
    settings = lazy("failscape.hunts.classifier.config:ClassifierConfig")
    build = lazy("failscape.hunts.classifier.build:build_hunt")
    contents = lazy("failscape.hunts.classifier.build:contents")
    forewarn = lazy("failscape.hunts.classifier.build:forewarn")
    pictures = lazy("failscape.hunts.classifier.build:pictures")
    page = lazy("failscape.report.kinds.classifier")
    dataset = lazy("failscape.export.datasets:CLASSIFIER")
    examine = lazy("failscape.doctor.classifier:examine_classifier_hunt")
    foresee = lazy("failscape.planning.classifier:foresee")
    demo = lazy("failscape.toybox.demos:CLASSIFIER")
