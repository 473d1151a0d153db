"""Bounds, one file per paper: free functions of a model and a batch."""

from mindseye.objectives.aggregate import (
    Aggregate,
    KLSplit,
    fit_aggregate,
    fit_aggregate_of_parts,
    fit_true_posterior,
    split_average_kl,
    words_to_aggregate,
)
from mindseye.objectives.bivcca import bivcca
from mindseye.objectives.bound import Bound
from mindseye.objectives.capacity import capacity_bound
from mindseye.objectives.classify import log_likelihood
from mindseye.objectives.compvae import compvae
from mindseye.objectives.dgm import m2, semi_dgm
from mindseye.objectives.draw import draw
from mindseye.objectives.elbo import image_elbo, joint_elbo, words_elbo
from mindseye.objectives.factor import factor
from mindseye.objectives.hfvae import hfvae, hfvae_mws
from mindseye.objectives.iwae import iwae, iwae_dreg, iwae_stl, log_weights, vae
from mindseye.objectives.jmvae import jmvae
from mindseye.objectives.jmvae_agg import jmvae_agg
from mindseye.objectives.ladder import ladder
from mindseye.objectives.registry import OBJECTIVES, Objective, get_objective
from mindseye.objectives.scan import scan
from mindseye.objectives.sharpen import sharpen
from mindseye.objectives.surgery import decomposed
from mindseye.objectives.tcvae import tcvae, tcvae_mws
from mindseye.objectives.telbo import semi_supervised, telbo, unimodal_bounds
from mindseye.objectives.vgae import gae, vgae
from mindseye.objectives.vlvae import vlvae_bound

__all__ = [
    "OBJECTIVES",
    "Aggregate",
    "Bound",
    "KLSplit",
    "Objective",
    "bivcca",
    "capacity_bound",
    "compvae",
    "decomposed",
    "draw",
    "factor",
    "fit_aggregate",
    "fit_aggregate_of_parts",
    "fit_true_posterior",
    "gae",
    "get_objective",
    "hfvae",
    "hfvae_mws",
    "image_elbo",
    "iwae",
    "iwae_dreg",
    "iwae_stl",
    "jmvae",
    "jmvae_agg",
    "joint_elbo",
    "ladder",
    "log_likelihood",
    "log_weights",
    "m2",
    "scan",
    "semi_dgm",
    "semi_supervised",
    "sharpen",
    "split_average_kl",
    "tcvae",
    "tcvae_mws",
    "telbo",
    "unimodal_bounds",
    "vae",
    "vgae",
    "vlvae_bound",
    "words_elbo",
    "words_to_aggregate",
]
