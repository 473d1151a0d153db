"""FactorVAE: two players, and a discriminator that can be written down."""

import math

import pytest
import torch
from torch import nn
from torch.distributions import MultivariateNormal, Normal

from mindseye.errors import UsageError
from mindseye.models.exact import LinearGaussian
from mindseye.objectives.elbo import image_elbo
from mindseye.objectives.factor import factor, shuffled
from mindseye.objectives.registry import get_objective


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def model():
    """Loadings that are orthogonal to each other: the true posterior has independent dimensions."""
    loading = torch.linalg.qr(torch.randn(5, 3)).Q * torch.tensor([2.0, 1.0, 0.6])
    model = LinearGaussian(loading, torch.randn(2, 3))
    model.discriminator = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2))
    return model


class Exact(nn.Module):
    """The best discriminator of a normal with this covariance."""

    def __init__(self, covariance):
        super().__init__()
        self.covariance = covariance

    def forward(self, z):
        joint = MultivariateNormal(z.new_zeros(3), self.covariance)
        alone = Normal(0, self.covariance.diagonal().sqrt())
        return torch.stack([joint.log_prob(z), alone.log_prob(z).sum(-1)], 1)


def gradients(value, model):
    """The gradients of the VAE's loadings and of its discriminator's weights."""
    own, *others = torch.autograd.grad(
        value, [model.A, *model.discriminator.parameters()], allow_unused=True, retain_graph=True
    )
    return own, others


def test_bound_of_the_vae_does_not_reach_the_discriminator(model):
    found = factor(model, torch.randn(12, 5))
    own, others = gradients((found.value - found.terms["log_discriminator"]).sum(), model)
    assert own.abs().max() > 0
    assert all(g is None or g.abs().max() < 1e-12 for g in others)  # added, then taken away
    correlation, others = gradients(found.terms["total_correlation"].sum(), model)
    assert correlation.abs().max() > 0  # through the discriminator
    assert others == [None] * 4


def test_likelihood_of_the_discriminator_does_not_reach_the_vae(model):
    found = factor(model, torch.randn(12, 5))
    own, others = gradients(found.terms["log_discriminator"].sum(), model)
    assert own is None
    assert all(g.abs().max() > 0 for g in others)


def test_both_players_get_their_gradients_from_the_value(model):
    found = factor(model, torch.randn(12, 5), gamma=3.0)
    terms = found.terms
    own, others = gradients(found.value.sum(), model)
    fit = terms["log_px_qx"] - terms["kl_qx_p"] - 3 * terms["total_correlation"]
    torch.testing.assert_close(own, gradients(fit.sum(), model)[0])
    torch.testing.assert_close(others, gradients(terms["log_discriminator"].sum(), model)[1])


def test_discriminator_is_free_again_afterwards(model):
    factor(model, torch.randn(12, 5))
    assert all(p.requires_grad for p in model.discriminator.parameters())


@pytest.mark.parametrize("size", [12, 13])
def test_without_gamma_it_is_the_bound_of_the_first_half_and_the_second_player(model, size):
    x = torch.randn(size, 5)
    torch.manual_seed(1)
    found = factor(model, x, gamma=0.0, beta=2.0)
    torch.manual_seed(1)
    bound = image_elbo(model, x[:6], beta=2.0).value
    torch.testing.assert_close(found.value, bound + found.terms["log_discriminator"])
    assert all(term.shape == (6,) for term in found.terms.values())


def test_the_last_picture_of_an_odd_batch_is_not_read(model):
    x = torch.randn(9, 5)
    torch.manual_seed(1)
    value = factor(model, x).value
    x[8] = math.nan
    torch.manual_seed(1)
    torch.testing.assert_close(factor(model, x).value, value)


def test_the_first_half_decides_what_the_vae_is_told(model):
    x = torch.randn(8, 5)
    torch.manual_seed(1)
    terms = factor(model, x).terms
    x[4:] += 1
    torch.manual_seed(1)
    others = factor(model, x).terms
    for name in ("log_px_qx", "kl_qx_p", "total_correlation"):
        torch.testing.assert_close(terms[name], others[name])
    assert not torch.allclose(terms["log_discriminator"], others["log_discriminator"])


def test_a_discriminator_that_knows_nothing_sees_no_correlation(model):
    model.discriminator = nn.Linear(3, 2)
    nn.init.zeros_(model.discriminator.weight)
    nn.init.zeros_(model.discriminator.bias)
    terms = factor(model, torch.randn(8, 5)).terms
    torch.testing.assert_close(terms["total_correlation"], torch.zeros(4))
    torch.testing.assert_close(terms["log_discriminator"], torch.full((4,), -math.log(2)))


def test_the_best_discriminator_gives_the_total_correlation_of_a_normal(model):
    root = torch.randn(5, 5)
    x = torch.randn(80_000, 5) @ root.T
    with torch.no_grad():
        one = model.q_x(torch.eye(5))  # the posterior's mean is linear in x
        covariance = one.mean.T @ root @ root.T @ one.mean + one.covariance_matrix[0]
        model.discriminator = Exact(covariance)
        terms = factor(model, x).terms
    scale = covariance.diagonal().sqrt()
    expected = -torch.linalg.det(covariance / scale / scale[:, None]).log().item() / 2
    found = terms["total_correlation"]
    assert expected > 0.3
    assert found.mean().item() == pytest.approx(expected, abs=4 * found.std().item() / 200)
    assert terms["log_discriminator"].mean() > -math.log(2) + 0.05


def test_no_discriminator_beats_the_best_one(model):
    root = torch.randn(5, 5)
    x = torch.randn(20_000, 5) @ root.T
    with torch.no_grad():
        one = model.q_x(torch.eye(5))
        covariance = one.mean.T @ root @ root.T @ one.mean + one.covariance_matrix[0]
        found = []
        for wrong in (0.0, 0.2, 0.5):
            model.discriminator = Exact(covariance.lerp(covariance.diagonal().diag(), wrong))
            torch.manual_seed(1)
            found.append(factor(model, x).terms["log_discriminator"].mean().item())
    assert found[0] > found[1] > found[2] > -math.log(2)


def test_shuffling_keeps_every_dimension_and_breaks_their_ties():
    z = torch.randn(4000, 1).expand(-1, 3) * torch.tensor([1.0, 2.0, -1.0])
    other = shuffled(z)
    torch.testing.assert_close(other.sort(0).values, z.sort(0).values)
    assert torch.corrcoef(other.T).sub(torch.eye(3)).abs().max() < 4 / 4000**0.5


def test_shuffling_puts_every_draw_everywhere_equally_often():
    z = torch.arange(4.0)[:, None].expand(-1, 20_000)
    first = shuffled(z)[0].long().bincount(minlength=4)
    assert first.sub(5000).abs().max() < 4 * (20_000 * 3 / 16) ** 0.5


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_shuffle_is_another_one_in_every_replay():
    z = torch.randn(512, 3, device="cuda")
    lane, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    lane.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=lane):
        other = shuffled(z)
    graph.replay()
    first = other.clone()
    graph.replay()
    torch.cuda.synchronize()
    assert not torch.equal(first, other)
    torch.testing.assert_close(other.sort(0).values, z.sort(0).values)


def test_weights_are_registered():
    assert get_objective("factor").weights == {"beta": 1.0, "gamma": 35.0}


def test_a_model_without_a_discriminator_and_a_batch_of_one_are_refused(model):
    with pytest.raises(UsageError, match=r"batch of 2 pictures or more.*got 1"):
        factor(model, torch.randn(1, 5))
    del model.discriminator
    with pytest.raises(UsageError, match=r"module `discriminator`; LinearGaussian has none"):
        factor(model, torch.randn(4, 5))
