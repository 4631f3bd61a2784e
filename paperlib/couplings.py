"""Couplings one by one: which of them a network needs, and how much of N it can lose at once.

A coupling is the part of T that joins one diagonal block to another. The paper's ε-stabilisers are
sets of couplings whose removal changes the error by at most ε; here they are found greedily.
"""

from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from .ablation import as_results, variant_scores, where
from .metrics import fvu
from .schur import OrderedSchur, ordered_schur
from .training import check_counts, generator, is_number
from .unroll import hidden_states

__all__ = ["CouplingMap", "coupling_map", "coupling_profile", "stabilisers"]

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # of |ΔFVU|


class CouplingMap(NamedTuple):
    """Each coupling of a network: what zeroing it alone costs, and what the gradient says.

    Attributes
    ----------
    pairs : ndarray, shape (coupling, 2)
        Numbers of the two diagonal blocks, from the top: the one written to, the one read.
    delta_fvu : ndarray, shape (coupling,)
        FVU without the coupling minus FVU as trained.
    first_order : ndarray, shape (coupling,)
        The same to first order: minus the derivative of FVU by a factor on the coupling, at one.
    mass : ndarray, shape (coupling,)
        ``‖T_ij‖_F² / ‖T‖_F²``; masses of several couplings add.
    """

    pairs: np.ndarray
    delta_fvu: np.ndarray
    first_order: np.ndarray
    mass: np.ndarray


def _slices(form: OrderedSchur) -> list[slice]:
    return [slice(start, start + size) for start, size in form.blocks]


def _without(form: OrderedSchur, pairs) -> np.ndarray:
    """W without the couplings of these pairs of blocks."""
    inside, removed = _slices(form), np.zeros_like(form.T)
    for i, j in pairs:
        removed[inside[i], inside[j]] = form.T[inside[i], inside[j]]
    return form.W - form.Q @ removed @ form.Q.T


def _gradient(solution, form: OrderedSchur, task, n_trials: int, seed: int) -> np.ndarray:
    """Derivative of FVU by T, shape (n, n)."""
    trials = task.sample(n_trials, generator(seed, "evaluation"))
    inputs, targets, mask = (x.to(torch.float64) for x in trials)
    W = torch.tensor(form.W, requires_grad=True)
    W_xh, W_hy = (
        torch.tensor(np.asarray(w, np.float64)) for w in (solution.W_xh, solution.W_hy)
    )
    hidden = hidden_states(W_xh[None], W[None], inputs.transpose(0, 1)[None])[0].transpose(0, 1)
    error = (mask * (hidden @ W_hy.T - targets) ** 2).sum()
    error.backward()
    # FVU is this error over a variance that W does not move.
    scale = fvu(np.zeros(targets.shape), targets, mask) / float((mask * targets**2).sum())
    return scale * form.Q.T @ W.grad.numpy() @ form.Q


def coupling_map(solution, task, n_trials=128, seed=1) -> CouplingMap:
    """What each coupling of a network is worth.

    Parameters
    ----------
    solution : Solution
        With finite weights.
    task : Task
    n_trials, seed : int
        Trials, ``generator(seed, "evaluation")``.

    Returns
    -------
    CouplingMap
        Of all pairs of diagonal blocks, row by row.
    """
    form = ordered_schur(solution.W_hh)
    inside, n = _slices(form), len(form.blocks)
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)]).reshape(-1, 2)
    matrices = np.stack([form.W, *(_without(form, [pair]) for pair in pairs)])
    scores = variant_scores(solution, matrices, task, n_trials, seed)["fvu"]
    gradient = _gradient(solution, form, task, n_trials, seed) * form.T
    blocks = [(inside[i], inside[j]) for i, j in pairs]
    return CouplingMap(
        pairs, scores[1:] - scores[0],
        -np.array([gradient[block].sum() for block in blocks]),
        np.array([np.sum(form.T[block] ** 2) for block in blocks]) / np.sum(form.T**2),
    )


def stabilisers(solution, task, worth, epsilons=EPSILONS, steps=64, n_trials=512, seed=0):
    """How much a network can lose at once: nested sets of couplings, the cheapest ones first.

    Parameters
    ----------
    solution : Solution
    task : Task
    worth : CouplingMap
        From `coupling_map`.
    epsilons : sequence of float
        Largest change of FVU that is allowed, either way.
    steps : int
        Sets that are measured, from no coupling to all.
    n_trials, seed : int
        Trials on which the sets are measured, others than those of `worth`.

    Returns
    -------
    mass : ndarray, shape (epsilon,)
        ``‖T − T̃‖_F / ‖T‖_F`` of the largest set within each ε.
    kept : ndarray, shape (epsilon,)
        Couplings that are left, of those with a part of the mass above rounding.

    Raises
    ------
    ValueError
        If an ε is not positive and finite or steps is no positive integer.

    Notes
    -----
    Couplings go by ``|ΔFVU|`` of each alone, or by that to first order, whichever allows more. A
    larger set may well exist: neither order knows of interactions. Smaller sets of the same order
    may exceed an ε that a larger one keeps: what counts is the set that is removed.
    """
    (steps,) = check_counts(steps=steps)
    for epsilon in epsilons:
        if not (is_number(epsilon) and epsilon > 0):
            raise ValueError(f"epsilons must be positive and finite, got {epsilon!r}")
    form = ordered_schur(solution.W_hh)
    # No more than rounding of the weights is no coupling.
    real = worth.mass > (form.mass_floor / max(1, len(worth.mass)) ** 0.5) ** 2
    best_mass, best_kept = np.zeros(len(epsilons)), np.full(len(epsilons), real.sum())
    for value in (worth.delta_fvu, worth.first_order):
        order = np.argsort(np.abs(np.where(real, value, 0)), kind="stable")
        counts = np.unique(np.linspace(0, len(order), steps + 1).astype(int))
        matrices = np.stack([_without(form, worth.pairs[order[:count]]) for count in counts])
        scores = variant_scores(solution, matrices, task, n_trials, seed)["fvu"]
        mass = np.sqrt(np.concatenate([[0], np.cumsum(worth.mass[order])])[counts])
        left = np.array([real[order[count:]].sum() for count in counts])
        for k, epsilon in enumerate(epsilons):
            fine = np.abs(scores - scores[0]) <= epsilon
            largest = np.flatnonzero(fine)[-1]
            if mass[largest] > best_mass[k]:
                best_mass[k], best_kept[k] = mass[largest], left[largest]
    return best_mass, best_kept


def coupling_profile(
    solutions, task, alpha=0.9, n_trials=128, seed=1, steps=64, maps=1, held_out=512,
    progress=False,
):
    """Stabilisers of every network, and the map of the first ones.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]
        Written into the rows; where the sectors are plays no part.
    n_trials, seed, steps : int
        As for `coupling_map` and `stabilisers`.
    held_out : int
        Trials on which sets of couplings are measured, those of the other pages.
    maps : int
        Networks whose whole map is written.
    progress : bool

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: ``removable_mass_k`` and ``kept_couplings_k`` at the k-th of
        `EPSILONS`, from 0, ``n_couplings``, ``gradient_rank`` (rank correlation of the damage of
        each coupling and its first order) and, for the first networks,
        ``delta_fvu_coupling_<1000 i + j>`` and ``first_order_coupling_<1000 i + j>`` for blocks
        i < j. Networks without couplings, or that
        are not finite, have no rows.
    """
    n_trials, steps, held_out = check_counts(n_trials=n_trials, steps=steps, held_out=held_out)
    rows = []
    for index, solution in enumerate(tqdm(solutions, desc="couplings", disable=not progress)):
        if not solution.finite:
            continue
        form = ordered_schur(solution.W_hh)
        worth = coupling_map(solution, task, n_trials, seed)
        if worth.mass.sum() <= form.mass_floor**2:
            continue
        mass, kept = stabilisers(solution, task, worth, steps=steps, n_trials=held_out)
        found = {f"removable_mass_{k}": value for k, value in enumerate(mass)}
        found |= {f"kept_couplings_{k}": value for k, value in enumerate(kept)}
        ranks = [np.argsort(np.argsort(x)) for x in (worth.delta_fvu, worth.first_order)]
        found |= {"n_couplings": len(worth.mass), "gradient_rank": np.corrcoef(*ranks)[0, 1]}
        if index < maps:
            found |= {
                f"{name}_coupling_{1000 * i + j}": value
                for name in ("delta_fvu", "first_order")
                for (i, j), value in zip(worth.pairs, getattr(worth, name), strict=True)
            }
        rows += [(*where(solution, task), alpha, "none", *item) for item in found.items()]
    return as_results(rows)
