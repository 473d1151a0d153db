"""Figure 4a of Vedantam et al. (2018): correctness and coverage on MNIST-A, and on unseen concepts.

The paper prints descriptions of four, three and two words. Those of one word are in the notebook
that its authors released with their code (google/joint_vae), with the same queries and the same
samples. Coverages are 1 - JS in nats at S = 10, although the text bounds JS by 1, which is bits.
SCAN is discussed in the paper (section 4) and not scored; JMVAE-agg and refitting are ours. The
aggregate flows are those of Cremer and Kushman (2018), beside the TELBO and JMVAE of the same seed.

References:
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mindseye.papers.tables import Place, Published, Row, Split, Table, table

__all__ = ["VEDANTAM_4A"]

IID = Split("iid", "mnist-a", levels=(4, 3, 2, 1))
COMPOSITIONAL = Split("compositional", "mnist-a-comp", levels=(4,), unseen=True)

Numbers = Mapping[str, Mapping[tuple[str, int], tuple[tuple[float, ...] | None, ...]]]

# Correctness and coverage by split and number of words, each with its ±.
PRINTED: Numbers = {
    "telbo": {
        ("iid", 4): ((82.08, 0.56), None),
        ("iid", 3): ((81.63, 0.38), (91.14, 0.53)),
        ("iid", 2): ((82.03, 1.37), (90.32, 0.57)),
        ("compositional", 4): ((75.61, 1.43), None),
    },
    "jmvae": {
        ("iid", 4): ((85.15, 0.26), None),
        ("iid", 3): ((82.00, 0.37), (88.52, 0.37)),
        ("iid", 2): ((81.02, 1.05), (87.89, 0.69)),
        ("compositional", 4): ((76.86, 1.30), None),
    },
    "bivcca": {
        ("iid", 4): ((67.38, 0.69), None),
        ("iid", 3): ((70.68, 0.87), (85.28, 0.68)),
        ("iid", 2): ((72.33, 2.31), (85.09, 0.76)),
        ("compositional", 4): ((68.58, 1.02), None),
    },
}

# One word said: in the authors' notebook, not in the paper.
NOTEBOOK: Numbers = {
    "telbo": {("iid", 1): ((83.67,), (90.94,))},
    "jmvae": {("iid", 1): ((81.58,), (88.70,))},
    "bivcca": {("iid", 1): ((68.36,), (85.53,))},
}

LABELS = {
    "telbo": "TELBO",
    "jmvae": "JMVAE",
    "bivcca": "BiVCCA",
    "scan": "SCAN, factorised",
    "scan-atomic": "SCAN, atomic",
    "jmvae-agg": "JMVAE-agg (ours)",
    "telbo-refit": "TELBO, refitted (ours)",
    "jmvae-refit": "JMVAE, beta 0.1, refitted (ours)",
    "telbo-flow": "TELBO, aggregate flow",
    "jmvae-flow": "JMVAE, aggregate flow",
}


def _placed(numbers: Numbers, family: str) -> Iterator[tuple[Place, Published]]:
    for (split, level), pair in numbers.get(family, {}).items():
        for score, number in zip(("correctness", "coverage"), pair, strict=True):
            if number is not None:
                yield Place(split, level, score), Published(*number)


VEDANTAM_4A = table(
    Table(
        name="vedantam-4a",
        title="Figure 4a of Vedantam et al., Generative Models of Visually Grounded Imagination"
        " (2018), arXiv:1705.10762",
        rows=tuple(
            Row(
                label,
                family,
                paper=dict(_placed(PRINTED, family)),
                code=dict(_placed(NOTEBOOK, family)),
                after=family.removesuffix("-flow") if family.endswith("-flow") else "",
            )
            for family, label in LABELS.items()
        ),
        splits=(IID, COMPOSITIONAL),
        observers={"paper": "mnist-a/observer-paper", "ours": "mnist-a/observer"},
        builtin_observer="mnist-a-observer",
        accuracies={"digit": 91.18, "size": 90.56, "orientation": 92.23, "location": 100.0},
        spread="the standard deviation of five draws, with replacement, of 80 % of the queries of"
        " one trained model",
        familiar="digit=0, size=small, orientation=clockwise, location=top-right",
        unseen="digit=6, size=small, orientation=clockwise, location=bottom-right",
        ladder=("size=big", "orientation=upright", "location=top-left", "digit=7"),
        ladder_rows=("telbo", "jmvae"),
        planes=("mnist-2bit/beta-vae", "mnist-2bit/jvae"),
        quick_rows=("telbo", "jmvae", "bivcca"),
        quick_settings={"training.steps": "800", "training.warmup": "80"},
    )
)
