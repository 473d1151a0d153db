"""Fixtures of all tests."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Two workers share two cores, and small models gain nothing from more threads."""
    torch.set_num_threads(1)
