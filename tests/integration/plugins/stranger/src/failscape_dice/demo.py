"""`failscape demo dice`."""

import failscape

DEMO = failscape.Demo(
    "Throwing dice.",
    {
        "hunt": "dice",
        "target": {"provider": "dice"},
        "judge": {"provider": "dice"},
        "budget": {"images": 72},
        "seed": 1,
    },
)
