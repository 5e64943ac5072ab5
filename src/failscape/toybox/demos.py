"""The demos: one per kind of hunt, each a whole config of models that come with the package."""

from failscape.plugins import Demo

#: From all six classes; turtle, bicycle and teddy bear are scarce in the painter's training data.
THINGS = (
    *("penguin", "camel", "owl", "turtle", "apple", "cupcake"),
    *("palm tree", "car", "bicycle", "boat", "umbrella", "teddy bear"),
)

T2I = Demo(
    "Hunting toy-painter: which things can it not draw?",
    {
        "hunt": "t2i",
        "target": {"provider": "toybox", "model": "toy-painter"},
        "judge": {"provider": "toybox", "model": "toy-eyes"},
        "space": {"corpus": "toybox", "entities": THINGS, "depth": 2},
        "search": {"strategy": "listed"},
        "budget": {"images": 9000},
        "seed": 7,
    },
)

CLASSIFIER = Demo(
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
REPAIR = Demo(
    "Hunting a small convolutional network, then repairing its last layer and proving what that changed.",
    {
        **{
            name: value
            for name, value in CLASSIFIER.settings.items()
            if name not in ("captioner", "embedder")
        },
        "budget": {"images": 3000},
    },
)

VLM = Demo(
    "Hunting toy-vlm, a small vision-language model: which kinds of question does it get wrong?",
    {
        "hunt": "vlm",
        "target": {"provider": "toybox", "model": "toy-vlm"},
        "verifier": "exact",
        "images": {"source": "toybox"},
        "questions": 3000,
        "budget": {},
        "seed": 7,
    },
    {
        "evolve": {},
        "grpo": {"questions": 4800, "questioner": {"strategy": "grpo", "training": {"steps": 48}}},
    },
)
