"""`mindseye data get`: what is downloaded, and what cannot be."""

import json

import pytest

from mindseye.data import planetoid


@pytest.fixture
def asked(monkeypatch, folder):
    """Graphs that were asked for; nothing is downloaded."""
    names = []

    def download(name, where, progress):
        names.append(name)
        progress(f"ind.{name}.x", 5, 10)
        progress(f"ind.{name}.x", 10, 10)
        return folder / "there" if where is None else where

    monkeypatch.setattr(planetoid, "download_planetoid", download)
    return names


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_graphs_are_downloaded_by_name(mindseye, folder, asked, name):
    code, out, _ = mindseye("data", "get", name)
    assert (code, out) == (0, f"{name.capitalize()} is in {folder}/there\n")
    code, out, _ = mindseye("data", "get", name, "--folder", "here", "--json")
    assert (code, json.loads(out)) == (0, {"folder": "here"})
    assert asked == [name, name]


def test_what_cannot_be_downloaded_is_corrected(mindseye, asked):
    code, out, err = mindseye("data", "get", "corra")
    assert (code, out, asked) == (2, "", [])
    assert "'corra' cannot be downloaded; expected 'mnist', 'cora' or 'citeseer'" in err
    assert "Did you mean 'cora'?" in err
