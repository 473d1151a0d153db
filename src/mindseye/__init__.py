"""Descriptions to pictures, pictures to descriptions."""

from mindseye.version import __version__

__all__ = ["__version__"]
