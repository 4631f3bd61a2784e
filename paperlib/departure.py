"""How far a recurrent matrix is from normal, in the measures that theory offers.

All of ``W/ρ``, with ρ the spectral radius: trained networks have ρ above one, and discrete Kreiss
constants and numerical radii speak of matrices with ρ at most one.

Source: L. N. Trefethen and M. Embree, *Spectra and Pseudospectra* (2005), chapters 14, 17 and 18.
"""

import numpy as np
import scipy.linalg
import scipy.optimize

from . import metrics
from .ablation import as_results, where
from .schur import Sectors, ordered_schur

__all__ = [
    "DEPARTURES", "departure_profile", "kreiss_constant", "numerical_radius", "projector_norm",
    "separation", "transient_growth",
]

DEPARTURES = {
    "henrici": "Henrici's departure from normality over ‖W‖_F",
    "numerical_radius": "largest |x* W x| over unit x, over ρ",
    "kreiss": "Kreiss constant of W/ρ, sup (|z| − 1) ‖(z − W/ρ)⁻¹‖ over |z| > 1",
    "transient_growth": "largest ‖(W/ρ)ᵏ‖ over k",
    "separation": "sep(T_R, T_C) over ρ, how well the leading subspace is told from the rest",
    "projector_norm": "norm of the spectral projector on the leading subspace",
}
ANGLES = 128
POWERS = 1000
LOGS = np.log(1e-7), np.log(1e3)  # of |z| − 1: nearer to the circle rounding decides
STARTS = 4  # grid points that the Kreiss constant is refined from


def _scaled(W):
    """W over its spectral radius; refused if that is zero."""
    W = np.asarray(W, dtype=np.float64)
    radius = np.abs(np.linalg.eigvals(W)).max()
    if not radius > 0:
        raise ValueError("W has spectral radius 0: there is no W/ρ")
    return W / radius


def numerical_radius(W) -> float:
    """``max |x* W x|`` over unit vectors x, over the spectral radius; 1 for a normal matrix.

    The largest eigenvalue of the Hermitian part of ``e^{iθ} W``, maximised over θ on a grid and
    then locally.

    Raises
    ------
    ValueError
        If the spectral radius is zero.
    """
    A = _scaled(W)

    def support(angle):
        rotated = np.exp(1j * angle) * A
        hermitian = (rotated + rotated.conj().T) / 2
        return scipy.linalg.eigvalsh(hermitian, subset_by_index=[len(A) - 1, len(A) - 1])[0]

    # A is real: θ and −θ give the same.
    return _largest(support, np.linspace(0, np.pi, ANGLES + 1))


def kreiss_constant(W) -> float:
    """``sup (|z| − 1) ‖(z I − W/ρ)⁻¹‖`` over ``|z| > 1``; 1 for a normal matrix.

    The supremum is taken on a grid, circles of radii from 1 + 10⁻⁶ to 101 at angles that contain
    those of the eigenvalues, then locally in radius and angle from its best points, and in the
    limit at the leading eigenvalues, where it is their condition number: a lower bound, and close.

    Raises
    ------
    ValueError
        If the spectral radius is zero.
    """
    A = _scaled(W)
    values = np.linalg.eigvals(A)
    angles = np.unique(np.abs(np.concatenate([np.linspace(0, np.pi, 33), np.angle(values)])))
    # The norm of a resolvent does not change in a Schur basis, where it is triangular.
    T = scipy.linalg.schur(A, output="complex")[0]
    eye = np.eye(len(A))

    def reach(point):
        excess, angle = np.exp(point[0]), point[1]
        z = (1 + excess) * np.exp(1j * angle)
        return excess / np.linalg.svd(z * eye - T, compute_uv=False)[-1]

    grid = [(log, angle) for log in np.log(np.logspace(-6, 2, 25)) for angle in angles]
    best = sorted(((reach(point), point) for point in grid), reverse=True)[:STARTS]
    refined = [
        -scipy.optimize.minimize(
            lambda p: -reach(p), start, method="Nelder-Mead", bounds=[LOGS, (None, None)]
        ).fun
        for _, start in best
    ]
    return float(max(best[0][0], *refined, *_leading_conditions(A)))


def _leading_conditions(A):
    """Condition numbers ``‖x‖‖y‖ / |y* x|`` of the eigenvalues on the unit circle."""
    values, left, right = scipy.linalg.eig(A, left=True)
    on = np.abs(values) > 1 - 1e-12
    overlap = np.abs(np.sum(left.conj() * right, axis=0))[on]
    return 1 / overlap[overlap > np.finfo(float).eps]


def transient_growth(W) -> float:
    """Largest spectral norm of a power of ``W/ρ``, from the zeroth to the thousandth.

    Raises
    ------
    ValueError
        If the spectral radius is zero.
    """
    A, power, largest = _scaled(W), None, 1.0
    for _ in range(POWERS):
        power = A if power is None else power @ A
        size = np.linalg.norm(power, 2)
        largest = max(largest, size)
        if size < 1e-3:
            break
    return float(largest)


def separation(split: Sectors) -> float:
    """``sep(T_R, T_C)`` over ρ: smallest singular value of ``X ↦ T_R X − X T_C``.

    NaN where one sector is empty. Exact, at the cost of the singular values of a matrix of size
    n_R n_C.
    """
    T, n = split.coordinates.T, split.n_R
    if n in (0, len(T)):
        return float("nan")
    R, C = T[:n, :n], T[n:, n:]
    operator = np.kron(np.eye(len(C)), R) - np.kron(C.T, np.eye(n))
    smallest = scipy.linalg.svdvals(operator)[-1]
    return float(smallest / split.coordinates.spectral_radius)


def projector_norm(split: Sectors) -> float:
    """Norm of the spectral projector on the leading subspace; 1 where it is orthogonal.

    NaN where one sector is empty.
    """
    T, n = split.coordinates.T, split.n_R
    if n in (0, len(T)):
        return float("nan")
    # [[I, X], [0, 0]] commutes with T where T_R X − X T_C = −T_CR.
    X = scipy.linalg.solve_sylvester(T[:n, :n], -T[n:, n:], -T[:n, n:])
    return float(np.sqrt(1 + np.linalg.norm(X, 2) ** 2))


def _largest(function, grid) -> float:
    """Maximum of a function, on a grid and then between the best point's neighbours."""
    values = [function(x) for x in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = scipy.optimize.minimize_scalar(
        lambda x: -function(x), bounds=(low, high), method="bounded", options={"xatol": 1e-8}
    )
    return float(max(values[best], -found.fun))


def departure_profile(solutions, task, alpha=0.9):
    """Every measure of `DEPARTURES` of every solution.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``. Networks that are not finite have no rows.
    """
    rows = []
    for solution in solutions:
        if not solution.finite:
            continue
        split = ordered_schur(solution.W_hh).sectors(alpha)
        W = split.coordinates.W
        values = {
            "henrici": metrics.henrici(W) / metrics.frobenius(W),
            "numerical_radius": numerical_radius(W), "kreiss": kreiss_constant(W),
            "transient_growth": transient_growth(W), "separation": separation(split),
            "projector_norm": projector_norm(split),
        }
        rows += [(*where(solution, task), alpha, "none", *item) for item in values.items()]
    return as_results(rows)
