import json

import pytest
import torch

from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.metrics import Report, accuracy, evaluate, queries


@pytest.fixture
def report(words, observer, perfect, wrong):
    asked = [concept for level in (1, 4) for concept in queries(words, level, n=30)]
    held_out = list(words.concepts(4))[::10]
    codes = torch.tensor([held_out_.codes for held_out_ in held_out])
    return Report(
        "telbo",
        evaluate(perfect, observer, asked, samples=10, base="e", real=perfect),
        evaluate(wrong, observer, queries(words, 4, among=held_out), samples=20, real=perfect),
        accuracy(codes, Labels.full(codes), words),
    )


def test_the_text_says_what_a_score_cannot_be_read_without(report):
    text = report.to_text()
    assert "S = 10 pictures a query, JS in nats (log base e), reference uniform" in text
    assert "S = 20 pictures a query, JS in bits (log base 2), reference uniform" in text
    assert "1 of 4 words said, 30 queries" in text
    for row in ("telbo ", "real (ceiling)", "perfect sampler", "collapsed (floor)"):
        assert text.count(f"\n{row}") == 3
    assert "observer on real pictures" in text


def test_unseen_combinations_have_their_own_heading(report):
    text = report.to_text()
    section = text[text.index("unseen combinations") :]
    assert "4 of 4 words said, 24 queries" in section
    assert "telbo              0.0 [0.0, 0.0]" in section
    assert report.compositionality.mean == 0
    assert report.compositionality.n == 24


def test_the_text_is_aligned_and_fits_a_terminal(report):
    tables = report.to_text().split("\n\n")
    for table in tables:
        if "correctness" in table:
            _, head, *rows = table.splitlines()
            starts = [head.index(word) for word in ("correctness", "coverage", "combined")]
            for row in rows:
                assert all(row[i - 2 : i] == "  " and row[i] != " " for i in starts)
    assert max(map(len, report.to_text().splitlines())) <= 80
    assert report.to_text().isascii()


def test_markdown_tables_are_whole(report):
    lines = report.to_markdown().splitlines()
    bars = {line.count("|") for line in lines if line.startswith("| ") and "telbo" in line}
    assert bars == {5}
    assert lines[0] == "# telbo"
    assert "## unseen combinations" in lines
    assert any("100.00 [100.00, 100.00] ± 0.00" in line for line in lines)


def test_json_is_plain_data_with_every_query(report):
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["score"]["options"] == {
        "samples": 10,
        "base": "e",
        "reference": "uniform",
        "seed": 0,
        "note": "",
    }
    assert len(data["score"]["queries"]) == 60
    assert data["score"]["levels"][0]["queries"] == 30
    found = data["score"]["levels"][0]["rows"]["model"]["correctness"]
    assert found == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 30, "spread": 0.0}
    assert data["score"]["rows"]["model"]["coverage"][-1] is None
    assert data["unseen combinations"]["rows"]["model"]["correctness"] == [0.0] * 24
    assert data["compositionality"]["mean"] == 0
    assert data["observer"]["digit"]["mean"] == 1


def test_a_report_needs_nothing_but_a_score(words, observer, perfect):
    report = Report("telbo", evaluate(perfect, observer, queries(words, 1), samples=5))
    assert report.compositionality is None
    assert report.to_json()["unseen combinations"] is None
    assert "unseen" not in report.to_text()
    assert "real" not in report.to_text()


def test_unseen_combinations_are_full(words, observer, perfect):
    score = evaluate(perfect, observer, queries(words, 1), samples=5)
    with pytest.raises(UsageError, match=r"`unseen` has queries of levels \[1\]; expected full"):
        Report("telbo", score, unseen=score)
