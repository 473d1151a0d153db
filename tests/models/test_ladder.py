"""The ladder: its merge in closed form, its densities by quadrature, its draws by Monte Carlo."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from mindseye.concepts import Vocabulary
from mindseye.distributions import diagonal_normal
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.imagine import Mind
from mindseye.metrics.likelihood import log_evidence, rate_distortion
from mindseye.models.ladder import AncestralLadder, LadderVAE
from mindseye.models.rungs import merged
from mindseye.objectives.iwae import log_weights


def lively(*args, scale: float = 0.3, **options) -> LadderVAE:
    """A small ladder whose weights are far from where training begins."""
    torch.manual_seed(0)
    model = LadderVAE(*args, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(scale * torch.randn_like(parameter))
    return model.eval()


@pytest.fixture
def model() -> LadderVAE:
    return lively((1, 8, 8), (2, 2, 3), filters=4, scale=0.1)


def binary(count: int, *shape: int) -> Tensor:
    torch.manual_seed(1)
    return (torch.rand(count, *shape) < 0.4).float()


# The merge


def test_the_merge_is_the_product_of_two_normals():
    torch.manual_seed(0)
    message, prior = (diagonal_normal(torch.randn(5, 3), torch.randn(5, 3)) for _ in range(2))
    q = merged(message, prior)
    precision = message.variance**-1 + prior.variance**-1
    torch.testing.assert_close(q.variance, 1 / precision)
    weighed = message.mean / message.variance + prior.mean / prior.variance
    torch.testing.assert_close(q.mean, weighed / precision)
    z = torch.randn(7, 5, 3)
    gap = message.log_prob(z) + prior.log_prob(z) - q.log_prob(z)
    torch.testing.assert_close(gap, gap[:1].expand_as(gap), rtol=1e-4, atol=1e-4)


def test_a_message_that_is_the_likelihood_makes_the_merge_the_true_posterior():
    """z ~ N(m, s²), x ~ N(z, t²): every weight is then the evidence N(x; m, s² + t²)."""
    m, s, t, x = 0.7, 1.3, 0.4, torch.tensor([[-1.1]])
    prior = DiagonalNormal(torch.full((1, 1), m), torch.full((1, 1), s))
    q = merged(DiagonalNormal(x, torch.full((1, 1), t)), prior)
    z = q.rsample((50,))
    log_w = Normal(z, t).log_prob(x).sum(-1) + prior.log_prob(z) - q.log_prob(z)
    truth = Normal(m, math.hypot(s, t)).log_prob(x).squeeze()
    torch.testing.assert_close(log_w, truth.expand_as(log_w), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("low", "high"), [(-7.0, 3.0), (3.0, -7.0)])
def test_the_merge_is_exact_where_one_of_the_two_says_nearly_nothing(low, high):
    one = torch.ones(1, 1)
    q = merged(diagonal_normal(one, low * one), diagonal_normal(-one, high * one))
    narrow = math.exp(min(low, high))
    assert q.stddev.item() == pytest.approx(narrow, rel=1e-5)
    assert q.mean.item() == pytest.approx(1.0 if low < high else -1.0, abs=1e-5)


# Densities, against sums over a grid


@pytest.fixture
def flat() -> LadderVAE:
    """Two layers of one number each, so that all integrals can be done."""
    model = lively((1, 2, 2), (1, 1), filters=3, halvings=(1, 1))
    model.top_down.output.last.weight.data *= 4
    return model


def grid(steps: int = 401, end: float = 12.0) -> tuple[tuple[Tensor, Tensor], float]:
    line = torch.linspace(-end, end, steps)
    first, second = torch.meshgrid(line, line, indexing="ij")
    size = 2 * math.log(2 * end / (steps - 1))
    return (first.reshape(-1, 1, 1), second.reshape(-1, 1, 1)), size  # (G, 1, 1) each


@torch.no_grad()
def test_prior_and_posterior_are_densities(flat):
    z, size = grid()
    x = binary(1, 1, 2, 2)
    prior = flat.prior.log_prob(tuple(layer[:, 0] for layer in z))
    assert prior.logsumexp(0).item() + size == pytest.approx(0, abs=2e-3)
    posterior = flat.q_x(x).log_prob(z)
    assert posterior.logsumexp(0).item() + size == pytest.approx(0, abs=2e-3)


@torch.no_grad()
def test_the_evidence_of_many_draws_is_the_integral(flat):
    z, size = grid()
    x = binary(3, 1, 2, 2)
    joint = flat.p_x(z).log_prob(x) + flat.prior.log_prob(z)  # (G, 3)
    truth = joint.double().logsumexp(0) + size
    assert truth.std() > 0.1  # pictures differ
    one, many = log_evidence(flat, x, 1), log_evidence(flat, x, 20_000)
    torch.testing.assert_close(many, truth, rtol=0, atol=0.02)
    assert (one - truth).abs().max() > 0.05  # and one draw is not enough


# Draws


def test_one_way_down_gives_the_weights_of_three(model):
    x = binary(5, 1, 8, 8)
    found = model.weights(x, 4)
    assert found.log_px.shape == (4, 5)
    assert [tuple(layer.shape) for layer in found.z] == [(4, 5, d) for d in model.sizes]
    log_px, q = model.p_x(found.z).log_prob(x), model.q_x(x)
    torch.testing.assert_close(found.log_px, log_px, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        sum(found.log_p), model.prior.log_prob(found.z), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(sum(found.log_q), q.log_prob(found.z), rtol=1e-4, atol=1e-4)
    log_w = log_px + model.prior.log_prob(found.z) - q.log_prob(found.z)
    torch.testing.assert_close(found.log_w, log_w, rtol=1e-4, atol=1e-3)


def test_the_same_noise_gives_the_same_draws_either_way(model):
    x = binary(5, 1, 8, 8)
    torch.manual_seed(2)
    once = model.weights(x, 3)
    torch.manual_seed(2)
    again = model.weights(x, 3, model.q_x(x))
    assert torch.equal(once.log_w, again.log_w)
    torch.manual_seed(2)
    drawn = model.q_x(x).rsample((3,))
    for a, b in zip(once.z, drawn, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    torch.manual_seed(2)
    torch.testing.assert_close(once.log_w, log_weights(model, x, 3), rtol=1e-4, atol=1e-3)


@torch.no_grad()
def test_the_divergence_of_every_layer_is_what_draws_say(model):
    found = model.weights(binary(3, 1, 8, 8), 4000)
    for log_q, log_p, kl in zip(found.log_q, found.log_p, found.kl, strict=True):
        assert kl.min() >= 0
        gap = log_q - log_p - kl
        assert gap.mean(0).abs().max() < 5 * gap.std(0).max() / math.sqrt(4000)
        assert kl.mean() > 0.1


@torch.no_grad()
def test_the_bound_rises_with_the_number_of_draws(model):
    x = binary(60, 1, 8, 8)
    found = [log_evidence(model, x, k).mean().item() for k in (1, 8, 64)]
    assert found[0] + 0.5 < found[1] < found[2]
    parts = rate_distortion(model, x, 64)
    elbo = -(parts.rate + parts.distortion).mean().item()
    assert elbo == pytest.approx(found[0], abs=2.0)


@torch.no_grad()
def test_what_is_believed_of_a_picture_does_not_depend_on_its_neighbours(model):
    x, order = binary(4, 1, 8, 8), [2, 0, 3, 1]
    z = model.q_x(x).rsample((3,))
    there = model.q_x(x).log_prob(z)
    moved = model.q_x(x[order]).log_prob(tuple(layer[:, order] for layer in z))
    torch.testing.assert_close(moved, there[:, order], rtol=1e-4, atol=1e-4)
    alone = model.q_x(x[:1]).log_prob(tuple(layer[:, :1] for layer in z))
    torch.testing.assert_close(alone, there[:, :1], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_means_are_those_of_draws(model):
    x = binary(2, 1, 8, 8)
    drawn, means = model.q_x(x).rsample((4000,)), model.q_x(x).means(4000)
    for layer, mean in zip(drawn, means, strict=True):
        assert mean.shape == layer.shape[1:]
        assert (layer.mean(0) - mean).abs().max() < 8 * layer.std(0).max() / math.sqrt(4000)


def test_every_layer_and_the_picture_depend_on_all_layers_above(model):
    z = tuple(layer.requires_grad_() for layer in model.prior.rsample((2,)))
    for gradient in torch.autograd.grad(model.p_x(z).mean.sum(), z):
        assert gradient.abs().max() > 1e-4
    states: dict[int, Tensor] = {}
    model.top_down.descend(
        (2,), lambda at, rung, h: states.setdefault(at, rung.prior(h).mean) * 0 + z[at]
    )
    for gradient in torch.autograd.grad(states[0].sum(), z[1:]):
        assert gradient.abs().max() > 1e-4


# As a latent of one layer


@torch.no_grad()
def test_noise_becomes_layers_and_layers_become_the_same_noise(model):
    mind = AncestralLadder(model)
    assert mind.latent == sum(model.sizes) == model.latent
    noise = torch.randn(2, 3, mind.latent)
    layers, found = mind.layers(noise), []

    def back(at, rung, state):
        p = rung.prior(state)
        found.insert(0, (layers[at].flatten(0, 1) - p.mean) / p.stddev)
        return layers[at]

    model.top_down.descend((2, 3), back)
    torch.testing.assert_close(torch.cat(found, -1).view_as(noise), noise, rtol=1e-3, atol=1e-4)
    assert torch.equal(mind.p_x(noise).mean, model.p_x(layers).mean)


@torch.no_grad()
def test_the_noise_of_a_picture_leads_to_its_reconstruction(model):
    x = binary(5, 1, 8, 8)
    posterior = model.q_x(x)
    state = model.top_down.descend((5,), lambda *at: posterior.given(*at)[0].mean)
    direct = model.likelihood(model.top_down.output(state)).mean
    mind = AncestralLadder(model)
    torch.testing.assert_close(mind.p_x(mind.q_x(x).mean).mean, direct, rtol=1e-3, atol=1e-4)


def test_a_mind_imagines_and_reconstructs_with_it(model):
    mind = Mind(AncestralLadder(model), name="ladder")
    pictures = mind.imagine("", n=9, seed=4)
    assert pictures.shape == (9, 1, 8, 8)
    assert torch.equal(mind.imagine("", n=3, seed=4), pictures[:3])
    assert mind.reconstruct(pictures).shape == (9, 1, 8, 8)
    assert len(model.vocabulary) == len(Vocabulary([])) == 0


# Shapes and sizes


def test_pictures_of_28_are_halved_to_7_and_4():
    with torch.device("meta"):
        model = LadderVAE((1, 28, 28))
    assert model.sizes == (8 * 49,) * 4 + (16 * 16,) * 2
    assert sum(p.numel() for p in model.parameters()) == 1_825_104
    assert "latents 8x7x7 8x7x7 8x7x7 8x7x7 16x4x4 16x4x4" in repr(model)


@pytest.mark.parametrize(
    ("shape", "halvings", "sizes"),
    [
        ((1, 28, 28), (), (98, 98, 48)),
        ((3, 32, 32), (), (128, 128, 48)),
        ((1, 64, 64), (), (128, 128, 48)),
        ((1, 28, 28), (1, 2, 4), (392, 98, 12)),
        ((2, 6, 10), (1, 1, 3), (30, 30, 6)),
    ],
)
@pytest.mark.parametrize("likelihood", ["bernoulli", "quantised-logistic"])
def test_any_picture_of_even_sides_is_drawn(shape, halvings, sizes, likelihood):
    model = LadderVAE(shape, (2, 2, 3), filters=4, halvings=halvings, likelihood=likelihood)
    assert model.sizes == sizes
    x = binary(2, *shape)
    assert model.weights(x, 3).log_px.shape == (3, 2)
    assert model.p_x(model.prior.rsample((4,))).mean.shape == (4, *shape)


def test_a_prepared_model_begins_at_the_mean_picture():
    torch.manual_seed(0)
    model, mean = LadderVAE((1, 8, 8), (2, 2, 3), filters=8), 0.1 + 0.8 * torch.rand(1, 8, 8)
    model.prepare(mean)
    drawn = model.p_x(model.prior.rsample((200,))).mean.mean(0)
    assert (drawn - mean).abs().max() < 0.1


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    model, x = LadderVAE((1, 8, 8), (2, 2), filters=4, dropout=0.5), binary(2, 1, 8, 8)
    seen = [model.bottom_up(x)[0] for _ in range(2)]
    assert not torch.equal(*seen)
    model.eval()
    assert torch.equal(*[model.bottom_up(x)[0] for _ in range(2)])


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 27, 28), {}, "these have 27 by 28 pixels"),
        ((1, 8, 8), {"latents": ()}, "`latents="),
        ((1, 8, 8), {"latents": (2, 0)}, "`latents="),
        ((1, 8, 8), {"filters": 0}, "`filters=0`"),
        ((1, 8, 8), {"blocks": 0}, "`blocks=0`"),
        ((1, 8, 8), {"latents": (2, 2), "halvings": (2, 1)}, "never fall"),
        ((1, 8, 8), {"latents": (2, 2), "halvings": (1,)}, "as many as"),
        ((1, 8, 8), {"latents": (2, 2), "halvings": (0, 1)}, "at least 1"),
        ((1, 8, 8), {"dropout": 1.0}, "`dropout=1.0`"),
        ((1, 8, 8), {"likelihood": "bernouli"}, "bernoulli"),
    ],
)
def test_sizes_that_cannot_be_are_refused(shape, options, message):
    with pytest.raises(UsageError, match=message):
        LadderVAE(shape, **options)
