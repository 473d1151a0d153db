from pathlib import Path

import pytest

from mindseye.data.places import cache, find, places, the_file
from mindseye.errors import DataError


def test_a_named_folder_is_the_only_one_searched(nowhere, monkeypatch):
    monkeypatch.setenv("MINDSEYE_DATA", str(nowhere))
    assert places("there", "a", "b") == [Path("there")]


def test_the_usual_places_are_searched_in_order(nowhere, monkeypatch):
    assert places(None, "a") == [cache("a")]
    monkeypatch.setenv("MINDSEYE_DATA", str(nowhere))
    found = places(None, "a", "b")
    assert found == [nowhere, nowhere / "a", nowhere / "b", cache("a"), cache("b")]
    assert cache("a") == nowhere / "cache" / "mindseye" / "a"


def test_the_earlier_name_wins_wherever_it_is(nowhere):
    for path in ("one/second", "two/first", "two/second"):
        (nowhere / path).parent.mkdir(exist_ok=True)
        (nowhere / path).touch()
    searched = [nowhere / "one", nowhere / "two"]
    assert find(["first", "second"], searched) == nowhere / "two/first"
    assert find(["second"], searched) == nowhere / "one/second"
    assert find(["third"], searched) is None


def test_what_is_not_found_says_what_to_put_where(nowhere):
    with pytest.raises(DataError, match=r"X was not found in /a, /b\. Put x\.npz or x\.zip there"):
        the_file("X", ["x.npz", "x.zip"], [Path("/a"), Path("/b")])
