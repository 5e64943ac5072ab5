"""The FailureAtlas rule and the searches that others are measured against."""
