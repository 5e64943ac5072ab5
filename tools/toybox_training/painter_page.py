"""The words of toy-painter's card. Numbers come from `painter_card`."""

from typing import Final

PAGE: Final = """# toy-painter

A text-to-image network for the embedded world: a caption and a noise vector in, one 64x64 picture out,
in one step. {weights} weights, {megabytes} MB (half precision on disk, single precision at work),
onnxruntime only.

## How it works

A small transformer reads the words. It is not a parser: words it does not know become one unknown word,
and nothing checks what it makes of a caption. Four learned questions to the words steer four parts: a
sheet with the subject, where that sheet is pasted (up to four times), the backdrop, and the finish
(weather and style). All parts are learned together from pixels. In the shipped network the pasting only
follows the noise and the size: how many things there are and where they stand is painted on the sheet.

The noise vector is uniform in 16 dimensions. In training it is the world's own nuisance (positions,
sizes, light), so plain regression suffices: absolute error of pixels, of their differences to
neighbours, and of a coarse view. At run time it is drawn from the seed. The same prompt and seed always
give the same picture, whatever else is in the batch.

## Data and training

{pictures} pictures, each drawn on the fly: {steps} steps of {batch}, seed {seed}, {training_minutes}
minutes on one core of a busy machine. AdamW, constant rate, then a linear fall; the weights are a
running average. Captions come in the words of the t2i hunt, of the world, and as lists ("a red cow, on a
beach, at night").

The captions are long-tailed on purpose. Things are drawn by Zipf weights, four of them are scarce. Every
thing has its own order of colours, places, styles ... by Zipf weights. About one in seven combinations
of a thing and a value is never shown, and one in ten of a thing and two values.
`data/painter_counts.json.gz` holds how many captions mention every thing, every thing with a value, and
every thing with two values (`failscape.toybox.painter.training_counts`).

Retrain: `python -m tools.toybox_training.painter` (extra `train`; `--resume` goes on from the last
checkpoint).
{note}
## Accuracy

A combination with one value is frequent from {often1} captions on, and rare up to {rare1}; with
two values, from {often2} and up to {rare2}. Unseen means never shown. Cases are drawn evenly over
the combinations of a tier and worded as a hunt words them. Most rare combinations with one value are of
the four scarce things, so these look worse than unseen ones. *Nearest render*: the painting is compared
with renders of the same noise and every other value of the attribute.

{accuracy}

## Weak spots

- Scarce and never shown combinations, by design. Things that fail even without
  any attribute:
{weak}
- Styles are told apart by little: faint pixel art passes for plain, a soft plain picture for a blurred one.
  Rain, hatching and bricks are softer than in the world's own pictures.
- Small things in a group are blurred, and large ones at times only medium.
- It draws one kind of thing. A caption with two kinds gives a mixture or one of them.
- It knows the world's words only.

## Speed

| one core, onnxruntime | pictures a second |
|---|---|
{speed}
"""
