"""Tables 1 and 2 of Burda et al. (2016), and the patches of the lecture: nats and active units.

The lecture of Salakhutdinov prints the same numbers. With k = 1 both columns of the paper are one
model (its numbers differ once, by chance, by 0.02 nats); it has one row here, that of the VAE.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mindseye.papers.ledgers import Column, Entry, Ledger
from mindseye.papers.tables import table

__all__ = ["BURDA_BSDS", "BURDA_MNIST", "BURDA_OMNIGLOT"]

COLUMNS = (
    Column("nll", "-log p(x)"),
    Column("active", "active units"),
    Column("pruned", "-log p(x) without the inactive units"),
    Column("elbo", "elbo"),
    Column("rate", "rate"),
)

Printed = Mapping[tuple[str, int, int], tuple[str, str]]
"""Nats and active units by objective, layers and draws."""

MNIST: Printed = {
    ("vae", 1, 1): ("86.76", "19"),
    ("vae", 1, 5): ("86.47", "20"),
    ("vae", 1, 50): ("86.35", "20"),
    ("iwae", 1, 5): ("85.54", "22"),
    ("iwae", 1, 50): ("84.78", "25"),
    ("vae", 2, 1): ("85.33", "16+5"),
    ("vae", 2, 5): ("85.01", "17+5"),
    ("vae", 2, 50): ("84.78", "17+5"),
    ("iwae", 2, 5): ("83.89", "21+5"),
    ("iwae", 2, 50): ("82.90", "26+7"),
}

OMNIGLOT: Printed = {
    ("vae", 1, 1): ("108.11", "28"),
    ("vae", 1, 5): ("107.62", "28"),
    ("vae", 1, 50): ("107.80", "28"),
    ("iwae", 1, 5): ("106.12", "34"),
    ("iwae", 1, 50): ("104.67", "41"),
    ("vae", 2, 1): ("107.58", "28+4"),
    ("vae", 2, 5): ("106.31", "30+5"),
    ("vae", 2, 50): ("106.30", "30+5"),
    ("iwae", 2, 5): ("104.79", "38+6"),
    ("iwae", 2, 50): ("103.38", "44+7"),
}


def _rows(data: str, printed: Printed) -> Iterator[Entry]:
    """A row for every number that was printed."""
    for (name, layers, k), (nats, units) in printed.items():
        deep = "-2l" if layers == 2 else ""
        yield Entry(
            f"{name}{deep}-{k}",
            f"{name.upper()}, {layers} layer{'s' if layers > 1 else ''}, k = {k}",
            f"{data}/{name}{deep}",
            {"k": str(k)},
            {"nll": nats, "active": units},
        )


SECOND = (
    Entry(
        "iwae-then-vae",
        "second stage: IWAE, k = 50, then VAE",
        "mnist/vae",
        {"k": "1"},
        {"nll": "86.02", "active": "23"},
        after="iwae-50",
    ),
    Entry(
        "vae-then-iwae",
        "second stage: VAE, then IWAE, k = 50",
        "mnist/iwae",
        {"k": "50"},
        {"nll": "84.88", "active": "22"},
        after="vae-1",
    ),
)

LADDER = Entry(
    "ladder",
    "convolutional ladder VAE (ours), by 500 draws",
    "mnist/ladder",
    at_most={"k": 500},  # more draws can only raise log p(x), and take as many minutes as training
)

_ABOUT = (
    "Nats a picture of the test set by k draws of q, and units whose mean varies with the "
    "picture by more than 0.01. Lower nats are better."
)


def _ledger(data: str, where: str, about: str, rows: Iterable[Entry]) -> Ledger:
    """The table of one data set."""
    return Ledger(
        name=f"burda-{data}",
        title=f"{where} of Burda et al., Importance Weighted Autoencoders (2016), "
        f"arXiv:1509.00519, on {data.upper()}",
        about=about,
        rows=tuple(rows),
        columns=COLUMNS,
        scorer="likelihood",
        asked={"k": 5000, "pictures": 0},
        pictures=("samples", "activities"),
        quick_rows=("vae-1", "iwae-5"),
        quick_asked={"k": 500, "pictures": 500},
        tiny_asked={"k": 20, "pictures": 50},
    )


BURDA_MNIST = table(
    _ledger("mnist", "Tables 1 and 2", _ABOUT, [*_rows("mnist", MNIST), *SECOND, LADDER])
)

BURDA_OMNIGLOT = table(
    _ledger(
        "omniglot",
        "Table 1",
        f"{_ABOUT} The division into training and test pictures and the way to 28 by 28 pixels are"
        " not the authors' unless their chardata.mat is given, so nats differ from theirs; compare"
        " the order of the rows and the gaps between them.",
        _rows("omniglot", OMNIGLOT),
    )
)

BURDA_BSDS = table(
    Ledger(
        name="burda-bsds",
        title="Test log-probabilities of patches of natural pictures (BSDS300), as in the lecture "
        "of Salakhutdinov on deep unsupervised learning",
        about="Nats of a patch of 63 numbers, by the protocol of Uria, Murray and Larochelle "
        "(2013), and bits a pixel; higher is better. The lecture also prints 155.2 for RNADE with "
        "six hidden layers, 152.8 for a mixture of 200 full Gaussians, 142 for Gaussian scale "
        "mixtures, 111 for ICA and 96 for PCA. How its own two models were built it does not say.",
        rows=(
            Entry("vae", "VAE", "bsds/vae", {}, {"log likelihood": "148.0", "bits": "3.39"}),
            Entry("iwae", "IWAE", "bsds/iwae", {}, {"log likelihood": "151.4", "bits": "3.47"}),
        ),
        columns=(
            Column("log likelihood", "log p(x)"),
            Column("bits", "bits a pixel"),
            Column("active", "active units"),
            Column("elbo", "elbo"),
            Column("rate", "rate"),
        ),
        scorer="likelihood",
        asked={"k": 5000, "pictures": 100_000},
        pictures=("patches", "activities"),
        quick_rows=("vae", "iwae"),
        quick_settings={"k": "5"},
        quick_asked={"k": 500, "pictures": 1000},
        tiny_asked={"k": 20, "pictures": 50},
    )
)
