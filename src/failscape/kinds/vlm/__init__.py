"""The vlm hunt: kinds of questions that a vision-language model answers wrongly."""
