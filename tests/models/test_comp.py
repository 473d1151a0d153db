"""The compositional VAE: what its methods return, and what they must not depend on."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.distributions.correlated import CorrelatedNormals
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.models import CompVAE
from mindseye.models.comp import LEAST
from mindseye.objectives import compvae
from mindseye.parts import Kit
from mindseye.pieces import Pieces

WAVES, SITES = Kit(["low", "middle", "high"]), Kit(["red", "green"], axes=("x", "y"))
CURVE, PICTURE = (1, 1, 200), (3, 32, 32)
SIZES = (1, 4, 2, 3)
B, N, Z = len(SIZES), sum(SIZES), 5
CASES = [(networks, shape) for networks in ("paper", "slim") for shape in (CURVE, PICTURE)]
SLIM = CASES[2:]


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


def make(networks: str, shape: tuple[int, int, int], **sizes: int) -> CompVAE:
    torch.manual_seed(0)
    kit = WAVES if shape == CURVE else SITES
    own = {"width": 0 if (networks, shape) == ("paper", PICTURE) else 64, "hidden": 16, "latent": Z}
    return CompVAE(kit, shape, networks=networks, **(own | sizes))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def wholes(shape: tuple[int, int, int], count: int = B) -> Tensor:
    return torch.rand(count, *shape, generator=generator())


def pieces(kit: Kit, sizes: tuple[int, ...] = SIZES) -> Pieces:
    rows = sum(sizes)
    codes = torch.randint(len(kit.categories), (rows,), generator=generator())
    places = 2 * torch.rand(rows, len(kit.axes), generator=generator()) - 1
    return Pieces(codes, places, torch.tensor(sizes))


def permuted(y: Pieces, order: Tensor) -> Pieces:
    return Pieces(y.codes[order], y.places[order], y.sizes)


def posterior(
    model: CompVAE, x: Tensor, y: Pieces, z: Tensor | None = None, tags: Tensor | None = None
) -> CorrelatedNormals:
    """q({w_i}|x,z,{l_i}), at the mean of z if no other is given."""
    seen = model.seen(x)
    z = model.q_z(seen).mean if z is None else z
    return model.q_w(seen, z, y, model.p_w(y, model.groups(y)), tags)


class Noise:
    """All noise of a bound, so that wholes and parts have theirs wherever they stand."""

    def __init__(self, model: CompVAE, rows: int = N, count: int = B):
        size = (rows, model.label_q.size)
        self.z, self.tags, self.w = (
            torch.randn(*each, generator=generator())
            for each in ((count, Z), size, (rows, model.part))
        )

    def bound(self, model: CompVAE, x: Tensor, y: Pieces, wholes: Tensor, parts: Tensor) -> Tensor:
        """The bound of wholes, with the noise of some rows."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DiagonalNormal, "rsample", lambda q: q.at(self.z[wholes]))
            patch.setattr(torch, "randn_like", lambda said: self.tags[parts])
            patch.setattr(CorrelatedNormals, "_drawn", lambda q, shape: self.w[parts])
            return compvae(model, x, y).value


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1][1]}")
def model(request) -> CompVAE:
    return make(*request.param)


# Every method returns a distribution


def test_shapes_are_those_of_wholes_and_of_parts(model):
    x, y = wholes(model.shape), pieces(model.vocabulary)
    p_w = model.p_w(y, model.groups(y))
    q_z = model.q_z(model.seen(x))
    q_w = posterior(model, x, y)
    for each in (p_w, q_w):
        assert each.mean.shape == each.rsample().shape == (N, model.part)
        assert each.log_prob(each.mean).shape == (B,)
    total = q_w.groups.totals(q_w.mean)
    assert total.shape == (B, model.part)
    p_z, p_x = model.p_z(total), model.p_x(q_z.mean, total)
    for each, event in ((q_z, (Z,)), (p_z, (Z,)), (p_x, model.shape)):
        assert (each.batch_shape, each.event_shape) == ((B,), event)
        assert each.rsample().shape == (B, *event)
        assert each.stddev.min() > 0


def test_gradients_reach_every_parameter(model):
    model.zero_grad()
    compvae(model, wholes(model.shape), pieces(model.vocabulary), beta=0.5).value.sum().backward()
    lost = [
        name
        for name, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()
    ]
    assert lost == []


def test_a_bound_reads_a_whole_once_and_asks_once_what_its_parts_are(model):
    asked: list[str] = []
    hooks = [
        getattr(model, name).register_forward_hook(lambda *_, name=name: asked.append(name))
        for name in ("read", "label", "label_q")
    ]
    compvae(model, wholes(model.shape), pieces(model.vocabulary))
    for hook in hooks:
        hook.remove()
    assert sorted(asked) == ["label", "label_q", "read"]


def test_decoders_are_the_generative_half(model):
    y = pieces(model.vocabulary)
    p_w = model.p_w(y, model.groups(y))
    total = p_w.groups.totals(p_w.rsample())
    z = model.p_z(total).rsample()
    model.zero_grad()
    model.p_x(z, total).log_prob(wholes(model.shape)).sum().backward()
    reached = {p for p in model.parameters() if p.grad is not None}
    assert reached == {p for each in model.decoders for p in each.parameters()}
    model.zero_grad()


def test_the_channels_of_a_pixel_have_one_deviation(model):
    p_x = model.p_x(torch.randn(B, Z), torch.randn(B, model.part))
    assert torch.equal(p_x.stddev, p_x.stddev[:, :1].expand(B, *model.shape))


# Floors


def narrowed(model: CompVAE) -> CompVAE:
    """The model after its log variances have run away."""
    means = 200 if model.shape == CURVE else 3
    of_parts = model.prior_w[-1].bias if model.vocabulary.axes else model.label.category
    with torch.no_grad():
        of_parts[..., model.part :] -= 1e4
        model.prior_z[-1].bias[Z:] -= 1e4
        model.write.layers[-1].bias[means:] -= 1e4
    return model


@pytest.mark.parametrize(("networks", "shape"), SLIM)
def test_deviations_that_run_away_end_at_their_floor(networks, shape):
    model = narrowed(make(networks, shape))
    y, total, z = pieces(model.vocabulary), torch.randn(B, model.part), torch.randn(B, Z)
    for each in (model.p_w(y, model.groups(y)), model.p_z(total), model.p_x(z, total)):
        assert_close(each.stddev, torch.full_like(each.stddev, LEAST[shape == CURVE]))


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_no_deviation_is_below_its_floor(model, scale):
    total, z = (scale * torch.randn(B, size) for size in (model.part, Z))
    y = pieces(model.vocabulary)
    deviations = [
        model.p_z(total).stddev,
        model.p_x(z, total).stddev,
        model.p_w(y, model.groups(y)).stddev,
    ]
    least = LEAST[model.shape == CURVE]
    assert min(each.min().item() for each in deviations) >= least * (1 - 1e-5)


# Orders and batches


def test_the_order_of_parts_changes_nothing(model):
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    order = torch.tensor([0, 3, 1, 4, 2, 6, 5, 9, 7, 8])
    each = torch.arange(B)
    with torch.no_grad():
        before = noise.bound(model, x, y, each, torch.arange(N))
        after = noise.bound(model, x, permuted(y, order), each, order)
        moved = noise.bound(model, x, permuted(y, order), each, torch.arange(N))
    assert_close(after, before, rtol=0, atol=0.01)
    assert (moved - before)[1:].abs().min() > 0.1  # its noise has to come with a part


def test_a_whole_is_the_same_alone_and_in_a_batch(model):
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    with torch.no_grad():
        together = noise.bound(model, x, y, torch.arange(B), torch.arange(N))
        for b, rows in enumerate(torch.arange(N).split(SIZES)):
            own = Pieces(y.codes[rows], y.places[rows], y.sizes[b : b + 1])
            alone = noise.bound(model, x[b : b + 1], own, torch.tensor([b]), rows)
            assert_close(alone[0], together[b], rtol=0, atol=0.01)


def test_wholes_do_not_know_each_other(model):
    x, y = wholes(model.shape).requires_grad_(), pieces(model.vocabulary)
    q_w = posterior(model, x, y)
    rows = q_w.groups.owner == 2
    (gradient,) = torch.autograd.grad((q_w.mean[rows] + q_w.scale[rows] + q_w.rho[rows]).sum(), x)
    assert gradient.abs().amax((1, 2, 3)).nonzero().tolist() == [[2]]


@pytest.mark.parametrize(("networks", "shape"), SLIM)
def test_parts_of_one_whole_know_each_other(networks, shape):
    model, x = make(networks, shape), wholes(shape, 1)
    y = pieces(model.vocabulary, (3,))
    other = y._replace(codes=torch.cat([y.codes[:2], (y.codes[2:] + 1) % 2]))
    z, tags = torch.zeros(1, Z), torch.zeros(3, model.label_q.size)
    before, after = (posterior(model, x, each, z, tags).mean for each in (y, other))
    assert (after - before).abs().amax(1).min() > 1e-3


def test_wholes_of_one_part_and_of_thirty_have_a_bound_and_gradients(model):
    y = pieces(model.vocabulary, (1, 30))
    value = compvae(model, wholes(model.shape, 2), y).value
    assert value.isfinite().all()
    first, last = model.label_q.category, model.posterior_w.bias
    for gradient in torch.autograd.grad(value.sum(), [first, last]):
        assert gradient.isfinite().all()
        assert gradient.any()


@pytest.mark.parametrize(("networks", "shape"), SLIM)
def test_a_single_part_leans_against_nobody(networks, shape):
    model = make(networks, shape)
    q = posterior(model, wholes(shape, 1), pieces(model.vocabulary, (1,)), torch.zeros(1, Z))
    assert_close(q.rho, torch.sigmoid(q.logits))
    assert_close(q.variance, (q.scale * torch.sigmoid(-q.logits)).square())


# What tells parts apart


def test_parts_of_one_category_are_told_apart_by_noise_alone():
    model, x, z = make("slim", CURVE), wholes(CURVE, 1), torch.zeros(1, Z)
    y = Pieces(torch.tensor([1, 1]), torch.zeros(2, 0), torch.tensor([2]))
    tags = torch.randn(1, model.label_q.size).expand(2, -1)
    same = posterior(model, x, y, z, tags).mean
    assert torch.equal(same[0], same[1])
    apart = tags * torch.tensor([[1.0], [-1.0]])
    for each in (posterior(model, x, y, z, apart), posterior(model, x, y, z)):
        assert (each.mean[0] - each.mean[1]).abs().max() > 1e-2


def test_parts_with_places_need_no_noise():
    model, x, z = make("slim", PICTURE), wholes(PICTURE, 1), torch.zeros(1, Z)
    y = Pieces(torch.tensor([1, 1]), torch.tensor([[0.5, 0.5], [-0.5, 0.5]]), torch.tensor([2]))
    q, again = posterior(model, x, y, z), posterior(model, x, y, z)
    assert torch.equal(q.mean, again.mean)
    assert (q.mean[0] - q.mean[1]).abs().max() > 1e-2


def test_the_prior_of_a_part_knows_its_category_and_its_place(model):
    y = pieces(model.vocabulary, (2,))._replace(codes=torch.tensor([0, 1]))
    p_w = model.p_w(y, model.groups(y))
    assert (p_w.mean[0] - p_w.mean[1]).abs().max() > 1e-2
    if model.vocabulary.axes:
        there = y._replace(places=y.places.flip(0))
        assert (model.p_w(there, model.groups(y)).mean - p_w.mean).abs().max() > 1e-2


# Weights


def test_a_blank_one_takes_weights(model):
    with torch.device("meta"):
        blank = make("paper" if model.told is None else "slim", model.shape)
    assert all(tensor.is_meta for tensor in blank.state_dict().values())
    blank.load_state_dict(model.state_dict(), assign=True)
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    rows = torch.arange(B), torch.arange(N)
    with torch.no_grad():
        assert torch.equal(*(noise.bound(each, x, y, *rows) for each in (blank, model)))


def test_sizes_are_the_papers_unless_others_are_asked_for():
    with torch.device("meta"):
        curves = CompVAE(WAVES, CURVE)
        pictures = CompVAE(SITES, PICTURE, latent=1024)
    assert (curves.part, curves.latent, len(curves.blocks)) == (1024, 256, 3)
    assert (pictures.part, pictures.latent, len(pictures.blocks)) == (2048, 1024, 3)
    assert curves.posterior_w.weight.shape == (3 * 1024, 2048)
    assert curves.label.category.shape == (3, 2048)
    assert pictures.prior_w[0].weight.shape == (1024, 64)


def test_repr_shows_the_factorisation():
    shown = repr(make("slim", PICTURE))
    assert "p(x, z, w | l) = p(x | z, sum w) p(z | sum w) prod p(w_i | l_i)" in shown
    assert "q(z | x) q(w | x, z, l)" in shown
    assert "wholes (3, 32, 32), parts of 2 categories, latents 5 and 64 a part" in shown


@pytest.mark.parametrize(
    ("networks", "shape", "width", "message"),
    [
        ("slimm", CURVE, 64, r"`networks='slimm'` is not known; .*'paper' or 'slim'.*'slim'\?"),
        ("slim", PICTURE, 65, "`width=65` must be a multiple of 64"),
        ("paper", PICTURE, 64, "`width=64` must be 2048"),
    ],
)
def test_what_cannot_be_built_is_refused(networks, shape, width, message):
    with pytest.raises(UsageError, match=message):
        make(networks, shape, width=width)


def test_curves_and_colours_are_read_on_a_scale_of_their_own():
    curves, pictures = make("slim", CURVE), make("slim", PICTURE)
    seen: list[Tensor] = []
    for model, values in ((curves, (8.0, -4.0)), (pictures, (1.0, 0.0))):
        model.read.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        model.seen(torch.tensor(values)[:, None, None, None].expand(2, *model.shape))
    assert [each[:, 0, 0, 0].tolist() for each in seen] == [[2.0, -1.0], [1.0, -1.0]]
