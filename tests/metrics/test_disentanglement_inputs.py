"""What all disentanglement measures share: seeds, batches, devices, and what they refuse."""

import pytest
import torch
from torch.distributions import Normal

from mindseye.errors import UsageError
from mindseye.metrics.disentanglement import (
    beta_vae_score,
    dci,
    explicitness,
    factor_vae_score,
    mig_chen,
    mig_lib,
    modularity,
    sap,
)

SIZES = (3, 4, 5, 6)


def plain(codes):
    return codes.to(torch.float64)


def mixed(codes):
    weights = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return plain(codes) @ weights


def blurred(represent):
    def posteriors(codes):
        mean = represent(codes)
        return Normal(mean, torch.full_like(mean, 0.2), validate_args=False)

    return posteriors


ALL = {
    "beta": lambda r, **o: beta_vae_score(r, SIZES, pairs=5, train=80, test=40, **o),
    "factor": lambda r, **o: factor_vae_score(r, SIZES, group=5, train=80, test=40, points=50, **o),
    "lib": lambda r, **o: mig_lib(r, SIZES, points=200, **o),
    "chen": lambda r, **o: mig_chen(blurred(r), SIZES, points=200, samples=100, **o),
    "sap": lambda r, **o: sap(r, SIZES, train=80, test=40, **o),
    "modularity": lambda r, **o: modularity(r, SIZES, points=200, **o),
    "explicitness": lambda r, **o: explicitness(r, SIZES, train=80, test=40, **o),
}


def flat(result):
    return torch.cat([torch.as_tensor(part, dtype=torch.float64).flatten() for part in result])


@pytest.mark.parametrize("name", ALL)
def test_the_size_of_batches_changes_nothing_and_the_seed_does(name):
    whole = flat(ALL[name](mixed, seed=3))
    torch.testing.assert_close(flat(ALL[name](mixed, seed=3, batch=7)), whole, atol=1e-9, rtol=0)
    assert not torch.equal(flat(ALL[name](mixed, seed=4)), whole)


@pytest.mark.parametrize("name", ALL)
def test_no_global_randomness_is_used_and_no_gradient_is_kept(name):
    weight = torch.ones(4, dtype=torch.float64, requires_grad=True)
    before = torch.random.get_rng_state()
    result = ALL[name](lambda codes: plain(codes) * weight)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not flat(result).requires_grad


@pytest.mark.parametrize("name", ALL)
def test_representations_that_are_not_finite_are_refused(name):
    def broken(codes):
        return plain(codes).masked_fill(codes == 2, torch.nan)

    with pytest.raises(UsageError, match=r"`(represent|posteriors)` gives numbers .* not finite"):
        ALL[name](broken)


@pytest.mark.parametrize("name", ALL)
def test_one_row_for_many_states_is_refused(name):
    with pytest.raises(UsageError, match=r"`(represent|posteriors)` gives .*shape \(1, 4\)"):
        ALL[name](lambda codes: plain(codes)[:1])


EVERY = [beta_vae_score, factor_vae_score, mig_lib, mig_chen, sap, dci, modularity, explicitness]


@pytest.mark.parametrize("measure", EVERY)
def test_a_factor_with_one_value_is_refused(measure):
    with pytest.raises(UsageError, match=r"gives factor 1 the size 1; expected 2 .* Leave out"):
        measure(plain, (3, 1, 4))
    with pytest.raises(UsageError, match=r"`sizes=\(\)` has too few factors; expected [12] or"):
        measure(plain, ())


@pytest.mark.parametrize("measure", [beta_vae_score, factor_vae_score, dci, modularity])
def test_one_factor_cannot_be_confused_with_another(measure):
    with pytest.raises(UsageError, match=r"`sizes=\(3,\)` has too few factors; expected 2 or"):
        measure(plain, (3,))


@pytest.mark.parametrize(
    ("measure", "options", "name"),
    [
        (beta_vae_score, {"pairs": 0}, "pairs"),
        (beta_vae_score, {"train": 1}, "train"),
        (beta_vae_score, {"test": 0}, "test"),
        (factor_vae_score, {"group": 1}, "group"),
        (factor_vae_score, {"points": 1}, "points"),
        (factor_vae_score, {"batch": 0}, "batch"),
        (mig_lib, {"points": 1}, "points"),
        (mig_lib, {"bins": 1}, "bins"),
        (mig_chen, {"samples": 0}, "samples"),
        (sap, {"train": 1}, "train"),
        (dci, {"train": 1}, "train"),
        (modularity, {"points": 1}, "points"),
        (explicitness, {"test": 1}, "test"),
    ],
)
def test_too_few_states_are_refused(measure, options, name):
    with pytest.raises(UsageError, match=rf"`{name}=[01]` is too few; expected [12] or more"):
        measure(plain, SIZES, **options)


def test_what_does_not_vary_in_the_states_drawn_is_said():
    with pytest.raises(UsageError, match=r"Factor \d has one value in all states drawn"):
        mig_lib(lambda codes: codes.double(), (2, 2, 2, 2, 2, 2, 2, 2), points=2)
    pytest.importorskip("sklearn")
    with pytest.raises(UsageError, match=r"`train=2` states all have the same value of factor"):
        dci(lambda codes: codes.double(), (2, 2, 2, 2, 2, 2, 2, 2), train=2)


def test_a_representation_keeps_its_width():
    # A batch of 4 states is wider than a batch of 3.
    def ragged(codes):
        return torch.zeros(len(codes), len(codes))

    with pytest.raises(UsageError, match=r"rows of \[3, 4\] numbers; expected one width"):
        mig_lib(ragged, SIZES, points=7, batch=4)


def test_an_unknown_learner_is_named():
    with pytest.raises(UsageError, match=r"`learner='forrest'` is not known; .*mean 'forest'\?"):
        dci(plain, SIZES, learner="forrest")  # pyright: ignore[reportArgumentType]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ALL)
def test_a_gpu_agrees_with_the_cpu(name):
    on_cpu = flat(ALL[name](mixed))
    on_gpu = flat(ALL[name](lambda codes: mixed(codes.cpu()).cuda(), device="cuda"))
    torch.testing.assert_close(on_gpu, on_cpu, atol=1e-6, rtol=1e-6)
