"""Pictures as inputs of networks, and the largest outputs."""

import os
import sys

import numpy as np
import pytest

import polyte

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")


@pytest.fixture(scope="module")
def pillow():
    return pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture
def picture(pillow, tmp_path):
    """4 x 2 pixels of RGB, all different."""
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    pillow.fromarray(pixels).save(tmp_path / "a.png")
    return tmp_path / "a.png", pixels


@pytest.mark.parametrize(
    "layout,order",
    [
        ("nchw", lambda p: p.transpose(2, 0, 1)[None]),
        ("nhwc", lambda p: p[None]),
        ("chw", lambda p: p.transpose(2, 0, 1)),
        ("hwc", lambda p: p),
    ],
)
def test_layouts(picture, layout, order):
    path, pixels = picture
    np.testing.assert_array_equal(polyte.image(path, layout=layout, dtype="u8"), order(pixels))
    scaled = polyte.image(str(path), layout=layout)
    assert scaled.dtype == np.float32 and scaled.flags.c_contiguous
    np.testing.assert_allclose(scaled, order(pixels) / 255, rtol=1e-6)


def test_channels_and_batches(picture, pillow, tmp_path):
    path, pixels = picture
    assert polyte.image(path, channels=4).shape == (1, 4, 2, 4)
    assert polyte.image(path, channels=1).shape == (1, 1, 2, 4)
    assert polyte.image(path, layout="hw", dtype=np.uint8).shape == (2, 4)
    pillow.fromarray(pixels[..., 0]).save(tmp_path / "grey.png")
    assert polyte.image(tmp_path / "grey.png").shape == (1, 1, 2, 4)
    two = polyte.image([path, path])
    assert two.shape == (2, 3, 2, 4) and (two[0] == two[1]).all()
    pillow.fromarray(pixels[:1]).save(tmp_path / "low.jpg")
    with pytest.raises(ValueError, match="low.jpg is 4 x 1, and .*a.png 4 x 2, expected images"):
        polyte.image([path, tmp_path / "low.jpg"])


def test_what_is_no_image(picture, tmp_path):
    path, _ = picture
    with pytest.raises(ValueError, match="did you mean 'nchw'"):
        polyte.image(path, layout="nchv")
    with pytest.raises(ValueError, match="of images one of"):
        polyte.image(path, dtype="bf16")
    with pytest.raises(FileNotFoundError, match="b.png: there is no such file, did you mean"):
        polyte.image(tmp_path / "b.png")
    (tmp_path / "text.png").write_text("no pixels")
    with pytest.raises(polyte.errors.InvalidInput, match="is no image that Pillow reads"):
        polyte.image(tmp_path / "text.png")


def test_a_session_reads_images(pillow, tmp_path):
    polyte.compile_onnx(DIGITS, tmp_path / "digits.polyte")
    session = polyte.Session(tmp_path / "digits.polyte")
    ((name, _, shape),) = session.inputs
    pixels = np.random.default_rng(1).integers(0, 256, shape[-2:]).astype(np.uint8)
    pillow.fromarray(pixels).save(tmp_path / "digit.png")
    by_file = session(tmp_path / "digit.png")
    by_array = session((pixels / np.float32(255)).astype(np.float32).reshape(shape))
    for key, value in by_array.items():
        np.testing.assert_array_equal(by_file[key], value)
    network = polyte.Network(DIGITS)(**{name: str(tmp_path / "digit.png")})
    np.testing.assert_array_equal(network[key], value)
    pillow.fromarray(pixels[:3]).save(tmp_path / "low.png")
    with pytest.raises(ValueError, match="images are not resized"):
        session(tmp_path / "low.png")


def test_layouts_of_inputs():
    from polyte.images import _layout_of

    assert _layout_of((1, 3, 224, 224)) == ("nchw", 3)
    assert _layout_of((-1, 224, 224, 3)) == ("nhwc", 3)
    assert _layout_of((-1, -1, -1, -1)) == ("nchw", None)
    assert _layout_of((3, 8, 8)) == ("chw", 3) and _layout_of((8, 8, 1)) == ("hwc", 1)
    assert _layout_of((28, 28)) == ("hw", 1)
    assert _layout_of((1, 7, 8, 8)) == ("", None) and _layout_of((5,)) == ("", None)


def test_without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="Pillow is not installed") as caught:
        polyte.image("a.png")
    assert isinstance(caught.value, polyte.errors.Unsupported)


def test_the_largest(tmp_path):
    scores = np.array([0.1, 0.5, 0.5, 0.2], np.float32)
    assert polyte.top(scores, 3) == [(1, 0.5), (2, 0.5), (3, pytest.approx(0.2))]
    assert polyte.top(scores[None], 1, labels=list("abcd")) == [[("b", 0.5)]]
    (tmp_path / "labels.txt").write_text("cat\ndog\nfox\nowl\n")
    assert polyte.top(scores, 1, tmp_path / "labels.txt") == [("dog", 0.5)]
    assert [index for index, _ in polyte.top(np.array([3, 1, 2], np.uint8), 9)] == [0, 2, 1]
    with pytest.raises(ValueError, match="2 labels, expected 4"):
        polyte.top(scores, labels=["a", "b"])
    with pytest.raises(ValueError, match="k is 0"):
        polyte.top(scores, 0)
    with pytest.raises(TypeError, match="labels is 3"):
        polyte.top(scores, labels=3)
