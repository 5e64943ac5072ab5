"""The classifier hunt: descriptions of pictures that make an image classifier fail more than usual."""
