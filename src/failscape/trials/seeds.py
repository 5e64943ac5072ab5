"""Seeds of images. They are a function of a text, so that a run can be repeated on any machine.

Every seed of the product comes from `seed_from_text`. What differs is the text: it names the run and what the
image shares its noise with.
"""

import hashlib

#: Image servers take seeds of 31 bits.
_LARGEST_SEED = 0x7FFFFFFF


def seed_from_text(text: str) -> int:
    """A seed between 0 and 2**31 - 1: the same text always gives the same one."""
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") & _LARGEST_SEED


def derive_seed(run_seed: int, index: int) -> int:
    """The seed of the `index`-th image of any prompt. Sibling nodes share it, so they share noise."""
    return seed_from_text(f"{run_seed}/{index}")
