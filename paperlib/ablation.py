"""What a network loses when couplings of its ordered Schur form are zeroed.

Encoder ``W_xh`` and decoder ``W_hy`` stay as trained and nothing is refitted (paper, Section 2).
"""

from itertools import groupby, islice

import numpy as np
import pandas as pd
from tqdm import tqdm

from . import metrics
from .artifacts import RESULT_COLUMNS
from .network import rollout
from .schur import SUBSETS, check_alpha, ordered_schur
from .training import check_counts, generator

__all__ = ["ablate", "ablation_profile", "order_draws", "order_gaps", "undefined", "variant_scores"]

# What these remove depends on the order of blocks inside the sectors.
ORDERED = tuple(subset for subset in SUBSETS if "RR" in subset or "CC" in subset)
# Trials are rolled out in chunks whose hidden states take about CHUNK_BYTES per variant, variants
# in batches of about BATCH_BYTES. A chunk does not depend on the batch, so neither does a value.
CHUNK_BYTES = 2**23
BATCH_BYTES = 2**28


def ablate(W, removed, alpha=0.9):
    """``W̃(S) = Q T̃(S) Qᵀ``: W with couplings of its ordered Schur form zeroed.

    Parameters
    ----------
    W : array or tensor, shape (n, n)
    removed : str
        One of `SUBSETS`: ``"none"``, ``"RR"``, ``"CR"``, ``"CC"`` or a ``+`` join in that order.
    alpha : float in (0, 1]
        Threshold of the leading sector R, ``|λ| ≥ α ρ(W)``.

    Returns
    -------
    ndarray, shape (n, n), float64
        Same eigenvalues as W.

    Raises
    ------
    TypeError, ValueError, SchurError
        As `ordered_schur`, `OrderedSchur.sectors` and `Sectors.without` do.
    """
    return ordered_schur(W).sectors(alpha).without(removed)


def ablation_profile(
    solutions, task, alphas=(0.9,), removed=SUBSETS, n_trials=2048, seed=0, progress=False,
    by_lag=False,
):
    """Measure every solution under every subset of removed couplings at every α.

    All variants run on the same held-out trials, batched, in float64.

    Parameters
    ----------
    solutions : sequence of Solution
        Any mixture of constructions, sizes and seeds of one task.
    task : Task
        What trials are drawn from, and what the solutions are measured on.
    alphas : sequence of float in (0, 1]
    removed : sequence of str
        Of `SUBSETS`; ``"none"``, the network as trained, is measured in any case.
    n_trials : int
    seed : int
        Of the held-out trials, ``generator(seed, "evaluation")``: independent of all training.
    progress : bool
        Show a bar.
    by_lag : bool
        Also the replay accuracy at each lag, as ``replay_accuracy_lag_1`` and so on.

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``, one row per number. For every subset: fvu, delta_fvu, s_dt,
        removed_mass and, for a task with ``replay = True``, replay_accuracy. Beside
        ``removed = "none"`` also n_R, alpha_gap, spectral_radius, henrici (over ``‖W‖_F``),
        schur_residual and n_ties.

    Raises
    ------
    TypeError, ValueError
        No solutions, no, unknown or repeated subsets or α, fewer than one trial, weights that do
        not fit the task.

    Notes
    -----
    s_dt is NaN where the removed mass is zero or, relative to the precision of the stored
    weights, rounding: ``OrderedSchur.mass_floor``. The row removed_mass beside it tells which,
    `undefined` puts it in words. A solution with weights that are not finite (a diverged run)
    has NaN throughout.
    """
    solutions = list(solutions)
    if not solutions:
        raise ValueError("solutions must hold at least one Solution, got none")
    alphas, removed = distinct("alphas", alphas), distinct("removed", removed, SUBSETS)
    if isinstance(n_trials, bool) or not isinstance(n_trials, (int, np.integer)) or n_trials < 1:
        raise ValueError(f"n_trials must be a positive integer, got {n_trials!r}")

    subsets = ("none", *(subset for subset in removed if subset != "none"))
    splits = {}
    for member, solution in enumerate(solutions):
        coordinates = ordered_schur(solution.W_hh) if solution.finite else None
        for alpha in alphas:
            splits[member, alpha] = coordinates.sectors(alpha) if coordinates else None
    trials = task.sample(n_trials, generator(seed, "evaluation"))
    scores = _scores(solutions, splits, subsets, trials, measures_of(task), progress, by_lag)

    rows = []
    for (member, alpha), split in splits.items():
        solution = solutions[member]
        before = scores[member, alpha, "none"]["fvu"]
        for subset in subsets:
            values = dict(scores[member, alpha, subset])
            values |= _damage(split, subset, values["fvu"] - before)
            if subset == "none":
                values |= _spectrum(split)
            rows += [(*where(solution, task), alpha, subset, *item) for item in values.items()]
    return as_results(rows)


def order_draws(
    solutions, task, alpha=0.9, removed=ORDERED, orders=50, n_trials=512, seed=0, progress=False
):
    """What removals cost under other orders of the blocks inside the sectors.

    The order of blocks inside R and inside C decides what ``RR`` and ``CC`` remove, and equal or
    nearly equal moduli leave it open; what ``CR`` removes does not depend on it
    (`Sectors.shuffled`).

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]
    removed : sequence of str
        Of the subsets with RR or CC.
    orders : int
        Random orders of each solution, uniform over all orders inside both sectors.
    n_trials, seed : int
        Held-out trials, as in `ablation_profile`; the seed also of the orders.
    progress : bool

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: ``delta_fvu_order_k`` or, for a task with ``replay = True``,
        ``replay_accuracy_order_k``, where k = 0 is the stated order on the same trials and
        k = 1 … orders are random. Solutions without couplings, or with weights that are not
        finite, have no rows.

    Raises
    ------
    TypeError, ValueError
        As `ablation_profile`.
    """
    (orders,) = check_counts(orders=orders)
    check_alpha(alpha)
    subsets = distinct("removed", removed, ORDERED)
    rows = []
    for index, solution in enumerate(tqdm(solutions, desc="orders", disable=not progress)):
        if not solution.finite:
            continue
        split = ordered_schur(solution.W_hh).sectors(alpha)
        if split.removed_mass(SUBSETS[-1]) <= split.coordinates.mass_floor:
            continue
        rng = np.random.default_rng([seed, index if solution.seed is None else solution.seed])
        splits = [split, *(split.shuffled(rng) for _ in range(orders))]
        matrices = [split.without("none")]
        matrices += [one.without(subset) for one in splits for subset in subsets]
        scores = variant_scores(solution, np.stack(matrices), task, n_trials, seed)
        measure, values = measured(scores)
        values = values.reshape(len(splits), len(subsets))
        rows += [
            (*where(solution, task), alpha, subset, f"{measure}_order_{k}", values[k, i])
            for k in range(len(splits)) for i, subset in enumerate(subsets)
        ]
    return as_results(rows)


def order_gaps(solutions, task, alpha=0.9):
    """How far apart the moduli are that decide the order of blocks inside each sector.

    Parameters
    ----------
    solutions : sequence of Solution
    task : Task
    alpha : float in (0, 1]

    Returns
    -------
    DataFrame
        Columns ``RESULT_COLUMNS``: ``order_gap`` for ``RR`` and ``CC``, NaN in a sector of fewer
        than two blocks.
    """
    rows = []
    for solution in solutions:
        if not solution.finite:
            continue
        form = ordered_schur(solution.W_hh)
        split = form.sectors(alpha)
        starts = np.array([start for start, _ in form.blocks])
        for removed, inside in (("RR", starts < split.n_R), ("CC", starts >= split.n_R)):
            gaps = -np.diff(form.moduli[starts[inside]])
            gap = np.median(gaps) / form.spectral_radius if len(gaps) else np.nan
            rows.append((*where(solution, task), alpha, removed, "order_gap", gap))
    return as_results(rows)


def variant_scores(solution, matrices, task, n_trials=2048, seed=0):
    """Measures of one solution with other recurrent matrices in place of its own.

    Parameters
    ----------
    solution : Solution
        ``W_xh`` and ``W_hy`` stay its own.
    matrices : array, shape (variant, n_hidden, n_hidden)
    task : Task
    n_trials, seed : int
        Held-out trials, the same as those of `ablation_profile`.

    Returns
    -------
    dict of ndarray, shape (variant,)
        fvu and, for a task with ``replay = True``, replay_accuracy.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    if matrices.ndim != 3 or matrices.shape[1:] != solution.W_hh.shape:
        raise ValueError(
            f"matrices must have shape (variant, {solution.n_hidden}, {solution.n_hidden}), got "
            f"{matrices.shape}"
        )
    trials = [np.asarray(x, np.float64) for x in task.sample(n_trials, generator(seed, "evaluation"))]
    inputs, targets, mask = trials
    measures, found = measures_of(task), {}
    chunk, batch = _sizes(solution.n_hidden, inputs, targets)
    for start in range(0, len(matrices), batch):
        outputs = _outputs(
            solution.W_xh, matrices[start : start + batch], solution.W_hy, inputs, chunk
        )
        for name, measure in measures.items():
            found.setdefault(name, []).append(measure(outputs, targets, mask))
    return {name: np.concatenate(values) for name, values in found.items()}


def measures_of(task):
    """What a task is measured by: {quantity: function of outputs, targets and mask}."""
    replay = {"replay_accuracy": metrics.replay_accuracy} if getattr(task, "replay", False) else {}
    return {"fvu": metrics.fvu, **replay}


def _sizes(n_hidden, inputs, targets):
    """Trials in a chunk and variants in a batch."""
    chunk = max(1, CHUNK_BYTES // (8 * n_hidden * inputs.shape[1]))
    per_variant = 8 * n_hidden**2 + CHUNK_BYTES + targets.nbytes
    return chunk, max(1, BATCH_BYTES // per_variant)


def _outputs(W_xh, W_hh, W_hy, inputs, chunk):
    """Outputs, shape (member, trial, time, n_out), a chunk of trials at a time."""
    parts = [
        rollout(W_xh, W_hh, W_hy, inputs[start : start + chunk]).numpy()
        for start in range(0, len(inputs), chunk)
    ]
    return np.concatenate(parts, axis=1)


def measured(scores):
    """What `variant_scores` says of variants beside the network as trained, its first one.

    Returns
    -------
    str
        ``"replay_accuracy"`` where there is one, else ``"delta_fvu"``.
    ndarray
        Of all variants but the first.
    """
    if "replay_accuracy" in scores:
        return "replay_accuracy", scores["replay_accuracy"][1:]
    return "delta_fvu", scores["fvu"][1:] - scores["fvu"][0]


def as_results(rows):
    """Rows in the order of ``RESULT_COLUMNS`` as a table."""
    table = pd.DataFrame(rows, columns=RESULT_COLUMNS).astype({"value": float})
    # Without rows there is nothing to tell the columns' types from.
    return table if rows else table.astype({"n_hidden": int, "seed": int, "alpha": float})


def where(solution, task):
    """The columns of a results table that say which network a row is about."""
    return (
        task.name, task.convention, solution.construction, solution.n_hidden, solution.seed
    )


def distinct(name, values, allowed=None):
    """Values as a tuple, refused if there is none, one is repeated or one is not allowed."""
    values = (values,) if isinstance(values, str) or np.isscalar(values) else tuple(values)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"{name} must be distinct and at least one, got {values!r}")
    unknown = [value for value in values if allowed and value not in allowed]
    if unknown:
        raise ValueError(f"{name} must be among {', '.join(allowed)}; got {unknown[0]!r}")
    return values


def _scores(solutions, splits, subsets, trials, measures, progress, by_lag):
    """Measures of every variant: (member, alpha, subset) -> {measure: value}."""
    inputs, targets, mask = (np.asarray(values, dtype=np.float64) for values in trials)
    scores = {
        (*where, subset): dict.fromkeys(measures, np.nan) for where in splits for subset in subsets
    }
    runs = [key for key in scores if splits[key[:2]] is not None]
    with tqdm(total=len(runs), desc="ablating", disable=not progress) as bar:
        for n_hidden, group in groupby(runs, key=lambda key: solutions[key[0]].n_hidden):
            chunk, size = _sizes(n_hidden, inputs, targets)
            for batch in _batched(group, size):
                weights = (
                    np.stack([solutions[member].W_xh for member, _, _ in batch]),
                    np.stack([splits[key[:2]].without(key[2]) for key in batch]),
                    np.stack([solutions[member].W_hy for member, _, _ in batch]),
                )
                outputs = _outputs(*weights, inputs, chunk)
                for name, measure in measures.items():
                    for key, value in zip(batch, measure(outputs, targets, mask)):
                        scores[key][name] = float(value)
                if by_lag:
                    curves = metrics.replay_by_lag(outputs, targets, mask)
                    for key, curve in zip(batch, curves[:, mask.any((0, 2))]):
                        scores[key] |= {
                            f"replay_accuracy_lag_{lag}": float(value)
                            for lag, value in enumerate(curve, 1)
                        }
                bar.update(len(batch))
    return scores


def _batched(items, size):
    """Tuples of up to `size` successive items (`itertools.batched` of Python 3.12)."""
    items = iter(items)
    while batch := tuple(islice(items, size)):
        yield batch


def _damage(split, subset, delta_fvu):
    """ΔFVU and what it is measured against."""
    mass = split.removed_mass(subset) if split else np.nan
    s_dt = metrics.s_dt(delta_fvu, mass, split.coordinates.mass_floor) if split else np.nan
    return {"delta_fvu": delta_fvu, "s_dt": s_dt, "removed_mass": mass}


def _spectrum(split):
    """Numbers of the Schur form itself; NaN where there is none."""
    names = "n_R", "alpha_gap", "spectral_radius", "henrici", "schur_residual", "n_ties"
    if split is None:
        return dict.fromkeys(names, np.nan)
    form = split.coordinates
    size = metrics.frobenius(form.W)
    henrici = metrics.henrici(form.W) / size if size else 0.0
    values = (
        split.n_R, split.alpha_gap, form.spectral_radius, henrici, form.residual, len(form.ties)
    )
    return dict(zip(names, values))


def undefined(results):
    """Rows of a results table without a value, each with the reason.

    Parameters
    ----------
    results : DataFrame
        Made by `ablation_profile`, in memory or read back from a file.

    Returns
    -------
    DataFrame
        Those rows with one column more, ``reason``.
    """
    where = [name for name in RESULT_COLUMNS if name not in ("quantity", "value")]
    beside = results.pivot(index=where, columns="quantity", values="value")
    missing = results[results["value"].isna()]
    reasons = []
    for row in missing.itertuples(index=False):
        values = beside.loc[tuple(getattr(row, name) for name in where)]
        mass = values["removed_mass"]
        if np.isnan(mass):
            reason = "the weights of this solution are not finite: its training diverged"
        elif row.quantity != "s_dt" or not np.isfinite(values["delta_fvu"]):
            reason = "the outputs of this network are not finite"
        elif row.removed == "none":
            reason = "nothing was removed: 0/0"
        elif mass == 0:
            reason = f"the removed couplings ({row.removed}) are empty or zero: 0/0"
        else:
            reason = (
                f"the removed couplings ({row.removed}) hold {mass:.1e} of the Schur mass, no more "
                "than rounding of the stored weights: a ratio of rounding errors"
            )
        reasons.append(reason)
    return missing.assign(reason=reasons)
