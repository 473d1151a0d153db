import io
import random
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image, ImageOps

from mindseye import pictures
from mindseye.errors import DataError, UsageError
from mindseye.pictures import (
    png_bytes,
    read_picture,
    read_pixels,
    resized,
    save_picture,
    to_uint8,
)


def colours(height=12, width=16):
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def encoded(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def array_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


# Round trips


@pytest.mark.parametrize("shape", [(1, 12, 16), (3, 12, 16)])
def test_what_is_saved_is_read_back(tmp_path, shape):
    pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    path = save_picture(tmp_path / "new" / "x.png", pixels / 255)
    read = read_picture(path, shape)
    assert read.dtype == np.float32
    assert np.array_equal(to_uint8(read), pixels)


def test_an_image_and_a_flat_array_are_saved_too(tmp_path):
    image = Image.fromarray(colours())
    path = save_picture(str(tmp_path / "x.PNG"), image)
    assert np.array_equal(np.asarray(Image.open(path)), np.asarray(image))
    assert Image.open(io.BytesIO(png_bytes(np.zeros((4, 5))))).size == (5, 4)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "WEBP"])
def test_every_lossless_format_gives_the_same_pixels(format):
    data = encoded(Image.fromarray(colours()), format, **{"lossless": True})
    expected = np.moveaxis(colours(), -1, 0)
    assert np.array_equal(to_uint8(read_picture(data, (3, 12, 16))), expected)


@pytest.mark.parametrize("format", ["JPEG", "GIF"])
def test_lossy_formats_come_close(format):
    ramp = np.linspace(0, 255, 64).astype(np.uint8) * np.ones((32, 1), np.uint8)
    read = read_picture(encoded(Image.fromarray(ramp), format), (1, 32, 64))
    assert np.abs(read[0] - ramp / 255).max() < 0.02


def test_gif_gives_its_first_frame():
    first, second = Image.new("L", (8, 8), 255), Image.new("L", (8, 8), 0)
    data = encoded(first, "GIF", save_all=True, append_images=[second])
    assert read_picture(data, (1, 8, 8)).min() == 1


def test_compressed_tiff_is_read():
    data = encoded(Image.fromarray(colours()), "TIFF", compression="tiff_lzw")
    assert np.array_equal(to_uint8(read_picture(data, (3, 12, 16)))[0], colours()[..., 0])


def test_a_large_jpeg_is_reduced_like_its_full_decoding():
    ramp = np.linspace(0, 255, 1600).astype(np.uint8) * np.ones((1600, 1), np.uint8)
    read = read_picture(encoded(Image.fromarray(ramp), "JPEG"), (1, 16, 16))
    assert np.abs(read[0, 8] - (np.arange(16) + 0.5) / 16).max() < 0.01


# Modes


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_png_mode_becomes_grey_or_colour(mode, channels):
    image = Image.fromarray(colours()).convert(mode)
    expected = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    read = read_picture(encoded(image), (channels, 12, 16))
    assert np.array_equal(
        to_uint8(read).squeeze(),
        np.moveaxis(expected, -1, 0).squeeze() if channels == 3 else expected,
    )


@pytest.mark.parametrize("channels", [1, 3])
def test_transparent_is_black_and_half_transparent_half_as_bright(channels):
    image = Image.new("RGBA", (3, 1), (255, 255, 255, 255))
    image.putpixel((1, 0), (255, 255, 255, 128))
    image.putpixel((2, 0), (255, 255, 255, 0))
    read = to_uint8(read_picture(encoded(image), (channels, 1, 3)))
    assert read.tolist() == [[[255, 128, 0]]] * channels


def test_a_transparent_palette_entry_is_black():
    image = Image.new("P", (2, 1))
    image.putpalette([200, 100, 50, 255, 255, 255])
    image.putpixel((1, 0), 1)
    read = to_uint8(read_picture(encoded(image, transparency=1), (3, 1, 2)))
    assert read[:, 0].tolist() == [[200, 0], [100, 0], [50, 0]]


def test_cmyk_is_converted():
    image = Image.new("CMYK", (8, 8), (255, 0, 0, 0))  # pure cyan
    read = read_picture(encoded(image, "TIFF"), (3, 8, 8))
    assert read[:, 0, 0].tolist() == [0, 1, 1]
    assert read_picture(encoded(image, "JPEG", quality=95), (3, 8, 8))[0].max() < 0.05


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
@pytest.mark.parametrize("channels", [1, 3])
def test_sixteen_bits_keep_their_range(format, channels):
    values = np.array([[0, 32768, 65535]], dtype=np.uint16)
    read = read_picture(encoded(Image.fromarray(values), format), (channels, 1, 3))
    assert read == pytest.approx(np.broadcast_to(values / 65535, (channels, 1, 3)), abs=1e-6)


def test_floating_point_tiff_is_read_as_it_is():
    values = np.array([[0.0, 0.25, 1.0]], dtype=np.float32)
    assert np.array_equal(
        read_picture(encoded(Image.fromarray(values), "TIFF"), (1, 1, 3))[0], values
    )


def test_floating_point_tiff_beyond_one_is_refused():
    data = encoded(Image.fromarray(np.array([[0.0, 7.5]], dtype=np.float32)), "TIFF")
    with pytest.raises(DataError, match=r"has values from 0 to 7\.5; expected 0 to 1\."):
        read_picture(data, (1, 1, 2))


# Geometry


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["PNG", "TIFF", "WEBP"])
def test_exif_orientation_is_obeyed(orientation, format):
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(colours())
    data = encoded(image, format, exif=exif, **{"lossless": True})
    plain = Image.open(io.BytesIO(encoded(image, "PNG", exif=exif)))
    upright = np.moveaxis(np.asarray(ImageOps.exif_transpose(plain)), -1, 0)
    assert np.array_equal(to_uint8(read_picture(data, upright.shape)), upright)


def test_jpeg_on_its_side_is_turned():
    image = Image.new("L", (32, 16))
    image.paste(255, (0, 0, 16, 16))  # the left half is white
    exif = Image.Exif()
    exif[0x0112] = 6  # turned a quarter clockwise: left becomes top
    read = read_picture(encoded(image, "JPEG", exif=exif), (1, 32, 16))
    assert read[0, :14].min() > 0.95
    assert read[0, 18:].max() < 0.05


def test_aspect_is_kept_and_the_rest_is_black():
    read = read_picture(encoded(Image.new("L", (40, 20), 255)), (1, 16, 16))
    assert read[0, 4:12].min() == 1
    assert read[0, :4].max() == read[0, 12:].max() == 0


def test_a_stretched_picture_fills_the_shape():
    image = Image.new("L", (40, 20))
    image.paste(255, (20, 0, 40, 20))
    read = read_picture(encoded(image), (1, 16, 16), fit="stretched")
    assert read[0, :, :7].max() < 0.05
    assert read[0, :, 9:].min() > 0.95


def test_an_unknown_fit_is_refused():
    with pytest.raises(UsageError, match=r"`fit='crop'` is not known; expected 'inside' or 'str"):
        read_picture(encoded(Image.new("L", (8, 8))), (1, 8, 8), fit="crop")


def test_a_thin_line_keeps_at_least_one_pixel():
    assert read_picture(encoded(Image.new("L", (1000, 1), 255)), (1, 8, 8)).sum() == 8


def test_reducing_averages_instead_of_skipping():
    checks = np.indices((64, 64)).sum(0) % 2 * 255
    read = read_picture(encoded(Image.fromarray(checks.astype(np.uint8))), (1, 8, 8))
    assert np.abs(read - 0.5).max() < 0.02


@pytest.mark.parametrize("shape", [(2, 8, 8), (1, 0, 8), (8, 8)])
def test_a_shape_that_is_not_a_picture_is_refused(shape):
    with pytest.raises(UsageError, match=r"`shape=.*is not \(C, H, W\)"):
        read_picture(encoded(Image.new("L", (8, 8))), shape)


# Arrays


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_floating_point_arrays_come_back_exactly(dtype):
    array = np.random.default_rng(0).random((3, 6, 5)).astype(dtype)
    assert np.array_equal(read_picture(array_bytes(array), (3, 6, 5)), array.astype(np.float32))


@pytest.mark.parametrize(("dtype", "top"), [("bool", 1), ("uint8", 255), ("uint16", 65535)])
def test_integer_arrays_span_their_range(dtype, top):
    array = np.array([[0, top]], dtype=dtype)
    assert read_picture(array_bytes(array), (3, 1, 2)).tolist() == [[[0, 1]]] * 3


def test_a_colour_array_becomes_grey_as_an_image_does():
    array = np.moveaxis(colours(), -1, 0)
    grey = read_picture(encoded(Image.fromarray(colours())), (1, 12, 16))
    assert np.abs(read_picture(array_bytes(array), (1, 12, 16)) - grey).max() < 0.003


def test_npz_with_one_array_is_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", picture=np.full((4, 4), 0.5))
    assert read_picture(tmp_path / "x.npz", (1, 4, 4)).tolist() == np.full((1, 4, 4), 0.5).tolist()


def test_npz_with_two_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    with pytest.raises(DataError, match="has 2 arrays; expected one"):
        read_picture(tmp_path / "x.npz", (1, 2, 2))


def test_npz_bomb_is_refused_unopened(monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(5000))
    monkeypatch.setattr(pictures, "MAX_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to 5,000 bytes; the limit is 1,000"):
        read_picture(buffer.getvalue(), (1, 2, 2))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0.0, np.nan]]), "has 1 values that are NaN or infinite"),
        (np.array([[0.0, np.inf]]), "has 1 values that are NaN or infinite"),
        (np.array([[0.0, 255.0]]), "has values from 0 to 255; expected 0 to 1"),
        (np.array([[-1.0, 1.0]]), "has values from -1 to 1; expected 0 to 1"),
        (np.zeros((2, 4, 4)), r"shape \(2, 4, 4\); expected \(H, W\), \(1, H, W\) or \(3, H, W\)"),
        (np.zeros((4, 4, 3)), r"Channels come first: np\.moveaxis"),
        (np.zeros((0, 4)), r"shape \(1, 0, 4\)"),
        (np.zeros((4, 4), np.int64), "array of int64; expected uint8, uint16, bool or a float"),
        (np.zeros((4, 4), complex), "array of complex128"),
        (np.array([[None]]), "cannot be read"),
    ],
)
def test_arrays_that_are_no_pictures_are_refused(array, message):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        read_picture(buffer.getvalue(), (1, 4, 4))


# What is refused


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(width, height):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b"")


def test_a_bomb_is_refused_from_its_header():
    start = time.perf_counter()
    message = "has 50000 x 50000 pixels; the limit is 64,000,000 in all"
    with pytest.raises(DataError, match=message):
        read_picture(bomb(50_000, 50_000), (1, 8, 8))
    assert time.perf_counter() - start < 0.5


def test_the_pixel_limit_can_be_set():
    data = encoded(Image.new("L", (20, 20)))
    assert read_picture(data, (1, 8, 8), max_pixels=400).max() == 0
    with pytest.raises(DataError, match="has 20 x 20 pixels; the limit is 399 in all"):
        read_picture(data, (1, 8, 8), max_pixels=399)
    with pytest.raises(DataError, match="has 5 x 4 pixels; the limit is 19 in all"):
        read_picture(array_bytes(np.zeros((4, 5))), (1, 8, 8), max_pixels=19)


def test_a_large_file_is_refused_unread(tmp_path, monkeypatch):
    path = save_picture(tmp_path / "x.png", colours().mean(-1) / 255)
    monkeypatch.setattr(pictures, "MAX_BYTES", 10)
    with pytest.raises(DataError, match=r"x\.png has \d+ bytes; the limit is 10\."):
        read_picture(path, (1, 8, 8))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.png: No such file or directory"):
        read_picture(tmp_path / "none.png", (1, 8, 8))


def test_a_folder_is_not_a_picture(tmp_path):
    with pytest.raises(DataError, match=r"is not a file\. Name a picture file\."):
        read_picture(tmp_path, (1, 8, 8))


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "x.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"x\.png is empty \(0 bytes\)"):
        read_picture(tmp_path / "x.png", (1, 8, 8))


def test_other_formats_are_refused_whatever_their_name(tmp_path):
    (tmp_path / "x.png").write_bytes(b"<svg></svg>")
    with pytest.raises(DataError, match=r"is of no known format; expected PNG, .* to PNG first"):
        read_picture(tmp_path / "x.png", (1, 8, 8))


def test_an_allowed_format_is_read_whatever_its_name(tmp_path):
    (tmp_path / "x.txt").write_bytes(encoded(Image.new("L", (8, 8), 255)))
    assert read_picture(tmp_path / "x.txt", (1, 8, 8)).min() == 1


def test_a_name_with_a_zero_byte_is_refused():
    with pytest.raises(DataError, match="cannot be read as a picture"):
        read_picture("a\0.png", (1, 8, 8))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"])
def test_a_truncated_file_is_refused(format):
    data = encoded(Image.fromarray(colours(64, 64)), format)
    with pytest.raises(DataError, match="The picture cannot be read") as caught:
        read_picture(data[: len(data) // 2], (3, 8, 8))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "npy"])
def test_mutated_files_are_read_or_refused(format):
    pixels = colours(24, 24)
    data = (
        array_bytes(pixels[..., 0]) if format == "npy" else encoded(Image.fromarray(pixels), format)
    )
    draw = random.Random(format)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(draw.choice([1, 2, 8])):
            changed[int(len(data) * draw.random() ** 3)] = draw.randrange(256)
        with suppress(DataError):  # and nothing else
            read = read_picture(bytes(changed), (3, 8, 8))
            assert read.shape == (3, 8, 8)
            assert 0 <= read.min() <= read.max() <= 1


# Bytes of pictures whose size is known


def test_pixels_are_read_as_they_are_stored(tmp_path):
    (tmp_path / "x.png").write_bytes(encoded(Image.fromarray(colours(300, 40))))
    pixels = read_pixels(tmp_path / "x.png", (3, 300, 40))
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels, np.moveaxis(colours(300, 40), -1, 0))


def test_a_large_jpeg_is_not_decoded_at_a_fraction_of_its_size():
    data = encoded(Image.fromarray(colours(1024, 8)), "JPEG", quality=100, subsampling=0)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    assert np.array_equal(read_pixels(data, (1, 1024, 8))[0], expected)
    with pytest.raises(DataError, match="has 8 x 1024 pixels; expected 1 x 2"):
        read_pixels(data, (3, 2, 1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (encoded(Image.fromarray(colours(12, 16))), "has 16 x 12 pixels; expected 12 x 16"),
        (array_bytes(np.zeros((16, 12))), "is a file of arrays, which is not read here"),
        (bomb(50_000, 50_000), "has 50000 x 50000 pixels; the limit is 64,000,000 in all"),
        (b"", "is empty"),
    ],
)
def test_pixels_of_another_size_or_kind_are_refused(data, message):
    with pytest.raises(DataError, match=message):
        read_pixels(data, (3, 16, 12))


def test_the_shape_of_pixels_is_checked():
    with pytest.raises(UsageError, match=r"`shape=\(2, 4, 4\)` is not \(C, H, W\)"):
        read_pixels(b"", (2, 4, 4))


def test_boxes_are_averaged_and_rounded_once():
    pixels = np.moveaxis(colours(12, 16), -1, 0)
    means = pixels.reshape(3, 6, 2, 8, 2).mean((2, 4))
    assert np.abs(resized(pixels, 6, 8, "box") - means).max() <= 0.5
    assert np.array_equal(resized(pixels, 12, 16, "box"), pixels)


def test_lanczos_is_that_of_pillow():
    pixels = np.moveaxis(colours(12, 16), -1, 0)
    small = Image.fromarray(colours(12, 16)).resize((5, 7), Image.Resampling.LANCZOS)
    assert np.array_equal(resized(pixels, 7, 5), np.moveaxis(np.asarray(small), -1, 0))
    with pytest.raises(UsageError, match=r"`way='cubic'` .* expected 'lanczos' or 'box'"):
        resized(pixels, 7, 5, "cubic")


# Writing


def test_to_uint8_rounds_clips_and_leaves_bytes_alone():
    assert to_uint8(np.array([-1, 0.5 / 255 + 1e-9, 254.4 / 255, 2])).tolist() == [0, 1, 254, 255]
    assert to_uint8(np.array([7], dtype=np.uint8)).tolist() == [7]


def test_to_uint8_refuses_what_is_not_a_number():
    with pytest.raises(UsageError, match="`array` has 2 values that are not numbers"):
        to_uint8(np.array([np.nan, 0, np.nan]))


def test_only_png_names_are_written(tmp_path):
    with pytest.raises(UsageError, match=r"x\.jpg'` must end in '\.png'"):
        save_picture(tmp_path / "x.jpg", np.zeros((4, 4)))


def test_an_array_of_another_shape_is_not_written():
    with pytest.raises(UsageError, match=r"`picture` has shape \(2, 4, 4\); expected \(H, W\)"):
        png_bytes(np.zeros((2, 4, 4)))


def test_importing_loads_no_plugin_no_font_and_no_torch():
    code = (
        "import sys, mindseye.pictures;"
        "print([m for m in sys.modules if 'Plugin' in m or m in ('PIL.ImageFont', 'torch')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
