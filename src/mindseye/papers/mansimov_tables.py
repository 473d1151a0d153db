"""Drawing from captions, measured: bounds, words and sharpness; the lecture only shows pictures.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
"""

from __future__ import annotations

from collections.abc import Iterator

from mindseye.papers.ledgers import Column, Entry, Ledger
from mindseye.papers.tables import table

__all__ = ["MANSIMOV_COCO", "MANSIMOV_DRAW"]

_DATA = {"captioned-mnist": ("one", "One digit"), "captioned-pairs": ("two", "Two digits")}
_METHODS = {
    "align": "alignDRAW",
    "noalign": "DRAW, told the whole sentence",
    "draw": "DRAW, told nothing",
    "dense": "VAE of dense layers",
    "conv": "VAE of convolutions",
}
_NATS = "Nats a picture"
_SEEN = "Words right in combinations seen in training"
_UNSEEN = "Words right in combinations never seen"
_SHARP = "Sharpness"
_WORDS = {
    "digit": "digit, %",
    "place": "place, %",
    "first digit": "first, %",
    "second digit": "second, %",
    "all": "all, %",
}


def _rows() -> Iterator[Entry]:
    """The observers, then every method on one digit and on two, the first of them sharpened too."""
    for data, (short, name) in _DATA.items():
        yield Entry(f"{short}-observer", f"{name}, real pictures", f"{data}/observer")
    for data, (short, name) in _DATA.items():
        for method, label in _METHODS.items():
            if (short, method) == ("two", "draw"):  # one digit shows what captions are worth
                continue
            yield Entry(f"{short}-{method}", f"{name}, {label}", f"{data}-comp/{method}")
            if (short, method) == ("one", "align"):
                yield Entry(
                    "one-drop",
                    f"{name}, {label}, words left out of half of the captions",
                    f"{data}-comp/{method}",
                    {"drop": "0.5"},
                )
            if method == "align":
                yield Entry(
                    f"{short}-sharp",
                    f"{name}, alignDRAW, sharpened",
                    f"{data}-comp/align-sharp",
                    after=f"{short}-align",
                )


def _bounds() -> tuple[Column, ...]:
    return (
        Column("bound train", "train", 1, group=_NATS),
        Column("bound validation", "validation", 1, group=_NATS),
        Column("bound test", "test", 1, group=_NATS),
        Column("kl test", "KL, test", 1, group=_NATS),
    )


MANSIMOV_DRAW = table(
    Ledger(
        name="mansimov-draw",
        title="Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and "
        "Salakhutdinov (2016), arXiv:1511.02793, on captioned MNIST: the lecture's second half in "
        "numbers",
        about="Nats are lower bounds of log p(x|y) of a picture of 60 by 60 bits, one draw of the "
        "strokes; of training they are of pictures drawn anew. Of 40 captions of one digit 34 are "
        "seen in training, 2 kept for validation and 4 for the test; of 200 pairs of digits, each "
        "with two captions, 170, 10 and 20. So bounds of validation and test are of combinations "
        "that were never seen, few of them, and differ by which digits these are: compare within "
        "a column. Words are those that an observer sees in the expected picture of random "
        "strokes, one for every caption; of two digits it is told how they stand to each other, "
        "which says which is the first. It was trained apart, on other handwriting; what it sees "
        "in real pictures is the ceiling. Sharpness measures edges, between 0 and 1 whatever "
        "the contrast. A sharpened model has the bound of the one below it, which it leaves alone.",
        rows=tuple(_rows()),
        columns=(
            *_bounds(),
            *(Column(f"seen {key}", label, 1, group=_SEEN) for key, label in _WORDS.items()),
            *(Column(f"unseen {key}", label, 1, group=_UNSEEN) for key, label in _WORDS.items()),
            Column("sharpness", "of what is painted", 3, group=_SHARP),
            Column("real sharpness", "of real pictures", 3, group=_SHARP),
        ),
        scorer="drawings",
        asked={"pictures": 2000},
        pictures=("paintings", "flipped words", "paintings compared", "sharpened"),
        quick_rows=("one-observer", "one-align", "one-noalign", "one-dense", "one-sharp"),
        quick_settings={"steps": "800"},
        quick_asked={"pictures": 300},
        tiny_asked={"pictures": 16},
        seeds=1,
    )
)

MANSIMOV_COCO = table(
    Ledger(
        name="mansimov-coco",
        title="Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and "
        "Salakhutdinov (2016), arXiv:1511.02793, on MS COCO",
        about="Nats are lower bounds of log p(x|y) of a picture of 32 by 32 pixels in three "
        "colours of 256 levels, one draw of the strokes. The paper trained on 82 783 pictures with "
        "five captions each; here are 26 309 with one each, of which 85 % are for training.",
        rows=tuple(
            Entry(f"coco-{method}", f"COCO, {label}", f"coco/{method}")
            for method, label in _METHODS.items()
        ),
        columns=_bounds(),
        scorer="drawings",
        asked={"pictures": 2000},
        pictures=("paintings", "flipped words", "paintings compared"),
        quick_rows=("coco-align", "coco-noalign", "coco-dense"),
        quick_settings={"steps": "800"},
        quick_asked={"pictures": 300},
        tiny_asked={"pictures": 16},
        seeds=1,
    )
)
