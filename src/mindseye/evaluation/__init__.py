"""Scores of runs: what a trained model is asked, and what is kept beside its weights."""

from mindseye.evaluation.imagination import (
    PROTOCOLS,
    Protocol,
    ask,
    compare_runs,
    evaluate_observer,
    evaluate_run,
    evaluated,
    get_protocol,
    held_out,
    observer_accuracy,
    plane_of,
    queries_of,
    real_pictures,
    scores_of,
)

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "ask",
    "compare_runs",
    "evaluate_observer",
    "evaluate_run",
    "evaluated",
    "get_protocol",
    "held_out",
    "observer_accuracy",
    "plane_of",
    "queries_of",
    "real_pictures",
    "scores_of",
]
