"""Side-by-side measurements; each is one command and prints what it measured."""
