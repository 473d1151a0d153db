"""Figures 4 to 8, and the measures that the paper lacks.

The paper shows curves and pictures; of numbers it prints what its losses come to, and how long it
trained. Everything else is measured beside the generators, which are known.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mindseye.papers.ledgers import Column, Entry, Ledger
from mindseye.papers.tables import table

__all__ = ["BERGER_COMPVAE", "MEASURES", "PLACES", "PRINTED"]

PRINTED: Mapping[str, Mapping[str, str]] = {
    "sines": {"parts tell": "about 100", "z tells": "about 10", "minutes": "1440"},
    "sites": {"parts tell": "200 to 300", "z tells": "40 to 60", "minutes": "2880"},
}
"""Sections 4.3, 5.1 and 5.2, by data set."""

PLACES = {
    "inside": "K ≤ 16 (8)",
    "most": "K = 16 (8)",
    "beyond": "K = 24 (12)",
    "far": "K = 30 (16)",
}
"""Numbers of parts that are columns, those of sites in brackets."""

MEASURES = {
    "recall": ("Parts that are there, %", 1),
    "shown": ("Sites that are there, of those that the generator shows, %", 1),
    "false alarms": ("Frequencies that were not said and are heard, %", 1),
    "phase": ("Phases of frequencies said once: length of the resultant", 3),
    "correlation": ("Mean day of a street: correlation with the generator's", 3),
    "energy error": ("Energy of a day: error, % of what flows", 1),
    "distance": ("Energy distance of draws to the generator's wholes", 3),
    "distance, sum of parts": ("Energy distance of parts that are written alone and summed", 3),
    "bound": ("Bound, nats", 1),
    "kl_w": ("What the latents of the parts tell, nats", 1),
    "kl_z": ("What the latent of the whole tells, nats", 1),
    "share": ("Share of the latent of the whole, %", 1),
    "gone": ("A part extracted and removed is gone, %", 1),
    "kept": ("The other parts stay when one is removed, %", 1),
    "removal error": ("Squared error when a part is removed, 1 if nothing is", 3),
}
"""What is measured at every place: the heading of its table, and decimals."""

_SHORT = "In short"


def _columns() -> Iterator[Column]:
    yield Column("least", "parts there at every K ≤ 16 (8), least %", 1, _SHORT)
    yield Column("reached", "parts there at K = 30 (12), %", 1, _SHORT)
    yield Column("share inside", "share of z, K ≤ 16 (8), %", 1, _SHORT)
    yield Column("parts tell", "parts tell, nats", 1, _SHORT)
    yield Column("z tells", "z tells, nats", 1, _SHORT)
    yield Column("minutes", "minutes of training", 1, _SHORT)
    yield Column("order", "change by order", 6, _SHORT)
    yield Column("added and removed", "left by a part added and removed", 6, _SHORT)
    for key, (title, decimals) in MEASURES.items():
        for place, label in PLACES.items():
            yield Column(f"{key} {place}", label, decimals, title)


def _rows() -> Iterator[Entry]:
    for data, what in (("sines", "Sines"), ("sites", "Sites")):
        yield Entry(
            data,
            f"{what}, imprints",
            f"{data}/compvae",
            {"model.networks": "imprint", "model.latent": "2"},
            published=PRINTED[data],
        )
        yield Entry(
            f"{data}-wide",
            f"{what}, the paper's networks",
            f"{data}/compvae-wide",
            published=PRINTED[data],
        )
    day = {"model.networks": "imprint", "model.latent": "3", "model.width": "4"}
    yield Entry("loads", "Loads, imprints", "loads/compvae", day)


_ABOUT = (
    "K is the number of parts of a whole: up to 16 sine waves or households and up to 8 sites, in"
    " brackets, are trained on, and more are beyond. K ≤ 16 (8) is the mean over 1, 2, 4 … parts."
    " Parts are there if their frequency is heard or their place has their colour, in expected"
    " wholes of what was said; in short, of sites those count that the generator shows in nine of"
    " ten of its own draws, as the others are hidden by their neighbours. The generator's own"
    " wholes are as good as can be, its wholes of other parts say what a model has that hears no"
    " description: ceiling and floor of shares, and the other way round of errors and distances."
    " Aimed at are 95 % of the parts"
    " at every K ≤ 16 (8), 90 % of 30 sine waves and 85 % of 12 sites, a share of z of 20 % in"
    " curves, and 15 minutes. What parts and z tell in short is the mean of the last steps of"
    " training, as the paper plots it: it calls them bits, its losses are nats. Its times are of a"
    " GTX 1080; what was printed is of its networks, and stands beside both. Phases of the"
    " generator have a resultant of 0.291. Wholes may not depend on the order of their parts, and"
    " a part that is added and removed may leave nothing: both differences have to be 0."
    " Wholes are descriptions of every number of parts, draws are of each of them."
)

BERGER_COMPVAE = table(
    Ledger(
        name="berger-compvae",
        title="Figures 4 to 8 of Berger and Sebag (2020), From abstract items to latent spaces to"
        " observed data and back: Compositional Variational Auto-Encoder, with measures",
        about=_ABOUT,
        rows=tuple(_rows()),
        columns=tuple(_columns()),
        scorer="parts",
        asked={"wholes": 256, "draws": 32},
        pictures=(
            "losses of parts",
            "parts drawn again",
            "parts put together",
            "sites added",
            "more parts",
            "measures by parts",
        ),
        quick_rows=("sines", "sites", "loads"),
        quick_settings={"steps": "1500", "growth": "60", "log_every": "25"},
        quick_asked={"wholes": 32, "draws": 8},
        tiny_asked={"wholes": 3, "draws": 4},
    )
)
