"""Batches of which a share is drawn from the pictures whose description is known."""

import pytest
import torch

from mindseye.data import Data
from mindseye.data.mnist_dynamic import Mnist
from mindseye.data.mnist_static import MnistStatic
from mindseye.data.sources import Sources
from mindseye.errors import UsageError


def numbered(count):
    """Pictures that tell their number: each has one white pixel of its own."""
    images = torch.zeros(count, 28 * 28, dtype=torch.uint8)
    images[torch.arange(count), torch.arange(count)] = 255
    return Sources(images.view(-1, 28, 28), torch.arange(count) % 10)


def grey(count):
    return Sources(torch.full((count, 28, 28), 128, dtype=torch.uint8), torch.arange(count) % 10)


def opened(sources=None, **options):
    options = {"labels": 30, "described": 0.25, **options}
    return Mnist(sources or numbered(500), numbered(50), validation=40, **options)


def numbers(x):
    return x.flatten(1).argmax(1)


def test_the_first_rows_of_every_batch_are_known():
    said = opened().batch(3, 20, count=6).y.observed[:, 0].view(6, 20)
    assert said[:, :5].all()
    assert said[:, 5:].float().mean() < 0.3  # 30 of 460 by chance


def test_the_known_pictures_have_epochs_of_their_own():
    data = opened()
    seen = numbers(data.batch(0, 20, count=6).x).view(6, 20)[:, :5].flatten()  # 30 rows
    again = numbers(data.batch(6, 20, count=6).x).view(6, 20)[:, :5].flatten()
    assert len(seen.unique()) == 30
    assert torch.equal(seen.sort().values, again.sort().values)
    assert not torch.equal(seen, again)


def test_an_epoch_of_the_known_pictures_is_balanced():
    codes = opened().batch(0, 20, count=6).y.codes.view(6, 20)[:, :5]
    assert codes.flatten().bincount(minlength=10).tolist() == [3] * 10


def test_the_other_rows_show_every_picture_once_an_epoch():
    rest = numbers(opened().batch(0, 24, count=26).x).view(26, 24)[:, 6:].flatten()[:460]
    assert len(rest.unique()) == 460


def test_what_is_known_anyway_is_said_in_the_other_rows_too():
    data = opened()
    x, y = data.batch(0, 24, count=26)
    known = data.known_index
    whose = numbers(data.examples(torch.arange(460)).x)[known]
    assert torch.equal(y.observed[:, 0], torch.isin(numbers(x), whose))


def test_a_share_of_nothing_is_the_usual_batch():
    usual, none = opened(described=0.0).batch(2, 20, 3), opened(labels=30, described=0.01)
    assert torch.equal(none.batch(2, 20, 3).x, usual.x)


def test_batches_at_once_are_the_batches_one_by_one():
    data = opened(grey(500))
    together = data.batch(5, 32, count=4)
    alone = [data.batch(5 + k, 32) for k in range(4)]
    assert torch.equal(together.x, torch.cat([each.x for each in alone]))
    assert torch.equal(together.y.observed, torch.cat([each.y.observed for each in alone]))


def test_a_step_may_be_a_tensor():
    data = opened(grey(500))
    assert torch.equal(data.batch(torch.tensor(9), 32, 2).x, data.batch(9, 32, 2).x)


def test_drawing_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    step = torch.tensor(3, device="meta")
    assert opened().to("meta").batch(step, 64, 2).x.shape == (128, 1, 28, 28)


def test_pixels_of_a_known_picture_are_drawn_anew_in_every_epoch():
    x = opened(grey(500)).batch(0, 20, count=60).x  # 300 known rows, 900 others
    assert len(x.flatten(1).unique(dim=0)) == 1200


def test_other_seeds_have_other_orders():
    first, second = (numbers(opened(seed=s).batch(0, 120).x)[:30] for s in (0, 1))
    assert torch.equal(first.sort().values, second.sort().values)
    assert not torch.equal(first, second)


def test_where_all_are_known_the_two_sequences_differ():
    seen = numbers(opened(labels=0, described=0.5).batch(0, 200).x)
    assert (seen[:100] == seen[100:]).sum() < 10


def test_pixels_that_never_change_are_drawn_from_alike():
    images, digits = numbered(100)
    data = MnistStatic(images, digits, labels=10, described=0.5)
    said = data.batch(0, 20).y.observed[:, 0]
    assert said[:10].all()


def test_held_out_pictures_know_no_share():
    pytest.importorskip("sklearn")
    data = Data("mnist", source="digits", labels=10, described=0.5).open("validation")
    assert data.share == 0


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_outside_zero_and_one_is_refused(share):
    with pytest.raises(UsageError, match=r"`described=.*` must be at least 0 and below 1"):
        Data("mnist", described=share)


def test_a_share_of_what_is_not_known_is_refused():
    with pytest.raises(UsageError, match=r"`described=0.25` .* no description is known"):
        opened(labels=0, labelled=0.0)
    with pytest.raises(UsageError, match="no description is known"):
        MnistStatic(numbered(100).images, None, described=0.25)


def test_a_data_set_without_it_says_so():
    with pytest.raises(UsageError, match=r"`data.described=0.25` means nothing for 'mnist-a'"):
        Data("mnist-a", described=0.25).open()
