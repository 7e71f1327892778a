"""Pictures as inputs of networks, and the largest of their outputs. Files are read by Pillow,
where it is installed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _polyte as _core, errors
from ._options import existing, text_of
from .expr import dtype_name

if TYPE_CHECKING:
    from PIL.Image import Image

_ENDINGS = (".png", ".jpg", ".jpeg")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}  # by the number of channels
_LAYOUTS = ("nchw", "nhwc", "chw", "hwc", "hw")
_TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "u8": np.uint8,
          "i32": np.int32, "i64": np.int64}  # fmt: skip


def is_image(value: Any) -> bool:
    """The path of a picture, or several."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(is_image(each) for each in value)
    return isinstance(value, (str, os.PathLike)) and str(value).lower().endswith(_ENDINGS)


def _opened(path: Any) -> Image:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise errors.MissingModule(
            f"{os.fspath(path)}: Pillow is not installed, which reads images: pip install pillow, "
            "or give an array"
        ) from None
    try:
        with Image.open(existing(path)) as opened:
            opened.load()
            return opened
    except UnidentifiedImageError:
        raise errors.InvalidInput(f"{os.fspath(path)}: is no image that Pillow reads") from None
    except (OSError, SyntaxError) as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.InvalidInput(f"{os.fspath(path)}: cannot be read: {error}") from None


def image(
    path: Any, *, layout: str = "nchw", dtype: Any = "f32", channels: int | None = None
) -> np.ndarray:
    """A .png or .jpg as an array. Of floating-point types elements are from 0 to 1, else from 0 to
    255; nothing is resized or normalised.

    path: a file, or a list of files of one size, which then follow each other along n. layout:
    "nchw", "nhwc", "chw", "hwc" or "hw". channels: 1 (grey), 3 (RGB) or 4 (RGBA); the image's own
    where it is not given, and 1 of "hw". Raises MissingModule (an ImportError) without Pillow,
    MissingFile, InvalidInput, UsageError.
    """
    if layout not in _LAYOUTS:
        meant = _core.did_you_mean(str(layout), list(_LAYOUTS))
        raise errors.UsageError(f"layout {layout!r}: expected one of {', '.join(_LAYOUTS)}{meant}")
    name = dtype_name(dtype)
    if name not in _TYPES:
        raise errors.UsageError(f"dtype {dtype!r}: of images one of {', '.join(_TYPES)}")
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if len(paths) != 1 and layout[0] != "n":
        raise errors.UsageError(f"layout {layout!r} is of one image, got {len(paths)}")
    pixels = [_pixels(each, 1 if layout == "hw" else channels) for each in paths]
    for each, other in zip(paths, pixels):
        if other.shape != pixels[0].shape:
            raise errors.InvalidInput(
                f"{os.fspath(each)} is {_size(other)}, and {os.fspath(paths[0])} "
                f"{_size(pixels[0])}, expected images of one size"
            )
    whole = np.stack(pixels)
    if layout in ("nchw", "chw"):
        whole = whole.transpose(0, 3, 1, 2)
    if layout == "hw":
        whole = whole[..., 0]
    whole = whole if layout[0] == "n" else whole[0]
    made = np.ascontiguousarray(whole, _TYPES[name])
    return made / made.dtype.type(255) if name[0] == "f" else made


def _pixels(path: Any, channels: int | None) -> np.ndarray:
    """[H, W, C] in u8."""
    opened = _opened(path)
    if channels is None:
        channels = {"L": 1, "1": 1, "RGBA": 4, "LA": 4, "PA": 4}.get(opened.mode, 3)
    if channels not in _MODES:
        raise errors.UsageError(f"channels is {channels!r}, expected 1, 3 or 4")
    pixels = np.asarray(opened.convert(_MODES[channels]), np.uint8)
    return pixels.reshape(*pixels.shape[:2], channels)


def _size(pixels: np.ndarray) -> str:
    return f"{pixels.shape[1]} x {pixels.shape[0]}"


def _layout_of(shape: Sequence[int]) -> tuple[str, int | None]:
    """Layout and channels of an input of this shape; -1 is any extent. Channels come first where
    both places could have them."""
    if len(shape) == 2:
        return "hw", 1
    batch = "n" if len(shape) == 4 else ""
    if len(shape) in (3, 4):
        if shape[-3] in _MODES:
            return f"{batch}chw", shape[-3]
        if shape[-1] in _MODES:
            return f"{batch}hwc", shape[-1]
        if shape[-3] == -1:
            return f"{batch}chw", None
    return "", None


def fitted_image(path: Any, name: str, dtype: str, shape: Sequence[int]) -> np.ndarray:
    """The image of an input of a network; its size has to be the input's."""
    layout, channels = _layout_of(shape)
    if not layout:
        raise errors.InvalidInput(
            f"input '{name}' has shape {list(shape)}, which is no image's: expected [N, C, H, W], "
            "[N, H, W, C], the same without N, or [H, W], with 1, 3 or 4 channels"
        )
    made = image(path, layout=layout, dtype=dtype, channels=channels)
    if any(want not in (-1, got) for want, got in zip(shape, made.shape)):
        raise errors.InvalidInput(
            f"input '{name}': {path} has shape {list(made.shape)} ({layout.upper()}), expected "
            f"{list(shape)}: images are not resized"
        )
    return made


def top(scores: Any, k: int = 5, labels: Any = None) -> list[Any]:
    """The k largest scores, the largest first, as (index, score); of equal ones the first. scores:
    an array, of whose last dimension they are the largest; of more than one dimension a list for
    each row.

    labels: texts in place of indices, or the path of a file with one in each line. Raises
    InvalidInput, UsageError.
    """
    scores = np.asarray(scores)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise errors.UsageError(f"k is {k!r}, expected a number from 1")
    if scores.ndim == 0:
        raise errors.InvalidInput("top of a single number, expected an array")
    names = _labels(labels, scores.shape[-1])
    if scores.ndim > 1:
        return [top(row, k, names) for row in scores.reshape(-1, scores.shape[-1])]
    order = np.argsort(-scores.astype(np.float64), kind="stable")[:k]
    return [(names[i] if names else int(i), scores[i].item()) for i in order]


def _labels(labels: Any, count: int) -> list[str] | None:
    if labels is None:
        return None
    if isinstance(labels, (str, os.PathLike)):
        labels = text_of(labels).splitlines()
    names = [str(each) for each in _iterated(labels)]
    if len(names) < count:
        raise errors.InvalidInput(f"{len(names)} labels, expected {count}, one for each score")
    return names


def _iterated(labels: Any) -> Iterable[Any]:
    try:
        return iter(labels)
    except TypeError:
        raise errors.ArgumentError(
            f"labels is {labels!r}, expected texts or the path of a file"
        ) from None
