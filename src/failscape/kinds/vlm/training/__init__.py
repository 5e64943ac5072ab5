"""Lessons and rewards for a questioner that learns."""
