"""Starts of W_hh: membership of the class that each construction promises."""

import numpy as np
import pytest
import torch

from paperlib.constructions import (
    CONSTRUCTIONS,
    dense_default,
    dense_normal,
    dense_orthogonal,
    initial_weights,
    make_construction,
)
from paperlib.training import generator


def draw(construction, n_hidden, seed=0):
    return construction(n_hidden, generator(seed, "weights"))["W_hh"]


@pytest.mark.parametrize("n_hidden", [2, 16, 64, 72])
def test_orthogonal_start(n_hidden):
    W = draw(dense_orthogonal, n_hidden).double()
    torch.testing.assert_close(W.T @ W, torch.eye(n_hidden).double(), atol=1e-6, rtol=0)


def test_orthogonal_start_is_haar():
    """Over the Haar measure the trace has mean 0 and variance 1, and both determinants occur."""
    draws = torch.stack([draw(dense_orthogonal, 4, seed) for seed in range(2000)])
    traces = draws.diagonal(dim1=1, dim2=2).sum(1)
    assert abs(traces.mean()) < 0.1 and abs(traces.var() - 1) < 0.15
    assert abs((torch.linalg.det(draws) > 0).float().mean() - 0.5) < 0.05


@pytest.mark.parametrize("n_hidden", [2, 64])
def test_normal_start(n_hidden):
    W = draw(dense_normal, n_hidden).double()
    torch.testing.assert_close(W @ W.T, W.T @ W, atol=1e-6, rtol=0)
    assert not torch.allclose(W, W.T)


def test_normal_start_has_the_printed_variance():
    """Eigenvalues a ± ib with a, b of variance 1/6."""
    values = np.concatenate([
        np.linalg.eigvals(draw(dense_normal, 64, seed).double().numpy()) for seed in range(40)
    ])
    assert abs(np.mean(values.real**2) - 1 / 6) < 0.02
    assert abs(np.mean(values.imag**2) - 1 / 6) < 0.02


@pytest.mark.parametrize("n_hidden", [49, 64])
def test_default_start_and_read_in_and_out_are_uniform(n_hidden):
    weights = initial_weights(dense_default, 3, n_hidden, 2, generator(0, "weights"))
    assert {k: tuple(v.shape) for k, v in weights.items()} == {
        "W_hh": (n_hidden, n_hidden), "W_xh": (n_hidden, 3), "W_hy": (2, n_hidden)
    }
    m = n_hidden**-0.5
    for value in weights.values():
        assert value.abs().max() <= m and value.dtype == torch.float32
    assert weights["W_hh"].abs().max() > 0.9 * m
    assert abs(weights["W_hh"].var() - m**2 / 3) < 0.2 * m**2 / 3


@pytest.mark.parametrize(("io_start", "W_xh", "W_hy"), [
    ("torch", 1 / 100**0.5, 1 / 100**0.5),
    ("glorot", (6 / 108) ** 0.5, (6 / 102) ** 0.5),  # fans of W_xh are 8 and 100
    ("lecun", (3 / 8) ** 0.5, (3 / 100) ** 0.5),
])
def test_laws_of_read_in_and_out(io_start, W_xh, W_hy):
    start, usual = (
        initial_weights(dense_default, 8, 100, 2, generator(0, "weights"), law)
        for law in (io_start, "torch")
    )
    for name, half_width in (("W_xh", W_xh), ("W_hy", W_hy)):
        assert 0.9 * half_width < start[name].abs().max() <= half_width * (1 + 1e-6)
        scale = half_width * 100**0.5
        torch.testing.assert_close(start[name], usual[name] * scale, atol=1e-6, rtol=1e-5)
    assert torch.equal(start["W_hh"], usual["W_hh"])


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="even n_hidden.*7"):
        draw(dense_normal, 7)
    with pytest.raises(ValueError, match="n_hidden.*-1"):
        draw(dense_orthogonal, -1)
    with pytest.raises(ValueError, match="sparse.*dense_default, dense_orthogonal"):
        make_construction("sparse")
    assert all(make_construction(name) is c for name, c in CONSTRUCTIONS.items())
