"""When kernels are used: while they are asked for, and on a GPU alone."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from mindseye import kernels
from mindseye.errors import UsageError


class OnGPU:
    """What looks like a tensor of a GPU."""

    is_cuda = True


def test_triton_is_there_or_not():
    assert kernels.available() == (importlib.util.find_spec("triton") is not None)


def test_kernels_are_wanted_only_where_they_were_asked_for():
    assert not kernels.wanted(OnGPU())
    with kernels.fused():
        assert kernels.wanted(OnGPU())
        with kernels.fused():
            assert kernels.wanted(OnGPU())
        assert kernels.wanted(OnGPU())
    assert not kernels.wanted(OnGPU())


def test_an_error_inside_ends_the_asking():
    with pytest.raises(RuntimeError), kernels.fused():
        raise RuntimeError
    assert not kernels.wanted(OnGPU())


def test_a_tensor_of_the_cpu_never_wants_a_kernel():
    with kernels.fused():
        assert not kernels.wanted(torch.zeros(1))


def test_more_numbers_than_32_bits_can_address_are_refused():
    kernels.addressable(2**31 - 1)
    with pytest.raises(UsageError, match="`batch_size` is too large: one layer would hold 2,147"):
        kernels.addressable(2**31)
