r"""Whether a bound has fallen far behind its own history.

A run can be lost with every number finite: one bad step throws a posterior far away, its divergence
is $10^7$ nats, and nothing brings it back. So the mean bound $b$ between two stops is compared with
the best one so far, $b^\star$, and the first, $b_0$. The run has diverged when

$$ b < b^\star - \tfrac12 (b^\star - b_0) - \tfrac1{10} |b^\star| - 10, $$

when half of all progress is gone, and more than noise and a warm-up of $\beta$ explain. A new stage
raises another bound and begins a new history. Larger examples begin at another height, and the
progress so far is kept: at first their bounds differ by noise alone.
"""

from __future__ import annotations

__all__ = ["History"]


class History:
    """The first and the best of the bounds so far."""

    def __init__(self) -> None:
        self.stage, self.level = -1, 0
        self.first = self.best = 0.0

    def add(self, bound: float, stage: int, level: int = 0) -> str:
        """Note a bound; if it is far behind, say so and forget it.

        >>> history = History()
        >>> [history.add(bound, stage=0) for bound in (-900.0, -200.0, -300.0)]
        ['', '', '']
        >>> history.add(-2000.0, stage=0)
        'the bound, -2000 nats, fell far behind its best, -200,'
        """
        if (stage, level) != (self.stage, self.level):
            progress = self.best - self.first if stage == self.stage else 0.0
            self.stage, self.level = stage, level
            self.first, self.best = bound - progress, bound
        if bound < self.best - (self.best - self.first) / 2 - abs(self.best) / 10 - 10:
            return f"the bound, {bound:.0f} nats, fell far behind its best, {self.best:.0f},"
        self.best = max(self.best, bound)
        return ""
