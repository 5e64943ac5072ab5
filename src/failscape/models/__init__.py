"""Models by role: what they do for us (`roles`), how they are reached (`registry`, a file per provider)."""
