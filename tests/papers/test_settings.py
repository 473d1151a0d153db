"""Fields from text and from JSON: round trips, and errors that name the field."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import pytest

from mindseye.errors import UsageError
from mindseye.papers.settings import changed, field_names, from_plain, full_name, parsed


@dataclass(frozen=True)
class Inner:
    size: int = 3
    rate: float = 0.5
    fast: bool = False


@dataclass(frozen=True)
class Outer:
    title: str
    inner: Inner = Inner()
    sizes: tuple[int, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


def test_fields_are_named_in_full():
    names = ["title", "inner.size", "inner.rate", "inner.fast", "sizes", "weights"]
    assert list(field_names(Outer("x"))) == names


# Names


def test_a_name_may_be_short_where_it_is_unique():
    assert full_name("size", ["inner.size", "inner.rate"]) == "inner.size"
    assert full_name("inner.size", ["inner.size", "inner.rate"]) == "inner.size"


def test_a_full_name_is_not_ambiguous():
    assert full_name("size", ["inner.size", "size"]) == "size"


def test_a_short_name_of_two_fields_is_refused():
    message = r"`seed` could be 'data\.seed' or 'training\.seed'; write one of them"
    with pytest.raises(UsageError, match=message):
        full_name("seed", ["data.seed", "training.seed", "training.steps"])


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UsageError, match=r"`stpes` is not a setting\. Did you mean 'steps'\?"):
        full_name("stpes", ["training.steps"])


def test_a_name_near_to_nothing_gets_the_list():
    with pytest.raises(UsageError, match=r"`xyz` is not a setting\. Expected 'size' or 'rate'\."):
        full_name("xyz", ["inner.size", "inner.rate"])


# Text


def test_one_field_changes_and_the_rest_stays():
    start = Outer("x", weights={"a": 1.0})
    assert changed(start, "inner.size", "7") == Outer("x", Inner(7), weights={"a": 1.0})
    assert changed(start, "title", "y").title == "y"
    assert changed(start, "weights.b", "2").weights == {"a": 1.0, "b": 2.0}
    assert start.weights == {"a": 1.0}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "20000", 20000),
        (int, "2e4", 20000),
        (int, "9007199254740993", 9007199254740993),  # more than a float can hold
        (int, "-1", -1),
        (float, "1e-4", 1e-4),
        (float, "3", 3.0),
        (bool, "True", True),
        (bool, "no", False),
        (str, "true", "true"),
        (tuple[float, float], "0.9,0.999", (0.9, 0.999)),
        (tuple[str, ...], "jvae, unimodal", ("jvae", "unimodal")),
    ],
)
def test_text_is_read_as_its_type(kind, text, value):
    read = parsed(kind, text, "field")
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (int, "2.5", "a whole number"),
        (int, "many", "a whole number"),
        (int, "inf", "a whole number"),
        (int, "nan", "a whole number"),
        (float, "fast", "a number"),
        (float, "nan", "a number"),
        (float, "inf", "a number"),
        (float, "1e999", "a number"),
        (bool, "maybe", "true or false"),
        (tuple[float, float], "0.9;0.99", "a number"),
    ],
)
def test_text_of_another_type_is_refused(kind, text, expected):
    with pytest.raises(UsageError, match=rf"`field='{text}'` is not {expected}\."):
        parsed(kind, text, "field")


# JSON


def test_plain_data_comes_back():
    made = Outer("x", Inner(2, 0.25, True), (1, 2), {"a": 0.5})
    plain = {**asdict(made), "sizes": [1, 2]}
    assert from_plain(Outer, plain, "outer") == made


def test_fields_that_are_left_out_have_their_defaults():
    assert from_plain(Outer, {"title": "x", "inner": {"size": 9}}, "outer") == Outer("x", Inner(9))


def test_a_whole_number_is_a_number():
    read = from_plain(Inner, {"rate": 2}, "inner")
    assert read.rate == 2.0
    assert type(read.rate) is float


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"title": "x", "iner": {}}, r"`outer\.iner` is not a field\. Did you mean 'inner'\?"),
        ({"title": "x", "inner": {"sise": 1}}, r"`outer\.inner\.sise` is not a field\. .*'size'"),
        ({}, r"`outer\.title` is missing"),
        ([], "`outer` must be an object with named fields"),
        ({"title": "x", "inner": 3}, r"`outer\.inner` must be an object with named fields"),
        ({"title": 3}, r"`outer\.title=3` is not a text"),
        ({"title": None}, r"`outer\.title=None` is not a text"),
        ({"title": "x", "inner": {"size": 1.5}}, r"`outer\.inner\.size=1\.5` is not a whole"),
        ({"title": "x", "inner": {"size": True}}, r"`outer\.inner\.size=True` is not a whole"),
        ({"title": "x", "inner": {"rate": "1"}}, r"`outer\.inner\.rate='1'` is not a number"),
        ({"title": "x", "inner": {"rate": float("nan")}}, r"rate=nan` is not a number"),
        ({"title": "x", "inner": {"rate": 10**400}}, r"rate=1000.*` is not a number"),
        ({"title": "x", "inner": {"fast": 1}}, r"`outer\.inner\.fast=1` is not true or false"),
        ({"title": "x", "sizes": 3}, r"`outer\.sizes=3` is not a list"),
        ({"title": "x", "sizes": ["a"]}, r"`outer\.sizes='a'` is not a whole number"),
        ({"title": "x", "weights": [1]}, r"`outer\.weights=\[1\]` is not an object with named"),
        ({"title": "x", "weights": {"a": "b"}}, r"`outer\.weights\.a='b'` is not a number"),
    ],
)
def test_what_does_not_fit_is_named(plain, message):
    with pytest.raises(UsageError, match=message) as caught:
        from_plain(Outer, plain, "outer")
    assert "\n" not in str(caught.value)


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(UsageError) as caught:
        from_plain(Inner, {"size": "x" * 10_000}, "inner")
    assert len(str(caught.value)) < 200
