from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch

from mindseye.errors import DataError, NumericError, UsageError
from mindseye.tensors import is_finite, read_tensors, write_tensors

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]


def sample() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "decoder.weight": torch.randn(3, 4, generator=generator),
        "decoder.bias": torch.randn(3, generator=generator).half(),
        "count": torch.tensor(17),
        "empty": torch.empty(0, 5),
        "mask": torch.tensor([True, False, True]),
    }


def shapes(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name].dtype == expected[name].dtype
        assert found[name].shape == expected[name].shape
        assert torch.equal(found[name], expected[name])


def header_of(path: Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def write_with_header(path: Path, header: bytes, numbers: bytes) -> Path:
    path.write_bytes(len(header).to_bytes(8, "little") + header + numbers)
    return path


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (2, 3, 4)])
def test_tensors_come_back_as_they_were_stored(tmp_path, dtype, shape):
    tensor = torch.randint(0, 2, shape).to(dtype)
    write_tensors(tmp_path / "w", {"x": tensor}, {"made": "today"})
    assert_equal(read_tensors(tmp_path / "w"), {"x": tensor})


def test_our_files_are_read_by_safetensors_and_its_files_by_us(tmp_path):
    write_tensors(tmp_path / "ours", sample(), {"who": "me", "when": "now"})
    assert_equal(safetensors.torch.load_file(tmp_path / "ours"), sample())
    with safetensors.safe_open(tmp_path / "ours", "pt") as file:
        assert file.metadata() == {"who": "me", "when": "now"}
    safetensors.torch.save_file(sample(), tmp_path / "theirs", {"who": "they"})
    assert_equal(read_tensors(tmp_path / "theirs", shapes(sample())), sample())


def test_the_same_tensors_give_the_same_bytes(tmp_path):
    metadata = {str(number): "x" for number in range(20)}
    shuffled = dict(random.Random(0).sample(list(metadata.items()), 20))
    first = write_tensors(tmp_path / "a", sample(), metadata).read_bytes()
    second = write_tensors(tmp_path / "b", dict(reversed(sample().items())), shuffled).read_bytes()
    assert first == second


def test_strided_shared_and_channels_last_tensors_are_stored_by_value(tmp_path):
    base = torch.arange(24.0).reshape(2, 3, 2, 2)
    views = {"t": base[0, 0].T, "same": base, "last": base.to(memory_format=torch.channels_last)}
    write_tensors(tmp_path / "w", views)
    assert_equal(read_tensors(tmp_path / "w"), views)


def test_parameters_are_stored_without_their_gradients(tmp_path):
    layer = torch.nn.Linear(2, 2)
    write_tensors(tmp_path / "w", dict(layer.named_parameters()))
    assert not read_tensors(tmp_path / "w")["weight"].requires_grad


def test_what_is_read_may_be_written_to(tmp_path):
    write_tensors(tmp_path / "w", sample())
    found = read_tensors(tmp_path / "w")
    found["decoder.weight"].fill_(1.0)
    assert_equal(read_tensors(tmp_path / "w"), sample())


def test_types_that_cannot_be_read_back_are_not_written(tmp_path):
    with pytest.raises(UsageError, match=r"Tensor 'z' is torch.complex64; expected 'BOOL', 'U8'"):
        write_tensors(tmp_path / "w", {"z": torch.zeros(2, dtype=torch.complex64)})


def test_non_finite_values_are_neither_written_nor_read(tmp_path):
    for bad in (float("nan"), float("inf")):
        tensors = {"ok": torch.zeros(2), "bad": torch.tensor([0.0, bad]).bfloat16()}
        with pytest.raises(NumericError, match="Tensor 'bad' holds non-finite values"):
            write_tensors(tmp_path / "w", tensors)
        safetensors.torch.save_file(tensors, tmp_path / "w")
        with pytest.raises(DataError, match="w: tensor 'bad' holds non-finite values"):
            read_tensors(tmp_path / "w")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_large_numbers_are_finite_even_if_their_sum_is_not(dtype):
    largest = torch.full((9,), torch.finfo(dtype).max, dtype=dtype)
    assert is_finite(largest)
    for bad in (float("nan"), float("inf"), -float("inf")):
        largest[4] = bad
        assert not is_finite(largest)
    assert not is_finite(torch.tensor([float("inf"), -float("inf")], dtype=dtype))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.safetensors: No such file or directory"):
        read_tensors(tmp_path / "none.safetensors")
    with pytest.raises(DataError, match="Is a directory"):
        read_tensors(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder.weight": (4, 3)}, r"'decoder.weight' has shape \(3, 4\); expected \(4, 3\)"),
        ({"decoder.scale": (3,)}, r"w lacks tensor 'decoder.scale' of shape \(3,\)\."),
        ({"mask": None}, r"tensor 'mask' of shape \(3,\) is not expected"),
        (
            {"decoder.bias": None, "decoder.biass": (3,)},
            r"lacks tensor 'decoder.biass' of shape \(3,\). Did you mean 'decoder.bias'\?",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named_with_both_shapes(tmp_path, change, message):
    write_tensors(tmp_path / "w", sample())
    expected = shapes(sample()) | {n: torch.Size(s) for n, s in change.items() if s is not None}
    for name in [name for name, shape in change.items() if shape is None]:
        del expected[name]
    with pytest.raises(DataError, match=message):
        read_tensors(tmp_path / "w", expected)


def test_every_truncation_is_found(tmp_path):
    size = write_tensors(tmp_path / "w", sample()).stat().st_size
    for length in reversed(range(size)):
        os.truncate(tmp_path / "w", length)
        with pytest.raises(DataError, match=r"ends inside its header|header promises"):
            read_tensors(tmp_path / "w")


def test_bytes_after_the_end_are_found(tmp_path):
    path = write_tensors(tmp_path / "w", {"x": torch.zeros(3)})
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(DataError, match="w holds 13 bytes of numbers; its header promises 12"):
        read_tensors(path)


def entry(dtype: object = "F32", shape=(1,), offsets=(0, 4)) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("[]", "damaged header: it is not a JSON object"),
        ("{", "damaged header: Expecting property name"),
        ("\xff", "damaged header"),
        ("[" * 100_000, "damaged header"),
        ("1" * 5000, "damaged header"),
        ('{"x": 5}', "damaged header: tensor 'x' is not described"),
        ('{"x": %s, "x": %s}', "damaged header: the name 'x' is there more than once"),
        ({"x": entry(dtype="F4")}, "tensor 'x' is of type 'F4'; expected 'BOOL', 'U8'"),
        ({"x": entry(dtype=7)}, "tensor 'x' is not described"),
        ({"x": entry(shape=(-1,))}, "tensor 'x' is not described"),
        ({"x": entry(shape=(1.0,))}, "tensor 'x' is not described"),
        ({"x": entry(shape=(True,))}, "tensor 'x' is not described"),
        ({"x": entry(shape=[1] * 17)}, "tensor 'x' is not described"),
        ({"x": entry(shape=(0, 2**62, 2**62))}, "tensor 'x' is not described"),
        ({"x": entry(offsets=(0, 4, 8))}, "tensor 'x' is not described"),
        ({"x": entry(offsets=(4, 0))}, r"tensor 'x' has -4 bytes, not shape \(1,\) of F32"),
        ({"x": entry(shape=(2,))}, r"tensor 'x' has 4 bytes, not shape \(2,\) of F32"),
        ({"x": entry(offsets=(4, 8))}, "a gap before tensor 'x'"),
        ({"x": entry(), "y": entry()}, "a gap before tensor 'y'"),
        ({}, "w holds 4 bytes of numbers; its header promises 0"),
        ({"x" * 500: entry(dtype="F4")}, r"tensor 'x{77}\.\.\.' is of type"),
        ({"a\nb": entry(dtype="F4")}, r"tensor 'a\\nb' is of type"),
        ({"x": entry("BOOL", (4,))}, "tensor 'x' holds bytes that are no booleans"),
    ],
)
def test_a_damaged_header_is_explained_in_one_line(tmp_path, header, message):
    text = header if isinstance(header, str) else json.dumps(header)
    text = text.replace("%s", json.dumps(entry()))
    path = write_with_header(tmp_path / "w", text.encode("latin-1"), b"\x00\x00\x80\x3f")
    with pytest.raises(DataError, match=message) as caught:
        read_tensors(path)
    assert "\n" not in str(caught.value)


def test_a_header_longer_than_the_file_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "w").write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(DataError, match="ends inside its header"):
        read_tensors(tmp_path / "w")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a file with a few changes, most of them in its header."""
    changed = bytearray(data)
    size = 8 + int.from_bytes(data[:8], "little")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(min(len(changed), size if rng.random() < 0.9 else len(data)) or 1)
        match rng.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                changed[at : at + 1] = rng.choice([b"0", b"9", b'"', b"{", b"]", b",", b"-", b"e"])
            case 2:
                del changed[at : at + rng.randint(1, 6)]
            case 3:
                changed[at:at] = changed[at : at + rng.randint(1, 40)]
            case 4:
                changed[at : at + 1] = str(rng.choice([0, 1, 2**31, 2**63, 2**64])).encode()
    if rng.random() < 0.5 and len(changed) > 8:  # let the header's length fit again
        changed[:8] = max(0, len(changed) - (len(data) - size) - 8).to_bytes(8, "little")
    return bytes(changed)


def test_a_mutated_file_is_read_whole_or_refused_and_nothing_else(tmp_path):
    rng = random.Random(7)
    data = write_tensors(tmp_path / "w", sample(), {"who": "me"}).read_bytes()
    messages = []
    for _ in range(4000):
        (tmp_path / "m").write_bytes(mutated(data, rng))
        try:
            found = read_tensors(tmp_path / "m")
        except DataError as error:
            messages.append(str(error))
        else:
            assert all(tensor.isfinite().all() for tensor in found.values())
    assert 3000 < len(messages) < 4000
    assert all("\n" not in message and len(message) < 1000 for message in messages)
