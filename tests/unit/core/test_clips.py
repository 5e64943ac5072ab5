"""Clips: frames with times, sampled and streamed, and files that are not what they say."""

import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from failscape.clips import Clip, ClipLimits, as_clip, sample_times
from failscape.errors import BadReply
from failscape.picture_limits import PictureLimits
from failscape.pictures import Picture


def _frames(number: int, side: int = 32) -> list[Image.Image]:
    rng = np.random.default_rng(number)
    return [Image.fromarray(rng.integers(0, 255, (side, side, 3), dtype=np.uint8)) for _ in range(number)]


def _gif(number: int, milliseconds: int = 80) -> bytes:
    first, *others = _frames(number)
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=milliseconds)
    return buffer.getvalue()


def test_frames_come_back_as_they_were_with_their_times() -> None:
    frames = _frames(5)
    clip = Clip.from_frames(iter(frames), fps=4, note="made by a test")
    assert clip.times == [0, 0.25, 0.5, 0.75, 1.0]
    assert clip.seconds == 1.25
    assert clip.note == "made by a test"
    for shown, drawn in zip(clip.frames(), frames, strict=True):
        assert np.array_equal(np.asarray(shown.image), np.asarray(drawn))


def test_a_gif_is_a_clip_and_a_still_is_none() -> None:
    clip = as_clip(Picture(_gif(6)))
    assert clip is not None
    assert clip.frame_seconds == pytest.approx([0.08] * 6)
    assert len(list(clip.frames())) == 6
    assert as_clip(Picture(_gif(1))) is None
    assert as_clip(Picture.from_image(_frames(1)[0])) is None
    assert as_clip(Picture.from_image(_frames(1)[0], "WEBP")) is None


@given(
    starts=st.lists(st.floats(0.02, 2), min_size=1, max_size=40),
    most=st.integers(1, 20),
    fps=st.none() | st.floats(0.1, 60),
    sampling=st.sampled_from(["ends", "middles"]),
)
def test_sampling_gives_few_frames_in_order(
    starts: list[float], most: int, fps: float | None, sampling: str
) -> None:
    times = [0.0, *np.cumsum(starts[:-1]).tolist()]
    chosen = sample_times(times, sum(starts), most, fps, sampling)  # type: ignore[arg-type]
    assert 1 <= len(chosen) <= most
    assert chosen == sorted(set(chosen))
    assert chosen[0] >= 0
    assert chosen[-1] < len(times)


def test_ends_are_shown_unless_middles_are_asked_for() -> None:
    times = [at / 8 for at in range(16)]
    assert sample_times(times, 2, 4) == [0, 5, 10, 15]
    assert sample_times(times, 2, 4, None, "middles") == [2, 6, 10, 14]
    assert sample_times(times, 2, 99, 2.0) == [0, 5, 10, 15]
    assert sample_times(times, 2, 99) == list(range(16))


def test_memory_holds_few_frames_however_many_there_are() -> None:
    side, number = 256, 60
    clip = Clip.from_frames((Image.new("RGB", (side, side), (at * 4, 0, 0)) for at in range(number)), 8)
    list(clip.sampled(4))
    tracemalloc.start()
    for frame in clip.frames():
        assert frame.image.size == (side, side)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < number * side * side * 3 / 10


@pytest.mark.parametrize("cut", [20, 200, 2000, -2])
@pytest.mark.parametrize("make", [lambda: _gif(6), lambda: Clip.from_frames(_frames(6)).data])
def test_a_file_that_breaks_off_is_refused(make: object, cut: int) -> None:
    data = make()  # type: ignore[operator]
    with pytest.raises(BadReply):
        Clip(data[:cut]).prove()


def test_a_clip_with_too_many_frames_is_refused_before_any_is_decoded() -> None:
    one = _gif(1)
    frame = one[one.index(b"\x2c", 13 + 768) : -1]
    endless = one[:-1] + frame * 20_000 + b";"
    with pytest.raises(BadReply, match="10,000 frames"):
        _ = Clip(endless).frame_seconds


def test_a_gif_without_an_end_is_refused() -> None:
    with pytest.raises(BadReply, match="breaks off"):
        _ = Clip(_gif(3)[:-1]).frame_seconds


def test_a_clip_that_claims_to_last_for_hours_is_refused() -> None:
    data = bytearray(Clip.from_frames(_frames(3)).data)
    at = data.index(b"ANMF")
    data[at + 20 : at + 23] = b"\xff\xff\xff"
    with pytest.raises(BadReply, match="16,777 seconds"):
        _ = Clip(bytes(data)).frame_seconds


def test_a_small_file_with_huge_frames_is_refused() -> None:
    data = bytearray(_gif(3))
    struct.pack_into("<HH", data, 6, 60_000, 60_000)
    with pytest.raises(BadReply, match="too large"):
        _ = Clip(bytes(data)).frame_seconds


def test_many_frames_of_a_fair_size_are_too_many_together() -> None:
    with pytest.raises(BadReply, match="over all frames"):
        ClipLimits(pixels=1000).check(11, 1.0, (10, 10))
    with pytest.raises(BadReply, match="too large"):
        _ = Clip(_gif(3), limits=PictureLimits(bytes=100)).frame_seconds


def test_a_strip_shows_frames_in_reading_order() -> None:
    clip = Clip.from_frames([Image.new("RGB", (32, 32), (grey,) * 3) for grey in (0, 80, 160, 240)], 4)
    sheet = clip.strip()
    assert [sheet.getpixel(at)[0] for at in ((5, 5), (50, 5), (5, 50), (50, 50))] == [0, 80, 160, 240]  # type: ignore[index]


def _mp4(number: int, suffix: str = "mp4", codec: str = "mpeg4") -> bytes:
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format=suffix) as container:
        stream = container.add_stream(codec, rate=8)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for at in range(number):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), (at * 15,) * 3))
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return buffer.getvalue()


@pytest.mark.extra("av")
@pytest.mark.parametrize(("suffix", "codec"), [("mp4", "mpeg4"), ("webm", "libvpx")])
def test_video_files_are_read(suffix: str, codec: str) -> None:
    pytest.importorskip("av")
    picture = Picture(_mp4(16, suffix, codec))
    assert picture.media_type == f"video/{suffix}"
    assert picture.size == (64, 48)
    picture.prove()
    clip = as_clip(picture)
    assert clip is not None
    assert len(clip.frame_seconds) == 16
    assert clip.seconds == pytest.approx(2, abs=0.01)
    greys = [frame.image.getpixel((30, 20))[0] for frame in clip.sampled(4)]  # type: ignore[index]
    assert greys == pytest.approx([0, 75, 150, 225], abs=6)
    assert picture.image.getpixel((30, 20))[0] < 6  # type: ignore[index]


@pytest.mark.extra("av")
def test_hostile_video_files_are_refused() -> None:
    pytest.importorskip("av")
    whole = _mp4(16)
    for data in (whole[:40], whole[: len(whole) // 2], whole[:8] + b"#EXTM3U\nfile:///etc/passwd"):
        with pytest.raises(BadReply):
            Picture(data).prove()
    with pytest.raises(BadReply, match="10 frames"):
        _ = Clip(whole, clip_limits=ClipLimits(frames=10)).frame_seconds
