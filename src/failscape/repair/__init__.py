"""From findings to a better model, and the proof: repair, placebo twin, fresh tries of all three."""
