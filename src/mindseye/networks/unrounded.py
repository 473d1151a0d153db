"""Modules whose weights stay float32 where training rounds those of others to bfloat16."""

__all__ = ["Unrounded"]


class Unrounded:
    """Says of a module that it is computed in float32: its numbers have no digits to lose."""
