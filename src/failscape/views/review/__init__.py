"""People check a judge: samples, folders to fill in, labels and what they say of the judge."""
