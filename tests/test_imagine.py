"""The verbs of a mind: what they depend on, what they refuse."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from mindseye.captions import Sentence
from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.imagine import MAX_PICTURES, Mind, Query
from mindseye.labels import Labels, encode
from mindseye.models import VAE, VLVAE, Flowing, JointVAE, Observer
from mindseye.pictures import to_uint8
from mindseye.randomness import normals
from mindseye.runs import load

WORDS = Vocabulary(
    [
        Attribute("digit", [str(d) for d in range(10)]),
        Attribute("size", ["big", "small"]),
        Attribute("location", ["left", "right"]),
    ]
)
SHAPE = (1, 64, 64)
FULL = "digit=4, size=big, location=left"

close = partial(assert_close, atol=1e-5, rtol=0)


@pytest.fixture(scope="module")
def model() -> JointVAE:
    """A model that was shown pictures a few times, so that it differs from a fresh one."""
    torch.manual_seed(0)
    made = JointVAE(WORDS, SHAPE, latent=5, networks="lean", width=16, hidden=24)
    for _ in range(20):
        made.p_x(torch.randn(32, 5))
        made.q_x((torch.rand(32, *SHAPE) < 0.1).float())
    return made.eval()


@pytest.fixture(scope="module")
def mind(model) -> Mind:
    return Mind(model, name="test", observer=lambda: Observer(WORDS, SHAPE, width=2))


@pytest.fixture(scope="module")
def pictures() -> torch.Tensor:
    return (torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(1)) < 0.1).float()


# A picture depends on the seed and its number alone


def test_picture_7_is_the_same_in_grids_of_8_and_64(mind):
    few, many = mind.imagined("digit=4", n=8, seed=3), mind.imagined("digit=4", n=64, seed=3)
    assert torch.equal(few.latents[7], many.latents[7])
    close(few.means[7], many.means[7])


def test_picture_7_alone_is_picture_7_of_a_grid(mind):
    many = mind.imagined("digit=4, size=big", n=64, seed=3)
    alone = mind.model.p_x(many.latents[7:8]).mean[0]
    close(alone, many.means[7])


def test_grids_larger_than_a_chunk_begin_alike(mind):
    few, many = mind.imagined("size=big", n=70, seed=1), mind.imagined("size=big", n=150, seed=1)
    assert torch.equal(few.latents, many.latents[:70])
    close(few.means, many.means[:70])
    assert (few.samples == many.samples[:70]).float().mean() > 0.9999


def test_several_queries_are_answered_as_each_is_alone(mind):
    asked = [
        Query(mind.concept("digit=4"), 3, 1),
        Query(mind.concept(""), 9, 2, fill=False),
        Query(mind.concept(FULL), 1, 3, temperature=0.5),
    ]
    for query, found in zip(asked, mind.answer(asked), strict=True):
        concept, n, seed, fill, temperature = query
        alone = mind.imagined(concept, n, seed, fill=fill, temperature=temperature)
        assert found.concept == concept
        assert torch.equal(found.latents, alone.latents)
        assert torch.equal(found.latents, mind.latents(query))
        close(found.means, alone.means)


@pytest.mark.parametrize("n", [1, 3, 7, 9, 17])
def test_a_picture_has_the_same_grey_levels_alone_or_in_a_crowd(n):
    real = load("mnist-a")
    few, many = real.imagined("digit=4", n, 5), real.imagined("digit=4", 40, 5)
    assert np.array_equal(to_uint8(few.means.numpy()), to_uint8(many.means[:n].numpy()))


def test_the_same_seed_gives_the_same_bytes(mind):
    one, two = mind.imagined(FULL, n=5, seed=11), mind.imagined(FULL, n=5, seed=11)
    assert torch.equal(one.latents, two.latents)
    assert torch.equal(one.means, two.means)
    assert torch.equal(one.samples, two.samples)


def test_another_seed_gives_other_pictures(mind):
    one, two = mind.imagined(FULL, n=5, seed=11), mind.imagined(FULL, n=5, seed=12)
    assert not torch.isclose(one.latents, two.latents).any()


@pytest.mark.parametrize("seed", [-1, 0, 2**63, 10**30])
def test_any_whole_number_is_a_seed(mind, seed):
    assert mind.imagine("", n=1, seed=seed).shape == (1, *SHAPE)


def test_imagining_leaves_the_global_random_state_alone(mind):
    before = torch.random.get_rng_state()
    mind.imagine(FULL, n=2)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("n", [1, 64])
def test_many_descriptions_are_imagined_as_each_is_alone(mind, fill, n):
    asked = ["", "digit=4", FULL, "size=small, location=right", "digit=4"]
    seeds = [3, 0, 2**52 + 1, -7, 5]
    together = mind.imagine_each(asked, n, seeds, fill=fill)
    assert together.shape == (5, n, *SHAPE)
    for pictures, description, seed in zip(together, asked, seeds, strict=True):
        alone = mind.imagine(description, n, seed, fill=fill)
        if n == 64:  # a chunk of its own, so the decoder meets the same batch
            assert torch.equal(pictures, alone)
        assert (pictures == alone).float().mean() > 0.9999


@pytest.mark.parametrize("fill", [True, False])
def test_many_descriptions_have_the_latents_each_has_alone(mind, fill):
    asked = [mind.concept(text) for text in ("", "digit=4", FULL, "location=right")]
    key = mind._keys(70, [3, 0, 9, 5])
    together = mind._latents(asked, key, fill=fill).unflatten(0, key.shape)
    for latents, concept, seed in zip(together, asked, [3, 0, 9, 5], strict=True):
        assert torch.equal(latents, mind.imagined(concept, 70, seed, fill=fill).latents)


# Pictures


def test_pictures_have_the_shape_and_the_range_of_pictures(mind):
    imagined = mind.imagined("digit=4", n=6)
    assert imagined.latents.shape == (6, 5)
    assert imagined.means.shape == imagined.samples.shape == (6, *SHAPE)
    assert 0 < imagined.means.min() <= imagined.means.max() < 1
    assert set(imagined.samples.unique().tolist()) == {0.0, 1.0}
    assert not imagined.samples.requires_grad


def test_imagine_gives_draws_and_means_on_request(mind):
    imagined = mind.imagined("digit=4", n=2, seed=5)
    assert torch.equal(mind.imagine("digit=4", n=2, seed=5), imagined.samples)
    assert torch.equal(mind.imagine("digit=4", n=2, seed=5, mean=True), imagined.means)


def test_draws_have_the_probabilities_of_their_means(mind):
    imagined = mind.imagined("digit=4", n=256, temperature=0)
    error = imagined.samples.mean(0) - imagined.means[0]
    assert error.mean().abs() < 0.002
    assert error.abs().max() < 0.16  # five standard errors


def test_a_text_and_its_concept_are_the_same(mind):
    concept = WORDS.concept(digit=4, size="big")
    assert mind.imagined("4, big", n=2).concept == concept
    assert torch.equal(mind.imagine(concept, n=2), mind.imagine("size=big, digit=4", n=2))


def test_at_temperature_zero_all_pictures_are_equal(mind):
    imagined = mind.imagined("digit=4", n=9, temperature=0, fill=False)
    assert torch.equal(imagined.latents, mind.belief("digit=4").mean.expand(9, -1))
    close(imagined.means, imagined.means[:1].expand(9, -1, -1, -1))


def test_temperature_scales_the_spread(mind):
    mean = mind.belief(FULL).mean
    hot, cold = (mind.imagined(FULL, n=4, temperature=t).latents - mean for t in (2.0, 0.5))
    close(hot, 4 * cold)


# Beliefs


@pytest.mark.parametrize("nothing", ["", "*", "any"])
def test_nothing_said_is_believed_as_the_prior(mind, nothing):
    belief = mind.belief(nothing)
    assert belief.mean.tolist() == [[0] * 5]
    assert belief.stddev.tolist() == [[1] * 5]


def test_latents_of_nothing_are_standard_normal_without_filling(mind):
    latents = mind.imagined("", n=4000, fill=False).latents
    assert latents.mean().abs() < 0.02
    assert latents.std().item() == pytest.approx(1, abs=0.02)


def test_where_nothing_is_said_everything_is_filled_in(mind):
    beliefs = mind.model.q_y(Labels.full(torch.cartesian_prod(*map(torch.arange, WORDS.sizes))))
    latents = mind.imagined("", n=9000).latents
    close(latents.mean(0), beliefs.mean.mean(0), atol=0.05)
    moments = (beliefs.variance + beliefs.mean**2).mean(0)  # of the mixture, all alike
    close(latents.pow(2).mean(0), moments, rtol=0.05)


@pytest.mark.parametrize("name", WORDS.names)
def test_dropping_a_word_widens_the_belief(mind, name):
    concept = mind.concept(FULL)
    assert (mind.belief(concept.drop(name)).stddev > mind.belief(concept).stddev).all()


# From concept to concept


def test_the_way_between_two_concepts_begins_and_ends_at_them(mind):
    way = mind.between("digit=3", "digit=4", steps=5, n=3, seed=2)
    assert way.shape == (3, 5, *SHAPE)
    close(way[:, 0], mind.imagined("digit=3", n=3, seed=2).means)
    close(way[:, -1], mind.imagined("digit=4", n=3, seed=2).means)


def test_on_the_way_between_two_concepts_only_what_they_disagree_about_changes(mind):
    way = mind.between("digit=3", FULL, steps=5, n=3, seed=2)
    close(way[:, 0], mind.imagined(mind.concept(FULL).say("digit", "3"), n=3, seed=2).means)
    close(way[:, -1], mind.imagined(FULL, n=3, seed=2).means)


# What is left open


def test_filling_a_full_description_changes_nothing(mind):
    assert torch.equal(mind.imagine(FULL, n=4), mind.imagine(FULL, n=4, fill=False))


def test_filled_pictures_are_a_mixture_of_full_descriptions(mind):
    imagined = mind.imagined("digit=4", n=200, temperature=0)
    full = [c for c in mind.vocabulary.concepts(len(WORDS.names)) if c.values["digit"] == "4"]
    typical = torch.cat([mind.belief(c).mean for c in full])
    distance = (imagined.latents[:, None] - typical).norm(dim=-1)
    assert distance.min(1).values.max() < 1e-5  # every latent is one of theirs
    assert len(distance.argmin(1).unique()) == len(full)  # and every one of theirs is used


def test_what_is_filled_in_does_not_depend_on_the_number_of_pictures(mind):
    few, many = (mind.imagined("digit=4", n=n, seed=3).latents for n in (2, 50))
    assert torch.equal(few, many[:2])


def test_the_way_from_a_concept_to_itself_stands_still(mind):
    way = mind.between(FULL, FULL, steps=4, n=2)
    close(way, way[:, :1].expand(-1, 4, -1, -1, -1))


def test_a_ladder_has_one_rung_more_than_words(mind):
    rungs = list(mind.ladder("location=left, digit=4", n=3, seed=6))
    assert [str(rung.concept) for rung in rungs] == ["*", "digit=4", "digit=4, location=left"]
    for rung in rungs:
        assert torch.equal(rung.latents, mind.imagined(rung.concept, n=3, seed=6).latents)


def test_a_ladder_of_nothing_has_one_rung(mind):
    assert [rung.concept for rung in mind.ladder("", n=1)] == [WORDS.root]


# From pictures to words


def test_probabilities_of_a_description_sum_to_one(mind, pictures):
    words = mind.describe(pictures[0])
    assert list(words) == list(WORDS.names)
    for attribute in WORDS:
        assert list(words[attribute.name]) == list(attribute.values)
        assert sum(words[attribute.name].values()) == pytest.approx(1, abs=1e-5)


def test_a_description_is_the_average_over_draws(mind, pictures):
    (belief,) = mind.p_y_given_x(pictures[:1], samples=4000)
    q = mind.model.q_x(pictures[:1])
    torch.manual_seed(0)
    other = mind.model.p_y(q.sample(torch.Size([4000]))[:, 0]).probs.mean(0)
    assert_close(belief.probs, other, atol=0.02, rtol=0)


def test_a_picture_is_described_as_among_others(mind, pictures):
    together = mind.p_y_given_x(pictures, seed=4)
    for picture, belief in zip(pictures, together, strict=True):
        (alone,) = mind.p_y_given_x(picture[None], seed=4)
        close(alone.probs, belief.probs)


def test_a_reconstruction_is_drawn_from_what_was_read(mind, pictures):
    again = mind.reconstruct(pictures)
    assert again.shape == pictures.shape
    close(again, mind.model.p_x(mind.model.q_x(pictures).mean).mean)


def test_pictures_of_any_precision_are_read(mind, pictures):
    close(mind.reconstruct(pictures.double()), mind.reconstruct(pictures))
    close(mind.reconstruct(pictures.to(torch.uint8)), mind.reconstruct(pictures))


def test_the_observer_judges_every_picture(mind):
    seen = mind.judge(mind.imagine("", n=70))
    assert len(seen) == 70
    assert all(concept.level == len(WORDS) for concept in seen)


def test_the_observer_is_looked_for_once_and_only_if_needed(model):
    calls = []

    def find():
        calls.append(1)
        return Observer(WORDS, SHAPE, width=2)

    mind = Mind(model, observer=find)
    mind.imagine("", n=1)
    assert not calls
    assert mind.can_judge
    assert mind.observer is mind.observer
    assert not mind.observer.training
    assert len(calls) == 1


# What is refused


@pytest.mark.parametrize("n", [0, -1, MAX_PICTURES + 1, 10**9])
def test_too_few_or_too_many_pictures_are_refused(mind, n):
    with pytest.raises(UsageError, match=f"`n={n}` must be between 1 and 10000"):
        mind.imagine("digit=4", n=n)


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_that_is_no_temperature_is_refused(mind, temperature):
    with pytest.raises(UsageError, match=r"`temperature=.*` must be a number of at least 0"):
        mind.imagine("", temperature=temperature)


def test_a_misspelt_word_is_refused(mind):
    with pytest.raises(UsageError, match="Did you mean 'big'"):
        mind.imagine("size=bigg")


def test_a_way_of_one_step_is_refused(mind):
    with pytest.raises(UsageError, match="`steps=1` must be at least 2: both ends are shown"):
        mind.between("", FULL, steps=1)


def test_a_way_of_too_many_pictures_is_refused(mind):
    with pytest.raises(UsageError, match="`n=4` times `steps=1000000000` is more than 10000"):
        mind.between("", FULL, steps=10**9)


def test_more_pictures_than_memory_and_seeds_that_do_not_fit_are_refused(mind):
    with pytest.raises(UsageError, match=r"`n=6000` of 2 descriptions is more than 10000 pictures"):
        mind.imagine_each(["", FULL], 6000, [0, 1])
    with pytest.raises(UsageError, match=r"`seeds` has 1 for 2 `descriptions`"):
        mind.imagine_each(["", FULL], 3, [0])


@pytest.mark.parametrize("samples", [0, 10**9])
def test_too_few_or_too_many_samples_are_refused(mind, pictures, samples):
    with pytest.raises(UsageError, match=f"`samples={samples}` must be between 1 and 10000"):
        mind.p_y_given_x(pictures, samples)


@pytest.mark.parametrize("verb", ["p_y_given_x", "reconstruct", "judge"])
@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (torch.full((1, *SHAPE), torch.nan), "`pictures` holds NaN or infinite values"),
        (torch.full((1, *SHAPE), torch.inf), "`pictures` holds NaN or infinite values"),
        (torch.zeros(1, 3, 64, 64), r"shape \(1, 3, 64, 64\); expected \(B, 1, 64, 64\)"),
        (torch.zeros(1, 1, 28, 28), r"shape \(1, 1, 28, 28\); expected \(B, 1, 64, 64\)"),
        (torch.zeros(SHAPE), r"shape \(1, 64, 64\); expected \(B, 1, 64, 64\) with B ≥ 1"),
        (torch.zeros(0, *SHAPE), r"shape \(0, 1, 64, 64\); expected .* with B ≥ 1"),
        (torch.full((1, *SHAPE), 255.0), r"`pictures` must lie in \[0, 1\]"),
        (torch.full((1, *SHAPE), -0.5), r"`pictures` must lie in \[0, 1\]"),
    ],
)
def test_spoilt_pictures_are_refused(mind, verb, spoilt, message):
    with pytest.raises(UsageError, match=message):
        getattr(mind, verb)(spoilt)


def test_describing_two_pictures_at_once_is_refused(mind, pictures):
    with pytest.raises(UsageError, match=r"shape \(1, 6, 1, 64, 64\)"):
        mind.describe(pictures)


# What was not trained is not used


@pytest.mark.parametrize(
    "verb",
    [
        lambda mind: mind.imagine(FULL),
        lambda mind: mind.belief(FULL),
        lambda mind: mind.between("", FULL),
        lambda mind: list(mind.ladder(FULL)),
    ],
)
def test_a_joint_bound_alone_imagines_nothing_from_words(model, verb):
    mind = Mind(model, name="lonely", fits=frozenset({"q_xy"}))
    message = r"`lonely` imagines nothing from words: its objective trains no q\(z\|y\)\. "
    message += "`mindseye aggregate lonely` fits one to it"
    with pytest.raises(UsageError, match=message):
        verb(mind)


def test_a_joint_bound_alone_cannot_read_pictures(model, pictures):
    mind = Mind(model, name="lonely", fits=frozenset({"q_xy"}))
    message = r"`lonely` cannot read pictures: its objective trains no q\(z\|x\)"
    with pytest.raises(UsageError, match=message):
        mind.describe(pictures[0])
    with pytest.raises(UsageError, match=message):
        mind.reconstruct(pictures)


def test_without_an_observer_nobody_judges(model, pictures):
    mind = Mind(model, name="alone")
    assert not mind.can_judge
    with pytest.raises(UsageError, match=r"`alone` has no observer\. Train one"):
        mind.judge(pictures)


# Without words


@pytest.fixture(scope="module")
def silent() -> Mind:
    torch.manual_seed(0)
    return Mind(VAE((1, 8, 8), 3, width=8), name="silent", fits=frozenset({"q_x", "q_y"}))


def test_without_words_pictures_are_draws_from_the_prior(silent):
    imagined = silent.imagined("", 500, seed=1)
    assert imagined.means.shape == (500, 1, 8, 8)
    assert imagined.latents.mean().abs() < 0.1
    assert imagined.latents.std() == pytest.approx(1, abs=0.05)
    assert torch.equal(silent.imagine("", 3, seed=1), imagined.samples[:3])


def test_without_words_the_way_is_from_draws_to_the_next_ones(silent):
    way = silent.between("", "", steps=5, n=2, seed=3)
    assert way.shape == (2, 5, 1, 8, 8)
    torch.testing.assert_close(way[:, 0], silent.imagine("", 2, seed=3, mean=True))
    torch.testing.assert_close(way[:, -1], silent.imagine("", 2, seed=4, mean=True))


def test_without_words_nothing_is_described(silent):
    with pytest.raises(UsageError, match="`silent` knows no words"):
        silent.describe(torch.zeros(1, 8, 8))


def test_pixels_that_are_no_bits_are_shown_as_they_are_expected():
    mind = Mind(VAE((1, 8, 8), 3, width=8, likelihood="normal"), name="grey")
    imagined = mind.imagined("", 2)
    assert torch.equal(imagined.samples, imagined.means)


# With flows


CAPTIONS = Sentence(
    [
        Attribute("first size", ["large", "small"]),
        Attribute("relation", ["left", "right", "behind"]),
        Attribute("second size", ["large", "small"]),
    ]
)
WHOLE = "large behind small"


def shaken(flow: Flowing) -> Flowing:
    """Flows that are no longer the prior's."""
    for part in (flow.words_flow, flow.prior_flow):
        for weight in part.parameters():
            torch.nn.init.normal_(weight, 0, 0.1)
    return flow


@pytest.fixture(scope="module", params=[True, False])
def flowing(request) -> Mind:
    torch.manual_seed(0)
    base = VLVAE(CAPTIONS, (3, 16, 16), 4, "folded", width=4, hidden=16)
    watcher = Observer(CAPTIONS, (3, 16, 16), width=2, told="relation")
    return Mind(
        shaken(Flowing(base, CAPTIONS, 2, 8)),
        name="flowing",
        fits=frozenset({"q_x", "q_y"}),
        observer=lambda: watcher,
        fills=request.param,
    )


@pytest.mark.parametrize("description", ["", "* behind", WHOLE])
def test_picture_7_of_a_flow_is_the_same_alone_or_in_a_grid(flowing, description):
    few, many = (flowing.imagined(description, n=n, seed=3) for n in (8, 70))
    assert torch.equal(few.latents, many.latents[:8])
    close(few.means, many.means[:8])
    alone = flowing.model.p_x(many.latents[7:8]).mean[0]
    close(alone, many.means[7], atol=1e-4)
    assert torch.equal(few.means, few.samples)  # pixels that are no bits


def test_latents_of_a_flow_are_what_it_makes_of_noise(flowing):
    latents = flowing.imagined(WHOLE, n=2000, seed=1).latents
    q = flowing.belief(WHOLE)
    error = latents.mean(0) - q.mean[0]
    assert error.abs().max() < 0.15 * latents.std(0).max()
    close(latents.std(0), q.stddev[0], rtol=0.1)


def test_at_temperature_zero_a_flow_gives_one_picture(flowing):
    imagined = flowing.imagined(WHOLE, n=9, temperature=0)
    middle = flowing.belief(WHOLE).at(torch.zeros(1, 4))
    close(imagined.latents, middle.expand(9, -1))
    hot = flowing.imagined(WHOLE, n=9, temperature=1.0).latents
    assert (hot - middle).norm(dim=1).min() > 0.01


def test_flows_that_need_no_filling_believe_in_what_is_open():
    torch.manual_seed(0)
    base = VLVAE(CAPTIONS, (3, 16, 16), 4, "folded", width=4, hidden=16)
    model = shaken(Flowing(base, CAPTIONS, 2, 8))
    filling, plain = (Mind(model, name="m", fills=fills) for fills in (True, False))
    asked = [plain.concept("* behind")] * 9
    said = plain.model.q_y(encode(asked))
    noise = said.couplings.inverse(plain.imagined("* behind", n=9).latents, said.context)[0]
    given = normals(plain._keys(9, [0])[0], 4)
    close(noise, given, atol=1e-4)
    with torch.no_grad():
        filled = filling.imagined("* behind", n=9).latents
        full = [c for c in CAPTIONS.concepts(3) if c.values["relation"] == "behind"]
        near = torch.stack([model.q_y(encode([c] * 9)).at(given) for c in full])
    distance = (near - filled).norm(dim=-1).min(0).values
    assert distance.max() < 1e-4  # each is the latent of one of the captions that fit


def test_many_descriptions_of_a_flow_are_imagined_as_each_is_alone(flowing):
    asked = ["", "* behind", WHOLE]
    together = flowing.imagine_each(asked, 8, [3, 0, 5])
    for pictures, description, seed in zip(together, asked, [3, 0, 5], strict=True):
        close(pictures, flowing.imagine(description, 8, seed))


def test_the_way_between_two_captions_begins_and_ends_at_them(flowing):
    way = flowing.between("* left", WHOLE, steps=5, n=3, seed=2)
    assert way.shape == (3, 5, 3, 16, 16)
    first = flowing.concept(WHOLE).say("relation", "left")
    close(way[:, 0], flowing.imagined(first, n=3, seed=2).means)
    close(way[:, -1], flowing.imagined(WHOLE, n=3, seed=2).means)
    still = flowing.between(WHOLE, WHOLE, steps=3, n=2)
    close(still, still[:, :1].expand(-1, 3, -1, -1, -1))


def test_without_words_the_way_of_a_flow_is_between_its_own_draws():
    torch.manual_seed(0)
    model = shaken(Flowing(VAE((1, 8, 8), 3, width=8), Vocabulary([]), 2, 8))
    mind = Mind(model, name="silent", fits=frozenset({"q_x", "q_y"}), fills=False)
    way = mind.between("", "", steps=3, n=2, seed=3)
    close(way[:, 0], mind.imagine("", 2, seed=3, mean=True))
    close(way[:, -1], mind.imagine("", 2, seed=4, mean=True))


def test_a_caption_is_told_of_every_latent(flowing):
    z = torch.randn(40, 4)
    told = flowing.tell(z, seed=5)
    assert len(told.captions) == 40
    assert all(caption.level == 3 for caption in told.captions)
    assert_close(told.words.probs.sum(-1), torch.ones(40, 3))
    few = flowing.tell(z[:7], seed=5)
    assert few.captions == told.captions[:7]
    codes = encode(told.captions).codes
    assert_close(told.words.probs, flowing.model.p_y(z).given(codes).probs)
    assert flowing.tell(z, seed=6).captions != told.captions


def test_captions_are_told_as_often_as_they_are_likely(flowing):
    z = torch.randn(1, 4).expand(4000, -1)
    codes = encode(flowing.tell(z).captions).codes
    first = flowing.model.p_y(z[:1]).given(codes[:1]).probs[0, 0, 1].item()
    assert codes[:, 0].float().mean().item() == pytest.approx(first, abs=0.03)


def test_whoever_writes_no_captions_tells_none(mind):
    assert not mind.writes
    with pytest.raises(UsageError, match=r"`test` writes no captions\. Use a model of kind vlvae"):
        mind.tell(torch.randn(2, 5))


def test_probabilities_of_words_are_those_of_captions_drawn_for_a_picture(flowing):
    assert flowing.writes
    x = torch.rand(2, 3, 16, 16)
    words = flowing.describe(x[0])
    assert [len(values) for values in words.values()] == [2, 3, 2]
    for values in words.values():
        assert sum(values.values()) == pytest.approx(1, abs=1e-5)
    together = flowing.p_y_given_x(x)
    close(together[0].probs, flowing.p_y_given_x(x[:1])[0].probs)


def test_the_observer_is_told_what_was_described(flowing):
    x = torch.rand(40, 3, 16, 16)
    described = [flowing.concept(f"* {word}") for word in ("left", "right", "behind")] * 13
    described += described[:1]
    seen = flowing.judge(x, described)
    assert [each.values["relation"] for each in seen] == [d.values["relation"] for d in described]
    told = encode(described).codes[:, 1]
    expected = torch.cat([flowing.observer.judge(x[i : i + 1], told[i : i + 1]) for i in range(40)])
    assert torch.equal(encode(seen).codes, expected)
    assert {each.values["relation"] for each in flowing.judge(x)} == {"left"}


def test_flows_of_a_model_of_pictures_alone_describe_nothing():
    model = Flowing(VAE((1, 8, 8), 3, width=8), WORDS, 2, 8)
    mind = Mind(model, name="silent", fits=frozenset({"q_x", "q_y"}))
    assert mind.imagine("digit=4", n=2).shape == (2, 1, 8, 8)
    with pytest.raises(UsageError, match="was trained on pictures alone"):
        mind.describe(torch.zeros(1, 8, 8))
