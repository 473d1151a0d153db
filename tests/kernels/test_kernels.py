"""Every kernel against a line of plain torch in float64, forward and backward.

They run on a GPU, or anywhere in Triton's interpreter: `TRITON_INTERPRET=1 pytest tests/kernels`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

pytest.importorskip("triton")

from mindseye.distributions import Attributes
from mindseye.distributions.normal import soft_bounded
from mindseye.distributions.product import _multiplied
from mindseye.kernels.adam import BLOCK, adam, squares
from mindseye.kernels.bernoulli import BernoulliLogProb
from mindseye.kernels.dense import BiasELU
from mindseye.kernels.folding import FoldedKernel
from mindseye.kernels.gaussian import Bounded, Divergence, LogDensity
from mindseye.kernels.instance import InstanceNorm
from mindseye.kernels.normalise import BatchNormELU
from mindseye.kernels.overlap import TAPS, Overlap
from mindseye.kernels.stem import Stem
from mindseye.kernels.words import Chosen, Product
from mindseye.labels import Labels
from mindseye.networks.normalised import StridedConv
from mindseye.training.flat import Flat

pytestmark = pytest.mark.gpu

SINGLE, HALF = 1e-5, 1e-2
"""Relative errors of float32, and of bfloat16."""


@pytest.fixture
def device() -> str:
    torch.manual_seed(0)
    if torch.cuda.is_available():
        return "cuda"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "cpu"
    pytest.skip("needs a CUDA device, or TRITON_INTERPRET=1")


def error(found: Tensor, expected: Tensor) -> float:
    """The norm of the difference, relative to the norm of what is expected."""
    assert found.shape == expected.shape
    return ((found.double() - expected).norm() / expected.norm()).item()


def check(
    kernel: Callable[..., Tensor],
    plain: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    tolerance: float,
) -> None:
    """Compare results, and gradients of all inputs that want one, with those in float64."""
    inputs = [x.detach().requires_grad_(x.requires_grad) for x in inputs]
    exact = [x.detach().double().requires_grad_(x.requires_grad) for x in inputs]
    y, expected = kernel(*inputs), plain(*exact)
    assert error(y, expected) < tolerance
    gradient = torch.randn_like(y)
    found = torch.autograd.grad(y, [x for x in inputs if x.requires_grad], gradient)
    leaves = [x for x in exact if x.requires_grad]
    wanted = torch.autograd.grad(expected, leaves, gradient.double())
    for one, two in zip(found, wanted, strict=True):
        assert error(one, two) < tolerance


def learnt(tensor: Tensor) -> Tensor:
    return tensor.requires_grad_()


def folded(maps: Tensor) -> Tensor:
    """Two by two pixels to a position, `(B, 4C, H/2, W/2)`."""
    batch, channels, height, width = maps.shape
    squares = maps.view(batch, channels, height // 2, 2, width // 2, 2)
    return squares.permute(0, 3, 5, 1, 2, 4).reshape(batch, 4 * channels, height // 2, width // 2)


# Batch normalisation


def maps(device: str, *shape: int, mean: float = 3.0) -> Tensor:
    x = 2 * torch.randn(shape, device=device) + mean
    return x.contiguous(memory_format=torch.channels_last)


def scales(device: str, channels: int) -> list[Tensor]:
    weight, bias = torch.rand(channels, device=device) + 0.5, torch.randn(channels, device=device)
    return [learnt(weight), learnt(bias)]


def normalised(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.elu(F.batch_norm(x, None, None, weight, bias, True, 0.01, 1e-3))


@pytest.mark.parametrize("shape", [(6, 32, 8, 8), (5, 24, 6, 6), (3, 200, 4, 4), (40, 3, 32, 32)])
@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_batch_normalisation_and_elu(device, shape, fold, kind, tolerance):
    x = learnt(maps(device, *shape).to(kind))

    def kernel(x, weight, bias):
        return BatchNormELU.apply(x, weight, bias, None, 0.01, 1e-3, fold)

    def plain(x, weight, bias):
        y = normalised(x, weight, bias)
        return folded(y) if fold else y

    check(kernel, plain, [x, *scales(device, shape[1])], tolerance)


def test_moments_are_exact_far_from_zero(device):
    x = learnt(maps(device, 6, 16, 8, 8, mean=1000.0))

    def kernel(x, weight, bias):
        return BatchNormELU.apply(x, weight, bias, None, 0.01, 1e-3, False)

    # At 1000 a float32 has steps of 6e-5, and the result is of size one.
    check(kernel, normalised, [x, *scales(device, 16)], 2e-4)


def test_running_averages_follow_the_batch(device):
    x, (weight, bias) = maps(device, 6, 24, 8, 8), scales(device, 24)
    found = torch.zeros(24, device=device), torch.ones(24, device=device)
    expected = [tensor.double() for tensor in found]
    for _ in range(3):
        BatchNormELU.apply(x, weight, bias, found, 0.1, 1e-3, False)
        F.batch_norm(x.double(), *expected, None, None, True, 0.1, 1e-3)
    assert error(found[0], expected[0]) < SINGLE
    assert error(found[1], expected[1]) < SINGLE


def test_a_gradient_of_another_layout_is_the_same_gradient(device):
    x, (weight, bias) = learnt(maps(device, 4, 16, 8, 8)), scales(device, 16)
    y = BatchNormELU.apply(x, weight, bias, None, 0.01, 1e-3, False)
    gradient = torch.randn(y.shape, device=device)
    last = gradient.contiguous(memory_format=torch.channels_last)
    one, two = (torch.autograd.grad(y, x, g, retain_graph=True)[0] for g in (gradient, last))
    assert torch.equal(one, two)


# Instance normalisation


@pytest.mark.parametrize("rectified", [True, False])
@pytest.mark.parametrize("shape", [(3, 16, 14, 14), (2, 40, 5, 9), (2, 4, 33, 33)])
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_instance_normalisation(device, rectified, shape, kind, tolerance):
    x = learnt(maps(device, *shape).to(kind))

    def kernel(x, weight, bias):
        return InstanceNorm.apply(x, weight, bias, 1e-5, rectified)

    def plain(x, weight, bias):
        y = F.instance_norm(x, weight=weight, bias=bias, eps=1e-5)
        return F.relu(y) if rectified else y

    check(kernel, plain, [x, *scales(device, shape[1])], tolerance)


# The first layer


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [16, 32, 64])
@pytest.mark.parametrize("shape", [(3, 1, 16, 16), (2, 1, 12, 20)])
def test_the_first_layer(device, stride, channels, shape):
    x = (torch.rand(shape, device=device) < 0.3).float()
    kernel = (0.3 * torch.randn(channels, 1, 5, 5, device=device)).bfloat16()
    weight, bias = scales(device, channels)

    def fused(kernel, weight, bias):
        return Stem.apply(x, kernel, weight, bias, None, 0.01, 1e-3, stride)

    def plain(kernel, weight, bias):
        return folded(normalised(F.conv2d(x.double(), kernel, None, stride, 2), weight, bias))

    check(fused, plain, [learnt(kernel), weight, bias], HALF)


def test_running_averages_of_the_first_layer_follow_the_batch(device):
    x = (torch.rand(4, 1, 16, 16, device=device) < 0.3).float()
    kernel = (0.3 * torch.randn(32, 1, 5, 5, device=device)).bfloat16()
    found = torch.zeros(32, device=device), torch.ones(32, device=device)
    expected = [tensor.double() for tensor in found]
    convolved = F.conv2d(x.double(), kernel.double(), None, 1, 2)
    for _ in range(3):
        Stem.apply(x, kernel, *scales(device, 32), found, 0.1, 1e-3, 1)
        F.batch_norm(convolved, *expected, None, None, True, 0.1, 1e-3)
    assert error(found[0], expected[0]) < SINGLE
    assert error(found[1], expected[1]) < SINGLE


# Pictures


def likelihood(logits: Tensor, x: Tensor) -> Tensor:
    return -F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)


@pytest.mark.parametrize("shape", [(4, 1, 40, 40), (3, 2, 5, 7)])
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_the_likelihood_of_pixels(device, shape, kind, tolerance):
    logits = learnt((3 * torch.randn(shape, device=device)).to(kind))
    x = (torch.rand(shape, device=device) < 0.4).float()
    check(BernoulliLogProb.apply, likelihood, [logits, x], tolerance)


def test_every_draw_meets_the_same_pictures(device):
    logits = learnt(3 * torch.randn(5, 4, 1, 8, 8, device=device))
    x = (torch.rand(4, 1, 8, 8, device=device) < 0.4).float()

    def plain(logits, x):
        return likelihood(logits.flatten(0, 1), x.repeat(5, 1, 1, 1)).view(5, 4)

    check(BernoulliLogProb.apply, plain, [logits, x], SINGLE)


@pytest.mark.parametrize("value", [(6, 10), (3, 6, 10), (2, 3, 6, 10)])
@pytest.mark.parametrize("given", [(6, 10), (10,)])
def test_the_log_density_of_normals(device, value, given):
    z, loc = (learnt(torch.randn(shape, device=device)) for shape in (value, given))
    scale = learnt(torch.rand(given, device=device) + 0.2)

    def plain(z, loc, scale):
        return Normal(loc, scale).log_prob(z).sum(-1)

    check(LogDensity.apply, plain, [z, loc, scale], 10 * SINGLE)


def test_a_fixed_normal_gets_no_gradient(device):
    z = learnt(torch.randn(3, 6, 10, device=device))
    zero, one = torch.zeros(10, device=device), torch.ones(10, device=device)
    LogDensity.apply(z, zero, one).sum().backward()
    torch.testing.assert_close(z.grad, -z.detach())


def test_logits_of_any_size_are_safe(device):
    logits = learnt(torch.tensor([-200.0, 200.0, 0.0], device=device)[:, None])
    y = BernoulliLogProb.apply(logits, torch.zeros(3, 1, device=device))
    assert y.tolist() == pytest.approx([0.0, -200.0, -math.log(2)])
    y.sum().backward()
    assert logits.grad.flatten().tolist() == pytest.approx([0.0, -1.0, -0.5])


@pytest.mark.parametrize("shape", [(3, 7, 6, 10), (2, 16, 8, 8), (5, 4, 1, 1)])
def test_overlapping_sums_are_a_transposed_convolution(device, shape):
    x, weight = torch.randn(shape, device=device), torch.randn(shape[1], 1, 5, 5, device=device)

    def kernel(x, weight):
        return Overlap.apply(x.permute(0, 2, 3, 1) @ F.pad(weight.flatten(1), (0, TAPS - 25)))

    def plain(x, weight):
        return F.conv_transpose2d(x, weight, None, 2, 2, 1)

    check(kernel, plain, [learnt(x), learnt(weight)], SINGLE)


def test_overlapping_sums_in_bfloat16(device):
    taps = learnt(torch.randn(2, 6, 6, TAPS, device=device).bfloat16())

    def plain(taps):
        pixels = taps[..., :25].flatten(1, 2).transpose(1, 2)  # (B, 25, positions)
        return F.fold(pixels, (16, 16), 5, stride=2)[..., 2:14, 2:14]

    check(Overlap.apply, plain, [taps], HALF)


# Gaussians


@pytest.mark.parametrize("shape", [(5, 4, 20), (7, 6), (300, 20)])
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_bounded_features(device, shape, kind, tolerance):
    features = learnt((6 * torch.randn(shape, device=device)).to(kind))

    def kernel(features):
        return torch.cat(Bounded.apply(features, -7.0, 3.0), -1)

    def plain(features):
        loc, log_scale = features.chunk(2, -1)
        return torch.cat([loc, soft_bounded(log_scale, -7.0, 3.0)], -1)

    check(kernel, plain, [features], tolerance)


def gaussian(device: str, *shape: int) -> list[Tensor]:
    return [torch.randn(shape, device=device), torch.rand(shape, device=device) + 0.2]


def divergence(loc: Tensor, scale: Tensor, m: Tensor, s: Tensor) -> Tensor:
    return kl_divergence(Normal(loc, scale), Normal(m, s)).sum(-1)


@pytest.mark.parametrize("size", [1, 10, 16])
def test_the_divergence_of_two_batches_of_gaussians(device, size):
    inputs = [*gaussian(device, 6, size), *gaussian(device, 6, size)]
    check(Divergence.apply, divergence, [learnt(x) for x in inputs], SINGLE)


@pytest.mark.parametrize("size", [1, 10, 16])
def test_the_divergence_from_one_gaussian_for_all(device, size):
    first, second = gaussian(device, 6, size), gaussian(device, size)
    check(Divergence.apply, divergence, [*map(learnt, first), *second], SINGLE)


# Dense layers


@pytest.mark.parametrize(
    ("shape", "bias"), [((5, 70), (70,)), ((130, 17), (17,)), ((3, 70, 20), (3, 1, 20))]
)
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_bias_and_elu(device, shape, bias, kind, tolerance):
    inputs = [torch.randn(each, device=device).to(kind) for each in (shape, bias)]
    check(BiasELU.apply, lambda x, b: F.elu(x + b), [learnt(x) for x in inputs], tolerance)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("channels", [(6, 8), (32, 5)])
def test_folded_kernels_are_the_same_numbers(device, kind, channels):
    conv = StridedConv(*channels, 5, 2, 2, bias=False).to(device, kind)
    conv.to(memory_format=torch.channels_last)
    found, expected = FoldedKernel.apply(conv.weight), conv.folded()
    assert torch.equal(found, expected)
    assert found.is_contiguous(memory_format=torch.channels_last)
    gradient = torch.randn_like(expected)
    (one,) = torch.autograd.grad(found, conv.weight, gradient)
    (two,) = torch.autograd.grad(expected, conv.weight, gradient)
    assert torch.equal(one, two)
    assert one.stride() == conv.weight.stride()


# Adam


def network(device: str) -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 5), nn.BatchNorm2d(8), nn.Linear(70, 90)
    return nn.Sequential(*layers).to(device).to(memory_format=torch.channels_last)


def gradients(model: nn.Module, missing: int | None) -> list[Tensor | None]:
    """Gradients of the kinds that the parameters have, one of them missing."""
    every = [torch.randn_like(p) for p in model.parameters()]
    return [None if i == missing else g for i, g in enumerate(every)]


def test_squares_add_up_to_the_norm_of_the_gradient(device):
    model = network(device)
    flat = Flat(model, BLOCK, [], 0.0)
    found = gradients(model, missing=2)
    table = flat.table(found).to(device)
    sums = torch.full((table.shape[1],), torch.nan, device=device)
    squares(table, sums)
    exact = sum(g.double().square().sum() for g in found if g is not None)
    assert sums.double().sum().item() == pytest.approx(exact.item(), rel=SINGLE)


@pytest.mark.parametrize("clip", [1.0, 0.5])
def test_adam_is_that_of_torch(device, clip):
    """Three steps, one of them without a gradient for the last layer's bias."""
    model = network(device)
    twins = [nn.Parameter(p.detach().double()) for p in model.parameters()]
    free, decayed = [*twins[:4], twins[5]], {"params": [twins[4]], "weight_decay": 0.1}
    exact = torch.optim.Adam([{"params": free}, decayed], lr=0.01, betas=(0.9, 0.99))
    average = [twin.detach().clone() for twin in twins]
    flat = Flat(model, BLOCK, [model[2].weight], 0.1, betas=(0.9, 0.99))
    for step in range(3):
        found = gradients(model, missing=5 if step == 1 else None)
        controls = torch.tensor([0.01, 0.0, 0.1, clip], device=device)
        table = flat.table(found).to(device)
        adam(flat.buffers, table, controls, 1e-8, average=True)
        for twin, gradient in zip(twins, found, strict=True):
            twin.grad = None if gradient is None else clip * gradient.double()
        exact.step()
        for mean, twin in zip(average, twins, strict=True):
            mean.lerp_(twin.detach(), 0.1)
    for buffer, expected in (("weights", twins), ("average", average)):
        for one, two in zip(flat.views(buffer).values(), expected, strict=True):
            assert (one.double() - two).abs().max() < 1e-5
    for (name, moment), twin in zip(flat.views("second").items(), twins, strict=True):
        assert error(moment, exact.state[twin]["exp_avg_sq"]) < SINGLE
        assert flat.live()[f"adam.step.{name}"] == (2 if name == "2.bias" else 3)


def test_an_opponent_has_a_pace_of_its_own(device):
    model = network(device)
    flat = Flat(model, BLOCK, [], 0.0, betas=(0.9, 0.99), paces={model[2].weight: (0.5, 0.9)})
    found = gradients(model, missing=None)
    controls = torch.tensor([0.01, 0.0, 0.0, 1.0], device=device)
    adam(flat.buffers, flat.table(found).to(device), controls, 1e-8, average=False)
    shares = {"0.weight": 0.1, "2.weight": 0.5}
    for (name, moment), gradient in zip(flat.views("first").items(), found, strict=True):
        if name in shares:
            assert error(moment, shares[name] * gradient.double()) < SINGLE


def test_what_is_computed_with_is_the_rounded_weight(device):
    model = network(device)
    flat = Flat(model, BLOCK, [], 0.0)
    found = gradients(model, missing=None)  # they must outlive their addresses
    table = flat.table(found).to(device)
    controls = torch.tensor([0.01, 0.0, 0.0, 1.0], device=device)
    adam(flat.buffers, table, controls, 1e-8, average=False)
    weights = flat.views("weights")
    # A GPU rounds to the nearest, the interpreter to zero.
    torch.testing.assert_close(model[0].weight.float(), weights["0.weight"], rtol=2**-7, atol=0)
    assert torch.equal(model[1].weight, weights["1.weight"])
    assert not torch.equal(weights["0.weight"], network(device)[0].weight)


def test_without_an_average_it_is_left_alone(device):
    model = network(device)
    flat = Flat(model, BLOCK, [], 0.0)
    before = flat.buffers["average"].clone()
    found = gradients(model, missing=None)  # they must outlive their addresses
    table = flat.table(found).to(device)
    controls = torch.tensor([0.01, 0.0, 0.5, 1.0], device=device)
    adam(flat.buffers, table, controls, 1e-8, average=False)
    assert torch.equal(flat.buffers["average"], before)


# Words


def test_the_product_of_experts(device):
    loc, log_scale = (learnt(torch.randn(7, 4, 10, device=device)) for _ in range(2))
    observed = torch.rand(7, 4, device=device) < 0.6
    found = Product.apply(loc, log_scale, observed)
    exact = _multiplied(loc.double(), log_scale.double(), observed)
    handed = [torch.randn_like(one) for one in found]
    ours = torch.autograd.grad(found, [loc, log_scale], handed)
    theirs = torch.autograd.grad(exact, [loc, log_scale], [g.double() for g in handed])
    for one, two in zip([*found, *ours], [*exact, *theirs], strict=True):
        assert error(one, two) < SINGLE


def test_an_expert_that_is_not_observed_gets_no_gradient(device):
    loc, log_scale = (learnt(torch.randn(3, 2, 5, device=device)) for _ in range(2))
    observed = torch.tensor([[True, False]] * 3, device=device)
    mean, scale = Product.apply(loc, log_scale, observed)
    for gradient in torch.autograd.grad((mean + scale).sum(), [loc, log_scale]):
        assert (gradient[:, 1] == 0).all()
        assert (gradient[:, 0] != 0).all()


@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, SINGLE), (torch.bfloat16, HALF)])
def test_the_log_likelihood_of_partial_descriptions(device, kind, tolerance):
    sizes = (10, 2, 3, 4)
    logits = learnt(torch.randn(4, 6, 10, device=device).to(kind))  # one network after the other
    codes = torch.stack([torch.randint(n, (6,), device=device) for n in sizes], 1)
    observed = torch.rand(6, 4, device=device) < 0.7
    found = Chosen.apply(logits.movedim(0, -2), codes, observed, torch.tensor(sizes, device=device))
    twin = learnt(logits.detach().double())
    exact = Attributes(twin.movedim(0, -2), sizes).log_prob(Labels(codes, observed))
    handed = torch.randn(6, device=device)
    (ours,) = torch.autograd.grad(found, logits, handed)
    (theirs,) = torch.autograd.grad(exact, twin, handed.double())
    assert error(found, exact) < tolerance
    assert error(ours, theirs) < tolerance
