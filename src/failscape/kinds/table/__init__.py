"""Results of other programs, which are read, certified and compared, never run."""
