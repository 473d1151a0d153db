"""Rays against closed forms, against a slow ray caster in float64, and against each other."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull

from mindseye.data import raycast
from mindseye.data.camera import CAMERA, Scene, View, looking, projected
from mindseye.data.raycast import render
from mindseye.data.solids import CUBE, CYLINDER, SPHERE, Solid

SHAPES = {"cube": CUBE, "sphere": SPHERE, "cylinder": CYLINDER}
GREY = (0.34, 0.34, 0.34)
AWAY = (-750.0, 660.0)
"""Where nothing is seen, and nothing casts a shadow that is."""


def scene(*objects, camera=(0.0, 0.0, 0.0), lamps=((0.0, 0.0, 0.0),) * 3):
    """One scene of objects: place, shape, radius, turn, colour, whether they are of metal."""
    fields = zip(*(thing(*each) for each in objects), strict=True)
    place, shape, radius, angle, colour, metal = (torch.tensor([field]) for field in fields)
    return Scene(
        place, angle, radius, shape, colour, metal, torch.tensor([camera]), torch.tensor([lamps])
    )


def thing(place, shape=SPHERE, radius=0.7, angle=0.0, colour=GREY, metal=False):
    return place, shape, radius, angle, colour, metal


def random_scenes(n, count=2, seed=0, shape=None, spread=2.0):
    """Objects anywhere near the middle, even within each other, and every camera and lamp."""
    g = torch.Generator().manual_seed(seed)
    kinds = torch.randint(3, (n, count), generator=g)
    return Scene(
        spread * (2 * torch.rand(n, count, 2, generator=g) - 1),
        2 * math.pi * torch.rand(n, count, generator=g),
        0.35 + 0.35 * torch.rand(n, count, generator=g),
        kinds if shape is None else torch.full_like(kinds, shape),
        torch.rand(n, count, 3, generator=g),
        torch.rand(n, count, generator=g) < 0.5,
        torch.rand(n, 3, generator=g) - 0.5,
        2 * torch.rand(n, 3, 3, generator=g) - 1,
    )


def some(scenes, rows):
    return Scene(*(field[rows] for field in scenes))


def reordered(scenes, order):
    """The same objects, named in another order."""
    fields = scenes._asdict()
    own = ("place", "angle", "radius", "shape", "colour", "metal")
    return scenes._replace(**{name: fields[name][:, order] for name in own})


def without(scenes, i=0):
    """The scenes, one of their objects put out of sight."""
    place = scenes.place.clone()
    place[:, i] = torch.tensor(AWAY)
    return scenes._replace(place=place)


def middles(scenes):
    high = torch.where(scenes.shape == CUBE, scenes.radius * 0.5**0.5, scenes.radius)
    return torch.cat([scenes.place, high[..., None]], -1)


# A slow ray caster


def reference(scenes, view, b):
    """Where the rays of scene b first meet each object, float64 `(N, 2 H, 2 W)`; inf if never."""
    eye = np.array(CAMERA) + scenes.camera[b].double().numpy()
    ahead = -eye / np.linalg.norm(eye)
    right = np.cross(ahead, [0, 0, 1])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    x = (np.arange(2 * view.width) + 0.5) / view.width - 1
    y = 1 - (np.arange(2 * view.height) + 0.5) / view.height
    ray = ahead + view.half * (
        view.aspect * x[None, :, None] * right + y[:, None, None] * up
    )  # (2 H, 2 W, 3)
    found = []
    for i in range(scenes.place.shape[1]):
        angle, radius = scenes.angle[b, i].item(), scenes.radius[b, i].item()
        c, s = math.cos(angle), math.sin(angle)
        frame = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        origin = frame @ (eye - middles(scenes)[b, i].double().numpy())
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(MEET[scenes.shape[b, i].item()](origin, ray @ frame.T, radius))
    return np.stack(found)


def meet_sphere(o, d, radius):
    a, b, c = (d * d).sum(-1), (o * d).sum(-1), o @ o - radius**2
    root = b * b - a * c
    return np.where(root > 0, (-b - np.sqrt(root.clip(0))) / a, np.inf)


def meet_cube(o, d, radius):
    half = radius / math.sqrt(2)
    ends = np.stack([(-half - o) / d, (half - o) / d])
    enter, leave = ends.min(0).max(-1), ends.max(0).min(-1)
    return np.where(enter < leave, enter, np.inf)


def meet_cylinder(o, d, radius):
    """The nearest of the points on the wall that are not too high, and on the lids within it."""
    a, b, c = (d * d)[..., :2].sum(-1), (o * d)[..., :2].sum(-1), (o * o)[:2].sum() - radius**2
    root = b * b - a * c
    wall = (-b - np.sqrt(root.clip(0))) / a
    found = np.where((root > 0) & (abs(o[2] + wall * d[..., 2]) <= radius), wall, np.inf)
    for lid in (-radius, radius):
        t = (lid - o[2]) / d[..., 2]
        inside = np.hypot(o[0] + t * d[..., 0], o[1] + t * d[..., 1]) <= radius
        found = np.where(inside, np.minimum(found, t), found)
    return found


MEET = {CUBE: meet_cube, SPHERE: meet_sphere, CYLINDER: meet_cylinder}


def in_pixels(rays):
    """Shares of pixels from their four rays."""
    n, height, width = rays.shape
    return rays.reshape(n, height // 2, 2, width // 2, 2).mean((2, 4))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rays_meet_what_a_slow_ray_caster_says(shape, shares):
    scenes, view = random_scenes(12, 1, shape=shape), View(64, 64)
    ours = shares(scenes, view)[:, 0]
    theirs = np.stack([in_pixels(np.isfinite(reference(scenes, view, b)))[0] for b in range(12)])
    apart = abs(ours.numpy() - theirs)
    assert theirs.sum() > 12 * 50  # pixels
    assert apart.sum() < 1e-3 * theirs.sum()
    assert apart.max() <= 0.5  # only rays that touch an edge may differ


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rays_travel_as_far_as_a_slow_ray_caster_says(shape):
    scenes, view = random_scenes(12, 1, seed=1, shape=shape), View(64, 64)
    met, _ = all_rays(scenes, view)
    for b in range(12):
        (far,) = reference(scenes, view, b)
        both = np.isfinite(far) & met.hit[b].numpy()
        away = abs(met.near[b].numpy()[both] - far[both])
        assert both.sum() > 100
        assert np.median(away) < 5e-5  # of about 11
        assert np.quantile(away, 0.999) < 2e-3
        assert away.max() < 0.02  # where a ball ends


def all_rays(scenes, view):
    """How all the rays of a picture meet the only object, and the object itself."""
    found, cast = Solid.of(scenes, 0), raycast._Cast.of(scenes, view)
    x = ((torch.arange(2 * view.width) + 0.5) / view.width - 1)[None, None, :]
    y = (1 - (torch.arange(2 * view.height) + 0.5) / view.height)[None, :, None]
    ray = cast.rays(x, y, found)
    origin = tuple(each[:, None, None] for each in found.seen_from(cast.eye).unbind(1))
    met = found.met(cast.start(found), ray)
    point = [o + met.near * d for o, d in zip(origin, ray, strict=True)]
    normal = raycast._normal(found, point, ray, met)
    return met, (torch.stack(point, -1), torch.stack(normal, -1), torch.stack(ray, -1))


def test_of_three_objects_the_nearest_is_seen(shares):
    """Also of objects within each other."""
    scenes, view = random_scenes(12, 3, seed=2, spread=1.0), View(48, 48)
    ours = shares(scenes, view).numpy()
    for b in range(12):
        far = reference(scenes, view, b)
        first = (far == far.min(0)) & np.isfinite(far)
        apart = abs(ours[b] - in_pixels(first))
        assert apart.sum() < 5e-3 * first.sum() / 4


# Closed forms


@pytest.mark.parametrize("place", [(0.0, 0.0), (2.4, -1.5), (-1.8, -1.8), (1.5, 2.0)])
def test_a_ball_is_seen_as_an_ellipse(place, shares):
    r"""Its area and its middle, of a ball $\theta$ from the axis that fills a cone of $\alpha$.

    The cone cuts the plane at distance 1 in an ellipse whose long axis points to the middle of the
    picture, from $\tan(\theta-\alpha)$ to $\tan(\theta+\alpha)$; half its short axis is
    $\sin\alpha / \sqrt{\cos^2\theta - \sin^2\alpha}$.
    """
    only, view = scene((place,)), View(480, 480)
    share = shares(only, view)[0, 0].double()
    eye, ahead, right, up = (each[0].double() for each in looking(only.camera))
    ray = torch.tensor([*place, 0.7], dtype=torch.float64) - eye
    far = ray.norm()
    theta, alpha = torch.acos(ray @ ahead / far), torch.asin(0.7 / far)
    ends = torch.stack([(theta + alpha).tan(), (theta - alpha).tan()])
    short = alpha.sin() / (theta.cos() ** 2 - alpha.sin() ** 2).sqrt()
    pixel = 2 * view.half / 480
    area = math.pi * (ends[0] - ends[1]) / 2 * short
    assert share.sum() * pixel**2 == pytest.approx(area.item(), rel=2e-3)
    across = torch.stack([ray @ right, ray @ up])
    middle = across / across.norm() * ends.mean()
    line = (torch.arange(480, dtype=torch.float64) - 239.5) * pixel
    x, y = (share.sum(0) @ line / share.sum(), -(share.sum(1) @ line) / share.sum())
    assert torch.allclose(torch.stack([x, y]), middle, atol=0.1 * pixel)
    px, py, _ = projected(middles(only).double(), only.camera.double(), view)
    shift = torch.stack([px[0, 0], py[0, 0]]) * view.half
    farther = theta.cos() ** 2 / (theta.cos() ** 2 - alpha.sin() ** 2)  # than that of its middle
    assert torch.allclose(middle, shift * farther, atol=1e-6)


def test_what_the_camera_looks_at_is_in_the_middle_and_up_is_up():
    camera = random_scenes(50).camera.double()
    points = torch.tensor([[0.0, 0, 0], [0, 0, 1]], dtype=torch.float64).expand(50, 2, 3)
    x, y, depth = projected(points, camera, View(8, 8))
    eye, *axes = looking(camera)
    frame = torch.stack(axes, 1)
    one = torch.eye(3, dtype=torch.float64).expand(50, 3, 3)
    assert torch.allclose(frame @ frame.mT, one, atol=1e-12)
    assert torch.allclose(x, torch.zeros_like(x), atol=1e-12)
    assert torch.allclose(y[:, 0], torch.zeros_like(y[:, 0]), atol=1e-12)
    assert (y[:, 1] > 0.2).all()
    assert torch.allclose(depth[:, 0], eye.norm(dim=1))


def test_a_cube_shows_its_six_corners_where_they_are_projected(shares):
    """Its silhouette is the hull of its corners; the area of a polygon is that of its edges."""
    scenes, view = random_scenes(6, 1, seed=3, shape=CUBE), View(256, 256)
    corner = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3) * 0.5**0.5
    for b in range(6):
        one = some(scenes, slice(b, b + 1))
        c, s = one.angle[0, 0].cos(), one.angle[0, 0].sin()
        turn = torch.tensor([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        points = middles(one)[0] + one.radius[0, 0] * corner @ turn
        x, y, _ = projected(points[None], one.camera, view)
        assert shares(one, view)[0, 0].sum() / 256**2 == pytest.approx(
            hull_area(x[0].double().numpy(), y[0].double().numpy()) / 4, rel=5e-3
        )


def hull_area(x, y):
    return ConvexHull(np.stack([x, y], 1)).volume


def test_the_empty_table_is_lit_by_the_inverse_square_and_the_cosine():
    empty = without(random_scenes(4, 1, seed=4))
    view = View(20, 20)
    picture = render(empty, view).double()
    for b in range(4):
        eye, ahead, right, up = (each[b].double() for each in looking(empty.camera))
        line = view.half * (2 * torch.arange(20, dtype=torch.float64) - 19) / 20
        ray = ahead + line[None, :, None] * right - line[:, None, None] * up
        point = eye - ray * (eye[2] / ray[..., 2])[..., None]
        light = torch.full((20, 20, 3), raycast.TABLE_SKY, dtype=torch.float64)
        for i, (power, tint) in enumerate(zip(raycast.TABLE_POWERS, raycast.TINTS, strict=True)):
            to = torch.tensor(raycast.LAMPS[i]) + empty.lamps[b, i] - point
            cosine = to[..., 2] / to.norm(dim=-1)
            lit = raycast.TABLE_LAMPS * power * cosine / to.square().sum(-1)
            light += lit[..., None] * torch.tensor(tint)
        seen = raycast._tone(light).clamp(0, 1).movedim(-1, 0)
        assert torch.allclose(picture[b], seen, atol=1e-5)


# Surfaces


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_normals_are_of_length_one_and_face_the_camera(shape):
    met, (_, normal, ray) = all_rays(random_scenes(20, 1, seed=5, shape=shape), View(48, 48))
    normal, ray = normal[met.hit], ray[met.hit]
    assert len(normal) > 3000
    assert torch.allclose(normal.norm(dim=1), torch.ones(len(normal)), atol=1e-3)
    assert ((normal * ray).sum(1) < 1e-3).all()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_normals_are_straight_up_from_the_points_beside_each_other(shape):
    """The product of the ways to the next point on the right and to the one below."""
    met, (point, normal, _) = all_rays(random_scenes(10, 1, seed=6, shape=shape), View(64, 64))
    inside = met.hit[:, :-1, :-1] & met.hit[:, 1:, :-1] & met.hit[:, :-1, 1:]
    right = point[:, :-1, 1:] - point[:, :-1, :-1]
    down = point[:, 1:, :-1] - point[:, :-1, :-1]
    flat = torch.nn.functional.normalize(torch.linalg.cross(down, right), dim=-1)
    agree = (flat * normal[:, :-1, :-1]).sum(-1)[inside]
    assert (agree > 0.98).double().mean() > 0.8  # not across edges, nor where a ball ends
    assert agree.median() > 0.995


def test_faces_are_those_of_the_shape():
    for shape in SHAPES.values():
        scenes = random_scenes(20, 1, seed=7, shape=shape)
        met, (point, normal, _) = all_rays(scenes, View(32, 32))
        radius = scenes.radius[:, :, None].expand_as(met.near)[met.hit]
        point, normal = point[met.hit], normal[met.hit]
        if shape == SPHERE:
            assert torch.allclose(point.norm(dim=1), radius, atol=1e-4)
        if shape == CUBE:
            assert (normal.abs().sort(1).values == torch.tensor([0.0, 0, 1])).all()
            high = (point * normal).sum(1)
            assert torch.allclose(high, radius * 0.5**0.5, atol=1e-4)
        if shape == CYLINDER:
            lid = normal[:, 2] == 1
            assert (normal[~lid, 2] == 0).all()
            assert torch.allclose(point[lid, 2], radius[lid], atol=1e-4)
            assert torch.allclose(point[~lid, :2].norm(dim=1), radius[~lid], atol=1e-4)
            assert 0.1 < lid.double().mean() < 0.9


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_ray_along_faces_meets_what_is_in_its_way(shape, axis):
    """Along an axis of the object, through its middle, beside that, and past it."""
    only = Solid.of(scene(((0.0, 0.0), shape)), 0)
    aside = torch.tensor([[[0.0, -0.0, 0.1, -0.3, 2.0, -2.0]]])
    origin, ray = [aside, aside, torch.zeros_like(aside)], [torch.zeros_like(aside)] * 3
    origin[axis], ray[axis] = torch.full_like(aside, -5.0), torch.ones_like(aside)
    met = only.met(only.start(*origin), tuple(ray))
    assert met.hit.tolist() == [[[True] * 4 + [False] * 2]]
    bend = (0.49 - aside[..., :4] ** 2).sqrt()
    half = torch.full_like(bend, 0.7 * 0.5**0.5) if shape == CUBE else bend
    assert torch.allclose(met.near[..., :4], 5 - half, atol=1e-5)


# Pictures


def test_pictures_are_numbers_from_0_to_1_whatever_is_in_them():
    scenes = random_scenes(3000, 2, seed=8, spread=3.0)
    turned = torch.where(torch.arange(3000) % 3 == 0, 0.0, scenes.angle[:, 0])
    scenes = scenes._replace(angle=torch.stack([turned, scenes.angle[:, 1]], 1))
    pictures = render(scenes, View(16, 16))
    assert pictures.shape == (3000, 3, 16, 16)
    assert pictures.dtype == torch.float32
    assert pictures.isfinite().all()
    assert 0 <= pictures.min() < 0.2
    assert 0.9 < pictures.max() <= 1


def test_a_picture_is_the_same_alone_and_in_a_batch():
    scenes, view = random_scenes(20, seed=9), View(32, 32)
    together = render(scenes, view)
    for b in (0, 7, 8, 19):
        alone = render(some(scenes, slice(b, b + 1)), view)[0]
        assert torch.allclose(alone, together[b], atol=1e-6)
    assert render(some(scenes, slice(0, 0)), view).shape == (0, 3, 32, 32)


def test_the_order_of_objects_says_nothing():
    """Also where two of them share a pixel."""
    scenes, view = random_scenes(40, 3, seed=10, spread=1.0), View(32, 32)
    order = [2, 0, 1]
    assert torch.allclose(render(scenes, view), render(reordered(scenes, order), view), atol=1e-5)


def test_two_objects_fill_a_pixel_as_much_as_either_and_no_more_than_both(shares):
    scenes, view = random_scenes(60, 2, seed=11, spread=0.7), View(32, 32)
    share = shares(scenes, view)[:, :2]
    alone = torch.stack([shares(without(scenes, i), view)[:, 1 - i] for i in (1, 0)], 1)
    assert torch.equal(share, (4 * share).round() / 4)  # four rays a pixel
    assert ((share > 0).all(1) & (share.sum(1) == 1)).sum() > 100
    assert (share.sum(1) >= alone.amax(1)).all()
    assert (share <= alone).all()


@pytest.mark.parametrize(("height", "width"), [(16, 16), (48, 48), (112, 112), (96, 128)])
def test_objects_fill_the_same_share_of_pictures_of_any_size(height, width, shares):
    scenes = random_scenes(8, seed=12)
    view = View(height, width, aspect=width / height)
    share = shares(scenes, view)[:, :2].sum(1).mean((1, 2)) * width / height
    large = shares(scenes, View(256, 256))[:, :2].sum(1).mean((1, 2))
    assert render(scenes, view).shape == (8, 3, height, width)
    assert torch.allclose(share, large, rtol=1.5 / height)


def test_the_middle_of_a_wide_picture_is_the_square_one():
    scenes = random_scenes(8, seed=13)
    wide = render(scenes, View(96, 128, aspect=4 / 3))
    apart = (wide[..., 16:-16] - render(scenes, View(96, 96))).abs()
    assert apart.mean() < 1e-4
    assert (apart > 1e-3).double().mean() < 1e-3  # rays that touch an edge


def test_a_small_picture_is_the_mean_of_a_large_one():
    scenes = random_scenes(12, seed=14)
    small, large = (render(scenes, View(side, side)) for side in (56, 112))
    apart = (small - torch.nn.functional.avg_pool2d(large, 2)).abs()
    assert apart.mean() < 0.004
    assert (apart > 0.1).double().mean() < 0.005


# What hides what


def along_the_view(far):
    """A place straight behind the middle as the camera sees it, so far away."""
    return before_the_camera(0.0, far)


def before_the_camera(right, beyond):
    """A place to the right of the middle of the table and beyond it."""
    x, y = (each / math.hypot(*CAMERA[:2]) for each in CAMERA[:2])
    return (-beyond * x - right * y, -beyond * y + right * x)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_small_object_behind_a_large_one_is_not_seen(shape, shares):
    hidden = ((along_the_view(1.2)), SPHERE, 0.25)
    large, view = ((0.0, 0.0), shape, 0.7), View(64, 64)
    for order in ((hidden, large), (large, hidden)):
        share = shares(scene(*order), view)[0]
        assert share[order.index(hidden)].sum() == 0
        assert torch.equal(share.sum(0), shares(scene(large), view)[0, 0])
    before = ((along_the_view(-1.2)), SPHERE, 0.25)
    share = shares(scene(large, before), view)[0]
    assert torch.equal(share[1], shares(scene(before), view)[0, 0])
    assert share[1].sum() > 20


def test_an_object_out_of_sight_changes_nothing_but_shadows(shares):
    """Just beyond each edge of the picture, also where its shadow falls into it."""
    only, view = ((0.0, 0.0), CUBE, 0.7, 0.4), View(48, 48)
    alone = render(scene(only), view)
    for right, beyond in [(4.5, 0.0), (-4.5, 0.0), (0.0, -7.5), (4.0, -2.0), (0.0, 20.0)]:
        place = before_the_camera(right, beyond)
        both = scene(only, (place, SPHERE, 0.7, 0.0, (0.0, 1.0, 0.0)))
        assert torch.equal(shares(both, view), shares(scene(only), view))
        change = render(both, view) - alone
        assert change.max() < 1e-6
        assert (change[0].mean((1, 2)) < 0).all()  # of any colour


# Light


def ground(point, lamp):
    """Where the shadow of a point falls on the table."""
    t = lamp[2] / (lamp[2] - point[2])
    return tuple(a + t * (b - a) for a, b in zip(lamp[:2], point[:2], strict=True))


def pixel_of(place, view, height=0.0):
    """The row and column of a place."""
    camera = torch.zeros(1, 3)
    x, y, _ = projected(torch.tensor([[[*place, height]]]), camera, view)
    return int((1 - y.item()) * view.height / 2), int((1 + x.item()) * view.width / 2)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_key_lamp_does_not_reach_into_a_shadow(shape):
    only, view = scene(((0.3, 0.2), shape, 0.7)), View(112, 112)
    key = raycast.LAMPS[0]
    shadow = ground((0.3, 0.2, 0.95 if shape == SPHERE else 0.8), key)
    row, column = pixel_of(shadow, view)
    lit, shaded = (render(each, view)[0, :, row, column] for each in (without(only), only))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raycast, "TABLE_POWERS", (0.0, *raycast.TABLE_POWERS[1:]))
        others = render(without(only), view)[0, :, row, column]
    assert (shaded < 0.8 * lit).all()
    assert (shaded < others + 1e-5).all()
    towards = tuple(p + 0.5 * (k - p) for p, k in zip((0.3, 0.2), key, strict=False))
    row, column = pixel_of(towards, view)
    assert (render(only, view) / render(without(only), view))[0, :, row, column].min() > 0.95


def test_the_edge_of_a_shadow_is_soft():
    """Of six points of the lamp some are seen and some are not."""
    only, view = scene(((0.0, 0.0), CYLINDER, 0.7)), View(112, 112)
    x, y = raycast._grid(112, 112, torch.device("cpu"))
    cast, thing_ = raycast._Cast.of(only, view), Solid.of(only, 0)
    ray = cast.rays(x, y)
    t = -cast.eye[0, 2] / ray[2]
    px, py = cast.eye[0, 0] + t * ray[0], cast.eye[0, 1] + t * ray[1]
    share = raycast._key_shade([thing_], px, py, cast.lamps[:, 0])
    levels, counts = (6 * share).round().unique(return_counts=True)
    assert torch.allclose(6 * share, (6 * share).round(), atol=1e-5)
    assert levels.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert counts[0] > 100
    assert counts[1:-1].min() > 10


def test_lamps_that_are_farther_away_give_less_light():
    view, lamps = View(32, 32), torch.tensor(raycast.LAMPS)
    scenes = random_scenes(10, seed=15)
    bright = [
        render(scenes._replace(lamps=(far * lamps).expand(10, 3, 3)), view).mean((1, 2, 3))
        for far in (0.0, 0.3, 1.0, 3.0)
    ]
    for nearer, farther in pairwise(bright):
        assert (farther < nearer - 0.01).all()


def test_without_lamps_only_the_sky_lights_the_table():
    dark = without(random_scenes(3, 1, seed=16))
    picture = render(
        dark._replace(lamps=1e5 * torch.tensor(raycast.LAMPS).expand(3, 3, 3)), View(8, 8)
    )
    sky = raycast.TABLE_SKY / (0.62 + 0.55 * raycast.TABLE_SKY)
    assert torch.allclose(picture, torch.full_like(picture, sky), atol=1e-5)


@pytest.mark.parametrize("colour", [GREY, (0.16, 0.29, 0.84), (0.11, 0.41, 0.08)])
def test_metal_has_a_brighter_highlight_than_rubber(colour, shares):
    scenes, view = random_scenes(10, 1, seed=17, shape=SPHERE), View(64, 64)
    scenes = scenes._replace(colour=torch.tensor(colour).expand(10, 1, 3))
    whole = shares(scenes, view)[:, :1] == 1
    rubber, metal = (
        (render(scenes._replace(metal=torch.full((10, 1), shines)), view) * whole)
        .mean(1).flatten(1).amax(1)
        for shines in (False, True)
    )  # fmt: skip
    assert (metal > rubber + 0.05).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_draws_what_a_cpu_draws():
    scenes, view = random_scenes(64, seed=18), View(112, 112)
    there = render(Scene(*(field.cuda() for field in scenes)), view).cpu()
    apart = (render(scenes, view) - there).abs()
    assert apart.mean() < 1e-4
    assert (apart > 0.01).double().mean() < 1e-3
