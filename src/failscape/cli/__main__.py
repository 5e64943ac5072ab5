"""`python -m failscape.cli`."""

from failscape.cli import main

main()
