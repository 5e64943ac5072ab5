"""The Python file that `failscape init` writes for models of your own, with a function for each role."""

from collections.abc import Sequence

FILE = "my_models.py"

MODEL_FILE = '''"""Models of your own: fill in what is marked, then `failscape doctor {config}`."""

from collections.abc import Sequence

from PIL import Image
{code}'''

_CODE = {
    "generator": '''

def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """One picture for each seed. The same seed must give the same picture."""
    raise NotImplementedError("call your text-to-image model here")
''',
    "judge": '''

def judge(image: Image.Image, checks: Sequence) -> list[bool | None]:
    """Is each `check.statement` true of the image? `None`: cannot tell."""
    raise NotImplementedError("call your judge here")
''',
    "classifier": '''

def classify(images: Sequence[Image.Image]) -> list[list[tuple[str, float]]]:
    """For each image its labels with scores, best first."""
    raise NotImplementedError("call your classifier here")
''',
    "captioner": '''

def caption(image: Image.Image) -> str:
    """What the image shows, in a few sentences."""
    raise NotImplementedError("call your captioner here")
''',
    "answerer": '''

def answer(images: Sequence[Image.Image], question: str) -> str:
    """What the model says about the images."""
    raise NotImplementedError("call your vision-language model here")
''',
    "verifier": '''

def verify(images: Sequence[Image.Image], question: str, answer: str) -> tuple[bool, bool]:
    """Is the question valid, and is the answer right?"""
    raise NotImplementedError("call your verifier here")
''',
}
FUNCTIONS = {
    "generator": "draw",
    "judge": "judge",
    "classifier": "classify",
    "captioner": "caption",
    "answerer": "answer",
    "verifier": "verify",
}


def model_file(roles: Sequence[str], config: str) -> str:
    """A Python file with one function for each role that is to be filled in."""
    return MODEL_FILE.format(config=config, code="".join(_CODE[role] for role in dict.fromkeys(roles)))
