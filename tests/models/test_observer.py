"""The observer: a distribution over every attribute of every picture."""

import pytest
import torch
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models import Observer
from mindseye.objectives.classify import log_likelihood

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
SHAPE = (1, 64, 64)


def pictures(count: int = 6, shape=SHAPE) -> torch.Tensor:
    return (torch.rand(count, *shape, generator=torch.Generator().manual_seed(1)) < 0.1).float()


@pytest.fixture(scope="module", params=["strong", "attentive", "paper"])
def observer(request) -> Observer:
    torch.manual_seed(0)
    made = Observer(WORDS, SHAPE, request.param, width=2)
    for _ in range(5):
        made(pictures())
    return made.eval()


def test_every_attribute_has_a_distribution(observer):
    p = observer(pictures())
    assert [probs.shape for probs in p.by_attribute()] == [(6, 3), (6, 2)]
    assert_close(p.probs.sum(-1), torch.ones(6, 2))
    assert p.probs[:, 1, 2].max() == 0  # `size` has no third value
    assert p.log_prob(Labels.full(torch.zeros(6, 2, dtype=torch.int64))).shape == (6,)


def test_the_verdict_is_the_most_probable_value(observer):
    codes = observer.judge(pictures())
    assert codes.dtype == torch.int64
    assert torch.equal(codes, observer(pictures()).probs.argmax(-1))
    assert (codes < torch.tensor(WORDS.sizes)).all()
    assert not codes.requires_grad


def test_one_picture_is_judged_as_in_a_batch(observer):
    x = pictures()
    together = observer(x).log_probs
    for i in range(len(x)):
        alone = observer(x[i : i + 1]).log_probs[0]
        assert_close(together[i].exp(), alone.exp(), atol=1e-5, rtol=0)


def test_judging_is_certain_and_training_is_not():
    torch.manual_seed(0)
    made = Observer(WORDS, SHAPE, "paper", width=2)
    assert not torch.equal(made(pictures()).log_probs, made(pictures()).log_probs)  # dropout
    made.eval()
    assert torch.equal(made(pictures()).log_probs, made(pictures()).log_probs)


@pytest.mark.parametrize(("architecture", "alike"), [("attentive", True), ("strong", False)])
def test_an_attentive_observer_that_does_not_ask_where_sees_things_alike(architecture, alike):
    torch.manual_seed(0)
    made = Observer(WORDS, SHAPE, architecture, width=4)
    for part in made.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    if made.glances:
        with torch.no_grad():
            made.glances.places.weight[:, -2:].zero_()  # where places are
    x = torch.zeros(2, *SHAPE)
    x[:, :, 24:32, 24:32] = pictures(2)[:, :, :8, :8]
    made(x)
    made.eval()
    moved = x.roll((8, -4), (2, 3))  # by whole places, and not near the edge
    differences = (made(moved).probs - made(x).probs).abs().max()
    assert (differences < 1e-6) == alike


def test_an_observer_learns_what_can_be_seen():
    torch.manual_seed(0)
    made = Observer(WORDS, SHAPE, "strong", width=2)
    codes = torch.stack([torch.arange(24) % 3, torch.arange(24) // 3 % 2], 1)
    x = pictures(24) * 0.2
    for i, (digit, size) in enumerate(codes.tolist()):
        x[i, 0, 20 * digit : 20 * digit + 20 - 10 * size] = 1
    adam = torch.optim.Adam(made.parameters(), 5e-3)
    for _ in range(60):
        loss = -made(x).log_prob(Labels.full(codes)).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    for part in made.modules():  # too few steps for slow averages: take the batch's own
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    made(x)
    assert (made.eval().judge(x) == codes).float().mean() > 0.95


@pytest.mark.parametrize("architecture", ["strong", "attentive", "paper"])
@pytest.mark.parametrize("shape", [(1, 64, 64), (3, 32, 32), (1, 28, 28), (1, 30, 50)])
def test_pictures_may_have_any_shape(architecture, shape):
    made = Observer(WORDS, shape, architecture, width=2)
    assert made(pictures(3, shape)).log_probs.shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("architecture", "weights"),
    [("strong", 1_480_979), ("attentive", 380_147), ("paper", 67_184_531)],
)
def test_sizes_are_those_of_the_documentation(architecture, weights):
    sizes = {"digit": 10, "size": 2, "orientation": 3, "location": 4}
    words = Vocabulary([Attribute(n, [str(v) for v in range(c)]) for n, c in sizes.items()])
    with torch.device("meta"):
        made = Observer(words, SHAPE, architecture)
    assert sum(p.numel() for p in made.parameters()) == weights


def test_repr_shows_the_factorisation_and_the_vocabulary(observer):
    assert "p(y | x) = ∏ p(y_k | x)" in repr(observer)
    assert "digit (3), size (2)" in repr(observer)


def test_an_unknown_architecture_is_refused():
    known = r"'strong', 'attentive' or 'paper'\. .*'strong'\?"
    message = rf"`architecture='stong'` is not known; expected {known}"
    with pytest.raises(UsageError, match=message):
        Observer(WORDS, SHAPE, "stong")


# An observer that is told something


@pytest.fixture(scope="module", params=["strong", "attentive"])
def informed(request) -> Observer:
    torch.manual_seed(0)
    made = Observer(WORDS, SHAPE, request.param, width=2, told="size")
    for _ in range(5):
        made(pictures())
    return made.eval()


def test_what_it_is_told_picks_the_answers_of_a_strong_one():
    torch.manual_seed(0)
    informed = Observer(WORDS, SHAPE, "strong", width=2, told="size").eval()
    x = pictures()
    features = informed.trunk(x)
    (head,) = informed.heads  # none for what it is told
    answers = head(features).view(6, 2, 3)
    for told in (0, 1):
        p = informed(x, torch.full((6,), told))
        assert torch.equal(p.logits[:, 0], answers[:, told])
    mixed = torch.tensor([0, 1, 1, 0, 1, 0])
    assert torch.equal(informed(x, mixed).logits[:, 0], answers[torch.arange(6), mixed])
    assert not torch.equal(answers[:, 0], answers[:, 1])


def test_what_it_is_told_picks_the_questions_of_an_attentive_one():
    torch.manual_seed(0)
    informed = Observer(WORDS, SHAPE, "attentive", width=2, told="size").eval()
    x = pictures()
    each = [informed(x, torch.full((6,), told)).logits[:, 0] for told in (0, 1)]
    assert (each[0] - each[1]).abs().max() > 1e-4
    for told in (0, 1):
        with torch.no_grad():
            informed.glances.questions[1 - told].add_(9.0)
        assert_close(informed(x, torch.full((6,), told)).logits[:, 0], each[told])
        with torch.no_grad():
            informed.glances.questions[1 - told].sub_(9.0)
    mixed = torch.tensor([0, 1, 1, 0, 1, 0])
    assert_close(informed(x, mixed).logits[:, 0], torch.stack(each)[mixed, torch.arange(6)])


def test_what_it_is_told_it_is_sure_of(informed):
    told = torch.tensor([0, 1, 1, 0, 1, 0])
    p = informed(pictures(), told)
    said = Labels(torch.stack([0 * told, told], 1), torch.tensor([[False, True]]).expand(6, -1))
    assert p.log_prob(said).tolist() == [0.0] * 6
    assert torch.equal(informed.judge(pictures(), told)[:, 1], told)


def test_what_nobody_tells_it_is_the_first_value(informed):
    untold, first = informed(pictures()), informed(pictures(), torch.zeros(6, dtype=torch.int64))
    assert torch.equal(untold.log_probs, first.log_probs)
    assert informed.judge(pictures())[:, 1].tolist() == [0] * 6


def test_it_learns_what_it_sees_given_what_it_is_told(informed):
    y = Labels.full(torch.tensor([[2, 1]]).expand(6, -1))
    bound = log_likelihood(informed, pictures(), y)
    expected = informed(pictures(), torch.ones(6, dtype=torch.int64)).log_probs[:, 0, 2]
    assert_close(bound.value, expected)
    own = informed.glances.questions if informed.glances else informed.heads[0][-1][-1].bias
    (grad,) = torch.autograd.grad(bound.value.sum(), own)
    assert grad.view(2, -1).abs().amax(1)[0] == 0  # of what was not told
    assert grad.view(2, -1).abs().amax(1)[1] > 0


def test_pictures_of_another_size_are_refused(observer):
    with pytest.raises(UsageError, match=r"of shape \(1, 64, 64\); these have \(1, 32, 32\)"):
        observer.judge(pictures(shape=(1, 32, 32)))
