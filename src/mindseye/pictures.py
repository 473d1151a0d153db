r"""Pictures in and out: one safe way to read them, one way to write them.

A picture is a float32 array `(C, H, W)` in $[0, 1]$ with $C = 1$ (grey) or $C = 3$ (red, green,
blue). Files may come from anywhere, so the reader goes by the first bytes and never by the name,
checks the size in the header before it decodes, and answers what it cannot read with one line.
"""

from __future__ import annotations

import os
import stat
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mindseye.errors import DataError, UsageError, listed
from mindseye.files import explained, write_bytes

__all__ = [
    "png_bytes",
    "read_picture",
    "read_pixels",
    "resized",
    "save_arrays",
    "save_picture",
    "scaled_image",
    "to_uint8",
]

MAX_PIXELS = 64_000_000
"""Pictures that claim more pixels than this are refused before they are decoded."""

MAX_BYTES = 256 * 2**20
"""Files larger than this are refused before they are read."""

FITS = ("inside", "stretched")
"""How a picture may be brought to a shape."""


def read_picture(
    source: str | Path | bytes,
    shape: tuple[int, int, int],
    *,
    max_pixels: int = MAX_PIXELS,
    arrays: bool = True,
    fit: str = "inside",
) -> np.ndarray:
    """Read a file, or the bytes of one, as a picture: float32 `(C, H, W)` in [0, 1].

    PNG, JPEG, GIF (first frame), BMP, WEBP and TIFF are read, and `.npy` or `.npz` arrays
    `(H, W)` or `(C, H, W)`. The picture is turned as its EXIF tag says, laid on black where it is
    transparent, converted to grey or colour, and resized.

    Arguments:
        source: A path, or the contents of a file.
        shape: The shape wanted, `(C, H, W)`.
        max_pixels: The largest picture to decode.
        arrays: Whether files of arrays are read too; they may unpack to much more than they are.
        fit: How it is resized: `inside` keeps its aspect and centres it on black, `stretched` fills
            the shape and does not.
    """
    if fit not in FITS:
        raise UsageError(f"`fit={fit!r}` is not known; expected {listed(FITS)}.")
    channels, height, width = _checked(shape)
    with _refused(_BYTES if isinstance(source, bytes) else str(source)):
        data = _data(source, arrays)
        planes = _planes(data, channels, max(height, width), max_pixels)
        return np.stack([_fitted(plane, height, width, fit) for plane in planes])


def read_pixels(
    source: str | Path | bytes, shape: tuple[int, int, int], *, max_pixels: int = MAX_PIXELS
) -> np.ndarray:
    """Read a picture that must have this shape, as bytes: uint8 `(C, H, W)`.

    It is decoded as `read_picture` decodes it, and not resized. Files of arrays are not read.

    Arguments:
        source: A path, or the contents of a file.
        shape: The shape it must have, `(C, H, W)`; it is converted to grey or colour.
        max_pixels: The largest picture to decode.
    """
    channels, height, width = _checked(shape)
    with _refused(_BYTES if isinstance(source, bytes) else str(source)):
        planes = _planes(_data(source, arrays=False), channels, None, max_pixels)
        w, h = planes[0].size
        if (w, h) != (width, height):
            raise _Unfit(f"has {w} x {h} pixels; expected {width} x {height}.")
        return np.stack([to_uint8(plane) for plane in planes])


def resized(pixels: np.ndarray, height: int, width: int, way: str = "lanczos") -> np.ndarray:
    """Bytes uint8 `(C, h, w)` at another size, by `lanczos` or as means of boxes (`box`).

    >>> resized(np.array([[[1, 2], [3, 5]]], dtype=np.uint8), 1, 1, "box")
    array([[[3]]], dtype=uint8)
    """
    if way not in _WAYS:
        raise UsageError(f"`way={way!r}` is not known; expected {listed(_WAYS)}.")
    exact = pixels.astype(np.float32) if way == "box" else pixels  # bytes are rounded twice
    planes = [Image.fromarray(plane).resize((width, height), _WAYS[way]) for plane in exact]
    return np.stack([np.rint(np.asarray(plane)).astype(np.uint8) for plane in planes])


def png_bytes(picture: Any) -> bytes:
    """A PNG file of an image, or of an array `(C, H, W)` or `(H, W)` in [0, 1]."""
    image = picture if isinstance(picture, Image.Image) else _image(to_uint8(picture))
    buffer = BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def save_picture(path: str | os.PathLike[str], picture: Any) -> Path:
    """Write an image or an array as a PNG file, atomically."""
    if Path(path).suffix.lower() != ".png":
        raise UsageError(f"`path={str(path)!r}` must end in '.png'; pictures are saved as PNG.")
    return write_bytes(path, png_bytes(picture))


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write named arrays as an `.npz` file, atomically."""
    file = BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return write_bytes(path, file.getvalue())


def to_uint8(array: Any) -> np.ndarray:
    """Round values in [0, 1] to 0…255; what lies outside is clipped, uint8 stays as it is.

    >>> to_uint8([0.0, 0.5, 1.0])
    array([  0, 128, 255], dtype=uint8)
    """
    array = np.asarray(array)
    if array.dtype == np.uint8:
        return array
    if np.isnan(array).any():
        raise UsageError(f"`array` has {np.isnan(array).sum()} values that are not numbers.")
    return np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)


def scaled_image(picture: Any, height: int, *, crisp: bool = False) -> Image.Image:
    """An array `(C, H, W)` in [0, 1] as an image in colours, so many pixels high.

    Arguments:
        picture: The array.
        height: Of the image.
        crisp: Whether pixels stay squares.
    """
    pixels = to_uint8(np.asarray(picture))
    pixels = pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)
    image = Image.fromarray(pixels).convert("RGB")
    way = Image.Resampling.NEAREST if crisp else Image.Resampling.LANCZOS
    return image.resize((round(height * image.width / image.height), height), way)


# Reading: bytes to planes, planes to the shape wanted.

_PLUGINS = {
    b"\x89PNG\r\n\x1a\n": "Png",
    b"\xff\xd8\xff": "Jpeg",
    b"GIF8": "Gif",
    b"BM": "Bmp",
    b"RIFF": "WebP",
    b"II*\0": "Tiff",
    b"MM\0*": "Tiff",
}
_BYTES = "The picture"
_NPZ = b"PK\x03\x04"
_ARRAYS = (b"\x93NUMPY", _NPZ)
_SHAPES = "(H, W), (1, H, W) or (3, H, W)"
_TURNS: dict[int, Any] = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # EXIF to Image.Transpose
_WAYS = {"lanczos": Image.Resampling.LANCZOS, "box": Image.Resampling.BOX}
_TOPS = {"bool": 1, "uint8": 255, "uint16": 65535}
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R 601, as Pillow


class _Unfit(Exception):
    """What is the matter with a picture, and a hint, where its name is not known."""


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Turn whatever a decoder raises into one line that names the picture."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(PIL|numpy)\.")
            yield
    except DataError:
        raise
    except _Unfit as error:
        raise DataError(f"{name} {error.args[0]}", *error.args[1:]) from None
    except Exception as error:
        if name == _BYTES:  # from anywhere: what a decoder says about them is nobody's business
            raise DataError(f"{name} cannot be read; it is damaged.") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{name} cannot be read as a picture ({reason}).") from error


def _checked(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    if len(shape) != 3 or shape[0] not in (1, 3) or min(shape) < 1:
        raise UsageError(f"`shape={shape}` is not (C, H, W) with C = 1 or 3 and H, W ≥ 1.")
    return shape


def _data(source: str | Path | bytes, arrays: bool) -> bytes:
    data = source if isinstance(source, bytes) else _contents(Path(source))
    if not arrays and data.startswith(_ARRAYS):
        raise _Unfit("is a file of arrays, which is not read here.")
    return data


def _contents(path: Path) -> bytes:
    with explained(path):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _Unfit("is not a file.", "Name a picture file.")
        if status.st_size > MAX_BYTES:
            raise _Unfit(f"has {status.st_size:,} bytes; the limit is {MAX_BYTES:,}.")
        return path.read_bytes()


def _planes(data: bytes, channels: int, side: int | None, max_pixels: int) -> list[Image.Image]:
    """One `L` (0…255) or `F` (0…1) image for each channel, not yet resized.

    Where a `side` is wanted, a large JPEG is decoded at a fraction of its size.
    """
    if not data:
        raise _Unfit("is empty (0 bytes).")
    if data.startswith(_ARRAYS):
        return _array_planes(_array(data), channels, max_pixels)
    image = _opened(data)
    _check_size(image.size, max_pixels)
    if side is not None:
        image.draft(None, (2 * side, 2 * side))
    image.load()
    turn = None
    with suppress(Exception):  # a damaged EXIF tag does not make the picture unreadable
        turn = _TURNS.get(image.getexif().get(0x0112))
    planes = _image_planes(image, channels)
    return planes if turn is None else [plane.transpose(turn) for plane in planes]


def _opened(data: bytes) -> Any:
    """The header, read by the one plugin it needs (Image.open would load them all)."""
    for start, name in _PLUGINS.items():
        if data.startswith(start):
            plugin = import_module(f"PIL.{name}ImagePlugin")
            return getattr(plugin, f"{name}ImageFile")(BytesIO(data))
    formats = "PNG, JPEG, GIF, BMP, WEBP, TIFF, .npy or .npz"
    raise _Unfit(f"is of no known format; expected {formats}.", "Convert it to PNG first.")


def _check_size(size: tuple[int, ...], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise _Unfit(f"has {width} x {height} pixels; the limit is {max_pixels:,} in all.")


def _image_planes(image: Any, channels: int) -> list[Image.Image]:
    if image.mode.startswith(("I", "F")):
        return [_wide(image)] * channels
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        image = Image.new("RGB", image.size)
        image.paste(clear, mask=clear.getchannel("A"))
    return list(image.convert("L" if channels == 1 else "RGB").split())


def _wide(image: Image.Image) -> Image.Image:
    """A 16-bit, 32-bit or floating point image as `F` in [0, 1]."""
    top = 1 if image.mode == "F" else 65535
    values = np.asarray(image, dtype=np.float32)
    _check_range(values, top)
    return Image.fromarray(values / top)


def _check_range(values: np.ndarray, top: int) -> None:
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise _Unfit(f"has {bad} values that are NaN or infinite.")
    low, high = values.min(), values.max()
    if low < 0 or high > top:
        raise _Unfit(f"has values from {low:g} to {high:g}; expected 0 to {top}.")


def _array(data: bytes) -> np.ndarray:
    if data.startswith(_NPZ):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            first, *others = archive.infolist()
            if others:
                raise _Unfit(f"has {1 + len(others)} arrays; expected one.")
            if first.file_size > MAX_BYTES:
                raise _Unfit(f"unpacks to {first.file_size:,} bytes; the limit is {MAX_BYTES:,}.")
            data = archive.read(first)
    return np.lib.format.read_array(BytesIO(data), allow_pickle=False)


def _array_planes(array: np.ndarray, channels: int, max_pixels: int) -> list[Image.Image]:
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.size == 0 or len(array) not in (1, 3):
        hint = "Channels come first: np.moveaxis(array, -1, 0) puts them there."
        raise _Unfit(f"is an array of shape {array.shape}; expected {_SHAPES}.", hint)
    _check_size(array.shape[:0:-1], max_pixels)
    planes = _unit(array)
    if len(planes) > channels:
        planes = np.tensordot(_LUMA, planes, 1)[None]
    return [Image.fromarray(plane) for plane in planes.repeat(channels // len(planes), 0)]


def _unit(array: np.ndarray) -> np.ndarray:
    """An array of an allowed type as float32 in [0, 1]."""
    if array.dtype.kind == "f":
        _check_range(array, 1)
        return array.astype(np.float32)
    if array.dtype.name not in _TOPS:
        raise _Unfit(f"is an array of {array.dtype}; expected uint8, uint16, bool or a float.")
    return array.astype(np.float32) / np.float32(_TOPS[array.dtype.name])


def _fitted(plane: Image.Image, height: int, width: int, fit: str) -> np.ndarray:
    """Resize to `(H, W)`; what the picture does not fill is black."""
    w, h = (width, height) if fit == "stretched" else _inside(plane, height, width)
    inner = np.asarray(plane.resize((w, h), Image.Resampling.BICUBIC), dtype=np.float32)
    y, x = (height - h) // 2, (width - w) // 2
    fitted = np.zeros((height, width), dtype=np.float32)
    fitted[y : y + h, x : x + w] = (inner / (255 if plane.mode == "L" else 1)).clip(0, 1)
    return fitted


def _inside(plane: Image.Image, height: int, width: int) -> tuple[int, int]:
    """The largest width and height inside `(H, W)` that keep the aspect."""
    ratio = min(height / plane.height, width / plane.width)
    return max(1, round(plane.width * ratio)), max(1, round(plane.height * ratio))


def _image(pixels: np.ndarray) -> Image.Image:
    if pixels.ndim == 3 and len(pixels) in (1, 3):
        pixels = pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)
    elif pixels.ndim != 2:
        raise UsageError(f"`picture` has shape {pixels.shape}; expected {_SHAPES}.")
    return Image.fromarray(np.ascontiguousarray(pixels))
