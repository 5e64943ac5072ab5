"""`failscape demo classifier` and `failscape demo repair`: a classifier that comes with the package."""

from failscape.plugins import Demo

DEMO = Demo(
    "Hunting a small convolutional network: which pictures of things that it knows does it get wrong?",
    {
        "hunt": "classifier",
        "target": {"provider": "toybox", "model": "cnn"},
        "generator": {"provider": "toybox", "model": "renderer"},
        "judge": {"provider": "toybox", "model": "toy-eyes"},
        "captioner": {"provider": "toybox", "model": "toy-eyes"},
        "embedder": {"provider": "toybox", "model": "toy-eyes"},
        "classes": ("penguin", "camel", "owl", "crab", "apple", "car"),
        "space": {"corpus": "toybox"},
        "budget": {"images": 9000},
        "seed": 7,
    },
)

#: Without captions: what the corpus suggests is enough to repair, and the loop must end within minutes.
REPAIR_DEMO = Demo(
    "Hunting a small convolutional network, then repairing its last layer and proving what that changed.",
    {
        **{name: value for name, value in DEMO.settings.items() if name not in ("captioner", "embedder")},
        "budget": {"images": 3000},
    },
)
