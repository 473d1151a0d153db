"""How many words hold in pictures, and what a report of a model of captions says."""

import json
import math
from dataclasses import replace

import pytest
import torch
from torch.distributions import kl_divergence
from torch.testing import assert_close

from mindseye.data import Batch, averages
from mindseye.data.celeba import SENTENCE as FACE
from mindseye.data.celeba import VOCABULARY as ATTRIBUTES
from mindseye.data.scenes import SENTENCE
from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.evaluation import captions as measuring
from mindseye.evaluation.captions import LABELS, caption_report, evaluate_captions
from mindseye.labels import Labels, encode
from mindseye.metrics.captions import AT_ONCE, words_right
from mindseye.models import VLVAE, Flowing, Observer
from mindseye.papers import get_recipe
from mindseye.randomness import keys
from mindseye.runs import Run, create, find

NINE = "large red rubber cube left small blue metal sphere"
EIGHT = "* red rubber cube left small blue metal sphere"


class Stub:
    """An observer that sees the same in every picture; it remembers what it was told."""

    def __init__(self, vocabulary, seen: Labels | None = None, probs=None, told: str = ""):
        self.vocabulary = vocabulary
        self.told = vocabulary.names.index(told) if told else None
        self.seen, self.probs, self.heard = seen, probs, []

    def judge(self, x, told=None):
        self.heard.append(told)
        return self.seen.codes.expand(len(x), -1)

    def __call__(self, x):
        return Attributes(self.probs.log().expand(len(x), -1, -1), self.vocabulary.sizes)


def said(*captions: str) -> Labels:
    return encode([SENTENCE.parse(caption) for caption in captions])


def nothing(count: int) -> torch.Tensor:
    return torch.zeros(count, 3, 4, 4)


def test_correctness_is_the_share_of_words_that_are_seen():
    right = words_right(Stub(SENTENCE, said(NINE), told="relation"), SENTENCE)
    captions = [
        NINE,
        NINE.replace("large", "small"),
        NINE.replace("cube", "sphere").replace("blue", "red"),
        "small gray metal sphere left large red rubber cube",
    ]
    assert right(nothing(4), said(*captions)).tolist() == [1, 7 / 8, 6 / 8, 0]


def test_the_relation_is_told_and_not_counted():
    stub = Stub(SENTENCE, said(NINE), told="relation")
    right = words_right(stub, SENTENCE)
    captions = said(NINE, NINE.replace("left", "behind"))
    assert right(nothing(2), captions).tolist() == [1, 1]
    assert stub.heard[0].tolist() == [0, 3]


def test_whoever_is_told_nothing_counts_the_relation_too():
    right = words_right(Stub(SENTENCE, said(NINE)), SENTENCE)
    found = right(nothing(2), said(NINE, NINE.replace("left", "behind")))
    assert_close(found, torch.tensor([1, 8 / 9]))


def test_open_words_are_not_counted():
    right = words_right(Stub(SENTENCE, said(NINE), told="relation"), SENTENCE)
    captions = said(EIGHT, "* red * * left", "* gray * * left", EIGHT.replace("red", "gray"))
    assert_close(right(nothing(4), captions), torch.tensor([1, 1, 0, 6 / 7]))


def test_a_caption_that_says_nothing_is_right():
    right = words_right(Stub(SENTENCE, said(NINE), told="relation"), SENTENCE)
    assert right(nothing(2), said("", "* * * * left")).tolist() == [1, 1]


def test_many_pictures_are_judged_in_parts_with_what_each_is_told():
    stub, count = Stub(SENTENCE, said(NINE), told="relation"), 2 * AT_ONCE + 3
    codes = said(NINE).codes.repeat(count, 1)
    codes[:, 4] = torch.arange(count) % 4
    codes[::2, 0] = 1
    found = words_right(stub, SENTENCE)(nothing(count), Labels.full(codes))
    assert torch.equal(torch.cat(stub.heard), torch.arange(count) % 4)
    assert found.tolist() == [7 / 8, 1.0] * (AT_ONCE + 1) + [7 / 8]


# Faces


def face(*words: str) -> Labels:
    places = dict(enumerate(words))
    values = FACE.attributes[0].values
    row = [values.index(places.get(k, "-")) for k in range(len(FACE))]
    return Labels.full(torch.tensor([row]))


def seen(**chances: float) -> Stub:
    """Attributes with a chance; all others are as likely as not, which is not likely enough."""
    probs = torch.full((1, len(ATTRIBUTES), 2), 0.5)
    for name, chance in chances.items():
        probs[:, ATTRIBUTES.names.index(name.replace("_", " "))] = torch.tensor(
            [1 - chance, chance]
        )
    return Stub(ATTRIBUTES, probs=probs)


def share(stub: Stub, labels: Labels) -> float:
    return words_right(stub, FACE)(nothing(1), labels).item()


def test_a_word_of_a_face_holds_at_more_than_even_odds():
    stub = seen(smiling=0.9, bald=0.4, eyeglasses=0.51)
    assert share(stub, face("smiling", "bald", "eyeglasses")) == pytest.approx(2 / 3)
    assert share(stub, face("bangs")) == 0


def test_words_of_a_face_hold_in_any_order_and_blanks_are_not_counted():
    stub = seen(smiling=0.9, bald=0.4)
    for words in (("smiling", "bald"), ("bald", "-", "smiling"), ("-", "-", "bald", "smiling")):
        assert share(stub, face(*words)) == 0.5
    assert share(stub, face("smiling")) == 1


def test_female_is_not_male():
    assert share(seen(male=0.1), face("female")) == 1
    assert share(seen(male=0.1), face("male")) == 0
    assert share(seen(male=0.9), face("female")) == 0
    assert share(seen(male=0.9), face("male")) == 1


def test_words_of_a_face_left_open_are_not_counted():
    labels = face("smiling", "bald")
    labels.observed[:, 1] = False
    assert share(seen(smiling=0.9, bald=0.1), labels) == 1


def test_nothing_said_of_a_face_is_right():
    assert share(seen(), face()) == 1


def test_an_observer_of_other_things_is_refused():
    stub = Stub(SENTENCE, said(NINE))
    with pytest.raises(UsageError, match="knows nothing of 'bald'; it judges first size, "):
        words_right(stub, FACE)


# Reports


@pytest.fixture(scope="module", autouse=True)
def a_rough_mean():
    """The mean picture of few pictures: to render many takes longer than all the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def tiny(name: str):
    made = get_recipe(f"one-object/{name}-tiny")
    return replace(made, training=replace(made.training, steps=4, log_every=2))


@pytest.fixture(scope="module")
def base(root) -> Run:
    run = create(tiny("vlvae"), root)
    list(run.train())
    return run


@pytest.fixture(scope="module")
def aggregate(root, base) -> Run:
    run = create(tiny("vlvae-agg"), root, start=base)
    list(run.train())
    return run


@pytest.fixture(scope="module")
def true(root, base) -> Run:
    run = create(tiny("vlvae-true"), root, start=base)
    list(run.train())
    return run


@pytest.fixture(scope="module")
def observer(base) -> Observer:
    torch.manual_seed(0)
    return Observer(base.recipe.data.vocabulary, base.recipe.data.shape, width=2).eval()


def test_a_model_without_flows_says_nothing_of_captions(base, observer):
    report = evaluate_captions(base, observer=observer, pictures=8)
    flows = {"correctness", "by way of words", "log p(x|y)", "log q(z|y)"}
    flows |= {"log r(z), by way of words"}
    parts = {"KL(q(z|x), q(z))", "KL(q(z), p)"}
    assert set(report.values) == set(LABELS) - flows - parts


def test_a_report_has_all_there_is_to_say(aggregate, observer):
    report = evaluate_captions(aggregate, observer=observer, pictures=8)
    assert set(report.values) == set(LABELS)
    for name in ("real pictures", "reconstructions", "correctness", "prior correctness"):
        assert 0 <= report.values[name].mean <= 1


def test_the_parts_of_a_report_add_up(aggregate):
    mean = {n: e.mean for n, e in evaluate_captions(aggregate, pictures=60).values.items()}
    rate, information, marginal = (
        mean[f"KL({name})"] for name in ("q(z|x), p", "q(z|x), q(z)", "q(z), p")
    )
    assert rate == pytest.approx(information + marginal, abs=1e-4)
    assert mean["log p(x)"] == pytest.approx(mean["log p(x|z)"] - information, abs=1e-2)
    log_q = mean["log r(z)"] + information
    of_words = mean["log p(x|z)"] + mean["log q(z|y)"] - log_q
    assert mean["log p(x|y)"] == pytest.approx(of_words, abs=1e-2)


def test_a_prior_that_was_not_fitted_is_the_prior(true, base, observer):
    report = evaluate_captions(true, observer=observer, pictures=8)
    assert "KL(q(z), p)" not in report.values
    alone = evaluate_captions(base, observer=observer, pictures=8).values
    for name in ("log r(z)", "log p(x)", "log p(x|z)", "KL(q(z|x), p)", "real pictures"):
        assert report.values[name] == alone[name]
    log_q = report.values["log r(z)"].mean + report.values["KL(q(z|x), p)"].mean
    expected = report.values["log p(x|z)"].mean + report.values["log r(z)"].mean - log_q
    assert report.values["log p(x)"].mean == pytest.approx(expected, abs=1e-2)


@torch.no_grad()
@pytest.mark.parametrize("written", [1, 2, 100])
def test_by_way_of_words_the_density_is_at_most_the_mean_over_all_captions(
    aggregate, written, monkeypatch
):
    monkeypatch.setattr(measuring, "WRITTEN", written)
    model, batch = aggregate.model(), aggregate.recipe.data.open("test").examples(torch.arange(12))
    torch.manual_seed(0)
    for weight in model.words_flow.parameters():
        torch.nn.init.normal_(weight, 0, 0.2)
    z = model.prior.sample(torch.Size([12]))
    found = measuring._Measured(model, batch, keys(0, torch.arange(12)))._by_way_of_words(model, z)
    codes = torch.cartesian_prod(*map(torch.arange, model.vocabulary.sizes))
    each = [model.q_y(Labels.full(code[None])).log_prob(z) for code in codes]
    expected = torch.stack(each).logsumexp(0) - math.log(len(codes))
    assert (found <= expected + 1e-5).all()
    if written == 100:
        assert_close(found, expected)
    assert (found >= model.q_y(batch.y).log_prob(z) - math.log(len(codes)) - 1e-5).all()


@torch.no_grad()
def test_captions_of_words_in_any_order_are_no_prior():
    base = VLVAE(FACE, (3, 16, 16), 4, "folded", width=4, hidden=16)
    model = Flowing(base, FACE, 2, 8).eval()
    batch = Batch(torch.rand(5, 3, 16, 16), Labels.full(torch.zeros(5, 9, dtype=torch.long)))
    found = dict(measuring._Measured(model, batch, keys(0, torch.arange(5))).values(None))
    assert "log q(z|y)" in found
    assert "log r(z), by way of words" not in found


def test_flows_that_were_not_trained_say_what_the_prior_says(base):
    torch.manual_seed(0)
    model = Flowing(base.model(), base.recipe.data.vocabulary, 2, 8).eval()
    data = base.recipe.data.open("test")
    values = caption_report(model, data, None, pictures=20).values
    assert values["log q(z|y)"].mean == pytest.approx(values["log r(z)"].mean, abs=1e-4)
    assert values["log p(x|y)"].mean == pytest.approx(values["log p(x)"].mean, abs=1e-2)


@torch.no_grad()
def test_the_evidence_of_captions_is_that_of_draws_from_the_prior(true):
    data, model = true.recipe.data.open("test"), true.model()
    found = caption_report(model, data, None, pictures=16).values["log p(y)"].mean
    y = data.examples(torch.arange(16)).y
    torch.manual_seed(0)
    z = model.prior.sample(torch.Size([2000]))
    each = [model.p_y(z).log_prob(Labels.full(row.expand(2000, -1))) for row in y.codes]
    expected = torch.stack(each).exp().mean(1).log().mean().item()
    assert found == pytest.approx(expected, abs=0.03)


def test_without_an_observer_only_bounds_are_measured(aggregate):
    report = evaluate_captions(aggregate, pictures=4)
    assert not [name for name in report.values if "correct" in name or "pictures" in name]
    assert "log p(x|y)" in report.values


def test_the_report_is_kept_beside_the_weights(aggregate, observer):
    report = evaluate_captions(aggregate, observer=observer, pictures=4, part="validation")
    kept = json.loads((aggregate.path / "captions.json").read_text())
    assert (kept["part"], kept["pictures"]) == ("validation", 4)
    assert kept["values"].keys() == report.values.keys()
    assert kept["values"]["log p(x)"]["mean"] == report.values["log p(x)"].mean
    assert kept["provenance"]["device"].startswith("cpu")
    assert json.loads(json.dumps(report.to_json())) == report.to_json()


def test_the_text_says_all_of_it(aggregate, observer):
    report = evaluate_captions(aggregate, observer=observer, pictures=4)
    first, *lines = report.to_text().splitlines()
    assert first == "4 test pictures, 95 % intervals"
    assert len(lines) == len(LABELS)
    for line, (name, label) in zip(lines, LABELS.items(), strict=True):
        assert line.startswith(label)
        mean = report.values[name].mean
        assert (f"{mean:.2%}" if "right" in label else f"{mean:.2f}") in line


def test_progress_is_told_and_the_seed_decides(aggregate, monkeypatch):
    monkeypatch.setitem(measuring.AT_ONCE, "cpu", 5)
    calls = []
    before = torch.random.get_rng_state()
    one = evaluate_captions(aggregate, pictures=6, progress=lambda *at: calls.append(at))
    assert calls == [(5, 6), (6, 6)]
    assert torch.equal(before, torch.random.get_rng_state())
    assert evaluate_captions(aggregate, pictures=6).values == one.values
    assert evaluate_captions(aggregate, pictures=6, seed=1).values != one.values


def test_by_joint_inference_a_report_looks_at_both(root):
    run = create(tiny("vlvae-joint"), root)
    list(run.train())
    rate = evaluate_captions(run, pictures=60).values["KL(q(z|x), p)"]
    model, batch = run.model(), run.recipe.data.open("test").examples(torch.arange(60))
    expected = kl_divergence(model.q_xy(*batch), model.prior).mean().item()
    assert rate.low - 0.1 < expected < rate.high + 0.1


def test_a_model_without_captions_is_refused():
    with pytest.raises(UsageError, match="is of `kind='joint'`; expected 'vlvae'"):
        evaluate_captions(find("mnist-a"))
