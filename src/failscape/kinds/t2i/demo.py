"""`failscape demo`: a text-to-image network that comes with the package."""

from failscape.plugins import Demo

#: From all six classes; turtle, bicycle and teddy bear are scarce in the painter's training data.
THINGS = (
    *("penguin", "camel", "owl", "turtle", "apple", "cupcake"),
    *("palm tree", "car", "bicycle", "boat", "umbrella", "teddy bear"),
)

DEMO = Demo(
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
