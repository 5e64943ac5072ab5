"""The kinds of hunt: each folder holds all that belongs to one of them."""
