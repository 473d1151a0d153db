"""The blocks: batched networks against single ones, and the shapes of the paper's."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.errors import UsageError
from mindseye.networks import MLP, NETWORKS, AttributeTower, ParallelMLP, SymbolTower
from mindseye.networks.convolutional import (
    DCGANDecoder,
    FoldedDecoder,
    _First,
    _Last,
    get_networks,
)
from mindseye.networks.dense import initialised
from mindseye.networks.normalised import BatchNormELU, Block, StridedConv

SHAPE = (1, 64, 64)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def one_of(parallel: ParallelMLP, k: int) -> MLP:
    """Network number `k` on its own."""
    weights, biases = list(parallel.weights), list(parallel.biases)
    single = MLP([weights[0].shape[1], *(weight.shape[2] for weight in weights)])
    layers = [layer for layer in single if isinstance(layer, nn.Linear)]
    for layer, weight, bias in zip(layers, weights, biases, strict=True):
        layer.weight.data, layer.bias.data = weight[k].T, bias[k, 0]
    return single


# Dense networks


@pytest.mark.parametrize("sizes", [[5, 3], [5, 7, 3], [5, 7, 7, 2]])
def test_parallel_networks_equal_separate_ones(sizes):
    parallel, x = ParallelMLP(4, sizes), torch.randn(4, 9, 5)
    for bias in parallel.biases:
        nn.init.normal_(bias)
    separate = torch.stack([one_of(parallel, k)(x[k]) for k in range(4)])
    assert_close(parallel(x), separate, atol=1e-6, rtol=0)


def test_a_parallel_network_reads_nothing_of_its_neighbours():
    parallel, x = ParallelMLP(3, [5, 7, 2]), torch.randn(3, 9, 5, requires_grad=True)
    parallel(x)[1].sum().backward()
    assert x.grad is not None
    assert [each.abs().max().item() > 0 for each in x.grad] == [False, True, False]
    assert all((w.grad[[0, 2]] == 0).all() for w in parallel.weights)


def test_an_mlp_ends_without_an_activation():
    assert [type(layer).__name__ for layer in MLP([2, 3, 4])] == ["Linear", "ELU", "Linear"]
    assert [type(layer).__name__ for layer in MLP([2, 3])] == ["Linear"]


@pytest.mark.parametrize(
    ("layer", "fan_in"),
    [
        (nn.Linear(400, 300), 400),
        (nn.Conv2d(16, 64, 5), 16 * 25),
        (nn.ConvTranspose2d(64, 32, 5, stride=1), 64 * 25),
        (nn.ConvTranspose2d(64, 32, 4, stride=2), 64 * 16 // 4),
    ],
)
def test_weights_start_truncated_at_two_standard_deviations_of_their_fan_in(layer, fan_in):
    initialised(layer)
    std = fan_in**-0.5
    assert layer.weight.abs().max() <= 2 * std
    # A normal cut at ±2σ has a standard deviation of 0.8796 σ.
    assert layer.weight.std().item() == pytest.approx(0.8796 * std, rel=0.02)
    assert (layer.bias == 0).all()


def test_parallel_weights_start_as_single_ones_do():
    weight = ParallelMLP(8, [400, 300]).weights[0]
    assert weight.std().item() == pytest.approx(0.8796 / 20, rel=0.02)
    assert weight.abs().max() <= 2 / 20


# Attributes


@pytest.fixture
def tower() -> AttributeTower:
    return AttributeTower([10, 2, 3, 4], hidden=[16, 16], out=6, embedding=8)


def test_a_tower_looks_up_what_it_would_compute_for_each_example(tower):
    codes = torch.stack([torch.randint(size, (20,)) for size in (10, 2, 3, 4)], 1)
    found = tower(codes)
    for b, row in enumerate(codes.tolist()):
        for k, code in enumerate(row):
            alone = one_of(tower.mlp, k)(tower.embedding[k, code])
            assert_close(found[b, k], alone, atol=1e-6, rtol=0)


def test_looking_up_by_products_is_indexing_to_the_last_bit(tower):
    codes = torch.stack([torch.randint(size, (50,)) for size in (10, 2, 3, 4)], 1)
    table = tower.mlp(tower.embedding)  # (K, V, out)
    assert torch.equal(tower(codes), table[torch.arange(4), codes])


def test_the_gradient_of_looking_up_is_that_of_indexing(tower):
    codes = torch.stack([torch.randint(size, (50,)) for size in (10, 2, 3, 4)], 1)
    weight = torch.randn(50, 4, 6)
    (found,) = torch.autograd.grad((tower(codes) * weight).sum(), tower.embedding)
    table = tower.mlp(tower.embedding)
    indexed = (table[torch.arange(4), codes] * weight).sum()
    (expected,) = torch.autograd.grad(indexed, tower.embedding)
    assert_close(found, expected)


def test_attributes_of_a_tower_do_not_share_anything(tower):
    codes = torch.zeros(1, 4, dtype=torch.int64)
    before = tower(codes).detach()
    other = tower(torch.tensor([[0, 1, 0, 0]])).detach()
    assert torch.equal(before[:, [0, 2, 3]], other[:, [0, 2, 3]])
    assert not torch.allclose(before[:, 1], other[:, 1])


def test_only_embeddings_that_were_looked_up_are_learnt(tower):
    tower(torch.tensor([[3, 1, 0, 2]])).sum().backward()
    learnt = tower.embedding.grad.abs().sum(-1) > 0
    assert learnt.nonzero().tolist() == [[0, 3], [1, 1], [2, 0], [3, 2]]


def test_symbols_have_a_row_for_each_combination():
    symbols = SymbolTower([10, 2, 3, 4], hidden=[16, 16], out=6, embedding=8)
    table = symbols()
    assert symbols.embedding.shape == (240, 8)
    assert table.shape == (10, 2, 3, 4, 6)
    row = ((7 * 2 + 1) * 3 + 0) * 4 + 2
    assert_close(table[7, 1, 0, 2], symbols.mlp(symbols.embedding[row]), atol=1e-6, rtol=0)


def test_symbols_share_no_embedding():
    symbols = SymbolTower([3, 2], hidden=[16], out=6, embedding=8)
    symbols()[2, 0].sum().backward()
    assert symbols.embedding.grad.abs().sum(-1).nonzero().tolist() == [[4]]


# The paper's networks


def test_the_paper_reads_a_picture_as_14_by_14_by_16():
    encoder = NETWORKS["paper"].encoder(SHAPE, 1024)
    features = nn.Sequential(*list(encoder)[:-1])(torch.zeros(2, *SHAPE))
    assert features.shape == (2, 16, 14, 14)
    assert encoder.features == 16 * 14 * 14
    convolutions = [layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [32, 64, 128, 16]
    assert [layer.kernel_size[0] for layer in convolutions] == [5, 5, 5, 1]
    assert [layer.stride[0] for layer in convolutions] == [1, 2, 2, 1]


def test_the_paper_normalises_all_convolutions_but_the_last():
    encoder = NETWORKS["paper"].encoder(SHAPE, 1024)
    *blocks, conv, elu, flatten = encoder
    names = [[type(layer).__name__ for layer in block] for block in blocks]
    assert names == [["Conv2d", "BatchNormELU"], *[["StridedConv", "BatchNormELU"]] * 2]
    assert [type(layer).__name__ for layer in (conv, elu, flatten)] == ["Conv2d", "ELU", "Flatten"]


def test_the_paper_draws_with_1024_512_256_and_128_channels():
    with torch.device("meta"):
        decoder = DCGANDecoder(10, SHAPE, NETWORKS["paper"].width)
        assert decoder(torch.zeros(2, 10)).shape == (2, *SHAPE)
    layers = [layer for layer in decoder.layers if isinstance(layer, nn.ConvTranspose2d)]
    assert [layer.out_channels for layer in layers] == [1024, 512, 256, 128, 1]
    assert [layer.kernel_size[0] for layer in layers] == [4, 5, 5, 5, 5]
    assert [layer.stride[0] for layer in layers] == [1, 2, 2, 2, 2]
    assert isinstance(decoder.layers[-1], nn.ConvTranspose2d)


@pytest.mark.parametrize("side", [4, 8, 16, 32])
def test_the_paper_doubles_the_side_from_4_to_64(side):
    with torch.device("meta"):
        layers = DCGANDecoder(10, SHAPE, 64).layers
        picture = torch.zeros(1, 10, 1, 1)
        sides = []
        for layer in layers:
            picture = layer(picture)
            sides.append(picture.shape[-1])
    assert side in sides
    assert sides[-1] == 64


def test_the_slim_pair_reads_a_picture_as_14_by_14_by_16_too():
    encoder = NETWORKS["slim"].encoder(SHAPE, 256)
    assert encoder.features == 16 * 14 * 14
    convolutions = [layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [32, 64, 16]
    assert [layer.stride[0] for layer in convolutions] == [2, 2, 1]
    assert (NETWORKS["slim"].decoder, NETWORKS["slim"].width) == (DCGANDecoder, 256)


def plain(layer: nn.ConvTranspose2d, x: Tensor) -> Tensor:
    """What torch's own class makes of a layer's weights."""
    return nn.ConvTranspose2d.forward(layer, x)


def test_the_first_layer_of_the_decoder_is_a_transposed_convolution():
    layer, z = _First(7, 24).double(), torch.randn(5, 7, 1, 1).double()
    assert_close(layer(z), plain(layer, z), rtol=1e-12, atol=1e-12)
    assert layer(z).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_last_layer_of_the_decoder_is_a_transposed_convolution(channels):
    layer, maps = _Last(6, channels).double(), torch.randn(2, 6, 8, 8).double()
    nn.init.normal_(layer.bias)
    assert layer(maps).shape == (2, channels, 16, 16)
    assert_close(layer(maps), plain(layer, maps), rtol=1e-12, atol=1e-12)


# Normalised convolutions


def folded(maps: Tensor) -> Tensor:
    """Two by two pixels to a position, `(B, 4C, H/2, W/2)`."""
    batch, channels, height, width = maps.shape
    squares = maps.view(batch, channels, height // 2, 2, width // 2, 2)
    return squares.permute(0, 3, 5, 1, 2, 4).reshape(batch, 4 * channels, height // 2, width // 2)


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("side", [8, 14, 32])
def test_a_strided_convolution_reads_folded_maps_as_it_reads_plain_ones(padding, side):
    conv = StridedConv(3, 5, 5, 2, padding, bias=True).double()
    maps = torch.randn(2, 3, side, side).double().requires_grad_()
    read, expected = conv(folded(maps)), conv(maps)
    assert_close(read, expected, rtol=1e-10, atol=1e-10)
    inputs, gradient = [maps, conv.weight, conv.bias], torch.randn_like(expected)
    found = torch.autograd.grad(read, inputs, gradient)
    for one, two in zip(found, torch.autograd.grad(expected, inputs, gradient), strict=True):
        assert_close(one, two, rtol=1e-10, atol=1e-10)


def test_plain_maps_meet_a_plain_convolution():
    conv, maps = StridedConv(3, 5, 5, 2, 2), torch.randn(2, 3, 16, 16)
    expected = nn.functional.conv2d(maps, conv.weight, conv.bias, stride=2, padding=2)
    assert torch.equal(conv(maps), expected)


def test_folded_kernels_hold_the_same_numbers_and_zeros():
    conv = StridedConv(3, 5, 5, 2, 2)
    kernels = conv.folded()
    assert kernels.shape == (5, 12, 3, 3)
    assert (kernels != 0).sum() == conv.weight.numel() == 5 * 3 * 25
    assert_close(kernels.sum((1, 2, 3)), conv.weight.sum((1, 2, 3)))
    for u, v, a, b in [(0, 0, 2, 2), (1, 0, 1, 2), (0, 1, 0, 1)]:
        block = kernels[:, 3 * (2 * u + v) : 3 * (2 * u + v + 1)]
        assert torch.equal(block[..., a, b], conv.weight[..., 2 * a + u, 2 * b + v])


def test_batch_normalisation_and_elu_are_those_of_torch():
    ours, norm = BatchNormELU(6), nn.BatchNorm2d(6, eps=1e-3, momentum=0.01)
    x = 2 * torch.randn(4, 6, 5, 5) + 1
    assert torch.equal(ours(x), nn.functional.elu(norm(x)))
    assert torch.equal(ours.running_var, norm.running_var)
    assert torch.equal(ours.eval()(x), nn.functional.elu(norm.eval()(x)))


def test_on_a_cpu_nothing_is_folded():
    block = Block(nn.Conv2d(1, 32, 5, 1, 2, bias=False), BatchNormELU(32, fold=True))
    assert block(torch.zeros(2, 1, 16, 16)).shape == (2, 32, 16, 16)


@pytest.mark.parametrize(
    ("conv", "stem"),
    [
        (nn.Conv2d(1, 32, 5, 1, 2), True),
        (nn.Conv2d(1, 32, 5, 2, 2), True),
        (nn.Conv2d(3, 32, 5, 1, 2), False),
        (nn.Conv2d(1, 24, 5, 1, 2), False),
        (nn.Conv2d(1, 32, 3, 1, 2), False),
        (nn.Conv2d(1, 32, 5, 1, 0), False),
    ],
)
def test_the_first_layer_has_a_kernel_of_its_own_where_it_fits(conv, stem):
    assert Block(conv, BatchNormELU(conv.out_channels, fold=True)).stem == stem
    assert not Block(conv, BatchNormELU(conv.out_channels)).stem


def test_the_paper_folds_before_its_strided_convolutions():
    blocks = [b for b in NETWORKS["paper"].encoder(SHAPE, 1024) if isinstance(b, Block)]
    norms = [block[1] for block in blocks]
    assert [norm.fold for norm in norms] == [True, True, False]
    assert [block.stem for block in blocks] == [True, False, False]


# All networks


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_pair_reads_and_draws_pictures(name, channels):
    pair, shape = NETWORKS[name], (channels, 64, 64)
    with torch.device("meta"):
        encoder, decoder = pair.encoder(shape, pair.width), pair.decoder(5, shape, pair.width)
        assert decoder(torch.zeros(3, 5)).shape == (3, *shape)
        features = encoder(torch.zeros(3, *shape))
    assert features.shape == (3, encoder.features)


def test_dense_networks_take_pictures_of_any_shape():
    shape = (1, 28, 20)
    assert get_networks("dense").decoder(2, shape, 16)(torch.zeros(3, 2)).shape == (3, *shape)
    assert NETWORKS["dense"].encoder(shape, 16)(torch.zeros(3, *shape)).shape == (3, 16)


@pytest.mark.parametrize("decoder", [DCGANDecoder, FoldedDecoder])
def test_other_networks_want_64_pixels(decoder):
    message = r"draw 64 by 64 pixels; the pictures have 28 by 28\. Try networks=dense\."
    with pytest.raises(UsageError, match=message):
        decoder(2, (1, 28, 28), 16)


@pytest.mark.parametrize("name", ["paper", "slim", "lean"])
def test_encoders_want_64_pixels_too(name):
    with pytest.raises(UsageError, match="the pictures have 32 by 64"):
        NETWORKS[name].encoder((1, 32, 64), 16)


@pytest.mark.parametrize("decoder", [FoldedDecoder(4, SHAPE, 8), DCGANDecoder(4, SHAPE, 32)])
def test_every_parameter_of_a_decoder_is_used(decoder):
    decoder(torch.randn(4, 4)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in decoder.parameters())


def test_pictures_start_near_even_odds():
    # With weights of variance 1/fan-in the first pictures are neither black nor white.
    logits = FoldedDecoder(10, SHAPE, 64)(torch.randn(16, 10))
    assert logits.abs().mean() < 2
    assert logits.std() > 0.1
    assert math.isfinite(logits.sum().item())
    assert count(FoldedDecoder(10, SHAPE, 64)) < count(DCGANDecoder(10, SHAPE, 256))
