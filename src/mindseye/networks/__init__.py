"""Tensors to tensors: the blocks every model is built from; no probability in here."""

from mindseye.networks.attributes import AttributeTower, SymbolTower
from mindseye.networks.autoregressive import Autoregressive
from mindseye.networks.convolutional import NETWORKS, ImageNetworks, get_networks
from mindseye.networks.coupling import Couplings
from mindseye.networks.dense import MLP, GlorotMLP, ParallelMLP
from mindseye.networks.glances import Glances
from mindseye.networks.unrounded import Unrounded

__all__ = [
    "MLP",
    "NETWORKS",
    "AttributeTower",
    "Autoregressive",
    "Couplings",
    "Glances",
    "GlorotMLP",
    "ImageNetworks",
    "ParallelMLP",
    "SymbolTower",
    "Unrounded",
    "get_networks",
]
