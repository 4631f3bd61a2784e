"""Departure from normality: normal matrices, 2×2 matrices by hand, and the inequalities."""

import numpy as np
import pytest

from paperlib.departure import (
    DEPARTURES,
    departure_profile,
    kreiss_constant,
    numerical_radius,
    projector_norm,
    separation,
    transient_growth,
)
from paperlib.network import Solution
from paperlib.schur import ordered_schur
from paperlib.tasks import make_task


def gaussian(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n)) / n**0.5


def normal_matrix(n, seed=0):
    Q = np.linalg.qr(gaussian(n, seed))[0]
    return Q @ np.diag(np.linspace(-1.2, 1.5, n)) @ Q.T


@pytest.mark.parametrize("W", [normal_matrix(9), np.linalg.qr(gaussian(8))[0], np.eye(3) * 1e-9])
def test_a_normal_matrix_is_one_throughout(W):
    assert numerical_radius(W) == pytest.approx(1, abs=1e-9)
    assert kreiss_constant(W) == pytest.approx(1, abs=1e-6)
    assert transient_growth(W) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("c", [0.5, 3.0, 40.0])
def test_two_by_two_by_hand(c):
    """[[1, c], [0, −1]] has ρ = 1 and squares to the identity: its norms are known."""
    W = np.array([[1.0, c], [0.0, -1.0]])
    # The numerical range is an ellipse with foci ±1 and minor axis |c|.
    assert numerical_radius(W) == pytest.approx(np.hypot(1, c / 2), rel=1e-9)
    norm = c / 2 + np.hypot(1, c / 2)
    assert transient_growth(W) == pytest.approx(norm, rel=1e-9)
    split = ordered_schur(np.array([[1.0, c], [0.0, 0.25]])).sectors(0.9)
    assert separation(split) == pytest.approx(0.75)
    assert projector_norm(split) == pytest.approx(np.hypot(1, c / 0.75))


@pytest.mark.parametrize("c", [3.0, 40.0])
def test_the_kreiss_constant_in_the_limit_by_hand(c):
    """[[1, c], [0, 0]]: (z − 1) R(z) → [[1, c], [0, 0]] as z → 1, and nowhere is it larger."""
    assert kreiss_constant(np.array([[1.0, c], [0.0, 0.0]])) == pytest.approx(np.hypot(1, c))


@pytest.mark.parametrize("near", [0.5, 0.99, 0.99999])
def test_the_kreiss_constant_is_that_of_a_fine_grid(near):
    """Eigenvalues 1 and, strongly coupled to each other, ``near``; far from both the rest."""
    W = np.array([[near, 0.3, 0.2], [0, -near, 0.7], [0, 0, 1.0]])
    found = kreiss_constant(W)
    best = 0.0
    for excess in np.logspace(-7, 1, 161):
        z = (1 + excess) * np.exp(1j * np.linspace(0, np.pi, 721))
        sizes = np.linalg.svd(z[:, None, None] * np.eye(3) - W, compute_uv=False)[:, -1]
        best = max(best, (excess / sizes).max())
    assert best * (1 - 1e-6) <= found <= best * 1.02


@pytest.mark.parametrize("seed", range(4))
def test_the_kreiss_matrix_theorem(seed):
    """K ≤ max ‖Aᵏ‖ ≤ e n K, with A = W/ρ; and the numerical radius lies between ρ and ‖W‖."""
    W = gaussian(10, seed) + 2 * np.triu(gaussian(10, seed + 9), 1)
    K, growth, radius = kreiss_constant(W), transient_growth(W), numerical_radius(W)
    norm = np.linalg.norm(W, 2) / np.abs(np.linalg.eigvals(W)).max()
    assert 1 - 1e-6 <= K <= growth <= np.e * 10 * K
    assert max(1, norm / 2) <= radius * (1 + 1e-9) and radius <= norm * (1 + 1e-9)
    np.testing.assert_allclose(
        [kreiss_constant(7 * W), transient_growth(7 * W), numerical_radius(7 * W)],
        [K, growth, radius], rtol=1e-6,
    )


def test_the_projector_is_that_of_the_eigenvectors():
    W = gaussian(12, 3)
    split = ordered_schur(W).sectors(0.7)
    values, vectors = np.linalg.eig(W)
    leading = np.abs(values) >= 0.7 * np.abs(values).max() - 1e-9
    projector = vectors @ np.diag(leading.astype(float)) @ np.linalg.inv(vectors)
    assert leading.sum() == split.n_R < 12
    assert projector_norm(split) == pytest.approx(np.linalg.norm(projector, 2), rel=1e-8)


def test_a_sector_that_is_empty_has_no_separation():
    split = ordered_schur(np.eye(4)).sectors(0.9)
    assert np.isnan(separation(split)) and np.isnan(projector_norm(split))
    with pytest.raises(ValueError, match="spectral radius 0"):
        kreiss_constant(np.zeros((3, 3)))


def test_the_profile_has_every_measure():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 3)), gaussian(8), rng.normal(size=(3, 8))
    one = Solution(*weights, meta={"construction": "dense_default", "seed": 0})
    broken = Solution(weights[0], weights[1] * np.nan, weights[2], meta={"seed": 1})
    table = departure_profile([one, broken], make_task("flip_flop"), 0.8)
    assert set(table["quantity"]) == set(DEPARTURES) and set(table["seed"]) == {0}
