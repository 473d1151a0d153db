"""How good a model is: functions of tensors and concepts, with their ceilings and floors."""

from mindseye.metrics.checks import Base
from mindseye.metrics.describing import accuracy
from mindseye.metrics.estimates import Estimate, bootstrap, fraction
from mindseye.metrics.glances import Glance, glance
from mindseye.metrics.imagination import combined, correctness, coverage, jensen_shannon
from mindseye.metrics.judging import Imaginer, Observer, collapsed, evaluate
from mindseye.metrics.limits import collapsed_coverage, expected_similarity, perfect_coverage
from mindseye.metrics.query import queries
from mindseye.metrics.references import Reference, marginals
from mindseye.metrics.reports import Report
from mindseye.metrics.scores import Options, Row, Score

__all__ = [
    "Base",
    "Estimate",
    "Glance",
    "Imaginer",
    "Observer",
    "Options",
    "Reference",
    "Report",
    "Row",
    "Score",
    "accuracy",
    "bootstrap",
    "collapsed",
    "collapsed_coverage",
    "combined",
    "correctness",
    "coverage",
    "evaluate",
    "expected_similarity",
    "fraction",
    "glance",
    "jensen_shannon",
    "marginals",
    "perfect_coverage",
    "queries",
]
