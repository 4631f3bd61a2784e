"""From a removal to its damage: what of it meets the activity and the readout, and a prediction.

An ablation takes ``ΔW`` away, and with it the drive ``u_t = ΔW h_{t-1}``. The accounts here say how
much of that meets the directions that matter; `response` follows it through the network, linear in
the change of state.
"""

import numpy as np
from tqdm import tqdm

from . import metrics
from .ablation import as_results, distinct, where
from .network import rollout
from .schur import SUBSETS, ordered_schur
from .training import check_counts, generator

__all__ = ["ACCOUNTS", "accounts_profile", "response"]

ACCOUNTS = {
    "mass": "‖ΔW‖_F / ‖W‖_F",
    "pcs": "share of ‖ΔW‖_F² that acts on principal components of 95 % of the variance",
    "target": "share of ‖ΔW‖_F² that acts on directions that covary with the target",
    "readout": "share of ‖ΔW‖_F² that writes into the rows of W_hy",
    "drive": "share of the recurrent drive removed, E‖ΔW h‖² / E‖W h‖²",
    "alignment": "E‖ΔW h‖² over that of a random matrix of its norm, ‖ΔW‖_F² E‖h‖² / n_hidden",
    "one_step": "E‖W_hy (h̃ − h)‖² over the variance of the target, h̃ one ablated step from h",
    "linear": "ΔFVU by the linear response along the whole trajectory",
    "clipped": "the same with hidden states kept between −1 and 1: the formula",
}
VARIANCE = 0.95  # of the hidden states, that the principal components hold


def response(W_hh, W_without, hidden, clip=True):
    """Change of the hidden states by an ablation, linearised around the intact trajectory.

    ``δ_t = (1 − h_t²) ∘ (W̃ δ_{t−1} − ΔW h_{t−1})``, ``δ_0 = 0``: the tangent of tanh at the
    intact state in place of tanh. With ``clip``, ``h_t + δ_t`` is kept between −1 and 1, where
    states of a tanh network are.

    Parameters
    ----------
    W_hh, W_without : array, shape (n_hidden, n_hidden)
        As trained and ablated.
    hidden : array, shape (trial, time, n_hidden)
        Of the network as trained.
    clip : bool

    Returns
    -------
    ndarray, shape (trial, time, n_hidden)

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    W, without, h = (np.asarray(x, dtype=np.float64) for x in (W_hh, W_without, hidden))
    if h.ndim != 3 or W.shape != without.shape or W.shape != (h.shape[-1],) * 2:
        raise ValueError(f"shapes do not fit: {W.shape}, {without.shape}, {h.shape}")
    slope, removed = 1 - h**2, (W - without).T
    delta, found = np.zeros_like(h[:, 0]), []
    for t in range(h.shape[1]):
        drive = delta @ without.T - (h[:, t - 1] @ removed if t else 0)
        delta = slope[:, t] * drive
        if clip:
            delta = (h[:, t] + delta).clip(-1, 1) - h[:, t]
        found.append(delta)
    return np.stack(found, axis=1)


def _span(matrix, share=None):
    """Orthonormal basis of a matrix's columns; of the leading ones that hold a share of it."""
    U, size, _ = np.linalg.svd(matrix, full_matrices=False)
    keep = size > size.max(initial=0) * 1e-10
    if share is not None:
        energy = np.cumsum(size**2) / np.sum(size**2)
        keep &= np.arange(len(size)) <= np.searchsorted(energy, share)
    return U[:, keep]


def accounts_profile(
    solutions, task, alpha=0.9, removed=("RR", "CR", "CC"), n_trials=128, seed=1, progress=False
):
    """What each account says of each removal, beside the damage measured on the same trials.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]
    removed : sequence of str
        Of `paperlib.SUBSETS`, ``"none"`` excepted.
    n_trials, seed : int
        Trials, ``generator(seed, "evaluation")``; not those of other pages.
    progress : bool

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: ``account_<name>`` for each of `ACCOUNTS`, and delta_fvu; beside
        ``removed = "none"`` the fvu as trained. Removals of no more than rounding, and networks
        that are not finite, have no rows.

    Raises
    ------
    TypeError, ValueError
        As `ablation_profile`.
    """
    (n_trials,) = check_counts(n_trials=n_trials)
    subsets = distinct("removed", removed, SUBSETS[1:])
    trials = task.sample(n_trials, generator(seed, "evaluation"))
    inputs, targets, mask = (np.asarray(x, dtype=np.float64) for x in trials)
    rows = []
    for solution in tqdm(solutions, desc="accounts", disable=not progress):
        if not solution.finite:
            continue
        split = ordered_schur(solution.W_hh).sectors(alpha)
        whole = rollout(solution.W_xh, split.coordinates.W, solution.W_hy, inputs)[0].numpy()
        fvu = metrics.fvu(whole, targets, mask)
        rows.append((*where(solution, task), alpha, "none", "fvu", fvu))
        for subset in subsets:
            if split.removed_mass(subset) > split.coordinates.mass_floor:
                found = _accounts(solution, split, subset, inputs, targets, mask)
                rows += [(*where(solution, task), alpha, subset, *item) for item in found.items()]
    return as_results(rows)


def _accounts(solution, split, subset, inputs, targets, mask) -> dict[str, float]:
    W, without = split.coordinates.W, split.without(subset)
    W_hy = np.asarray(solution.W_hy, np.float64)
    outputs, hidden = rollout(solution.W_xh, W, W_hy, inputs, return_hidden=True)
    outputs, hidden = outputs[0].numpy(), hidden[0].numpy()
    before = np.concatenate([np.zeros_like(hidden[:, :1]), hidden[:, :-1]], axis=1)
    removed = W - without
    size = metrics.frobenius(removed)

    # What ΔW acts on is what comes before it: its rows; what it writes into, its columns.
    states = before.reshape(-1, before.shape[-1])
    pcs = _span((states - states.mean(0)).T / len(states) ** 0.5, VARIANCE)
    counted = np.where(mask > 0, targets, 0).reshape(-1, targets.shape[-1])
    target = _span((states - states.mean(0)).T @ counted)
    readout = _span(W_hy.T)

    def damage(delta):
        return metrics.fvu(outputs + delta @ W_hy.T, targets, mask) - fvu

    fvu = metrics.fvu(outputs, targets, mask)
    drive = -states @ removed.T
    linear, clipped = (response(W, without, hidden, clip=clip) for clip in (False, True))
    one_step = np.tanh(np.arctanh(_inside(hidden)) + drive.reshape(hidden.shape)) - hidden
    ablated = rollout(solution.W_xh, without, W_hy, inputs)[0].numpy()
    found = {
        "mass": size / metrics.frobenius(W),
        "pcs": (metrics.frobenius(removed @ pcs) / size) ** 2,
        "target": (metrics.frobenius(removed @ target) / size) ** 2,
        "readout": (metrics.frobenius(readout.T @ removed) / size) ** 2,
        "drive": np.sum(drive**2) / np.sum((states @ W.T) ** 2),
        "alignment": np.sum(drive**2) * len(W) / (size**2 * np.sum(states**2)),
        # FVU of a wrong output is its square over the variance of the target.
        "one_step": metrics.fvu(targets + one_step @ W_hy.T, targets, mask),
        "linear": damage(linear), "clipped": damage(clipped),
    }
    found = {f"account_{name}": float(value) for name, value in found.items()}
    return found | {"delta_fvu": float(metrics.fvu(ablated, targets, mask) - fvu)}


def _inside(hidden):
    """Hidden states that arctanh can take: saturated ones are 1 up to rounding."""
    limit = 1 - np.finfo(np.float64).eps
    return hidden.clip(-limit, limit)
