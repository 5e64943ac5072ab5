"""Chance that is fixed by a text, so that a planted world answers the same question the same way."""

import hashlib


def luck_of(text: str) -> float:
    """A number from 0 to 1, uniform over texts and always the same for one."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2.0**64
