"""The command line as people meet it: right input, wrong input, one line and a hint."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import mindseye
from mindseye import cli, files, runs
from mindseye.papers import get_recipe
from mindseye.runs import BUILTIN, create
from mindseye.tensors import read_tensors, write_tensors
from mindseye.training import Record


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny finished run; copied by tests that harm it."""
    recipe = get_recipe("mnist-a/telbo-tiny").with_settings({"source": "digits", "steps": "20"})
    run = create(recipe, tmp_path_factory.mktemp("runs"))
    for _ in run.train():
        pass
    return run.path


@pytest.fixture
def harmed(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "runs" / trained.name))


def refused(result: tuple[int, str, str], *words: str) -> None:
    """One line that says it, at most one hint, no traceback, exit code 2."""
    code, out, err = result
    assert code == 2, err
    assert out == ""
    lines = err.strip().splitlines()
    assert lines[0].startswith("error: "), err
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: ")), err
    for word in words:
        assert word in err, err


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def test_imagine_writes_a_sheet_and_says_where(mindseye, folder):
    code, out, _ = mindseye("imagine", "digit=4, size=big", "--n", "4")
    assert code == 0
    assert "2 of 4 attributes said; orientation, location left open" in out
    assert "said words in the pictures" in out
    path = folder / "imagined" / "digit=4,size=big-seed0.png"
    assert str(path.relative_to(folder)) in out
    assert size_of(path)[0] > 200


def test_the_same_seed_writes_the_same_bytes(mindseye, folder):
    for name in ("a.png", "b.png"):
        assert mindseye("imagine", "digit=4", "--n", "3", "--seed", "5", "--out", name)[0] == 0
    assert (folder / "a.png").read_bytes() == (folder / "b.png").read_bytes()
    mindseye("imagine", "digit=4", "--n", "3", "--seed", "6", "--out", "c.png")
    assert (folder / "a.png").read_bytes() != (folder / "c.png").read_bytes()


def test_saying_nothing_is_legal_and_imagines_anything(mindseye):
    code, out, _ = mindseye("imagine", "", "--n", "2")
    assert code == 0
    assert "0 of 4 attributes said" in out
    assert mindseye("imagine", "--n", "2")[0] == 0


def test_json_is_one_document_with_a_verdict_for_each_picture(mindseye):
    code, out, _ = mindseye("imagine", "7, small", "--n", "3", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["description"] == "digit=7, size=small"
    assert len(report["verdicts"]) == 3
    assert 0 <= report["judged right"] <= 1


def test_single_files_and_arrays_hold_the_pictures_of_the_sheet(mindseye, folder):
    code, out, _ = mindseye("imagine", "digit=1", "--n", "3", "--files", "--npz", "--out", "x.png")
    assert code == 0, out
    assert sorted(p.name for p in (folder / "x").iterdir()) == [f"000{i}.png" for i in range(3)]
    with np.load(folder / "x.npz", allow_pickle=False) as file:
        arrays = dict(file)
    assert arrays["means"].shape == arrays["samples"].shape == (3, 1, 64, 64)
    with Image.open(folder / "x" / "0001.png") as picture:
        shown = np.asarray(picture) / 255
    np.testing.assert_allclose(shown, arrays["means"][1, 0], atol=1 / 255)


def test_the_ladder_and_the_way_between_are_pictures(mindseye, folder):
    assert mindseye("imagine", "3, big", "--ladder", "--n", "3", "--out", "l.png")[0] == 0
    assert mindseye("imagine", "3, big", "--to", "8, big", "--n", "2", "--out", "t.png")[0] == 0
    assert size_of(folder / "l.png")[1] > 100
    assert size_of(folder / "t.png")[0] > 300
    refused(mindseye("imagine", "3", "--to", "8", "--ladder"), "ask for one")


def test_what_surrounds_a_belief_is_drawn(mindseye, folder):
    assert mindseye("imagine", "3, big", "--lattice", "--n", "2", "--out", "l.png")[0] == 0
    assert mindseye("imagine", "3, big", "--traverse", "--out", "t.png")[0] == 0
    lattice, dimensions = size_of(folder / "l.png"), size_of(folder / "t.png")
    assert lattice[1] > 9 * 64  # 2 parents, itself, 7 children
    assert dimensions[0] > 9 * 64
    assert dimensions[1] > 12 * 64
    code, _, err = mindseye("experts", "digit=3, size=big", "--out", "e.png")
    assert code == 0, err
    assert "mindseye data get mnist" in err  # said, and drawn without them
    assert size_of(folder / "e.png")[0] > 700
    refused(mindseye("experts", "3", "--points", "0", "--axes", "0,99"), "two of 0 to 11")


def test_a_film_is_written_where_a_gif_is_named(mindseye, folder):
    code, out, _ = mindseye("imagine", "digit=4", "--traverse", "--steps", "3", "--out", "a.gif")
    assert (code, "a.gif" in out) == (0, True)
    with Image.open(folder / "a.gif") as film:
        assert (film.n_frames, film.info["loop"]) == (4, 0)  # there and back


def test_only_traversals_make_a_film(mindseye):
    code, _, err = mindseye("imagine", "digit=4", "--out", "a.gif")
    assert code == 2
    assert "only --traverse makes one" in err


def test_disentanglement_needs_factors(mindseye):
    code, _, err = mindseye("evaluate", "mnist-a", "--disentanglement", "--device", "cpu")
    assert code == 2
    assert "`mnist-a` has no independent factors" in err


def test_a_protocol_is_known_before_anything_is_measured(mindseye):
    for what in ((), ("--disentanglement",)):
        code, _, err = mindseye("evaluate", "mnist-a", "--protocol", "quik", *what)
        assert code == 2
        assert "`protocol='quik'` is not known" in err
        assert "Did you mean 'quick'?" in err


def test_two_picture_files_have_a_way_between_them(mindseye, folder):
    assert mindseye("imagine", "3", "-n", "2", "--files", "--out", "two.png")[0] == 0
    ends = ["two/0000.png", "two/0001.png"]
    code, _, err = mindseye("imagine", ends[0], "--to", ends[1], "--out", "way.png")
    assert code == 0, err
    assert size_of(folder / "way.png")[0] > 9 * 64
    assert mindseye("imagine", ends[0], "--traverse", "--out", "d.png")[0] == 0
    refused(mindseye("imagine", "3", "--to", ends[1]), "Only one end is a picture")


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("colour=red", ["colour"]),
        ("size=bigg", ["bigg", "'big' or 'small'", "Did you mean 'big'?"]),
        ("digit=4, digit=5", ["4", "5"]),
        ("blorp", ["blorp"]),
    ],
)
def test_words_that_cannot_be_meant_are_refused_in_one_line(mindseye, folder, description, words):
    refused(mindseye("imagine", description), *words)
    assert not (folder / "imagined").exists()


@pytest.mark.parametrize("n", ["0", "-3", "1000000000"])
def test_too_few_and_too_many_pictures_are_refused(mindseye, n):
    refused(mindseye("imagine", "digit=4", "--n", n), f"n={n}", "between 1 and 10000")


def test_unknown_models_name_the_near_one(mindseye):
    refused(mindseye("imagine", "4", "--model", "mnist-b"), "Did you mean 'mnist-a'?")


def test_devices_that_are_not_there_are_refused(mindseye):
    refused(mindseye("imagine", "4", "--device", "warp9"), "--device warp9", "--device cpu")


def test_an_output_folder_that_cannot_be_written_is_one_line(mindseye, folder):
    (folder / "file").write_text("in the way")
    refused(mindseye("imagine", "4", "--n", "1", "--out", "file/x.png"), "file")


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(mindseye, folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    refused(mindseye("imagine", "4", "--n", "1", "--out", "x.png"), "No space left on device")
    assert list(folder.iterdir()) == []


def test_describe_gives_probabilities_that_sum_to_one(mindseye, folder):
    mindseye("imagine", "digit=4, size=big", "--n", "1", "--files", "--out", "x.png")
    code, out, _ = mindseye("describe", "x/0000.png", "--json")
    assert code == 0
    found = json.loads(out)["x/0000.png"]
    assert set(found) == {"digit", "size", "orientation", "location"}
    for values in found.values():
        assert sum(values.values()) == pytest.approx(1, abs=1e-4)
    code, out, _ = mindseye("describe", "x/0000.png")
    assert "digit" in out
    assert "%" in out


def test_pictures_that_cannot_be_read_are_one_line(mindseye, folder):
    refused(mindseye("describe", "missing.png"), "missing.png")
    (folder / "text.png").write_text("not a picture")
    refused(mindseye("describe", "text.png"), "text.png")
    (folder / "short.png").write_bytes(png(64, 64)[:60])
    refused(mindseye("describe", "short.png"), "short.png")
    refused(mindseye("describe", "."), ".")


def png(width: int, height: int) -> bytes:
    from io import BytesIO

    file = BytesIO()
    Image.new("L", (width, height)).save(file, "PNG")
    return file.getvalue()


def test_a_picture_that_claims_to_be_huge_is_refused_from_its_header(mindseye, folder):
    import struct
    import zlib

    data = bytearray(png(8, 8))
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    (folder / "bomb.png").write_bytes(data)
    refused(mindseye("describe", "bomb.png"), "60000")


def test_arrays_with_nan_or_wrong_channels_are_refused(mindseye, folder):
    np.save(folder / "nan.npy", np.full((1, 64, 64), np.nan, np.float32))
    refused(mindseye("describe", "nan.npy"), "nan.npy")
    np.save(folder / "two.npy", np.zeros((2, 64, 64), np.float32))
    refused(mindseye("describe", "two.npy"), "two.npy")


@pytest.mark.usefixtures("few_pictures")
def test_train_stop_list_show_evaluate_compare_cite(mindseye, folder):
    code, out, err = mindseye(
        "train", "mnist-a/telbo-tiny", "--set", "source=digits", "--set", "steps=20", "--seed", "3"
    )
    assert code == 0, err
    run = "runs/00000-mnist-a-telbo-tiny"
    assert run in out
    names = {p.name for p in Path(run).iterdir()}
    assert {"recipe.json", "log.jsonl", "weights.safetensors", "samples.png"} <= names
    assert json.loads(Path(run, "recipe.json").read_text())["training"]["seed"] == 3

    code, out, _ = mindseye("list")
    assert "00000-mnist-a-telbo-tiny" in out
    assert "finished" in out

    code, out, _ = mindseye("show", "0")
    assert "Adam's step size" in out

    code, out, err = mindseye(
        "evaluate", "0", "--protocol", "quick", "--queries", "3", "--samples", "4"
    )
    assert code == 0, err
    assert "real (ceiling)" in out
    assert "collapsed (floor)" in out
    kept = json.loads(Path(run, "evaluation.json").read_text())
    assert kept["protocol"]["samples"] == 4
    assert kept["provenance"]["device"].startswith("cpu")

    code, out, err = mindseye("compare", "0", "mnist-a", "--query", "digit=4", "--n", "2")
    assert code == 0, err
    assert "correctness 4" in out
    assert Path("imagined/compare-seed0.png").is_file()

    assert "vedantam2018" in mindseye("cite", "0")[1]
    assert "suzuki2017" in mindseye("cite", "mnist-a/jmvae")[1]
    refused(mindseye("resume", "0"), "is finished")


@pytest.mark.parametrize(("options", "compiled"), [([], True), (["--no-compile"], False)])
def test_steps_are_compiled_unless_it_is_said_otherwise(mindseye, monkeypatch, options, compiled):
    asked = []

    def train(run, device, data, *, compiled):
        asked.append(compiled)
        yield Record("train", 1, 0.0)

    def estimate(recipe, device, data, *, compiled):
        asked.append(compiled)
        return {"parameters": 1, "steps_per_second": 1.0, "seconds": 1.0}

    monkeypatch.setattr(runs.Run, "train", train)
    monkeypatch.setattr(runs, "estimate", estimate)
    tiny = ["mnist-a/telbo-tiny", "--set", "source=digits"]
    assert mindseye("train", *tiny, *options)[0] == 0
    assert mindseye("resume", "0", *options)[0] == 0
    assert mindseye("train", *tiny, "--dry-run", *options)[0] == 0
    assert asked == [compiled] * 3


def test_an_interrupted_training_says_how_to_go_on(mindseye, monkeypatch):
    def interrupted(*_, **__):
        yield Record("train", 1, 0.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs.Run, "train", interrupted)
    code, out, err = mindseye("train", "mnist-a/telbo-tiny", "--set", "source=digits")
    assert code == 130
    assert out == ""
    assert "mindseye resume runs/00000-mnist-a-telbo-tiny" in err


def test_dry_run_trains_nothing(mindseye, folder):
    code, out, err = mindseye(
        "train", "mnist-a/jmvae-tiny", "--set", "source=digits", "--dry-run", "--json"
    )
    assert code == 0, err
    facts = json.loads(out)
    assert facts["parameters"] > 1000
    assert facts["seconds"] > 0
    assert not (folder / "runs").exists()


def test_recipes_are_listed_and_misspelt_ones_are_named(mindseye):
    code, out, _ = mindseye("list", "--recipes")
    assert code == 0
    assert "mnist-a-comp/telbo-fast" in out
    refused(mindseye("train", "mnist-a/tello"), "Did you mean 'mnist-a/telbo'?")
    refused(mindseye("train", "mnist-a/telbo-tiny", "--set", "stepps=3"), "stepps", "steps")
    refused(mindseye("train", "mnist-a/telbo-tiny", "--set", "steps"), "NAME=VALUE")
    refused(mindseye("train", "mnist-a/telbo-tiny", "--set", "steps=many"), "whole number")


def test_missing_data_says_what_to_type(mindseye, folder):
    result = mindseye("train", "mnist-a/telbo-tiny", "--set", "source=mnist")
    refused(result, "mindseye data get mnist")
    assert not (folder / "runs").exists()


def test_damaged_weights_are_one_line(mindseye, harmed):
    file = harmed / "weights.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(mindseye("imagine", "4", "--model", str(harmed)), "weights.safetensors")
    file.write_bytes(os.urandom(5000))
    refused(mindseye("imagine", "4", "--model", str(harmed)), "weights.safetensors")


def test_weights_of_another_shape_name_the_tensor(mindseye, harmed):
    weights = read_tensors(harmed / "weights.safetensors")
    name = next(n for n in weights if n.endswith("dense.weight"))
    weights[name] = torch.zeros(3, 3)
    write_tensors(harmed / "weights.safetensors", weights)
    refused(mindseye("imagine", "4", "--model", str(harmed)), name, "(3, 3)")


def test_a_damaged_recipe_is_one_line(mindseye, harmed):
    (harmed / "recipe.json").write_text("{")
    refused(mindseye("imagine", "4", "--model", str(harmed)), "recipe.json")
    (harmed / "recipe.json").write_text('{"name": "x", "modl": {}}')
    refused(mindseye("imagine", "4", "--model", str(harmed)), "recipe.modl", "model")


def test_an_observer_imagines_nothing_and_a_model_judges_nothing(mindseye, trained):
    refused(mindseye("imagine", "4", "--model", "mnist-a-observer"), "is an observer")
    refused(mindseye("imagine", "4", "--observer", str(trained)), "is not an observer")


def test_data_is_described_and_previewed(mindseye, folder):
    code, out, _ = mindseye(
        "data", "prepare", "mnist-a", "--source", "digits", "--compositional", "--json"
    )
    assert code == 0
    assert [row["combinations"] for row in json.loads(out)] == [204, 12, 24, 240]
    code, out, _ = mindseye(
        "data", "preview", "mnist-a", "--source", "digits", "--concept", "4", "--n", "6"
    )
    assert code == 0
    assert Path("imagined/mnist-a-train-seed0.png").is_file()
    refused(mindseye("data", "prepare", "mnist-z"), "mnist-z", "mnist-a")
    refused(mindseye("data", "preview", "mnist-a", "--source", "digits", "--part", "tets"), "test")


def test_the_plane_needs_a_latent_of_two_dimensions(mindseye, trained):
    refused(mindseye("plane", str(trained)), "4 dimensions", "mnist-2bit")


@pytest.mark.parametrize("objective", ["jvae", "beta-vae"])
def test_the_plane_of_figure_7_is_drawn(mindseye, objective):
    code, _, err = mindseye(
        "train", f"mnist-2bit/{objective}", "--set", "source=digits", "--set", "steps=5"
    )
    assert code == 0, err
    code, _, err = mindseye("plane", "0", "--side", "6")
    assert code == 0, err
    assert size_of(Path(f"runs/00000-mnist-2bit-{objective}/plane.png"))[0] > 100
    told = mindseye("imagine", "odd", "--model", "0")
    refused(told, "imagines nothing from words", "`mindseye aggregate 0")


def test_every_command_has_help_that_opens_with_something_to_paste(mindseye):
    names = [c.name or c.callback.__name__ for c in cli.app.registered_commands]
    for name in [*names, "data get", "data prepare", "data preview"]:
        code, out, _ = mindseye(*name.split(), "--help")
        assert code == 0
        assert f"mindseye {name}" in out


def test_unknown_commands_and_options_exit_with_2(mindseye):
    code, _, err = mindseye("imagin")
    assert code == 2
    assert "imagin" in err
    assert mindseye("imagine", "--sed", "3")[0] == 2


def test_the_built_in_models_are_small_and_whole():
    for name in ("mnist-a", "captioned-mnist", "two-objects"):
        observer = BUILTIN / f"{name}-observer"
        assert sum(p.stat().st_size for p in observer.iterdir()) < 5e6
    for name in ("mnist-a", "captioned-mnist"):
        assert sum(p.stat().st_size for p in (BUILTIN / name).iterdir()) < 10e6


def test_python_m_mindseye_is_the_command_line():
    found = subprocess.run(
        [sys.executable, "-m", "mindseye", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.split()[-1] == mindseye.__version__
