"""`python -m failscape`."""

from failscape.cli import main

main()
