"""`mindseye reproduce` as people meet it: made, stopped, mistyped."""

import json
from pathlib import Path

import pytest

from mindseye.evaluation import Protocol

SMALL = {
    "paper": Protocol(samples=4, base="e", queries=3, fill=False),
    "ours": Protocol(samples=5, queries=2),
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vedantam-4"], "Did you mean 'vedantam-4a'?"),
        (["vedantam-4a", "--size", "small"], "expected 'paper', 'fast', 'lean' or 'tiny'"),
        (["vedantam-4a", "--quick", "--seeds", "2"], "Leave out --seeds 2, or --quick."),
        (["vedantam-4a", "--seeds", "0"], "`seeds=0` is too few"),
        (["vedantam-4a", "--rows", "telbo,jmva"], "Did you mean 'jmvae'?"),
        (["vedantam-4a", "--set", "steps"], "Write --set NAME=VALUE."),
        (["vedantam-4a", "--set", "lamb=3"], "`lamb` is not a setting"),
        (["vedantam-4a", "--quick"], "Type `mindseye data get mnist`"),
    ],
)
def test_what_cannot_be_reproduced_is_one_line_and_a_hint(mindseye, tmp_path, arguments, message):
    code, out, err = mindseye("reproduce", *arguments, "--device", "cpu")
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_the_small_version_goes_from_the_command_to_the_page(mindseye, tmp_path, monkeypatch):
    monkeypatch.setattr("mindseye.reproduction.plan.QUICK", SMALL)
    monkeypatch.setattr("mindseye.reproduction.plan.QUICK_PICTURES", 20)
    code, out, err = mindseye(
        *(
            "reproduce",
            "vedantam-4a",
            "--quick",
            "--size",
            "tiny",
            "--rows",
            "telbo",
            "--device",
            "cpu",
        ),
        *("--set", "source=digits", "--set", "steps=4", "--set", "warmup=1"),
    )
    assert code == 0, err
    folder = Path("reproduced/vedantam-4a")
    assert (
        f"Wrote vedantam-4a.md, vedantam-4a.json, vedantam-4a.html and 3 pictures to {folder}"
        in out
    )
    assert (folder / "vedantam-4a.md").read_text() in out
    assert "training TELBO, compositional split" in err
    assert json.loads((folder / "vedantam-4a.json").read_text())["quick"]


def test_an_interrupted_reproduction_says_how_to_go_on(mindseye, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mindseye.runs.Run.train", interrupted)
    code, out, err = mindseye(
        "reproduce", "vedantam-4a", "--quick", "--size", "tiny", "--set", "source=digits"
    )
    assert code == 130
    assert out == ""
    assert "The same command goes on where it was." in err
