"""Planes of posteriors: closed forms on the grid, and colours where the latents are."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal

from mindseye import holes
from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.holes import COLOURS, REACH, SCALE, SIDE, aggregate_on, holes_plane, posterior_on
from mindseye.papers import get_recipe
from mindseye.reading import Reader

WORDS = Vocabulary([Attribute("side", ["right", "left"])])
RIGHT, LEFT = (WORDS.parse(word) for word in ("right", "left"))
LINE = torch.linspace(-REACH, REACH, SIDE)
CELL = (2 * REACH / (SIDE - 1)) ** 2


class Stub:
    """A mind with a normal prior, a likelihood of words, and pictures that are their latents."""

    name, vocabulary, device = "stub", WORDS, torch.device("cpu")

    def __init__(self, log_prob, latent: int = 2, scale: float = 0.3):
        prior = Independent(Normal(torch.zeros(latent), torch.ones(latent)), 1)
        self.model = SimpleNamespace(latent=latent, prior=prior)
        self.log_prob, self.scale, self.sizes = log_prob, scale, []

    def p_y(self, z):
        return SimpleNamespace(log_prob=lambda y: self.log_prob(z, y.codes[:, 0]))

    def read(self, pictures):
        self.sizes.append(len(pictures))
        return Independent(Normal(pictures.flatten(1), self.scale), 1)


def sided(z, code):
    """The right is the likelier the further right a latent is."""
    return torch.nn.functional.logsigmoid(torch.where(code == 0, 1, -1) * 4 * z[:, 0])


def at(*points: tuple[float, float]) -> torch.Tensor:
    """Pictures that the stub reads as these latents."""
    return torch.tensor(points).view(-1, 1, 1, 2)


def moments(plane: torch.Tensor) -> tuple[list[float], list[float]]:
    """Means and deviations of a plane; its columns are the first latent."""
    plane = plane.double()
    parts = [plane.sum(0), plane.sum(1)]
    means = [(LINE * part).sum().item() for part in parts]
    spread = [((LINE - m) ** 2 * p).sum().item() ** 0.5 for m, p in zip(means, parts, strict=True)]
    return means, spread


def test_a_posterior_is_likelihood_times_prior_and_sums_to_one():
    plane = posterior_on(Stub(sided), RIGHT)
    assert plane.shape == (SIDE, SIDE)
    assert plane.sum().item() == pytest.approx(1, abs=1e-5)
    up, right = torch.meshgrid(LINE, LINE, indexing="ij")
    prior = (-(up**2 + right**2) / 2).exp() / (2 * math.pi)
    expected = 2 * prior * torch.sigmoid(4 * right) * CELL  # half of the prior says right
    torch.testing.assert_close(plane, expected, rtol=2e-3, atol=1e-9)


def test_the_posteriors_of_all_words_average_to_the_prior():
    both = (posterior_on(Stub(sided), RIGHT) + posterior_on(Stub(sided), LEFT)) / 2
    prior = posterior_on(Stub(lambda z, _: torch.zeros(len(z))), RIGHT)
    torch.testing.assert_close(both, prior, rtol=1e-3, atol=1e-9)


def test_the_posterior_of_a_normal_likelihood_is_normal():
    middle, scale = torch.tensor([1.0, -0.5]), torch.tensor([0.5, 2.0])
    stub = Stub(lambda z, _: -(((z - middle) / scale) ** 2).sum(-1) / 2)
    means, spread = moments(posterior_on(stub, RIGHT))
    assert means == pytest.approx((middle / (1 + scale**2)).tolist(), abs=2e-3)
    assert spread == pytest.approx((scale / (1 + scale**2).sqrt()).tolist(), abs=3e-3)


def test_the_aggregate_of_one_picture_is_what_is_read_in_it():
    stub = Stub(sided, scale=0.3)
    plane = aggregate_on(stub, at((1.0, -0.5)))
    assert plane.sum().item() == pytest.approx(1, abs=1e-4)
    means, spread = moments(plane)
    assert means == pytest.approx([1.0, -0.5], abs=1e-3)
    assert spread == pytest.approx([0.3, 0.3], abs=1e-3)
    top = plane.argmax().item()
    assert (LINE[top % SIDE].item(), LINE[top // SIDE].item()) == pytest.approx((1, -0.5), abs=0.02)


def test_the_aggregate_of_many_pictures_is_their_mean_however_they_are_parted():
    stub, points = Stub(sided), at(*[(x / 60, -x / 90) for x in range(120)])
    plane = aggregate_on(stub, points)
    assert stub.sizes == [10] * 12
    parts = [aggregate_on(stub, some) * len(some) / 120 for some in points.split(40)]
    torch.testing.assert_close(plane, sum(parts), rtol=1e-4, atol=1e-9)


def test_a_plane_has_two_latents():
    with pytest.raises(UsageError, match="`stub` has 3 latents; a plane has two"):
        holes_plane(Stub(sided, latent=3), [RIGHT], [at((0, 0))])


def where(image, colour) -> np.ndarray:
    """The pixels of a colour on the plane, as latents `(N, 2)`."""
    inside = np.asarray(image)[10 : 10 + SIDE * SCALE, 10 : 10 + SIDE * SCALE]
    rows, columns = (np.abs(inside.astype(int) - colour).sum(-1) < 30).nonzero()
    return np.stack([columns, SIDE * SCALE - rows], 1) / (SIDE * SCALE) * 2 * REACH - REACH


def test_lines_are_where_words_point_and_ground_is_where_pictures_are():
    image = holes_plane(Stub(sided), [RIGHT, LEFT], [at((1.5, 2.0)), at((-1.5, -2.0))])
    assert image.size == (SIDE * SCALE + 20, SIDE * SCALE + 20 + 34)
    right, left = (where(image, colour) for colour in COLOURS[:2])
    assert len(right) > 500
    assert len(left) > 500
    assert right[:, 0].mean() > 0.3
    assert left[:, 0].mean() < -0.3
    legend = np.asarray(image)[SIDE * SCALE + 20 :]
    for colour in COLOURS[:2]:
        assert (legend == colour).all(-1).sum() == 17 * 17
    assert not (legend == COLOURS[2]).all(-1).any()


def test_ground_is_the_darkest_in_the_middle_of_its_pictures():
    image = holes_plane(Stub(sided), [], [at((1.5, 2.0))])
    pixels = np.asarray(image.convert("L"))[10 : 10 + SIDE * SCALE, 10 : 10 + SIDE * SCALE]
    row, column = np.unravel_index(pixels.argmin(), pixels.shape)
    scale = 2 * REACH / (SIDE * SCALE)
    assert column * scale - REACH == pytest.approx(1.5, abs=0.06)
    assert REACH - row * scale == pytest.approx(2.0, abs=0.06)


def test_a_line_goes_around_what_is_denser():
    line = np.linspace(-1, 1, 50)
    density = np.exp(-(line[:, None] ** 2 + line**2))  # denser than the level within 0.5
    covered = holes._line(density, math.exp(-0.25), 200)
    far = np.hypot(*np.meshgrid(*[(np.arange(200) + 0.5) / 100 - 1] * 2))
    assert covered.min() == 0
    assert covered.max() == 1
    assert np.abs(far[covered > 0] - 0.5).max() < 0.03
    assert covered[np.abs(far - 0.5) < 0.002].min() > 0


def test_pictures_beyond_the_plane_leave_it_white():
    image = holes_plane(Stub(sided, scale=0.01), [], [at((50.0, 0.0))])
    assert (np.asarray(image) == 255).all()


def test_a_trained_model_has_posteriors_on_the_plane(monkeypatch):
    monkeypatch.setattr(holes, "SIDE", 40)
    recipe = get_recipe("one-object/vlvae-tiny")
    recipe = replace(recipe, data=replace(recipe.data, side=16))
    torch.manual_seed(0)
    mind = Reader(recipe.build(), name="ball")
    data = recipe.data.open("validation")
    caption = mind.vocabulary.parse("large blue")
    assert posterior_on(mind, caption).sum().item() == pytest.approx(1, abs=1e-5)
    assert aggregate_on(mind, data.pictures_of(caption, 3, seed=0)).sum() <= 1.001
