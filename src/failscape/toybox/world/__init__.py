"""The embedded world: everyday things on 64x64 pictures, with an exact scene graph behind every picture.

Pure numpy and pillow. It draws, words and reads pictures and captions; it trains and runs no models.
"""

from failscape.toybox.world.captions import caption, describe, mentioned, parse_caption
from failscape.toybox.world.render import render, render_attributes, render_many
from failscape.toybox.world.sampling import sample_attributes, sample_layout, sample_nuisance, sample_scene
from failscape.toybox.world.scenes import (
    NUISANCE,
    NUISANCE_DIM,
    Attributes,
    Scene,
    Thing,
    build_scene,
    changed,
    relations,
)
from failscape.toybox.world.vocab import (
    ALLOWED,
    ATTRIBUTES,
    COLOURS,
    CONFLICTS,
    COUNTS,
    DEFAULTS,
    ENTITIES,
    FAMILIES,
    KINDS,
    MENTIONABLE,
    PLACES,
    PLURALS,
    POSITIONS,
    SIZES,
    STYLES,
    TIMES,
    Kind,
    conflicts_in,
)
from failscape.toybox.world.wording import tokens, vocabulary

__all__ = [
    "ALLOWED",
    "ATTRIBUTES",
    "COLOURS",
    "CONFLICTS",
    "COUNTS",
    "DEFAULTS",
    "ENTITIES",
    "FAMILIES",
    "KINDS",
    "MENTIONABLE",
    "NUISANCE",
    "NUISANCE_DIM",
    "PLACES",
    "PLURALS",
    "POSITIONS",
    "SIZES",
    "STYLES",
    "TIMES",
    "Attributes",
    "Kind",
    "Scene",
    "Thing",
    "build_scene",
    "caption",
    "changed",
    "conflicts_in",
    "describe",
    "mentioned",
    "parse_caption",
    "relations",
    "render",
    "render_attributes",
    "render_many",
    "sample_attributes",
    "sample_layout",
    "sample_nuisance",
    "sample_scene",
    "tokens",
    "vocabulary",
]
