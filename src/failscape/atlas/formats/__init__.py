"""Files that others read and write: FailureAtlas rows, JSON lines, tables."""
