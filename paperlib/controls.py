"""Removals of the same size as an ablation, but of something else: what a block is held against.

An ablation takes ``ΔW = W − W̃(S)`` away. Each control takes away a matrix of the same Frobenius
norm. Where a network loses as much by it, the damage is that of the size and not of the block.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import ortho_group
from tqdm import tqdm

from .ablation import as_results, distinct, measured, variant_scores, where
from .metrics import frobenius
from .schur import SUBSETS, Sectors, ordered_schur
from .training import check_counts

__all__ = ["CONTROLS", "control_draws"]


def _gaussian(split: Sectors, removed: str, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=split.coordinates.W.shape)
    return noise * (_size(split, removed) / frobenius(noise))


def _rotated(split: Sectors, removed: str, rng: np.random.Generator) -> np.ndarray:
    U = ortho_group.rvs(split.coordinates.n, random_state=rng)
    return U @ (split.coordinates.W - split.without(removed)) @ U.T


def _entries(split: Sectors, removed: str, rng: np.random.Generator) -> np.ndarray:
    form = split.coordinates
    rows, columns = np.nonzero(form.coupling_mask)
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    squares = form.T[rows, columns] ** 2
    wanted = _size(split, removed) ** 2
    before = np.cumsum(squares) - squares
    # Of the entry at which the mass is reached, the part that is still missing.
    left = np.clip(wanted - before, 0, squares)
    share = np.sqrt(np.divide(left, squares, out=np.zeros_like(left), where=squares > 0))
    taken = np.zeros_like(form.T)
    taken[rows, columns] = share * form.T[rows, columns]
    return form.Q @ taken @ form.Q.T


def _permuted(split: Sectors, removed: str, rng: np.random.Generator) -> np.ndarray:
    form = split.coordinates
    mask = (form.T - split.T_without(removed)) != 0
    taken = np.zeros_like(form.T)
    taken[mask] = rng.permutation(form.T[mask])
    return form.Q @ taken @ form.Q.T


def _size(split: Sectors, removed: str) -> float:
    return frobenius(split.coordinates.T - split.T_without(removed))


CONTROLS: dict[str, Callable[[Sectors, str, np.random.Generator], np.ndarray]] = {
    "gaussian": _gaussian,  # independent normal entries
    "rotated": _rotated,  # the removed matrix in a random orthonormal basis
    "entries": _entries,  # couplings from anywhere in N, at random, up to the same mass
    "permuted": _permuted,  # the removed couplings, dealt out anew over their places
}


def control_draws(
    solutions, task, alpha=0.9, removed=("RR", "CR", "CC"), draws=40, n_trials=512, seed=0,
    progress=False,
):
    """What removals of the same Frobenius norm cost that are not the named couplings.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]
    removed : sequence of str
        Of `paperlib.SUBSETS`, ``"none"`` excepted.
    draws : int
        Of each control, network and subset.
    n_trials, seed : int
        Held-out trials, as in `ablation_profile`; the seed also of the controls.
    progress : bool

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: for each control, ``delta_fvu_<control>_k`` or, for a task
        with ``replay = True``, ``replay_accuracy_<control>_k``, k = 1 … draws; beside it the
        ablation itself on the same trials, ``delta_fvu_block_0`` or ``replay_accuracy_block_0``.
        Networks and subsets that hold no more than rounding have no rows.

    Raises
    ------
    TypeError, ValueError
        As `ablation_profile`.
    """
    (draws,) = check_counts(draws=draws)
    subsets = distinct("removed", removed, SUBSETS[1:])
    rows = []
    for index, solution in enumerate(tqdm(solutions, desc="controls", disable=not progress)):
        if not solution.finite:
            continue
        split = ordered_schur(solution.W_hh).sectors(alpha)
        rng = np.random.default_rng([seed, index if solution.seed is None else solution.seed])
        W, matrices, names = split.coordinates.W, [split.without("none")], []
        for subset in subsets:
            if split.removed_mass(subset) <= split.coordinates.mass_floor:
                continue
            matrices.append(split.without(subset))
            names.append((subset, "block_0"))
            for kind, draw in CONTROLS.items():
                matrices += [W - draw(split, subset, rng) for _ in range(draws)]
                names += [(subset, f"{kind}_{k}") for k in range(1, draws + 1)]
        scores = variant_scores(solution, np.stack(matrices), task, n_trials, seed)
        measure, values = measured(scores)
        rows += [
            (*where(solution, task), alpha, subset, f"{measure}_{name}", value)
            for (subset, name), value in zip(names, values, strict=True)
        ]
    return as_results(rows)
