"""The bound of wholes and their parts, against a model whose evidence is known."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence
from torch.testing import assert_close

from mindseye.distributions.correlated import CorrelatedNormals, PartNormals
from mindseye.distributions.normal import DiagonalNormal
from mindseye.groups import Groups
from mindseye.models import CompVAE, ImprintVAE, WholesVAE
from mindseye.objectives import compvae
from mindseye.parts import Kit
from mindseye.pieces import Pieces

COPIES = 20_000
D, Z = 2, 3
SPREAD, GAIN, NOISE = 0.8, 1.5, 0.6
"""Of the latents of parts, from their sum to the whole, and of the whole."""

MEANS = torch.tensor([[0.5, -1.0], [2.0, 0.3], [-0.4, 0.9]], dtype=torch.float64)
"""Of the latents of three categories."""


@dataclass
class Exact:
    """w_i ~ N(m, s² I), x ~ N(a sum w, t² I), and z has nothing to do with it.

    In every coordinate the posterior of the parts has the covariances s² (I - c 11ᵀ) with
    c = a² s² / (K a² s² + t²): the square of s (I - ρ 11ᵀ) where 2 ρ - K ρ² = c.
    """

    shift: Tensor | float = 0.0
    """How far the posterior's means are from the true ones."""
    narrow: Tensor | float = 1.0
    """How much narrower it is."""
    leans: bool = True
    """Whether its parts know of each other."""

    groups, total = staticmethod(CompVAE.groups), CompVAE.total

    def p_w(self, y: Pieces, groups: Groups) -> PartNormals:
        loc = MEANS[y.codes]
        return PartNormals(loc, torch.full_like(loc, SPREAD), groups)

    def p_z(self, total: Tensor) -> DiagonalNormal:
        zero = torch.zeros(len(total), Z, dtype=total.dtype)
        return DiagonalNormal(zero, zero + 1)

    def p_x(self, z: Tensor, total: Tensor) -> Independent:
        return Independent(Normal(GAIN * total, NOISE), 1)

    def seen(self, x: Tensor) -> Tensor:
        return x

    def q_z(self, seen: Tensor) -> DiagonalNormal:
        return self.p_z(seen)

    def q_w(self, seen: Tensor, z: Tensor, y: Pieces, groups: Groups) -> CorrelatedNormals:
        prior = self.p_w(y, groups).mean
        size = groups.spread(y.sizes[:, None]).double()
        c = GAIN**2 * SPREAD**2 / (size * GAIN**2 * SPREAD**2 + NOISE**2)
        rho = (1 - (1 - size * c).sqrt()) / size
        logits = (rho / (1 - size * rho)).log() if self.leans else torch.full_like(rho, -1e4)
        missing = groups.spread(seen - GAIN * groups.totals(prior))
        loc = prior + c * missing / GAIN + self.shift
        scale = SPREAD * self.narrow * torch.ones_like(loc)
        return CorrelatedNormals(loc, scale, logits.expand_as(loc), groups)


def whole(sizes: tuple[int, ...] = (3,), copies: int = 1) -> tuple[Tensor, Pieces]:
    """Wholes of some sizes, and each of them many times."""
    generator = torch.Generator().manual_seed(5)
    x = 3 * torch.randn(len(sizes), D, generator=generator, dtype=torch.float64)
    codes = torch.randint(len(MEANS), (sum(sizes),), generator=generator)
    many = torch.tensor(sizes).repeat(copies)
    return x.repeat(copies, 1), Pieces(codes.repeat(copies), torch.zeros(len(codes), 0), many)


def posterior(model: Exact, x: Tensor, y: Pieces) -> CorrelatedNormals:
    return model.q_w(x, x, y, model.groups(y))


def log_evidence(x: Tensor, y: Pieces) -> Tensor:
    """log p(x) of every whole."""
    groups = Groups.of(y.sizes, len(y.codes))
    mean = GAIN * groups.totals(MEANS[y.codes])
    variance = GAIN**2 * SPREAD**2 * y.sizes[:, None] + NOISE**2
    return Normal(mean, variance.double().sqrt()).log_prob(x).sum(-1)


def divergence(q: CorrelatedNormals, p: CorrelatedNormals) -> Tensor:
    """KL(q || p) of the one set they have, by full covariances."""
    one, two = (
        MultivariateNormal(each.loc.T, covariance_matrix=each.covariance(0)) for each in (q, p)
    )
    return kl_divergence(one, two).sum()


def expected(model: Exact, **weights: float) -> tuple[Tensor, Tensor]:
    """The mean bound of one whole over many draws, and its error."""
    torch.manual_seed(0)
    value = compvae(model, *whole(copies=COPIES), **weights).value
    return value.mean(), 5 * value.std() / COPIES**0.5


# The value


def test_the_posterior_here_is_the_true_one():
    x, y = whole((3,))
    q = posterior(Exact(), x, y)
    precision = torch.eye(3).double() / SPREAD**2 + GAIN**2 / NOISE**2
    assert_close(q.covariance(0), precision.inverse().expand(D, 3, 3))
    prior = MEANS[y.codes]
    told = prior / SPREAD**2 + GAIN / NOISE**2 * x
    assert_close(q.loc, precision.inverse() @ told)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_under_the_true_posterior_the_mean_bound_is_the_evidence(size):
    torch.manual_seed(0)
    x, y = whole((size,), COPIES)
    value = compvae(Exact(), x, y).value
    error = 5 * value.std() / COPIES**0.5
    assert error < 0.1
    assert (value.mean() - log_evidence(*whole((size,)))[0]).abs() < error


def test_wholes_of_different_sizes_have_each_their_own_evidence():
    torch.manual_seed(0)
    sizes = (1, 4, 2)
    value = compvae(Exact(), *whole(sizes, COPIES)).value.view(COPIES, len(sizes))
    error = 5 * value.std(0) / COPIES**0.5
    assert ((value.mean(0) - log_evidence(*whole(sizes))).abs() < error).all()


@pytest.mark.parametrize(
    "wrong", [{"shift": 0.2}, {"narrow": 0.7}, {"leans": False}, {"shift": -0.1, "narrow": 1.2}]
)
def test_a_wrong_posterior_costs_exactly_its_divergence(wrong):
    x, y = whole()
    lost = divergence(*(posterior(each, x, y) for each in (Exact(**wrong), Exact())))
    found, error = expected(Exact(**wrong))
    assert lost > 2 * error
    assert (log_evidence(x, y)[0] - lost - found).abs() < error


def test_beta_weighs_what_is_known_of_the_parts():
    x, y = whole()
    q = posterior(Exact(), x, y)
    kl = kl_divergence(q, Exact().p_w(y, q.groups))[0]
    found, error = expected(Exact(), beta=0.25, dear=0.0)
    assert (log_evidence(x, y)[0] + 0.75 * kl - found).abs() < error


@pytest.mark.parametrize(("shift", "narrow"), [(0.0, 1.0), (0.2, 0.7)])
def test_its_mean_gradient_is_that_of_the_divergence(shift, narrow):
    x, y = whole()
    given = [torch.tensor(each, requires_grad=True) for each in (shift, narrow)]
    model = Exact(*given)
    found = torch.autograd.grad(expected(model)[0], given)
    lost = divergence(posterior(model, x, y), posterior(Exact(), x, y))
    closed = torch.autograd.grad(-lost, given)
    assert_close(torch.stack(found), torch.stack(closed), rtol=0.02, atol=0.2)
    assert (max(map(abs, closed)) > 5) == (shift > 0)


# Weights


@pytest.fixture(scope="module", params=["curves", "pictures", "paper"])
def model(request) -> WholesVAE:
    torch.manual_seed(0)
    kit = Kit(["a", "b", "c"], axes=("x", "y") if request.param == "pictures" else ())
    if request.param == "paper":
        return CompVAE(kit, (1, 1, 200), latent=4, width=64, hidden=16)
    shape = (1, 1, 20) if request.param == "curves" else (3, 16, 16)
    return ImprintVAE(kit, shape, latent=4, width=3, hidden=16)


def batch(model: WholesVAE) -> tuple[Tensor, Pieces]:
    generator = torch.Generator().manual_seed(2)
    places = 2 * torch.rand(6, len(model.vocabulary.axes), generator=generator) - 1
    y = Pieces(torch.tensor([0, 1, 1, 2, 0, 2]), places, torch.tensor([1, 3, 2]))
    return torch.rand(3, *model.shape, generator=generator), y


def bound(model: WholesVAE, **weights: float):
    torch.manual_seed(1)
    return compvae(model, *batch(model), **weights)


def gradients(model: WholesVAE, heat: float = 1.0, **weights: float) -> dict[str, Tensor]:
    value = bound(model, **weights).heated(heat).value.sum()
    names, parameters = zip(*model.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(value, parameters), strict=True))


@pytest.mark.parametrize(("beta", "dear"), [(1.0, 10.0), (0.3, 10.0), (0.3, 0.0), (0.0, 2.0)])
def test_the_bound_is_the_sum_of_its_terms(model, beta, dear):
    found = bound(model, beta=beta, dear=dear)
    log_px, kl_w, kl_z = (found.terms[name] for name in ("log_px_qzw", "kl_qw_pw", "kl_qz_pz"))
    assert list(found.terms) == ["log_px_qzw", "kl_qw_pw", "kl_qz_pz"]
    assert all(each.shape == (3,) for each in (found.value, log_px, kl_w, kl_z))
    assert (kl_w > 0).all() or isinstance(model, ImprintVAE)  # estimated by a draw
    assert_close(found.value, log_px - beta * kl_w - kl_z - dear * (1 - beta) * kl_z)


@pytest.mark.parametrize(("heat", "dear"), [(7.0, 10.0), (3.0, 0.0), (1.0, 10.0)])
def test_heat_weighs_the_parts_and_the_whole_as_many_times_more_as_it_is_dear(model, heat, dear):
    found = bound(model, dear=dear)
    _, kl_w, kl_z = found.terms.values()
    assert_close(found.heated(heat).value, found.value - (heat - 1) * (kl_w + dear * kl_z))


def test_when_it_is_warm_or_has_cooled_nothing_is_dear(model):
    assert torch.equal(*(bound(model, dear=weight).value for weight in (0.0, 10.0)))
    plain, dear = (gradients(model, dear=weight) for weight in (0.0, 10.0))
    for name in plain:
        assert_close(dear[name], plain[name])


@pytest.mark.parametrize("early", [{"beta": 0.5}, {"heat": 3.0}])
def test_the_price_of_z_is_paid_by_what_makes_z_and_not_by_what_makes_the_parts(model, early):
    cheap, dear = (gradients(model, **early, dear=weight) for weight in (0.0, 10.0))
    parts = ("posterior_w", "label", "gate", "blocks", "told", "prior_w", "imprint", "write")
    for name in cheap:
        scale = cheap[name].abs().max()
        if name.startswith(parts):
            assert_close(dear[name], cheap[name], rtol=0, atol=1e-4 * scale.item())
        if name.startswith(("posterior_z", "prior_z")):
            assert (dear[name] - cheap[name]).abs().max() > 1e-3 * scale


def test_the_divergence_of_z_itself_reaches_the_parts(model):
    kl_z = bound(model).terms["kl_qz_pz"].sum()
    (reached,) = torch.autograd.grad(kl_z, model.posterior_w.bias)
    assert reached[: model.part].abs().min() > 0
