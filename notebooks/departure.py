# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Departure from normality
#
# The couplings are what makes a matrix non-normal, and theory has many measures of that. Does the damage of an ablation follow any of them?
#
# **You will see** six measures of every trained network, how each goes with the damage of each block, and both over training.
# **Before this** read [the method](../book/method.md) and [couplings one by one](couplings.ipynb).
#
# The measures are of $W/\rho$, because trained networks have a spectral radius $\rho$ above one: Henrici's departure over $\|W\|_F$, the numerical radius, the Kreiss constant, the largest norm of a power, the separation of the two sectors, and the norm of the spectral projector on the leading one {cite}`trefethen2005spectra`.
# All but Henrici's and the separation are one for a normal matrix.

# %%
from collections import Counter
from time import perf_counter

import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.departure import DEPARTURES

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
checkpoints = [1, 2, 4, 8, 16, 30]  # epochs after which training is looked at
n_watched = 5  # networks of each task that are watched: the first seeds
n_hidden = 64  # hidden units, cross-task networks
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
n_trials = 2048  # held-out trials
copy_hidden = 72  # hidden units, copy networks
copy_seeds = [0, 1, 2, 3, 4]  # one network each
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
max_steps = 6000  # budget of batches
copy_trials = 512  # held-out sequences

# %% [markdown]
# ## Trained networks, and networks in training
#
# The watched networks are trained for fewer epochs from the same start on the same data, so that each is a point of one training.
# The published run is kept in the repository, `published/departure.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
if not checkpoints:
    raise ValueError("checkpoints: at least one epoch is needed, got none")
start = perf_counter()
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
BLOCKS = ["none", "RR", "CR", "CC"]
SHOWN = ["fvu", "delta_fvu", "replay_accuracy"]
tables = []
for name, (task, solutions) in suite.items():
    size = copy_trials if name == "copy" else n_trials
    scored = pl.ablation_profile(solutions, task, alpha, BLOCKS, size)
    tables += [
        scored[scored["quantity"].isin(SHOWN)],
        pl.departure_profile(solutions, task, alpha),
    ]

# %%
CROSS = pl.SUITE[:3]
for name, epoch in [(n, e) for n in CROSS for e in checkpoints] if suite else ():
    task = suite[name][0]
    solutions = pl.load_or_train(
        f"{out}/checkpoints/epoch_{epoch}", task, construction, seeds[:n_watched],
        n_hidden=n_hidden, epochs=epoch, batches_per_epoch=batches_per_epoch,
    )
    scored = pl.ablation_profile(solutions, task, alpha, BLOCKS, n_trials)
    rows = pd.concat([
        scored[scored["quantity"].isin(SHOWN)],
        pl.departure_profile(solutions, task, alpha),
    ])
    tables.append(rows.assign(quantity=rows["quantity"] + f"_epoch_{epoch}"))

# %%
if train_here:
    report.glue({"training_seconds": f"{perf_counter() - start:.2f}"})
results = pl.study_results("departure", tables)
pl.write_results(results, pl.Paths(out).results / "departure.csv")
report.glue({"cost": report.published_cost("departure")})
figures.publish(figures.departure_figure(results, DEPARTURES), "departure", out)

# %% [markdown]
# ```{glue:figure} departure
# :name: fig-departure
#
# Over training, medians of the watched networks: damage of each block above, the measures of departure below.
# ```

# %%
rows = []
for name in pl.SUITE:
    ours = results[results["task"] == name]
    for measure in DEPARTURES:
        values = report.per_seed(ours, measure)
        rows.append({
            "task": name.replace("_", "-"), "measure": measure.replace("_", " "),
            "median": report.number(np.median(values)), "range": report.range_text(values),
        })
report.table(pd.DataFrame(rows), "Measures of the trained networks.")

# %% [markdown]
# ## Does the damage follow?
#
# Rank correlations over networks of one task that trained. With so few networks chance alone gives large ones, so each is beside the largest that chance would give in one of twenty, and the count says how many of all pass it.

# %%
def chance(n, draws=9999):
    """Size of a rank correlation that at most one in twenty exceeds by chance; how many do."""
    if n < 3:
        return np.nan, np.nan
    rng = np.random.default_rng(0)
    x = np.argsort(rng.random((draws, n)), axis=1) - (n - 1) / 2
    sizes = np.abs(x @ np.arange(n) / np.sum(x[0] ** 2))
    limit = np.quantile(sizes, 0.95)
    return limit, (sizes > limit + 1e-9).mean()


# %%
rows, passed, total, expected = [], [], 0, 0.0
for name in pl.SUITE:
    ours = results[results["task"] == name]
    ours = report.of_solved(ours) if name == "copy" else report.of_trained(ours)
    for measure in DEPARTURES:
        x = pd.Series(report.per_seed(ours, measure))
        row = {"task": name.replace("_", "-"), "measure": measure.replace("_", " ")}
        limit, share = chance(len(x))
        for block in ("RR", "CR", "CC"):
            found = x.corr(pd.Series(report.per_seed(ours, "delta_fvu", block)), "spearman")
            row[report.plain_label(block)] = report.number(found, 2)
            if abs(found) > limit + 1e-9:
                passed.append((name, measure, report.plain_label(block), found))
            total += np.isfinite(found)
            expected += share * np.isfinite(found)
        rows.append({**row, "networks": len(x), "by chance up to": report.number(limit, 2)})
report.glue({
    "n_passed": len(passed), "n_total": int(total), "expected": report.number(expected, 2),
    "which": "; ".join(
        f"{m.replace('_', ' ')} with {b} in {n.replace('_', '-')} ({report.number(v, 2)})"
        for n, m, b, v in passed
    ) or "none",
    "n_tasks": max(Counter((m, b) for _, m, b, _ in passed).values(), default=0),
})
report.table(pd.DataFrame(rows), "Rank correlation of each measure with the damage of each block.")

# %%
rows, best = [], {}
for name in CROSS:
    ours = results[results["task"] == name]
    table = {
        q: np.concatenate([
            report.per_seed(ours, f"{q}_epoch_{e}", b) for e in checkpoints
        ])
        for q, b in [(m, "none") for m in DEPARTURES]
    }
    row = {"task": name.replace("_", "-")}
    damage = sum(
        np.concatenate([
            report.per_seed(ours, f"delta_fvu_epoch_{e}", b) for e in checkpoints
        ])
        for b in ("RR", "CR", "CC")
    )
    for measure, values in table.items():
        found = pd.Series(values).corr(pd.Series(damage), "spearman")
        row[measure.replace("_", " ")] = report.number(found, 2)
        best[name] = max(best.get(name, (0, "", "")), (abs(found), measure, report.number(found, 2)))
    rows.append({**row, "points": len(damage)})
    _, measure, text = best[name]
    report.glue({f"{name}_best": f"{measure.replace('_', ' ')} ({text})"})
caption = "Over training: rank correlation with the summed damage of the three blocks."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# Points of one training are not independent, so these say what grows together and are no test.
#
# ## Summary
#
# Over trained networks {glue:text}`n_passed` of {glue:text}`n_total` rank correlations exceed what chance gives in one of twenty; {glue:text}`expected` would by chance alone. They are: {glue:text}`which`.
# No measure goes with what one block costs in more than {glue:text}`n_tasks` of the four tasks. With so few networks a weak relation cannot be excluded.
# Over training the damage goes most with {glue:text}`flip_flop_best` in the flip-flop, {glue:text}`sine_best` in sine generation and {glue:text}`integration_best` in integration.
# These measures know neither the activity nor the readout; the accounts that do are on [another page](subspaces.ipynb).
#
# **Where next**: [gone, or only turned away?](refit.ipynb)
