"""What commands print and write, kept as files: a change of the code must not change them unawares."""
