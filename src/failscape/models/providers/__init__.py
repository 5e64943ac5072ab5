"""How models are reached: a file for each name that `provider:` takes in a config."""
