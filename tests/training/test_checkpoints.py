from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch

from mindseye.errors import DataError, NumericError, UsageError
from mindseye.training import Checkpoints


def tensors(step: int) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((2, 3), float(step)), "count": torch.tensor(step)}


def save(checkpoints: Checkpoints, *steps: int) -> None:
    for step in steps:
        checkpoints.save(step, tensors(step), tensors(-step), {"note": f"step {step}"})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def flip(path: Path, at: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_what_is_saved_is_what_is_read(tmp_path):
    checkpoints = Checkpoints(tmp_path / "new" / "folder")
    assert checkpoints.newest() is None
    path = checkpoints.save(1000, tensors(7), tensors(8), {"seconds": 1.5, "who": ["a", None]})
    newest = checkpoints.newest()
    assert newest is not None
    assert (newest.path, newest.step) == (path, 1000)
    assert path == tmp_path / "new" / "folder" / "step-00001000"
    assert newest.facts == {"seconds": 1.5, "who": ["a", None]}
    assert newest.weights().keys() == {"weight", "count"}
    assert torch.equal(newest.weights()["weight"], torch.full((2, 3), 7.0))
    assert newest.state()["count"].item() == 8
    assert names(path) == ["manifest.json", "state.safetensors", "weights.safetensors"]


def test_the_files_are_plain_safetensors(tmp_path):
    path = Checkpoints(tmp_path).save(1, tensors(7), tensors(8), {})
    assert torch.equal(
        safetensors.torch.load_file(path / "weights.safetensors")["weight"], tensors(7)["weight"]
    )


def test_only_the_newest_are_kept(tmp_path):
    save(Checkpoints(tmp_path, keep=3), 5, 10, 15, 20, 100_000_000)
    assert names(tmp_path) == ["step-00000015", "step-00000020", "step-100000000"]
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 100_000_000


def test_stale_temporaries_are_swept_and_other_files_left_alone(tmp_path):
    (tmp_path / ".saving-abc").mkdir()
    (tmp_path / ".saving-abc" / "weights.safetensors").write_bytes(b"half")
    (tmp_path / ".removing-step-00000001").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    save(Checkpoints(tmp_path), 5)
    assert names(tmp_path) == ["notes.txt", "step-00000005"]


def test_looking_changes_nothing(tmp_path):
    save(Checkpoints(tmp_path), 5)
    (tmp_path / ".saving-abc").mkdir()
    Checkpoints(tmp_path, keep=1).newest()
    assert names(tmp_path) == [".saving-abc", "step-00000005"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: flip(path / "weights.safetensors"), "weights.safetensors is damaged"),
        (lambda path: flip(path / "state.safetensors", 20), "state.safetensors is damaged"),
        (lambda path: os.truncate(path / "state.safetensors", 40), "its sha256 is not"),
        (lambda path: (path / "weights.safetensors").unlink(), "No such file"),
        (lambda path: (path / "manifest.json").unlink(), "No such file"),
        (lambda path: os.truncate(path / "manifest.json", 10), "not valid JSON"),
        (lambda path: (path / "manifest.json").write_text("[1]"), "not a manifest"),
        (lambda path: (path / "manifest.json").write_text('{"step": 10}'), "not a manifest"),
        (lambda path: (path / "manifest.json").write_text("1" * 5000), "not valid JSON"),
        (lambda path: shutil.rmtree(path), "No such file"),
    ],
)
def test_a_damaged_checkpoint_is_skipped_with_its_reason(tmp_path, damage, reason):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5, 10)
    damage(tmp_path / "step-00000010")
    (tmp_path / "step-00000010").mkdir(exist_ok=True)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 5
    assert list(checkpoints.skipped) == [tmp_path / "step-00000010"]
    assert reason in checkpoints.skipped[tmp_path / "step-00000010"]
    assert "\n" not in checkpoints.skipped[tmp_path / "step-00000010"]


def test_a_manifest_of_another_step_is_no_manifest(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    os.rename(tmp_path / "step-00000005", tmp_path / "step-00000006")
    assert checkpoints.newest() is None
    assert "belongs to step 5" in checkpoints.skipped[tmp_path / "step-00000006"]


def test_a_damaged_checkpoint_makes_way_for_a_new_one(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5, 10)
    flip(tmp_path / "step-00000010" / "state.safetensors")
    save(checkpoints, 10)
    newest = checkpoints.newest()
    assert newest is not None
    assert (newest.step, checkpoints.skipped) == (10, {})


def test_a_damaged_checkpoint_of_a_later_step_is_removed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5, 10)
    flip(tmp_path / "step-00000010" / "state.safetensors")
    save(checkpoints, 7)
    assert names(tmp_path) == ["step-00000005", "step-00000007"]


@pytest.mark.parametrize("step", [5, 10])
def test_a_whole_checkpoint_is_never_replaced(tmp_path, step):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5, 10)
    message = rf"`step` \(={step}\) must come after the newest checkpoint in .*, step 10"
    with pytest.raises(UsageError, match=message):
        save(checkpoints, step)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", ["weights", "state"])
def test_nothing_non_finite_is_saved(tmp_path, bad, place):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    arguments = {"weights": tensors(6), "state": tensors(6)}
    arguments[place]["weight"][1, 2] = bad
    with pytest.raises(NumericError, match="Tensor 'weight' holds non-finite values"):
        checkpoints.save(6, **arguments, facts={})
    assert names(tmp_path) == ["step-00000005"]


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"`keep` \(=0\) must be at least 1"):
        Checkpoints(tmp_path, keep=0)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Not a directory") as caught:
        save(Checkpoints(tmp_path / "file" / "runs"), 5)
    assert "\n" not in str(caught.value)


def test_a_folder_that_may_not_be_written_is_one_line(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(DataError, match=r"Permission denied\. Choose a folder you may write to"):
        save(Checkpoints(tmp_path), 5)


class Faults:
    """Fails one of the calls into the operating system, the one with the given number."""

    CALLS = ("open", "fsync", "replace", "rename", "mkdir", "rmdir", "unlink", "chmod")

    def __init__(self, monkeypatch, at: int, error: int):
        self.count, self.at, self.error = 0, at, error
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self.wrapped(getattr(os, name)))
        self.fdopen = os.fdopen
        monkeypatch.setattr(os, "fdopen", self.half_written)

    def wrapped(self, call):
        def faulty(*arguments, **options):
            self.tick()
            return call(*arguments, **options)

        return faulty

    def tick(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise OSError(self.error, os.strerror(self.error))

    def half_written(self, *arguments, **options):
        file = self.fdopen(*arguments, **options)
        faults = self

        class Disk:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, data):
                file.write(data[: len(data) // 2])
                faults.tick()
                return file.write(data[len(data) // 2 :])

            def __getattr__(self, name):
                return getattr(file, name)

        return Disk()


def test_whatever_call_fails_the_last_acknowledged_checkpoint_loads(tmp_path):
    failed = 0
    for error in (errno.ENOSPC, errno.EIO, errno.EINTR):
        for at in range(1, 200):
            folder = tmp_path / f"{error}-{at}"
            checkpoints = Checkpoints(folder)
            save(checkpoints, 1, 2)
            acknowledged = 2
            with pytest.MonkeyPatch.context() as monkeypatch:
                faults = Faults(monkeypatch, at, error)
                with contextlib.suppress(DataError):
                    save(checkpoints, 3)
                    acknowledged = 3
            failed += acknowledged == 2
            newest = Checkpoints(folder).newest()
            assert newest is not None
            assert newest.step >= acknowledged
            assert newest.weights()["count"].item() == newest.step
            assert newest.state()["count"].item() == -newest.step
            save(checkpoints, 4)  # and the next one sweeps up
            assert all(not name.startswith(".") for name in names(folder))
            if faults.count < at:  # past the last call
                break
        else:
            pytest.fail("the number of calls is larger than thought")
    assert failed > 45


def test_a_disk_that_stays_full_leaves_every_checkpoint(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1, 2)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for step in range(3, 10):
        with pytest.raises(DataError, match="No space left on device"):
            save(checkpoints, step)
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_the_manifest_tells_a_person_what_is_there(tmp_path):
    path = Checkpoints(tmp_path).save(3, tensors(3), tensors(3), {"seconds": 2.0})
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["step"] == 3
    assert manifest["facts"] == {"seconds": 2.0}
    size = (path / "weights.safetensors").stat().st_size
    assert manifest["files"]["weights.safetensors"]["bytes"] == size
    assert len(manifest["files"]["state.safetensors"]["sha256"]) == 64
