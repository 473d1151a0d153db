"""The models that are open: each has a name, none breaks the others, few are kept in memory."""

import shutil

import pytest

from mindseye.errors import DataError
from mindseye.runs import BUILTIN, Run, find
from mindseye.studio import answers
from mindseye.studio.shelf import READ, Absent, Opened, Shelf, shelf_of

MODEL = BUILTIN / "mnist-a"
BUILT_IN = ["mnist-a", "captioned-mnist", "loads", "sines", "sites"]


def copied(folder) -> Run:
    return Run(shutil.copytree(MODEL, folder))


def test_runs_of_the_same_name_are_both_open(tmp_path):
    one, two = copied(tmp_path / "a" / "00000-x"), copied(tmp_path / "b" / "00000-x")
    shelf = shelf_of([one, two], tmp_path / "runs")
    assert list(shelf.models) == ["00000-x", "b/00000-x", *BUILT_IN]
    assert shelf.opened("b/00000-x").mind.name == "b/00000-x"


def test_lines_name_a_run_so_that_a_command_finds_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copied(tmp_path / "runs" / "00000-x")
    copied(tmp_path / "elsewhere" / "00000-x")
    for named in ("runs/00000-x", "elsewhere/00000-x"):
        run = find(named)
        mind = Opened(run).mind
        assert find(mind.source).path.resolve() == run.path.resolve()
        lines = answers.lines(mind, ("imagine", "digit=4"), "")
        assert f"--model {mind.source}" in lines.command
    assert Opened(find("runs/00000-x")).mind.source == "00000-x"


def test_a_run_called_like_the_built_in_model_is_not_replaced_by_it(tmp_path):
    own = copied(tmp_path / "mnist-a")
    shelf = shelf_of([own], tmp_path / "runs")
    assert shelf.opened("mnist-a").run == own
    assert len(shelf.models) == 1 + len(BUILT_IN)


def test_the_same_folder_is_open_once(tmp_path, monkeypatch):
    run = copied(tmp_path / "runs" / "00000-x")
    monkeypatch.chdir(tmp_path)
    shelf = shelf_of([run, Run(run.path.relative_to(tmp_path))], "runs")
    assert list(shelf.models) == ["00000-x", *BUILT_IN]


def test_a_damaged_run_nobody_named_does_not_stop_the_others(tmp_path):
    run = copied(tmp_path / "runs" / "00000-x")
    (run.path / "weights.safetensors").write_bytes(b"nothing")
    shelf = shelf_of([], tmp_path / "runs")
    assert list(shelf.models) == [*BUILT_IN, "00000-x"]
    assert shelf.opened("00000-x").outline.vocabulary.names == (
        "digit",
        "size",
        "orientation",
        "location",
    )
    with pytest.raises(DataError):
        _ = shelf.opened("00000-x").mind
    assert shelf.opened("").mind


def test_only_some_models_are_kept_in_memory(tmp_path):
    models = [Opened(Run(MODEL), name=f"copy {i}") for i in range(READ + 2)]
    shelf = Shelf(models, tmp_path)
    for opened in models:
        shelf.read(opened)
    assert [opened.is_read for opened in models] == [False] * 2 + [True] * READ
    shelf.read(models[0])
    assert models[0].is_read
    assert not models[2].is_read


def test_files_are_named_without_where_they_lie(tmp_path):
    folder = tmp_path / "John Doe" / "runs"
    shelf = Shelf([Opened(copied(folder / "00000-x"))], folder)
    told = shelf.without_folders(f"{folder}/00000-x/weights.safetensors is damaged.")
    assert told == "00000-x/weights.safetensors is damaged."


def test_a_name_that_is_not_there_is_absent(tmp_path):
    with pytest.raises(Absent, match="Did you mean 'mnist-a'"):
        Shelf([Opened(Run(MODEL))], tmp_path).opened("mnist-b")
