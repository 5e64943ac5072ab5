"""`failscape demo vlm`: a vision-language network that comes with the package."""

from failscape.plugins import Demo

DEMO = Demo(
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
        "learn": {"questioner": {"strategy": "learn"}},
        "video": {
            "target": {"provider": "toybox", "model": "planted-clips", "video": {"frames": 8}},
            "questioner": {"grammar": "toybox-clips"},
            "questions": 1500,
        },
        "grpo": {"questions": 4800, "questioner": {"strategy": "grpo", "training": {"steps": 48}}},
    },
    {
        "video": "Hunting planted-clips, a target with planted weaknesses: what does it get wrong in a clip?",
    },
)
