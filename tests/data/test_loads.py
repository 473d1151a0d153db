"""Loads: days of a street, plausible and dependent."""

import pytest
import torch

from mindseye.data.loads import LIMIT, MATCH, PLUGGED, POWER, PROFILES, Loads, limited, loads_of
from mindseye.data.wholes import Specifics
from mindseye.groups import Groups
from mindseye.pieces import Pieces
from mindseye.randomness import keys

NAMES = list(PROFILES)
HOUSEHOLDS = [name for name, profile in PROFILES.items() if profile.watches]
AVERAGE = (1.0, 0.0, 0.5, 10.0)  # size, shift, luck, energy
MILD, SUNNY = (9.0, 0.5, 0.0), (9.0, 0.0, 0.0)


def day(name, own=AVERAGE, shared=MILD):
    """What one part draws, `(96,)`."""
    code = torch.tensor([NAMES.index(name)])
    return loads_of(code, torch.tensor([own]), torch.tensor([shared]))[0]


def at(hour):
    return int(hour * 4)


def energy(load):
    """In kWh."""
    return load.sum().item() / 4


def pairs(name, n=3000, shared=None):
    """Two parts of one kind on each of many days, `(n, 2, 96)`."""
    data, code = Loads(), NAMES.index(name)
    pieces = Pieces(torch.full((2 * n,), code), torch.zeros(2 * n, 0), torch.full((n,), 2))
    drawn = data.draw(pieces, keys(0, torch.arange(n), "tests"))
    if shared is not None:
        drawn = drawn._replace(shared=torch.tensor([shared]).expand(n, 3))
    return data.alone(pieces, drawn).view(n, 2, 96)


def correlation(loads, hour):
    return torch.corrcoef(loads[:, :, at(hour)].T)[0, 1].item()


# What parts draw


@pytest.mark.parametrize("name", HOUSEHOLDS)
def test_households_use_a_plausible_energy(name):
    """2 to 5.5 MWh in a year, a quarter of it at most by night, never below the base."""
    load = day(name)
    assert 2000 < 365 * energy(load) < 5500
    assert energy(load[: at(5)]) < energy(load) / 4
    assert load.min() >= PROFILES[name].base
    assert 0.8 < load.max() < 2.5
    assert 18 <= load.argmax() / 4 <= 21 or name == "retired"


def test_kinds_differ_when_they_say_so():
    assert day("home-office")[at(14)] > 3 * day("worker")[at(14)]
    assert day("retired").argmax() / 4 == pytest.approx(12, abs=0.5)
    assert day("family").max() > day("worker").max()


def test_a_size_and_a_shift_do_what_they_say():
    usual, large, late = (day("family", (*own, 0.5, 10.0)) for own in ((1, 0), (2, 0), (1, 1.0)))
    torch.testing.assert_close(large, 2 * usual)
    morning = slice(at(5), at(10))  # before the lights, which go on by the sun
    torch.testing.assert_close(late[at(6) : at(11)], usual[morning], atol=1e-3, rtol=0)


def test_a_car_takes_its_energy_or_nothing():
    for kwh in (5.0, 12.0, 30.0):
        load = day("electric-car", (1.0, 0.2, PLUGGED - 0.01, kwh))
        assert energy(load) == pytest.approx(kwh, rel=0.03)
        assert load.max() <= POWER
    assert energy(day("electric-car", (1.0, 0.2, PLUGGED + 0.01, 30.0))) == 0


def test_a_late_car_charges_into_the_morning():
    load = day("electric-car", (1.0, 1.5, 0.1, 30.0))  # home at half past ten
    assert load[0] > 0.99 * POWER
    assert load[at(22)] < 0.03 * POWER
    assert energy(load) == pytest.approx(30, rel=0.03)


def test_a_heat_pump_works_when_it_is_cold():
    cold, mild, hot = (energy(day("heat-pump", shared=(t, 0.5, 0.0))) for t in (-10.0, 9.0, 28.0))
    assert 50 < cold < 90
    assert 12 < mild < 30
    assert hot < 8  # hot water


def test_panels_feed_in_by_day_and_less_under_clouds():
    sunny, grey = (day("solar", shared=(9.0, c, 0.0)) for c in (0.0, 1.0))
    assert sunny.min() == pytest.approx(-4, abs=0.01)
    assert sunny.argmin() / 4 == pytest.approx(12.5, abs=0.25)
    assert (sunny[: at(6)] == 0).all()
    assert (sunny[at(19) :] == 0).all()
    torch.testing.assert_close(grey, 0.2 * sunny)


def test_kettles_boil_at_half_time_for_those_who_watch():
    watching, busy = (1.0, 0.0, 0.05, 10.0), (1.0, 0.0, 0.99, 10.0)
    for name in HOUSEHOLDS:
        extra = day(name, watching, (9.0, 0.5, 1.0)) - day(name, watching, MILD)
        assert extra.argmax() == at(21.5)
        assert 0.5 < extra.max() < 0.65
        assert extra[: at(20)].max() < 1e-3
        assert torch.equal(day(name, busy, (9.0, 0.5, 1.0)), day(name, busy, MILD))


def test_lights_go_on_when_days_are_short():
    dark, light = (day("family", shared=(t, 0.5, 0.0)) for t in (-15.0, 30.0))
    assert (dark - light)[at(20)] == pytest.approx(PROFILES["family"].lights, abs=0.01)
    assert (dark - light)[at(12)] < 0.01


# What a street shares


@pytest.mark.parametrize(
    ("name", "hour", "least"),
    [("solar", 12.5, 0.5), ("heat-pump", 3, 0.7), ("family", 21.5, 0.15)],
)
def test_one_day_makes_parts_alike(name, hour, least):
    assert correlation(pairs(name), hour) > least
    assert abs(correlation(pairs(name, shared=MILD), hour)) < 0.06


def test_days_have_the_weather_and_matches_they_should():
    data = Loads()
    pieces = data.examples(torch.arange(5000), torch.ones(5000).long()).y
    own, shared = data.draw(pieces, keys(0, torch.arange(5000)))
    warmth, cloud, match = shared.unbind(1)
    assert warmth.mean() == pytest.approx(9, abs=0.4)
    assert warmth.std() == pytest.approx(7, abs=0.3)
    assert cloud.mean() == pytest.approx(0.5, abs=0.02)
    assert match.mean() == pytest.approx(MATCH, abs=0.03)
    assert set(match.tolist()) == {0.0, 1.0}
    size, shift, luck, kwh = own.unbind(1)
    assert size.log().std() == pytest.approx(0.25, abs=0.01)
    assert shift.std() == pytest.approx(0.5, abs=0.02)
    assert luck.mean() == pytest.approx(0.5, abs=0.02)
    assert 5 <= kwh.min() < 5.2
    assert 29.8 < kwh.max() <= 30
    related = torch.corrcoef(torch.cat([own, shared], 1).T) - torch.eye(7)
    assert related.abs().max() < 0.06


# What a transformer gives


def test_a_transformer_gives_in_softly():
    load = torch.linspace(-100, 100, 2001, dtype=torch.float64)
    given = limited(load)
    assert given.abs().max() < LIMIT
    assert (given.diff() > 0).all()
    torch.testing.assert_close(given, -given.flip(0))
    small = load.abs() < LIMIT / 3
    torch.testing.assert_close(given[small], load[small], rtol=0.004, atol=0)
    assert limited(torch.tensor(LIMIT)) == pytest.approx(LIMIT / 2**0.25)


def test_a_whole_is_the_limited_sum_of_its_parts():
    data = Loads()
    pieces = data.examples(torch.arange(30)).y
    drawn = data.draw(pieces, keys(4, torch.arange(30)))
    groups = Groups.of(pieces.sizes, len(pieces.codes))
    each = loads_of(pieces.codes, drawn.own, groups.spread(drawn.shared))
    wanted = torch.stack([limited(some.sum(0)) for some in each.split(pieces.sizes.tolist())])
    torch.testing.assert_close(data.render(pieces, drawn)[:, 0, 0], wanted)


def test_full_streets_are_limited_and_single_parts_are_not():
    data, n = Loads(), 5
    pieces = Pieces(
        torch.full((n,), NAMES.index("electric-car")), torch.zeros(n, 0), torch.tensor([n])
    )
    drawn = Specifics(torch.tensor([(1.0, 0.0, 0.1, 20.0)] * n), torch.tensor([MILD]))
    whole, alone = data.render(pieces, drawn), data.alone(pieces, drawn)
    assert alone.max() == pytest.approx(POWER, rel=0.01)
    assert alone.sum(0).max() > 36
    assert 19 < whole.max() < LIMIT


def test_streets_look_like_streets():
    """More by evening than by night, more with more households, and within the limit."""
    found = Loads().examples(torch.arange(1000))
    load = found.x[:, 0, 0]
    assert load[:, at(19.5)].mean() > 3 * load[:, at(3)].mean()
    assert load[:, at(19.5)].mean() > 2 * load[:, at(12.5)].mean()
    assert torch.corrcoef(torch.stack([load.mean(1), found.y.sizes.float()]))[0, 1] > 0.6
    assert load.abs().max() < LIMIT
    assert (load.min(1).values < 0).float().mean() > 0.2  # some feed in at noon
