import torch

from mindseye.distributions.normal import soft_bounded


def test_soft_bounds_hold_everywhere():
    bounded = soft_bounded(torch.linspace(-1e4, 1e4, 1001))
    assert bounded.min() >= -7
    assert bounded.max() <= 3
    assert (bounded.diff() >= 0).all()


def test_soft_bounds_leave_widths_near_one_alone():
    x = torch.linspace(-0.1, 0.1, 21)
    torch.testing.assert_close(soft_bounded(x), x, rtol=1e-3, atol=1e-6)


def test_soft_bounds_have_slope_one_at_zero_from_both_sides():
    x = torch.tensor([-1e-4, 1e-4], requires_grad=True)
    soft_bounded(x).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.ones(2))
