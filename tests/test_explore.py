"""Around a belief or a latent: products of experts, planes, rows and ways are what they say."""

import math

import pytest
import torch

import mindseye
from mindseye.errors import UsageError
from mindseye.explore import (
    density,
    diversity,
    effects,
    ellipse,
    experts,
    liveliest,
    manifold,
    moved,
    nearest,
    openness,
    plane,
    prior_draws,
    telling,
    traversals,
    way,
)
from mindseye.imagine import Mind, Query
from mindseye.models import VAE


@pytest.fixture(scope="module")
def mind():
    return mindseye.load("mnist-a")


def painter(latent: int) -> Mind:
    """A model of pictures alone."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Mind(VAE((1, 12, 8), latent, "tanh"), name="painter", fits=frozenset({"q_x", "q_y"}))


def test_the_prior_times_the_experts_is_the_belief(mind):
    concept = mind.concept("digit=4, size=big, location=top-left")
    precision, weighted = torch.ones(12), torch.zeros(12)
    for each in experts(mind, concept):
        precision += each.stddev.pow(-2)
        weighted += each.mean * each.stddev.pow(-2)
    belief = mind.belief(concept)
    torch.testing.assert_close(precision.rsqrt(), belief.stddev[0], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(weighted / precision, belief.mean[0], rtol=1e-3, atol=1e-3)


def test_a_word_has_one_expert_whatever_else_is_said(mind):
    (alone,) = experts(mind, mind.concept("digit=4"))
    beside = experts(mind, mind.concept("digit=4, size=big"))[0]
    assert alone[:2] == beside[:2] == ("digit", "4")
    assert torch.equal(alone.mean, beside.mean)


def test_nothing_said_has_no_experts(mind):
    assert experts(mind, mind.concept("")) == []


def test_the_prior_is_a_unit_circle_in_every_plane(mind):
    latents = torch.randn(50, 12, generator=torch.Generator().manual_seed(0))
    for axes in ("words", "pca", "0,5", "3, 1"):
        chosen = plane(mind, mind.concept("digit=4"), latents, axes)
        drawn = ellipse(torch.zeros(12), torch.ones(12), chosen.axes)
        assert drawn[:4] == pytest.approx((0, 0, 1, 1), abs=1e-5)


def test_components_are_where_points_vary_most(mind):
    points = torch.randn(4000, 12, generator=torch.Generator().manual_seed(1))
    points *= torch.tensor([1.0, 0.1, 3.0] + [0.1] * 9)
    axes = plane(mind, mind.concept(""), points, "pca").axes
    assert axes[0, 2] == pytest.approx(1, abs=0.01)
    assert axes[1, 0] == pytest.approx(1, abs=0.01)
    torch.testing.assert_close(axes @ axes.T, torch.eye(2), atol=1e-5, rtol=0)


def test_an_ellipse_has_the_axes_of_its_gaussian():
    drawn = ellipse(torch.tensor([1.0, 2.0, 9.0]), torch.tensor([0.5, 2.0, 7.0]), torch.eye(3)[:2])
    assert drawn == pytest.approx((1, 2, 2, 0.5, math.pi / 2))
    turned = torch.tensor([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    a, b = ellipse(torch.zeros(2), torch.tensor([3.0, 1.0]), turned)[2:4]
    assert (a, b) == pytest.approx((3, 1))


@pytest.mark.parametrize("axes", ["", "0", "0,0", "0,99", "a,b", "0,1,2", "-1,2"])
def test_what_is_no_plane_is_refused(mind, axes):
    with pytest.raises(UsageError, match="is not 'words', 'pca' or two of 0 to 11"):
        plane(mind, mind.concept(""), torch.zeros(4, 12), axes)


def test_telling_dimensions_are_those_the_words_move(mind):
    concept = mind.concept("digit=4, location=top-left")
    first, second = telling(mind, concept)
    assert first != second
    for dimension, text in ((first, "digit=4"), (second, "location=top-left")):
        belief = mind.belief(text)
        nats = 0.5 * (belief.variance + belief.mean**2 - 1 - belief.variance.log())[0]
        assert nats[dimension] >= nats.topk(2).values[-1]


def test_draws_of_the_prior_have_density_one():
    points = torch.randn(200_000, 2, generator=torch.Generator().manual_seed(2))
    grid = density(points)
    assert grid.shape == (40, 40)
    assert grid[15:25, 15:25].mean() == pytest.approx(1, abs=0.02)


def test_where_no_pictures_are_is_a_hole():
    points = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(3))
    grid = density(points[points[:, 0] > 0.5])
    assert grid[20, 10] < 0.01  # x = -1.9
    assert grid[20, 25] > 1


def test_equal_pictures_have_no_diversity_and_disjoint_ones_have_all():
    one = torch.zeros(3, 1, 4, 4)
    one[:, 0, 0] = 1
    assert diversity(one) == 0
    apart = torch.stack([torch.eye(4)[None, k : k + 1].expand(1, 4, 4) for k in range(3)])
    assert diversity(apart) == pytest.approx(1)
    assert diversity(one[:1]) == 0


def test_dropping_words_makes_pictures_more_diverse(mind):
    levels = ["digit=4, size=big, orientation=upright, location=top-left", "digit=4, size=big", ""]
    found = [diversity(mind.imagine(text, n=24, seed=1, mean=True)) for text in levels]
    assert found == sorted(found)


def test_every_word_closes_bits_and_nothing_said_leaves_all_open(mind):
    texts = ["", "digit=4", "digit=4, size=big", "digit=4, size=big, orientation=upright"]
    found = [openness(mind, Query(mind.concept(text), 2000)) for text in texts]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(math.log2(240), abs=0.1)
    full = Query(mind.concept("digit=4, size=big, orientation=upright, location=top-left"), 500)
    assert openness(mind, full) < 1


def test_a_traversal_changes_one_dimension_and_meets_the_latent_itself(mind):
    z = mind.imagined("digit=4", 1, 0, temperature=0).latents[0]
    z[3] = 0.0
    values, pictures = traversals(mind, z, steps=5, span=2.0)
    assert values == [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert pictures.shape == (12, 5, 1, 64, 64)
    assert torch.equal(pictures[3, 2], mind.expected(z[None])[0])


def test_a_way_begins_and_ends_where_it_should(mind):
    first, last = mind.imagined("digit=4", 2, 0).latents
    pictures = way(mind, first, last, steps=4)
    assert torch.equal(pictures[0, 0], mind.expected(first[None])[0])
    torch.testing.assert_close(pictures[0, -1], mind.expected(last[None])[0])


def test_the_nearest_is_the_thing_itself():
    points = torch.randn(30, 5, generator=torch.Generator().manual_seed(4))
    found = nearest(points[7], points, 3)
    assert found[0] == (7, 0.0)
    assert [distance for _, distance in found] == sorted(distance for _, distance in found)


# Without words


def test_draws_of_the_prior_are_where_a_model_without_words_imagines():
    mind = painter(5)
    drawn = prior_draws(mind, 4, seed=3)
    assert torch.equal(drawn, mind.imagined("", 4, 3).latents)
    assert torch.equal(drawn[:1], prior_draws(mind, seed=3))
    many = prior_draws(mind, 10_000)
    assert many.mean().item() == pytest.approx(0, abs=0.02)
    assert many.std().item() == pytest.approx(1, abs=0.02)


def test_moving_a_latent_changes_what_is_moved_and_nothing_else():
    z = torch.arange(4.0)
    assert moved(z, {1: -2.5, 3: 0.0}).tolist() == [0, -2.5, 2, 0]
    assert z.tolist() == [0, 1, 2, 3]
    with pytest.raises(UsageError, match="`4` is not a dimension; expected 0 to 3"):
        moved(z, {4: 1.0})
    with pytest.raises(UsageError, match="`-1` is not a dimension"):
        moved(z, {-1: 1.0})
    with pytest.raises(UsageError, match="not a finite number"):
        moved(z, {0: math.nan})


def test_rows_of_some_dimensions_are_those_of_all():
    mind = painter(5)
    z = prior_draws(mind)[0]
    _, every = traversals(mind, z, steps=3)
    _, some = traversals(mind, z, steps=3, dimensions=[4, 1])
    assert some.shape == (2, 3, 1, 12, 8)
    torch.testing.assert_close(some, every[[4, 1]])
    for wrong in ([], [5], [-1]):
        with pytest.raises(UsageError, match="`dimensions="):
            traversals(mind, z, dimensions=wrong)


def test_a_plane_of_pictures_has_its_corners_where_they_belong():
    mind = painter(3)
    z = torch.tensor([9.0, 0.5, 9.0])
    values, pictures = manifold(mind, z, across=2, up=0, side=5, span=2.0)
    assert values == [-2, -1, 0, 1, 2]
    at = {(0, 0): (2, -2), (0, 4): (2, 2), (4, 0): (-2, -2), (3, 2): (-1, 0)}
    for (row, column), (up, across) in at.items():
        expected = mind.expected(torch.tensor([[up, 0.5, across]]))[0]
        torch.testing.assert_close(pictures[row, column], expected)
    for across, up in ((0, 0), (0, 3), (-1, 0)):
        with pytest.raises(UsageError, match="must be two dimensions of 0 to 2"):
            manifold(mind, z, across, up)
    with pytest.raises(UsageError, match="`side=1`"):
        manifold(mind, z, side=1)


def test_several_ways_are_each_its_own():
    mind = painter(5)
    z = prior_draws(mind, 4)
    both = way(mind, z[:2], z[2:], steps=3)
    assert both.shape == (2, 3, 1, 12, 8)
    for row in range(2):
        torch.testing.assert_close(both[row], way(mind, z[row], z[2 + row], steps=3)[0])


def test_a_dimension_that_the_decoder_does_not_use_has_no_effect():
    mind = painter(4)
    first = next(p for p in mind.model.parameters() if p.shape[-1] == 4)  # the decoder's first
    with torch.no_grad():
        first[:, 2] = 0
        first[:, 1] *= 3
    found = effects(mind)
    assert found[2] == 0
    assert found[[0, 1, 3]].min() > 0
    assert liveliest(found)[0] == 1
    assert liveliest(found)[-1] == 2


def test_a_latent_of_one_dimension_has_no_plane():
    mind = painter(1)
    with pytest.raises(UsageError, match="one dimension"):
        plane(mind, mind.concept(""), torch.zeros(4, 1))
    with pytest.raises(UsageError, match="must be two dimensions"):
        manifold(mind, torch.zeros(1))
