r"""A joint model that can be solved with pen and paper: the oracle of the tests.

$$ z \sim \mathcal{N}(0, I), \quad x \mid z \sim \mathcal{N}(A z, \sigma^2 I), \quad
   y \mid z \sim \mathcal{N}(B z, \tau^2 I). $$

Everything is Gaussian, so $q(z \mid x)$, $q(z \mid y)$ and $q(z \mid x, y)$ are the true
posteriors, every evidence is closed-form, and so is $\mathbb{E}_q[\log p(x \mid z)]$. An objective
that is right gives the numbers below; one that is not, does not. The posteriors can be moved off
the truth on purpose (`tilt`), to see a bound fall by exactly the KL it should.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, MultivariateNormal, Normal

__all__ = ["LinearGaussian"]


class LinearGaussian(nn.Module):
    """The linear-Gaussian joint model with its exact posteriors.

    Arguments:
        x_loading: A, `(P, D)`.
        y_loading: B, `(K, D)`.
        x_noise: σ.
        y_noise: τ.
        tilt: Added to the mean of every posterior.
    """

    def __init__(
        self,
        x_loading: Tensor,
        y_loading: Tensor,
        x_noise: float = 0.5,
        y_noise: float = 0.7,
        tilt: float = 0.0,
    ):
        super().__init__()
        self.A, self.B = nn.Parameter(x_loading), nn.Parameter(y_loading)
        self.x_noise, self.y_noise, self.tilt = x_noise, y_noise, tilt

    @property
    def prior(self) -> MultivariateNormal:
        """p(z)."""
        return MultivariateNormal(self.A.new_zeros(self.A.shape[1]), torch.eye(self.A.shape[1]))

    @property
    def decoders(self) -> list[nn.Module]:
        """The loadings, which are the parameters of both decoders."""
        return [self]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The loadings again: the posterior follows from them."""
        return [self]

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|z)."""
        return Independent(Normal(z @ self.A.T, self.x_noise), 1)

    def p_y(self, z: Tensor) -> Distribution:
        """p(y|z)."""
        return Independent(Normal(z @ self.B.T, self.y_noise), 1)

    def q_x(self, x: Tensor) -> MultivariateNormal:
        """p(z|x), exactly."""
        return self._posterior(self.A / self.x_noise, x / self.x_noise)

    def q_y(self, y: Tensor) -> MultivariateNormal:
        """p(z|y), exactly."""
        return self._posterior(self.B / self.y_noise, y / self.y_noise)

    def q_xy(self, x: Tensor, y: Tensor) -> MultivariateNormal:
        """p(z|x,y), exactly."""
        return self._posterior(
            torch.cat([self.A / self.x_noise, self.B / self.y_noise]),
            torch.cat([x / self.x_noise, y / self.y_noise], -1),
        )

    def log_evidence(self, x: Tensor | None = None, y: Tensor | None = None) -> Tensor:
        """log p(x), log p(y) or log p(x,y)."""
        given = [(self.A, self.x_noise, x), (self.B, self.y_noise, y)]
        loading = torch.cat([w for w, _, value in given if value is not None])
        noise = torch.cat([w.new_full(w.shape[:1], s) for w, s, v in given if v is not None])
        values = torch.cat([value for _, _, value in given if value is not None], -1)
        covariance = loading @ loading.T + torch.diag(noise**2)
        return MultivariateNormal(values.new_zeros(values.shape[-1]), covariance).log_prob(values)

    def expected_log_px(self, q: MultivariateNormal, x: Tensor) -> Tensor:
        """E_q[log p(x|z)]."""
        return _expected(self.A, self.x_noise, q, x)

    def expected_log_py(self, q: MultivariateNormal, y: Tensor) -> Tensor:
        """E_q[log p(y|z)]."""
        return _expected(self.B, self.y_noise, q, y)

    def _posterior(self, loading: Tensor, value: Tensor) -> MultivariateNormal:
        """The posterior of z given `value = loading @ z +` unit noise."""
        precision = torch.eye(loading.shape[1]) + loading.T @ loading
        mean = torch.linalg.solve(precision, (value @ loading).T).T
        return MultivariateNormal(mean + self.tilt, precision_matrix=precision)


def _expected(loading: Tensor, noise: float, q: MultivariateNormal, value: Tensor) -> Tensor:
    """E_q[log N(value; loading @ z, noise²)]: the density at the mean, less the spread."""
    at_mean = Independent(Normal(q.mean @ loading.T, noise), 1).log_prob(value)
    spread = (loading @ q.covariance_matrix @ loading.T).diagonal(dim1=-2, dim2=-1).sum(-1)
    return at_mean - spread / (2 * noise**2)
