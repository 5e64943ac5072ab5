"""The first config: what `failscape init` asks endpoints, writes, and takes over from FailureAtlas."""
