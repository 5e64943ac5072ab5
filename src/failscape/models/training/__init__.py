"""Training a questioner while it asks: the classroom, and TRL at work in it."""
