"""Sorting the diagonal blocks of a real Schur form; the machinery behind `paperlib.schur`."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from .metrics import frobenius

EPS = float(np.finfo(np.float64).eps)
PATIENCE = 5  # sweeps after which eigenvalues that keep moving set the tie width
MAX_SWEEPS = 20
ROTATIONS = 20


class SchurError(RuntimeError):
    """The ordered Schur form could not be computed to the accuracy that it promises."""


class RejectedSwap(NamedTuple):
    """An exchange of neighbours that LAPACK refused as too ill-conditioned.

    `outcome` is "recovered" (done by QR iteration instead) or "tied" (left, within the tie).
    """

    coordinate: int
    upper_modulus: float
    lower_modulus: float
    outcome: str


def find_blocks(T):
    """Diagonal blocks (start, size) of a quasi-triangular T, checked to be standardised."""
    coupled = np.append(np.diagonal(T, -1) != 0, False)  # exact zeros on LAPACK's output
    blocks, start = [], 0
    while start < len(T):
        size = 2 if coupled[start] else 1
        if size == 2:
            (a, b), (c, d) = T[start : start + 2, start : start + 2]
            if coupled[start + 1] or a != d or np.sign(b) * np.sign(c) >= 0:
                raise SchurError(f"T has no standardised diagonal block at coordinate {start}")
        blocks.append((start, size))
        start += size
    return tuple(blocks)


def block_eigenvalues(T, blocks):
    """One eigenvalue per block, the one with positive imaginary part for a pair."""
    starts = np.array([start for start, _ in blocks])
    pair = np.array([size == 2 for _, size in blocks])
    values = np.diagonal(T)[starts].astype(complex)
    b, c = T[starts[pair], starts[pair] + 1], T[starts[pair] + 1, starts[pair]]
    values[pair] += 1j * np.sqrt(np.abs(b)) * np.sqrt(np.abs(c))
    return values


def chain(values, width):
    """Label values 0, 1, … from the largest down; neighbours within `width` share a label."""
    order = np.argsort(-values, kind="stable")
    labels = np.empty(len(values), dtype=int)
    labels[order] = np.append(0, np.cumsum(-np.diff(values[order]) > width))
    return labels


def rank(eigenvalues, width):
    """Rank of each block by the tie rule of `ordered_schur`; equal ranks keep their order."""
    group = chain(np.abs(eigenvalues), width)
    order = np.lexsort((-eigenvalues.real, group))
    steps = (np.diff(group[order]) > 0) | (-np.diff(eigenvalues.real[order]) > width)
    ranks = np.empty(len(eigenvalues), dtype=int)
    ranks[order] = np.append(0, np.cumsum(steps))
    return ranks


def reorder(T, Q, tie_tolerance):
    """Sort the diagonal blocks of T by `rank`.

    An exchange moves the eigenvalues of 2×2 blocks by rounding, and by more where they are
    ill-conditioned. So sweeps are repeated, each with ranks taken afresh, until one moves nothing.
    Eigenvalues that still move after `PATIENCE` sweeps, or that a rejected exchange shows to be
    uncertain, are resolved no better than by that measured amount: it becomes the tie width, up
    to ``ε^(1/4) ‖T‖_F``.

    Parameters
    ----------
    T, Q : ndarray, shape (n, n), float64, Fortran order
        Overwritten.
    tie_tolerance : float
        Relative to the largest modulus.

    Returns
    -------
    T, Q : ndarray, shape (n, n)
    width : float
        Gap up to which neighbouring moduli tie.
    rejected : list of RejectedSwap

    Raises
    ------
    SchurError
        If the final moduli are out of order by more than ties allow.
    """
    size = frobenius(T)
    resolution = len(T) * EPS * size
    recovered = []
    pairs = np.count_nonzero(np.diagonal(T, -1))  # each may fall apart once, which ends a sweep
    for sweep in range(MAX_SWEEPS + pairs):
        width = float(max(tie_tolerance * _sorted_moduli(T)[-1], resolution))
        T, Q, moved, drift, rejected, uncertainty = _sweep(T, Q, width)
        recovered += [swap for swap in rejected if swap.outcome == "recovered"]
        measured = max(uncertainty, drift if sweep >= PATIENCE else 0.0)
        resolution = max(resolution, min(measured, EPS**0.25 * size))
        if not moved and resolution <= width:
            break
    moduli = np.abs(block_eigenvalues(T, find_blocks(T)))
    wrong = np.flatnonzero(np.diff(chain(moduli, width)) < 0)
    if len(wrong):
        upper, lower = moduli[wrong[0]] / size, moduli[wrong[0] + 1] / size
        raise SchurError(
            f"{len(wrong)} neighbouring blocks of T stay out of order, first block {wrong[0]}: "
            f"moduli {upper:.9e} above {lower:.9e}, relative to the norm of W; "
            f"{len(rejected)} exchanges were rejected as too ill-conditioned"
        )
    return T, Q, width, recovered + [swap for swap in rejected if swap.outcome == "tied"]


def shuffle(T, Q, start, stop, rng):
    """Put the blocks of coordinates start … stop − 1 into an order that is uniform at random.

    Only neighbours inside that range change places. An exchange that LAPACK rejects is left out,
    which makes the order a little less random and nothing else.

    Parameters
    ----------
    T, Q : ndarray, shape (n, n), float64, Fortran order
        Overwritten.
    start, stop : int
        Must not cut a 2×2 block.
    rng : numpy.random.Generator

    Returns
    -------
    T, Q : ndarray, shape (n, n)
    """
    while start < stop:
        left = [first for first, _ in find_blocks(T) if start <= first < stop]
        T, Q, info = lapack.dtrexc(
            T, Q, left[rng.integers(len(left))] + 1, start + 1, overwrite_a=1, overwrite_q=1
        )
        if info not in (0, 1):
            raise SchurError(f"dtrexc refused its arguments: info = {info}")
        start += 2 if start + 1 < len(T) and T[start + 1, start] != 0 else 1
    return T, Q


def _sorted_moduli(T):
    """Moduli of all eigenvalues, one per coordinate, ascending."""
    blocks = find_blocks(T)
    sizes = [size for _, size in blocks]
    return np.sort(np.repeat(np.abs(block_eigenvalues(T, blocks)), sizes))


def _sweep(T, Q, width):
    """Insertion sort of the blocks by rank, from the bottom, one exchange of neighbours at a time.

    From the bottom, because low exchanges rotate long columns and short rows, and T is stored by
    columns. Returns T, Q, whether anything moved, how far moduli drifted while moving, the
    rejected exchanges, and the largest uncertainty of a modulus that one of those showed.
    """
    blocks = find_blocks(T)
    eigenvalues = block_eigenvalues(T, blocks)
    starts, sizes = map(list, zip(*blocks))
    ranks, moduli = rank(eigenvalues, width).tolist(), np.abs(eigenvalues).tolist()
    rejected, moved, uncertainty = [], False, 0.0
    for first in reversed(range(len(blocks) - 1)):
        start = starts[first]
        for at in range(first, len(blocks) - 1):
            if ranks[at] <= ranks[at + 1]:
                break
            upper, lower = sizes[at], sizes[at + 1]
            T, Q, info = lapack.dtrexc(
                T, Q, start + upper + 1, start + 1, overwrite_a=1, overwrite_q=1
            )
            if info == 1:  # LAPACK left the two as they were
                done = False
                if moduli[at] < moduli[at + 1] - width:
                    done, spread = _exchange_by_qr(T, Q, start, upper + lower, width)
                    uncertainty = max(uncertainty, spread)
                rejected.append(
                    RejectedSwap(
                        start, moduli[at], moduli[at + 1], "recovered" if done else "tied"
                    )
                )
                if not done:
                    # Going on as if they tied keeps the sweep consistent; `reorder` checks
                    # whether they do.
                    ranks[at] = ranks[at + 1]
                    break
            elif info != 0:
                raise SchurError(f"dtrexc refused its arguments: info = {info}")
            moved = True
            # An exchange changes the subdiagonal within its own two blocks only: re-scan that. A
            # pair may have become two real eigenvalues; then all blocks are ranked afresh.
            if upper + lower > 2:
                window = T[start : start + upper + lower, start : start + upper + lower]
                expected = [True] * (lower - 1) + [False] + [True] * (upper - 1)
                if (np.diagonal(window, -1) != 0).tolist() != expected:
                    return T, Q, moved, 0.0, rejected, uncertainty
            for row in (sizes, ranks, moduli):
                row[at], row[at + 1] = row[at + 1], row[at]
            start += lower
    drift = np.abs(block_eigenvalues(T, find_blocks(T))) - moduli
    return T, Q, moved, float(np.abs(drift).max()), rejected, uncertainty


def _exchange_by_qr(T, Q, start, size, width):
    """Second way to exchange two blocks, in place: QR iteration on a rotated copy of their window.

    The rotation changes in which order the iteration finds the eigenvalues, so that one of a few
    fixed rotations usually brings the larger to the top. Returns whether one did, and, if not, by
    how much the moduli differed between rotations: they are not known better than that.
    """
    inside = slice(start, start + size)
    window = T[inside, inside].copy()
    before = _sorted_moduli(window)
    rng = np.random.default_rng(0)
    spread = 0.0
    for attempt in range(ROTATIONS):
        U = np.linalg.qr(rng.normal(size=(size, size)))[0]
        rotated = U.T @ window @ U
        if attempt % 2:  # the transpose is iterated from the other end
            form, V = scipy.linalg.schur(rotated[::-1, ::-1].T, output="real")
            form, V = form[::-1, ::-1].T, V[::-1, ::-1]
        else:
            form, V = scipy.linalg.schur(rotated, output="real")
        if (np.diff(np.abs(block_eigenvalues(form, find_blocks(form)))) <= width).all():
            U = U @ V
            T[:start, inside] = T[:start, inside] @ U
            T[inside, start + size :] = U.T @ T[inside, start + size :]
            T[inside, inside] = form
            Q[:, inside] = Q[:, inside] @ U
            return True, 0.0
        spread = max(spread, np.abs(_sorted_moduli(form) - before).max())
    return False, spread
