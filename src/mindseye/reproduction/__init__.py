"""A published table made again: trained, scored, and set beside what was printed."""

from mindseye.reproduction.plan import SIZES, Plan, make_plan
from mindseye.reproduction.work import reproduce

__all__ = ["SIZES", "Plan", "make_plan", "reproduce"]
