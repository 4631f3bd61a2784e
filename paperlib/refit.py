"""A decoder fitted anew after an ablation: is what the network lost gone, or only moved?

The paper keeps ``W_hy`` as trained. Where a new ``W_hy`` restores the output, the information is
still in the hidden states, and the ablation only turned it away from the trained decoder.
"""

import numpy as np
import scipy.linalg
from tqdm import tqdm

from .ablation import as_results, distinct, measures_of, where
from .network import rollout
from .schur import SUBSETS, ordered_schur
from .training import check_counts, generator, is_number

__all__ = ["refit_profile", "refit_readout"]


def refit_readout(hidden, targets, mask, ridge=1e-6):
    """The decoder that answers best, by ridge regression on the entries that count.

    Parameters
    ----------
    hidden : array, shape (trial, time, n_hidden)
    targets, mask : array, shape (trial, time, n_out)
    ridge : float
        Penalty, relative to the mean square of a hidden unit summed over what counts.

    Returns
    -------
    ndarray, shape (n_out, n_hidden)

    Raises
    ------
    ValueError
        If shapes do not fit, hidden states are not finite, a channel never counts, or ridge is
        not a positive number.
    """
    if not (is_number(ridge) and ridge > 0):
        raise ValueError(f"ridge must be positive and finite, got {ridge!r}")
    H, Y, M = (np.asarray(x, dtype=np.float64) for x in (hidden, targets, mask))
    if H.ndim != 3 or Y.shape != M.shape or H.shape[:2] != Y.shape[:2]:
        raise ValueError(f"shapes do not fit: {H.shape}, {Y.shape} and {M.shape}")
    if not np.isfinite(H).all():
        raise ValueError("hidden states must be finite")
    H, Y, M = (x.reshape(-1, x.shape[-1]) for x in (H, Y, M))
    weights = []
    for y, counts in zip(Y.T, M.T, strict=True):
        if not counts.any():
            raise ValueError("an output channel never counts")
        inside = H[counts > 0]
        square = inside.T @ inside
        scale = np.trace(square) / len(square) or 1.0
        square[np.diag_indices_from(square)] += ridge * scale
        found = scipy.linalg.solve(square, inside.T @ y[counts > 0], assume_a="pos")
        weights.append(found)
    return np.stack(weights)


def refit_profile(
    solutions, task, alpha=0.9, removed=SUBSETS, n_fit=1024, n_trials=2048, ridge=1e-6, seed=0,
    progress=False,
):
    """Measures after each ablation with the decoder as trained and fitted anew.

    The new decoder is fitted on trials of its own, ``generator(seed + 1, "evaluation")``, and
    measured on the held-out trials of `ablation_profile`.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]
    removed : sequence of str
        Of `paperlib.SUBSETS`; ``"none"`` is measured in any case.
    n_fit, n_trials : int
    ridge : float
        See `refit_readout`.
    seed : int
    progress : bool

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: fvu and fvu_refit, for a task with ``replay = True`` also
        replay_accuracy and replay_accuracy_refit. Networks that are not finite have no rows.

    Raises
    ------
    TypeError, ValueError
        As `ablation_profile` and `refit_readout`.
    """
    n_fit, n_trials = check_counts(n_fit=n_fit, n_trials=n_trials)
    subsets = ("none", *(s for s in distinct("removed", removed, SUBSETS) if s != "none"))
    held_out = task.sample(n_trials, generator(seed, "evaluation"))
    fitted_on = task.sample(n_fit, generator(seed + 1, "evaluation"))
    rows = []
    for solution in tqdm(solutions, desc="refitting", disable=not progress):
        if not solution.finite:
            continue
        split = ordered_schur(solution.W_hh).sectors(alpha)
        for subset in subsets:
            W_hh = split.without(subset)

            def run(trials, W_hh=W_hh, solution=solution):
                outputs, hidden = rollout(
                    solution.W_xh, W_hh, solution.W_hy, trials.inputs, return_hidden=True
                )
                return outputs[0].numpy(), hidden[0].numpy()

            W_hy = refit_readout(run(fitted_on)[1], *fitted_on[1:], ridge)
            outputs, hidden = run(held_out)
            for name, measure in measures_of(task).items():
                both = measure(np.stack([outputs, hidden @ W_hy.T]), *map(np.asarray, held_out[1:]))
                for end, value in zip(("", "_refit"), both, strict=True):
                    rows.append((*where(solution, task), alpha, subset, name + end, value))
    return as_results(rows)
