"""Which faces of a die can a model not draw? A whole kind of hunt in one folder, and models for it.

It imports `failscape` and nothing below it: all that a plugin needs is on the front door.
"""

FACES = ("one", "two", "three", "four", "five", "six")
