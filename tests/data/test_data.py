"""What all data sets have in common, and the value that names them."""

import dataclasses

import pytest
import torch

from mindseye.data import DATASETS, Data, Sines, describe_parts
from mindseye.errors import UsageError

OFFLINE = [
    Data("mnist-a", source="digits"),
    Data("mnist-2bit", source="digits"),
    Data("mnist", source="digits"),
    Data("dsprites", source="rendered"),
]


@pytest.fixture(autouse=True)
def _nowhere(nowhere):
    pytest.importorskip("sklearn")


@pytest.fixture(params=OFFLINE, ids=lambda data: data.name)
def data(request):
    return request.param


def test_pictures_are_of_the_shape_and_the_words_that_are_promised(data):
    kind, opened = DATASETS[data.name], data.open("train")
    x, y = opened.batch(0, 6, 2)
    assert x.shape == (12, *kind.shape)
    assert x.dtype == torch.float32
    assert y.codes.shape == y.observed.shape == (12, len(kind.vocabulary))
    assert (y.codes < torch.tensor(kind.vocabulary.sizes)).all()
    assert opened.examples(torch.arange(0)).x.shape == (0, *kind.shape)


def test_the_mean_picture_lies_among_the_pictures(data):
    opened = data.open("train")
    mean = opened.mean()
    assert mean.shape == opened.shape
    assert mean.dtype == torch.float32
    assert 0 <= mean.min() < mean.max() <= 1
    drawn = opened.batch(0, 1000).x
    assert drawn.mean().item() == pytest.approx(mean.mean().item(), rel=0.1)
    assert torch.equal(opened.mean(), mean)


def test_every_part_is_described(data):
    facts = describe_parts(data)
    assert [fact["part"] for fact in facts] == list(DATASETS[data.name].parts)
    assert len({tuple(fact) for fact in facts}) == 1  # rows of one table


def test_moving_to_the_same_place_changes_nothing(data):
    assert torch.equal(data.open().to("cpu").batch(1, 5).x, data.open().batch(1, 5).x)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("mnist-a", "labels", 100),
        ("mnist-a", "binarise", "static"),
        ("mnist-2bit", "labels", 100),
        ("mnist", "compositional", True),
        ("mnist", "replications", 10),
        ("mnist-static", "binarise", "none"),
        ("omniglot", "replications", 3),
        ("bsds", "labelled", 0.5),
        ("bsds", "binarise", "none"),
        ("dsprites", "compositional", True),
        ("dsprites", "labels", 10),
        ("celeba", "split_seed", 1),
        ("celeba-words", "labelled", 0.5),
    ],
)
def test_a_field_that_means_nothing_is_refused(name, field, value):
    message = rf"`data.{field}={value!r}` means nothing for '{name}'\. Leave it at .*'source'"
    with pytest.raises(UsageError, match=message):
        Data(name, **{field: value}).open("train")


def test_every_setting_is_a_field():
    names = {field.name for field in dataclasses.fields(Data)}
    for kind in DATASETS.values():
        assert set(kind.settings) <= names


def test_data_written_before_there_were_labels_is_read():
    old = {"name": "mnist-a", "source": "digits", "compositional": False, "split_seed": 0,
           "replications": 10, "labelled": 0.5}  # fmt: skip
    assert Data(**old) == Data("mnist-a", "digits", False, 0, 10, 0.5)


def test_labels_cannot_be_negative():
    with pytest.raises(UsageError, match=r"`labels=-1` is negative; use 0 to go by `labelled`"):
        Data("mnist", labels=-1)


def test_an_unknown_data_set_is_corrected():
    with pytest.raises(UsageError, match=r"`data.name='dsprite'` .* Did you mean 'dsprites'"):
        Data("dsprite")


def test_wholes_are_opened_as_such_and_pictures_of_words_are_not():
    wholes = Data("sines", most=3).wholes("test", seed=2)
    assert (type(wholes), wholes.part, wholes.most, wholes.seed) == (Sines, "test", 3, 2)
    with pytest.raises(UsageError, match=r"'mnist-a'` has no parts; expected 'sines', .* 'loads'"):
        Data("mnist-a", source="digits").wholes()
