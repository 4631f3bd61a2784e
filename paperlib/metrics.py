"""Numbers that judge a rollout or a matrix: FVU, replay accuracy, S_ΔT, Henrici, intervals.

Arrays in, floats out. This module knows nothing of tasks, networks or Schur coordinates.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.stats

EPS = float(np.finfo(np.float64).eps)


def _prepare(outputs, targets, mask):
    """Check the three arrays against each other; return them as float64, float64, bool.

    The mask comes back with the shape of the targets.
    """
    outputs = np.asarray(outputs, dtype=np.float64)
    targets = np.asarray(targets, dtype=np.float64)
    if targets.ndim != 3 or targets.size == 0:
        raise ValueError(
            f"targets must be a non-empty array (trial, time, channel), got shape {targets.shape}"
        )
    if outputs.shape[-3:] != targets.shape:
        raise ValueError(
            f"outputs must end in the shape of targets, {targets.shape}, got shape {outputs.shape}"
        )
    if mask is None:
        mask = np.ones(targets.shape, dtype=bool)
    else:
        weights = np.asarray(mask)
        if weights.ndim == 2:
            weights = weights[..., None]
        if not np.isin(weights, (0, 1)).all():
            raise ValueError("mask may hold only 0 and 1 (or booleans)")
        try:
            mask = np.broadcast_to(weights.astype(bool), targets.shape)
        except ValueError:
            raise ValueError(
                f"mask must be (trial, time) or broadcast to targets {targets.shape}, "
                f"got shape {np.shape(mask)}"
            ) from None
    if not mask.any():
        raise ValueError("mask selects nothing: at least one entry must be 1")
    if not np.isfinite(targets[mask]).all():
        raise ValueError("targets must be finite wherever the mask is 1")
    return outputs, targets, mask


def fvu(outputs, targets, mask=None):
    """Fraction of variance unexplained, ``E‖ŷ − y‖² / E‖y − ȳ‖²``.

    0 is a perfect output, 1 is as good as always answering the mean target.

    Parameters
    ----------
    outputs : array, shape (..., trial, time, channel)
        What the network answered; any leading axes (members, ablations) are kept.
    targets : array, shape (trial, time, channel)
    mask : array of 0 and 1, optional
        Entries that count, shape (trial, time) or broadcastable to the targets. The mean ȳ is
        one number per channel, over all entries of that channel that count.

    Returns
    -------
    float or ndarray, shape (...)
        Outputs that are infinite or NaN where the mask is 1 give inf or NaN: not hidden.

    Raises
    ------
    ValueError
        Shapes that do not fit, targets that are not finite or do not vary, an empty mask.
    """
    outputs, targets, mask = _prepare(outputs, targets, mask)
    counts = mask.sum(axis=(0, 1))
    known = np.where(mask, targets, 0.0)
    mean = known.sum(axis=(0, 1)) / np.maximum(counts, 1)
    variance = np.sum((known - mean) ** 2, where=mask)
    # Constant targets leave rounding of the mean behind, so the test is relative to their size.
    if variance <= (1e3 * EPS) ** 2 * np.sum(known**2):
        raise ValueError("targets have zero variance where the mask is 1: FVU is undefined")
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.sum((outputs - known) ** 2, axis=(-3, -2, -1), where=mask)
    result = error / variance
    return float(result) if result.ndim == 0 else result


def replay_accuracy(outputs, targets, mask=None):
    """Fraction of entries (sequence, lag, channel) with ``sgn(ŷ) = y``.

    ``sgn(0) = 0`` matches neither symbol: an output of exactly zero is a miss, and so is NaN.

    Parameters
    ----------
    outputs : array, shape (..., trial, time, channel)
    targets : array, shape (trial, time, channel)
        −1 or +1 wherever the mask is 1.
    mask : array of 0 and 1, optional
        Entries that count, shape (trial, time) or broadcastable to the targets.

    Returns
    -------
    float or ndarray, shape (...)

    Raises
    ------
    ValueError
        Shapes that do not fit, symbols other than −1 and +1, an empty mask.
    """
    outputs, targets, mask = _prepare(outputs, targets, mask)
    if not (np.abs(targets[mask]) == 1.0).all():
        raise ValueError("targets of replay_accuracy must be -1 or +1 wherever the mask is 1")
    with np.errstate(invalid="ignore"):
        hits = np.sum(np.sign(outputs) == targets, axis=(-3, -2, -1), where=mask)
    result = hits / mask.sum()
    return float(result) if result.ndim == 0 else result


def replay_by_lag(outputs, targets, mask=None):
    """Replay accuracy at each time step, over sequences and channels.

    Parameters
    ----------
    outputs, targets, mask
        As for `replay_accuracy`.

    Returns
    -------
    ndarray, shape (..., time)
        NaN at steps that do not count.
    """
    outputs, targets, mask = _prepare(outputs, targets, mask)
    with np.errstate(invalid="ignore"):
        hits = np.sum(np.sign(outputs) == targets, axis=(-3, -1), where=mask)
        return hits / mask.sum(axis=(0, 2))


def frobenius(matrix):
    """Frobenius norm that neither overflows nor underflows (BLAS ``nrm2``)."""
    return float(scipy.linalg.norm(np.ravel(matrix)))


def removed_mass(T, T_without):
    """``‖T − T̃‖_F / ‖T‖_F``, the share of the Schur mass that was removed (0 for a zero T)."""
    total = frobenius(T)
    return frobenius(np.subtract(T, T_without)) / total if total > 0 else 0.0


def s_dt(delta_fvu, removed_mass, floor=1024 * EPS):
    """Damage per unit of removed Schur mass, ``S_ΔT = ΔFVU / (‖T − T̃‖_F / ‖T‖_F)``.

    Parameters
    ----------
    delta_fvu, removed_mass : float or array
    floor : float
        Removed mass at or below which nothing was removed but rounding. The default fits
        matrices held in float64 up to n = 1024; for weights stored in float32 pass n times
        that precision, as ``OrderedSchur.mass_floor`` does.

    Returns
    -------
    float or ndarray
        NaN where ``removed_mass <= floor``: 0/0 is not a number, and a ratio of rounding errors
        is not a measurement.
    """
    delta, mass = np.broadcast_arrays(
        np.asarray(delta_fvu, dtype=np.float64), np.asarray(removed_mass, dtype=np.float64)
    )
    result = np.full(mass.shape, np.nan)
    np.divide(delta, mass, out=result, where=mass > floor)
    return float(result) if result.ndim == 0 else result


def henrici(W):
    """Henrici's departure from normality, ``sqrt(‖W‖_F² − Σ|λ|²)``; 0 for a normal matrix.

    Computed as the norm of the strict upper triangle of the complex Schur form, which does not
    cancel. Not relative: divide by ``‖W‖_F`` to compare matrices of different size.

    Source: P. Henrici, Numerische Mathematik 4 (1962) 24–40.
    """
    T, _ = scipy.linalg.schur(np.asarray(W, dtype=np.float64), output="complex")
    return frobenius(np.triu(T, 1))


class MeanSem(NamedTuple):
    """Mean, standard error of the mean and number of values."""

    mean: float
    sem: float
    n: int


def mean_sem(values):
    """Mean ± SEM over seeds (sample standard deviation, ddof = 1, over √n).

    NaN stays NaN: a seed without a value is not dropped silently. One value has SEM NaN.
    """
    values = _sample(values)
    sem = float(scipy.stats.sem(values)) if values.size > 1 else float("nan")
    return MeanSem(float(values.mean()), sem, values.size)


def bootstrap_interval(values, confidence=0.95, n_resamples=9999, seed=0):
    """Bootstrap interval (low, high) of the mean over seeds: BCa, reproducible.

    Fewer than two values, or any NaN, give (NaN, NaN); equal values give that value twice.

    Source: `scipy.stats.bootstrap`; B. Efron, J. Am. Stat. Assoc. 82 (1987) 171–185.
    """
    values = _sample(values)
    if values.size < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    if np.ptp(values) == 0:  # BCa divides by the spread of the jackknife
        return float(values[0]), float(values[0])
    interval = scipy.stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=confidence,
        n_resamples=n_resamples,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _sample(values):
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"values must be one-dimensional and not empty, got shape {values.shape}")
    return values
