"""The certified search: chooses by model, certifies by e-value, works on all layers at once."""
