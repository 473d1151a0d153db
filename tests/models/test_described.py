"""A semi-supervised model with one latent: a description beside a manner."""

import pytest
import torch
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.imagine import Mind
from mindseye.labels import Labels, encode
from mindseye.models import Described, SemiVAE

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
SHAPE = (1, 16, 16)
B, D, WIDE = 5, 4, 6


@pytest.fixture(scope="module")
def model() -> SemiVAE:
    torch.manual_seed(0)
    return SemiVAE(WORDS, SHAPE, latent=D, hidden=12, marginals=[[1, 1, 2], [0.9, 0.1]]).eval()


@pytest.fixture(scope="module")
def mind(model) -> Mind:
    return Mind(Described(model), name="semi", fits=frozenset({"q_x", "q_y"}))


def pictures(count: int = B) -> torch.Tensor:
    return (torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(1)) < 0.3).float()


def test_what_is_said_is_one_hot_and_the_manner_is_open(model):
    belief = Described(model).q_y(encode([WORDS.parse("digit=2, small")]))
    assert belief.mean[0].tolist() == [0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert belief.stddev[0, WIDE:].tolist() == [1] * D
    assert belief.stddev[0, :WIDE].max() < 1e-4


def test_what_is_not_said_has_its_prior(model):
    belief = Described(model).q_y(encode([WORDS.parse("small")]))
    assert_close(belief.mean[0, :WIDE], torch.tensor([0.25, 0.25, 0.5, 0, 1, 0]))


def test_a_latent_is_drawn_as_its_two_parts(model):
    labels = Labels.full(torch.tensor([[2, 1], [0, 0]]))
    manner = torch.randn(2, D)
    belief = Described(model).q_y(labels)
    latent = belief.mean + torch.cat([torch.zeros(2, WIDE), manner], -1)
    together = Described(model).p_x(latent).mean
    assert_close(together, model.p_x(manner, labels).mean)


def test_a_picture_is_read_as_the_model_reads_it(model):
    x, seen = pictures(), Described(model)
    q, read = model.q_y_given_x(x), seen.q_x(x)
    manner = model.q_xy(x, Labels.full(q.mode))
    assert_close(read.mean[:, :WIDE], q.probs.flatten(1))
    assert_close(read.mean[:, WIDE:], manner.mean)
    assert_close(read.stddev[:, WIDE:], manner.stddev)


def test_describing_is_the_classifier(model, mind):
    x = pictures(1)
    said = mind.describe(x[0])
    for attribute, probs in zip(WORDS, model.q_y_given_x(x).by_attribute(), strict=True):
        found = [said[attribute.name][value] for value in attribute.values]
        assert found == pytest.approx(probs[0].tolist(), abs=1e-4)


def test_a_certain_description_is_finite(model):
    p = Described(model).p_y(torch.tensor([[1.0, 0, 0, -0.1, 1.1, 0, *[0.0] * D]]))
    assert p.mode.tolist() == [[0, 1]]
    assert all(probs.isfinite().all() for probs in p.by_attribute())


def test_one_seed_has_the_same_manners_for_every_description(mind):
    first, second = (mind.imagined(text, n=4, seed=7) for text in ("0, big", "2, small"))
    assert_close(first.latents[:, WIDE:], second.latents[:, WIDE:])
    assert not torch.equal(first.means, second.means)


def test_what_is_open_is_filled_with_whole_values(mind):
    words = mind.imagined("big", n=64).latents[:, :WIDE].view(-1, 2, 3)
    assert_close(words.max(-1).values, torch.ones(64, 2), atol=1e-3, rtol=0)
    assert (words[:, 1, 0] > 0.99).all()
    assert len(words[:, 0].argmax(-1).unique()) == 3


def test_the_way_between_two_descriptions_begins_and_ends_with_them(mind, model):
    way = mind.between("0, big", "2, big", steps=5, n=3, seed=1)
    assert way.shape == (3, 5, *SHAPE)
    assert_close(way[:, 0], mind.imagine("0, big", 3, seed=1, mean=True), atol=1e-4, rtol=0)
    assert_close(way[:, -1], mind.imagine("2, big", 3, seed=1, mean=True), atol=1e-4, rtol=0)


def test_reconstructions_have_the_shape_of_pictures(mind):
    assert mind.reconstruct(pictures()).shape == (B, *SHAPE)
