"""What searches and statistics promise, measured over many planted worlds. Start it with `make campaign`."""
