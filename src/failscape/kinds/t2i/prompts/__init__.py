"""The t2i hunt over a list of prompts: no lattice, no parents; each prompt is claimed by itself."""
