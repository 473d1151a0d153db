"""Likelihoods of the linear-Gaussian model, whose evidence is known, and of networks."""

import math

import pytest
import torch

from mindseye.distributions import Chain, diagonal_normal
from mindseye.errors import UsageError
from mindseye.metrics.likelihood import ACTIVE, activities, log_evidence, rate_distortion, units
from mindseye.models import LinearGaussian
from mindseye.models.deep import DeepVAE
from mindseye.models.vae import VAE


@pytest.fixture
def exact() -> LinearGaussian:
    torch.manual_seed(0)
    return LinearGaussian(torch.randn(5, 2), torch.randn(3, 2))


def binary(count: int) -> torch.Tensor:
    torch.manual_seed(1)
    return (torch.rand(count, 1, 4, 4) < 0.4).float()


def test_one_draw_of_the_true_posterior_gives_the_evidence(exact):
    x = torch.randn(6, 5)
    found = log_evidence(exact, x, 1)
    torch.testing.assert_close(found.float(), exact.log_evidence(x=x))


def test_draws_of_a_wrong_posterior_approach_the_evidence_from_below(exact):
    exact.tilt = 0.2
    x = torch.randn(400, 5)
    truth = exact.log_evidence(x=x).double().mean().item()
    gaps = [truth - log_evidence(exact, x, k).mean().item() for k in (1, 10, 100, 10_000)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.1
    assert abs(gaps[-1]) < 0.01


@pytest.mark.parametrize("room", [16, 16 * 7, 16 * 50, 2**20])
def test_portions_do_not_change_the_estimate_beyond_its_noise(room):
    torch.manual_seed(0)
    model, x = VAE((1, 4, 4), 1, width=8), binary(40)
    found = log_evidence(model, x, 200, room=room)
    whole = log_evidence(model, x, 200, seed=1)
    assert found.shape == (40,)
    assert (found - whole).abs().mean() < 0.1
    assert abs(found.mean() - whole.mean()) < 0.03


def test_the_same_seed_gives_the_same_estimate_and_leaves_the_callers_noise_alone():
    torch.manual_seed(0)
    model, x = DeepVAE((1, 4, 4), (4, 2), (8, 8)), binary(5)
    before = torch.random.get_rng_state()
    one, two, other = (log_evidence(model, x, 9, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.equal(before, torch.random.get_rng_state())


def test_progress_ends_at_all_draws():
    model, x, seen = VAE((1, 4, 4), 3, width=8), binary(5), []
    log_evidence(
        model, x, 10, room=16 * 5 * 4, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(20, 50), (40, 50), (50, 50)]


def test_rate_and_distortion_are_the_two_halves_of_the_elbo(exact):
    exact.tilt = 0.4
    x = torch.randn(300, 5)
    q = exact.q_x(x)
    rate = torch.distributions.kl_divergence(q, exact.prior)
    distortion = -exact.expected_log_px(q, x)
    found = rate_distortion(exact, x, 400)
    assert found.rate.mean().item() == pytest.approx(rate.mean().item(), abs=0.02)
    assert found.distortion.mean().item() == pytest.approx(distortion.mean().item(), abs=0.05)


class Reader:
    """Two units follow the picture, with variances 4 and 0.0001; one says nothing."""

    def q_x(self, x):
        loc = torch.stack([2 * x[:, 0], 0.01 * x[:, 1], 0 * x[:, 0]], 1)
        return diagonal_normal(loc, torch.zeros_like(loc))


def test_a_unit_is_as_active_as_its_mean_varies():
    torch.manual_seed(0)
    (found,) = activities(Reader(), torch.randn(5000, 2))
    assert found.tolist() == pytest.approx([4.0, 1e-4, 0.0], rel=0.1)
    assert (found > ACTIVE).tolist() == [True, False, False]


class Echo:
    """A second layer that repeats the noise of the first, and adds the picture to one unit."""

    def q_x(self, x):
        told = torch.stack([0.5 * x[:, 0], 0 * x[:, 0]], 1)

        def repeated(h):
            return diagonal_normal(h + told, torch.full_like(h, -2.0))

        return Chain(diagonal_normal(0 * told, 0 * told), [repeated])


def test_the_noise_of_draws_is_no_activity():
    """The mean of 64 draws of variance 1 has the variance 0.016, which would count as active."""
    torch.manual_seed(0)
    first, second = units(Echo(), torch.randn(5000, 2))
    assert first.activity.tolist() == [0, 0]
    assert second.activity.tolist() == pytest.approx([0.25, 0.0], abs=0.02)
    assert second.activity[1] < 0.003
    assert second.mean.tolist() == pytest.approx([0, 0], abs=0.05)


def test_one_picture_shows_no_activity():
    (found,) = units(Reader(), torch.ones(1, 2))
    assert found.activity.tolist() == [0, 0, 0]
    assert found.mean.tolist() == pytest.approx([2, 0.01, 0])


def test_every_layer_has_its_activities():
    model = DeepVAE((1, 4, 4), (4, 2), (8, 8))
    assert [len(layer) for layer in activities(model, binary(30), 8)] == [4, 2]


def test_an_untrained_model_of_even_odds_needs_a_bit_a_pixel():
    model, x = VAE((1, 4, 4), 3, width=8), binary(20)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(
        log_evidence(model, x, 3), torch.full((20,), -16 * math.log(2), dtype=torch.float64)
    )


def test_nothing_and_no_draws_are_refused():
    model = VAE((1, 4, 4), 3, width=8)
    with pytest.raises(UsageError, match="`k=0`"):
        log_evidence(model, binary(3), 0)
    with pytest.raises(UsageError, match="no picture"):
        activities(model, binary(3)[:0])
