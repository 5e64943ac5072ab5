"""Clips: pictures that move. See `failscape.clips.clip`."""

from failscape.clips.clip import Clip, ClipFrame, as_clip
from failscape.clips.limits import ClipLimits
from failscape.clips.sampling import sample_times

__all__ = ["Clip", "ClipFrame", "ClipLimits", "as_clip", "sample_times"]
