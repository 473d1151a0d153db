r"""Random numbers by counter: a picture's noise depends on its own key and on nothing else.

A key is made from a seed and an index; number $j$ of a key is a hash of $(\text{key}, j)$. So
picture 7 is the same alone, in a grid of 64, on a CPU or on a GPU; there is no state to save, and
nothing to advance. Two mixers are used, both bijections of machine integers whose output bits pass
the usual avalanche tests:

- SplitMix64 for keys and for the handful of numbers that place and turn a picture;
- a 32-bit multiply-xorshift for the noise of every pixel, where speed matters more than a long
  period (Ellis, *Prospecting for hash functions*, 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["integers", "keys", "keys_of_each", "normals", "pixel_uniforms", "uniforms"]


def keys(seed: int, index: Tensor, stream: str = "") -> Tensor:
    """One 64-bit key per index, `(B,)`; streams of one seed are independent of each other."""
    start = _start(seed, stream)
    return _mix64(_mix64(index.to(torch.int64) + start) + start)


def keys_of_each(
    seeds: Sequence[int], n: int, stream: str = "", device: torch.device | str = "cpu"
) -> Tensor:
    """The keys of the indices below `n` of every seed, `(Q, n)`.

    >>> both = keys_of_each([3, 5], 4)
    >>> torch.equal(both[1], keys(5, torch.arange(4)))
    True
    """
    start = torch.tensor([[_start(seed, stream)] for seed in seeds]).to(device)
    return _mix64(_mix64(torch.arange(n, device=device) + start) + start)


def uniforms(key: Tensor, n: int) -> Tensor:
    """Draw `n` float64 numbers in (0, 1) for every key, odd multiples of 2⁻⁵³, `(B, n)`.

    >>> alone = uniforms(keys(0, torch.tensor([7])), 3)
    >>> grid = uniforms(keys(0, torch.arange(64)), 3)
    >>> torch.equal(alone[0], grid[7])
    True
    """
    counter = torch.arange(1, n + 1, device=key.device) * _signed(0x9E3779B97F4A7C15)
    bits = _mix64(key[:, None] + counter)
    return _shift_right(bits, 11).bitwise_or_(1).to(torch.float64).mul_(2.0**-53)


def normals(key: Tensor, n: int) -> Tensor:
    """Draw `n` standard normal float32 numbers for every key, `(B, n)`."""
    return torch.special.ndtri(uniforms(key, n)).to(torch.float32)


def integers(key: Tensor, high: int) -> Tensor:
    """One integer in `[0, high)` for every key, `(B,)`."""
    return uniforms(key, 1)[:, 0].mul_(high).to(torch.int64)


def pixel_uniforms(key: Tensor, n: int) -> Tensor:
    """Draw `n` float32 numbers in (0, 1) for every key, odd multiples of 2⁻²⁴, fast, `(B, n)`.

    Keys must be mixed, as those of `keys` are; the noise of plain counters would be alike.
    """
    first = key.to(torch.int32)[:, None]
    second = _shift_right(key, 32).to(torch.int32)[:, None]
    x = torch.arange(n, dtype=torch.int32, device=key.device) * -1640531527 + first
    x ^= _shift_right(x, 16)
    x *= 0x7FEB352D
    x += second
    x ^= _shift_right(x, 15)
    x *= -2073254261  # 0x846CA68B as a signed integer
    return _shift_right(x, 8).bitwise_or_(1).to(torch.float32).mul_(2.0**-24)


def _mix64(x: Tensor) -> Tensor:
    """SplitMix64's finaliser (Steele, Lea and Flood, 2014)."""
    x = (x ^ _shift_right(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shift_right(x, 27)) * _signed(0x94D049BB133111EB)
    return x ^ _shift_right(x, 31)


def _shift_right(x: Tensor, by: int) -> Tensor:
    """Shift right without copying the sign bit, as unsigned integers do."""
    bits = torch.iinfo(x.dtype).bits
    return (x >> by).bitwise_and_((1 << (bits - by)) - 1)


def _start(seed: int, stream: str) -> int:
    """Where the keys of a seed and a stream begin."""
    return _signed(seed * 0x9E3779B97F4A7C15 + _name(stream))


def _signed(x: int) -> int:
    """The signed 64-bit integer with the same low bits."""
    return ((x + 2**63) % 2**64) - 2**63


def _name(stream: str) -> int:
    """FNV-1a of a name: Python's own hash changes from one process to the next."""
    value = 0xCBF29CE484222325
    for byte in stream.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
