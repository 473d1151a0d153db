"""A published table made again: trained, scored, and set beside what was printed."""

from mindseye.reproduction.ledger import reproduce_ledger
from mindseye.reproduction.ledger_plan import LedgerPlan, make_ledger_plan
from mindseye.reproduction.plan import SIZES, Plan, make_plan
from mindseye.reproduction.work import reproduce

__all__ = [
    "SIZES",
    "LedgerPlan",
    "Plan",
    "make_ledger_plan",
    "make_plan",
    "reproduce",
    "reproduce_ledger",
]
