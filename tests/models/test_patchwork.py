"""Models of patches seen as models of pictures."""

import pytest
import torch
from torch.testing import assert_close

from mindseye.data.bsds import CONTRAST, patches, seen, unseen
from mindseye.imagine import Mind
from mindseye.models import VAE, Patchwork


@pytest.fixture(scope="module")
def model() -> VAE:
    torch.manual_seed(0)
    made = VAE((63, 1, 1), 5, "tanh", 8, likelihood="principal-normal")
    some = 0.05 * torch.randn(500, 63, 1, 1)
    made.prepare(some.mean(0), some)
    return made.eval()


def test_a_patch_is_seen_and_read_again():
    torch.manual_seed(0)
    x = 0.01 * torch.randn(6, 63, 1, 1)  # no pixel is out of range
    pictures = seen(x)
    assert pictures.shape == (6, 1, 8, 8)
    assert_close((pictures - 0.5) * CONTRAST, patches(x))
    assert_close(unseen(pictures), x)


def test_a_picture_is_read_as_its_patch(model):
    x = 0.02 * torch.randn(6, 63, 1, 1)
    assert_close(Patchwork(model).q_x(seen(x)).mean, model.q_x(x).mean, atol=1e-4, rtol=1e-4)


def test_patches_are_drawn_with_the_noise_of_the_likelihood(model):
    mind = Mind(Patchwork(model))
    drawn = unseen(mind.imagine("", 4000)).flatten(1)
    z = torch.randn(4000, 5)
    with torch.no_grad():
        own = model.p_x(z).sample().flatten(1)
    assert_close(drawn.std(0), own.std(0), rtol=0.1, atol=0)
    assert torch.equal(mind.imagine("", 3), mind.imagine("", 20)[:3])
