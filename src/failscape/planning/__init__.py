"""What a config can prove before anything is spent: `failscape plan`, by simulation on planted worlds."""
