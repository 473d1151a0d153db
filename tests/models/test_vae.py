"""VAEs of one layer and of several: shapes, likelihoods, how they begin, and their noise."""

import math

import pytest
import torch
from torch.distributions import kl_divergence

from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models import VAE, Ancestral, DeepVAE, FactorVAE
from mindseye.models.likelihood import LIKELIHOODS
from mindseye.objectives import image_elbo, vae

SHAPE = (1, 8, 8)


def make(kind=VAE, **options):
    torch.manual_seed(0)
    sizes = {"latents": (4, 3), "units": (8, 6)} if kind is DeepVAE else {"latent": 4, "width": 8}
    return kind(SHAPE, **(sizes | options))


def pictures(count: int = 5) -> torch.Tensor:
    return (torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(1)) < 0.4).float()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kind", [VAE, DeepVAE])
def test_every_likelihood_scores_pictures_of_every_draw(kind, likelihood):
    model = make(kind, likelihood=likelihood)
    z = model.q_x(pictures()).rsample((3,))
    found = model.p_x(z).log_prob(pictures())
    assert found.shape == (3, 5)
    assert found.isfinite().all()


@pytest.mark.parametrize("networks", ["tanh", "silu", "dense", "plain", "smooth"])
def test_any_networks_read_and_draw(networks):
    model = make(networks=networks)
    assert model.q_x(pictures()).mean.shape == (5, 4)
    assert model.p_x(torch.randn(2, 3, 4)).mean.shape == (2, 3, *SHAPE)


@pytest.mark.parametrize("side", [28, 32, 64, 60])
def test_plain_networks_halve_any_picture_and_double_it_again(side):
    model = VAE((1, side, side), 4, "plain", width=4)
    assert model.p_x(torch.randn(2, 4)).mean.shape == (2, 1, side, side)
    assert model.q_x(torch.rand(2, 1, side, side)).mean.shape == (2, 4)


def test_the_networks_of_the_papers_have_their_sizes():
    def count(model) -> int:
        return sum(p.numel() for p in model.parameters())

    reader = 784 * 200 + 200 + 200 * 200 + 200 + 200 * 100 + 100
    writer = 50 * 200 + 200 + 200 * 200 + 200 + 200 * 784 + 784
    assert count(VAE((1, 28, 28))) == reader + writer
    first = 784 * 200 + 200 + 200 * 200 + 200 + 200 * 200 + 200
    second = 100 * 100 + 100 + 100 * 100 + 100 + 100 * 100 + 100
    down = 50 * 100 + 100 + 100 * 100 + 100 + 100 * 200 + 200
    decoder = 100 * 200 + 200 + 200 * 200 + 200 + 200 * 784 + 784
    assert count(DeepVAE((1, 28, 28))) == first + second + down + decoder


@pytest.mark.parametrize("kind", [VAE, DeepVAE])
def test_a_prepared_decoder_begins_with_the_mean_picture(kind):
    model, mean = make(kind), torch.rand(SHAPE)
    model.prepare(mean)
    last = [m for m in model.decoders[0].modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.zero_()
    z = model.prior.rsample((2,)) if kind is DeepVAE else torch.randn(2, 4)
    expected = mean.clamp(1e-3, 1 - 1e-3).expand(2, *SHAPE)
    torch.testing.assert_close(model.p_x(z).mean, expected)


def test_pixels_that_are_no_bits_have_the_unit_of_the_data():
    """In another unit every density is that of the scaled pixels, less the log of the scale."""
    one, ten = make(likelihood="normal"), make(likelihood="normal")
    some = torch.randn(50, *SHAPE)
    one.prepare(torch.zeros(SHAPE), some / some.std())
    ten.prepare(torch.zeros(SHAPE), some / some.std() * 10)
    x, z = torch.randn(5, *SHAPE), torch.randn(5, 4)
    small, large = one.p_x(z).log_prob(x), ten.p_x(z).log_prob(10 * x)
    torch.testing.assert_close(large, small - 64 * math.log(10))
    torch.testing.assert_close(ten.q_x(10 * x).mean, one.q_x(x).mean)


def test_the_mean_of_the_weights_is_the_elbo():
    model, x = make(), pictures(1).expand(20_000, *SHAPE)
    analytic, drawn = image_elbo(model, x).value, vae(model, x).value
    error = 5 * (analytic.var() + drawn.var()).sqrt().item() / math.sqrt(20_000)
    assert drawn.mean().item() == pytest.approx(analytic.mean().item(), abs=error)


def test_before_a_picture_is_seen_the_prior_is_believed():
    model = make()
    nothing = Labels(torch.zeros(3, 0, dtype=torch.int64), torch.zeros(3, 0, dtype=torch.bool))
    belief = model.q_y(nothing)
    torch.testing.assert_close(kl_divergence(belief, model.prior), torch.zeros(3))


def test_the_noise_of_a_deep_model_is_a_latent_of_its_own():
    model = make(DeepVAE)
    seen = Ancestral(model)
    assert seen.latent == 7
    noise = torch.randn(6, 7)
    above = model.writers[0](noise[:, 4:])
    first = above.mean + above.stddev * noise[:, :4]
    torch.testing.assert_close(seen.p_x(noise).mean, model.p_x((first, noise[:, 4:])).mean)


def test_the_noise_that_is_read_leads_back_to_where_pictures_are_read():
    model = make(DeepVAE)
    seen, x = Ancestral(model), pictures()
    first = model.readers[0](x.flatten(1)).mean
    second = model.readers[1](first).mean
    expected = model.p_x((first, second)).mean
    torch.testing.assert_close(seen.p_x(seen.q_x(x).mean).mean, expected)


def test_a_factor_vae_has_a_discriminator_of_two_logits():
    model = make(FactorVAE, networks="tanh", units=6)
    assert model.discriminator(torch.randn(5, 4)).shape == (5, 2)


def test_what_cannot_be_is_refused():
    with pytest.raises(UsageError, match=r"`likelihood='bernouli'` is not known; .* 'bernoulli'\?"):
        make(likelihood="bernouli")
    with pytest.raises(UsageError, match="must be as many, each at least 1"):
        make(DeepVAE, latents=(4,))
    with pytest.raises(UsageError, match="plain networks halve pictures"):
        VAE((63, 1, 1), 4, "plain")
