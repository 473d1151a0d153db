"""Links of Cora and Citeseer foretold: Tables 3 and 4 of the review, and the table of its source.

References:
    Variational Graph Auto-Encoders, Kipf and Welling, 2016
    https://arxiv.org/abs/1611.07308
"""

from __future__ import annotations

from collections.abc import Iterator

from mindseye.papers.kipf import GRAPHS
from mindseye.papers.ledgers import Column, Entry, Ledger
from mindseye.papers.tables import table

__all__ = ["KIPF_VGAE"]

PRINTED = {
    ("cora", "gae", True): ("84.3", "88.1", "84.6", "88.4"),
    ("cora", "vgae", True): ("84.0", "87.7", "85.3", "88.9"),
    ("cora", "gae", False): ("91.0", "92.0", "92.1", "92.4"),
    ("cora", "vgae", False): ("91.4", "92.6", "92.1", "92.8"),
    ("citeseer", "gae", True): ("78.7", "84.1", "76.9", "82.6"),
    ("citeseer", "vgae", True): ("78.9", "84.1", "78.7", "82.9"),
    ("citeseer", "gae", False): ("89.5", "89.9", "87.5", "88.3"),
    ("citeseer", "vgae", False): ("90.8", "92.0", "90.2", "91.6"),
}
"""AUC and AP in percent as Kipf and Welling print them, then as the review made them again; by
graph, model and whether features are left out."""

_NAMES = {"gae": "GAE", "vgae": "VGAE", "masked": "masked links, ours"}


def _rows() -> Iterator[Entry]:
    """The rows of both tables in their order, then ours."""
    order = [("gae", True), ("vgae", True), ("gae", False), ("vgae", False)]
    for graph in ("cora", "citeseer"):
        for name, featureless in [*order, ("masked", True), ("masked", False)]:
            auc, ap, auc_again, ap_again = PRINTED.get((graph, name, featureless), ("",) * 4)
            yield Entry(
                f"{graph}-{name}{'-featureless' * featureless}",
                f"{GRAPHS[graph]}, {_NAMES[name]}{'*' * featureless}",
                f"{graph}/{name}",
                {"featureless": "true"} if featureless else {},
                {"auc": f"{auc} ({auc_again})", "ap": f"{ap} ({ap_again})"} if auc else {},
            )


KIPF_VGAE = table(
    Ledger(
        name="kipf-vgae",
        title="Tables 3 and 4 of Variational Autoencoders: A Review, by Garg et al., after "
        "Variational Graph Auto-Encoders, Kipf and Welling (2016), arXiv:1611.07308",
        about="How well links that were held out are told from pairs without one, in percent. A "
        "tenth of the links is for the test and a twentieth for validation, each beside as many "
        "pairs without a link; no model hears over a link that is held out. A seed is another "
        "division, other weights and other noise. Printed are the means of Kipf and Welling over "
        "ten divisions, and in brackets what the review made of them. * is without features. "
        "Shared neighbours (Adamic and Adar) and like features (cosine) need no training.",
        rows=tuple(_rows()),
        columns=(
            Column("auc", "AUC, %"),
            Column("ap", "AP, %"),
            Column("hits@100", "Hits@100, %"),
        ),
        scorer="links",
        asked={"links": 0},
        pictures=("planes of nodes",),
        quick_rows=("cora-gae", "cora-vgae", "cora-masked"),
        quick_asked={"links": 0},
        tiny_asked={"links": 0},
        sizes=("paper", "tiny"),
        seeds=10,
        seeded=("training.seed", "data.split_seed"),
        standard_error=True,
        hours=False,
    )
)
