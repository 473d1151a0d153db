"""Bounds, one file per paper: free functions of a model and a batch."""

from mindseye.objectives.aggregate import (
    Aggregate,
    KLSplit,
    split_average_kl,
    words_to_aggregate,
)
from mindseye.objectives.bivcca import bivcca
from mindseye.objectives.bound import Bound
from mindseye.objectives.classify import log_likelihood
from mindseye.objectives.elbo import image_elbo, joint_elbo, words_elbo
from mindseye.objectives.jmvae import jmvae
from mindseye.objectives.jmvae_agg import jmvae_agg
from mindseye.objectives.registry import OBJECTIVES, Objective, get_objective
from mindseye.objectives.scan import scan
from mindseye.objectives.telbo import semi_supervised, telbo, unimodal_bounds

__all__ = [
    "OBJECTIVES",
    "Aggregate",
    "Bound",
    "KLSplit",
    "Objective",
    "bivcca",
    "get_objective",
    "image_elbo",
    "jmvae",
    "jmvae_agg",
    "joint_elbo",
    "log_likelihood",
    "scan",
    "semi_supervised",
    "split_average_kl",
    "telbo",
    "unimodal_bounds",
    "words_elbo",
    "words_to_aggregate",
]
