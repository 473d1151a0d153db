"""Points in a plane: what is kept of where they were."""

import pytest
import torch

from mindseye.layouts import MOST, _likeness, neighbourly, principal


def clusters(each: int = 40, count: int = 4, size: int = 8):
    generator = torch.Generator().manual_seed(0)
    centres = 6 * torch.randn(count, size, generator=generator)
    owner = torch.arange(count).repeat_interleave(each)
    return centres[owner] + torch.randn(count * each, size, generator=generator), owner


def nearest_alike(at, owner):
    """How often the nearest point is of the same cluster."""
    apart = torch.cdist(at, at).fill_diagonal_(float("inf"))
    return (owner[apart.argmin(1)] == owner).float().mean().item()


def test_principal_components_keep_distances_of_a_plane():
    flat = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    basis = torch.linalg.qr(torch.randn(5, 2, generator=torch.Generator().manual_seed(1))).Q
    at = principal(flat @ basis.T + 3)
    torch.testing.assert_close(torch.cdist(at, at), torch.cdist(flat, flat), rtol=1e-4, atol=1e-4)


def test_one_dimension_lies_on_a_line():
    at = principal(torch.arange(5.0)[:, None])
    assert torch.equal(at[:, 1], torch.zeros(5))


@pytest.mark.parametrize("perplexity", [5.0, 30.0])
def test_every_point_has_as_many_neighbours_as_the_perplexity_says(perplexity):
    z, _ = clusters()
    p = _likeness(z.double(), perplexity)
    assert p.sum().item() == pytest.approx(1)
    assert torch.equal(p, p.T)
    # Before both directions were added, rows had this entropy; after, it is about as large.
    rows = p / p.sum(1, keepdim=True)
    entropy = -(rows * rows.clamp_min(1e-12).log()).sum(1)
    assert entropy.exp().median().item() == pytest.approx(perplexity, rel=0.35)


def test_near_points_stay_near():
    z, owner = clusters()
    assert nearest_alike(neighbourly(z, perplexity=15), owner) > 0.99


def test_clusters_that_overlap_in_principal_components_come_apart():
    generator = torch.Generator().manual_seed(0)
    owner = torch.arange(6).repeat_interleave(30)
    z = 5 * torch.nn.functional.one_hot(owner).float()
    z = z + 0.5 * torch.randn(z.shape, generator=generator)
    assert nearest_alike(neighbourly(z, perplexity=10), owner) > nearest_alike(principal(z), owner)


def test_a_layout_is_the_same_every_time():
    z, _ = clusters(each=10)
    assert torch.equal(neighbourly(z, steps=30), neighbourly(z, steps=30))


@pytest.mark.parametrize("count", [1, 3, MOST + 1])
def test_few_points_and_very_many_are_laid_out_straight(count):
    z = torch.randn(count, 3)
    assert torch.equal(neighbourly(z), principal(z))


def test_points_that_are_all_the_same_have_a_finite_place():
    assert neighbourly(torch.ones(12, 4), steps=20).isfinite().all()
