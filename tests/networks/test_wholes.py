"""Networks of wholes: the lengths of the paper's tables, labels, waves, and what is reached."""

import math
from functools import cache

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import elu
from torch.testing import assert_close

from mindseye.networks.wholes import Label, Wave, reader, writer

CURVE, DAY, PICTURE = (1, 1, 200), (1, 1, 96), (3, 32, 32)
PART = {True: 24, False: 2048}
B, Z = 2, 5
CASES = [CURVE, DAY, PICTURE]


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Weights as wide as ever, drawn much sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            nn.init,
            "trunc_normal_",
            lambda weight, mean, std, *_: weight.uniform_(-(3**0.5) * std, 3**0.5 * std),
        )
        yield


@cache
def written(shape: tuple[int, int, int]) -> nn.Module:
    torch.manual_seed(0)
    return writer(shape, PART[shape[1] == 1], Z)


def latents(shape: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
    return torch.randn(B, PART[shape[1] == 1]), torch.randn(B, Z)


def sizes_within(network: nn.Module, *given: Tensor) -> list[tuple[int, ...]]:
    """Channels and lengths after every convolution."""
    found: list[tuple[int, ...]] = []
    kinds = (nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d)
    for layer in network.modules():
        if isinstance(layer, kinds):
            layer.register_forward_hook(lambda _, __, out: found.append(tuple(out.shape[1:])))
    network(*given)
    return found


def lost(network: nn.Module, *out: Tensor) -> list[str]:
    """Parameters that no gradient reaches."""
    sum(each.square().sum() for each in out).backward()
    return [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]


# Tables


def test_curves_are_read_by_the_lengths_of_table_3():
    network, size = reader(CURVE)
    lengths = sizes_within(network, torch.randn(B, *CURVE))
    assert lengths == [(40, 39), (40, 39), (80, 12), (80, 12), (160, 5)]
    assert size == 800 == 160 * 5


def test_curves_are_written_by_the_lengths_of_table_2():
    lengths = sizes_within(writer(CURVE, 24, Z), *latents(CURVE))
    assert lengths == [(80, 12), (80, 12), (40, 52), (40, 52), (20, 270), (2, 270)]


def test_the_ends_of_what_is_written_are_cut_evenly():
    network = written(CURVE)
    total, z = latents(CURVE)
    long = network.layers(network.dense(torch.cat([total, z], -1)).unflatten(-1, (160, 5)))
    mean, log_variance = network(total, z)
    assert torch.equal(mean[:, 0, 0], long[:, 0, 35:-35])
    assert torch.equal(log_variance[:, 0, 0], long[:, 1, 35:-35])


def test_pictures_are_read_by_the_sizes_of_table_10():
    network, size = reader(PICTURE)
    sides = sizes_within(network, torch.randn(B, *PICTURE))
    assert sides == [(16, 32, 32), (32, 16, 16), (32, 16, 16), (48, 8, 8), (64, 4, 4)]
    assert size == 1024 == 64 * 4 * 4


def test_pictures_are_written_by_the_sizes_of_table_9():
    with torch.device("meta"):
        network = writer(PICTURE, 2048, Z)
        sides = sizes_within(network, *latents(PICTURE))
    assert sides == [(64, 8, 8), (32, 16, 16), (24, 32, 32), (4, 32, 32)]


# Whatever the wholes


@pytest.mark.parametrize("shape", CASES)
def test_wholes_are_read_as_vectors_of_the_size_that_is_said(shape):
    torch.manual_seed(0)
    network, size = reader(shape)
    read = network(torch.randn(B, *shape))
    assert read.shape == (B, size)
    assert lost(network, read) == []


@pytest.mark.parametrize("shape", CASES)
def test_every_value_has_a_mean_and_every_pixel_a_deviation(shape):
    network = written(shape)
    mean, log_variance = network(*latents(shape))
    assert mean.shape == (B, *shape)
    assert log_variance.shape == (B, 1, *shape[1:])
    assert lost(network, mean, log_variance) == []


@pytest.mark.parametrize("shape", CASES)
def test_what_is_written_of_a_whole_is_independent_of_the_rest(shape):
    network = written(shape)
    given = [each.requires_grad_() for each in latents(shape)]
    mean, log_variance = network(*given)
    for gradient in torch.autograd.grad(mean[1].sum() + log_variance[1].sum(), given):
        assert (gradient.abs().amax(1) > 0).tolist() == [False, True]


@pytest.mark.parametrize("shape", CASES)
def test_blank_ones_take_weights(shape):
    both = reader(shape)[0], written(shape)
    with torch.device("meta"):
        blank = reader(shape)[0], writer(shape, PART[shape[1] == 1], Z)
    assert all(weight.is_meta for each in blank for weight in each.parameters())
    for empty, full in zip(blank, both, strict=True):
        empty.load_state_dict(full.state_dict(), assign=True)
    x, given = torch.randn(B, *shape), latents(shape)
    assert torch.equal(blank[0](x), both[0](x))
    assert torch.equal(blank[1](*given)[0], both[1](*given)[0])


# Labels


CODES = torch.tensor([2, 0, 2, 1])
NOWHERE = torch.zeros(4, 0)


def test_labels_and_their_gradients_are_rows_of_the_table():
    torch.manual_seed(0)
    label, weight = Label(3, 0, 7), torch.randn(4, 7)
    assert torch.equal(label(CODES, NOWHERE), label.category[CODES])
    (gradient,) = torch.autograd.grad((label(CODES, NOWHERE) * weight).sum(), label.category)
    assert_close(gradient, torch.stack([weight[1], weight[3], weight[0] + weight[2]]))


@pytest.mark.parametrize("waves", [0, 3])
def test_a_place_is_told_beside_the_category(waves):
    torch.manual_seed(0)
    label, places = Label(3, 2, 9, waves), 2 * torch.rand(4, 2) - 1
    said = label(CODES, places)
    assert said.shape == (4, 9)
    assert torch.equal(said[:, 5:], label.category[CODES])
    assert label.place is not None
    assert_close(said[:, :5], elu(label.place(label.wave(places))))
    assert label.place.in_features == 2 * (1 + 2 * waves)


def test_gradients_reach_every_parameter_of_a_label():
    torch.manual_seed(0)
    label = Label(3, 2, 9, 2)
    assert lost(label, label(CODES, torch.rand(4, 2))) == []


def test_labels_begin_as_standard_normals():
    torch.manual_seed(0)
    assert Label(50, 0, 400).category.std().item() == pytest.approx(1.0, rel=0.02)


def test_a_blank_label_takes_weights():
    label, places = Label(3, 2, 9, 2), torch.rand(4, 2)
    with torch.device("meta"):
        blank = Label(3, 2, 9, 2)
    assert all(weight.is_meta for weight in blank.parameters())
    blank.load_state_dict(label.state_dict(), assign=True)
    assert torch.equal(blank(CODES, places), label(CODES, places))


def test_waves_are_sines_and_cosines_of_half_a_turn_and_twice_and_four_times():
    x = torch.tensor([[0.3, -0.8]])
    turns = [math.pi / 2 * 2**k * value for value in (0.3, -0.8) for k in range(3)]
    expected = [0.3, -0.8, *map(math.sin, turns), *map(math.cos, turns)]
    assert_close(Wave(3)(x), torch.tensor([expected]))


def test_waves_tell_the_ends_apart_and_begin_at_zero():
    low, zero, high = Wave(2)(torch.tensor([[-1.0], [0.0], [1.0]]))
    assert torch.equal(zero, torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0]))
    assert_close(high, torch.tensor([1.0, 1.0, 0.0, 0.0, -1.0]), rtol=0, atol=1e-6)
    assert_close(low, torch.tensor([-1.0, -1.0, 0.0, 0.0, -1.0]), rtol=0, atol=1e-6)
