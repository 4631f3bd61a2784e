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
# # Couplings one by one
#
# The three blocks are a coarse cut. Which single couplings does a network need, and how much can it lose at once?
#
# **You will see** what zeroing each coupling between two diagonal blocks costs, how well the gradient tells it beforehand, and the paper's ε-stabilisers as a curve: the largest mass that can go at a given tolerance.
# **Before this** read [the method](../book/method.md) and [is it the block, or its size?](controls.ipynb)
#
# ## One coupling, and many
#
# A coupling is the part of `T` that joins one diagonal block to another. To first order, scaling it by $1 - \theta$ costs $-\theta\,\langle \partial\mathrm{FVU}/\partial T, T_{ij}\rangle$, which one backward pass gives for all of them.
# Sets are nested: the couplings that cost least alone go first, by measurement or by the gradient, whichever lets more go; they are measured on other trials than those that ranked them. A larger set may exist, since neither knows how couplings act together, and a smaller one of the same ranking may cost more.

# %%
import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.couplings import EPSILONS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
steps = 64  # sets of couplings that are measured, from none to all
n_hidden = 64  # hidden units, cross-task networks
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
n_trials = 128  # trials that rank couplings
held_out = 512  # trials that sets of couplings are measured on
copy_hidden = 72  # hidden units, copy networks
copy_seeds = [0, 1, 2, 3, 4]  # one network each
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
max_steps = 6000  # budget of batches
copy_trials = 32  # sequences that rank couplings
copy_held_out = 128  # sequences that sets of couplings are measured on

# %% [markdown]
# ## The map, and the curve
#
# The published run is kept in the repository, `published/couplings.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
tables = [
    pl.coupling_profile(
        solutions, task, alpha, steps=steps,
        n_trials=copy_trials if name == "copy" else n_trials,
        held_out=copy_held_out if name == "copy" else held_out,
    )
    for name, (task, solutions) in suite.items()
]

# %%
results = pl.study_results("couplings", tables)
pl.write_results(results, pl.Paths(out).results / "couplings.csv")
report.glue({"cost": report.published_cost("couplings")})
figures.publish(figures.couplings_figure(results, EPSILONS), "couplings", out)

# %% [markdown]
# ```{glue:figure} couplings
# :name: fig-couplings
#
# Above: ΔFVU when one coupling alone is zeroed, in the first network of each task; row: the block written to, column: the block read, both by decreasing modulus. Middle: the same to first order, by the gradient. Below: the largest mass found whose removal changes the FVU by at most ε, one line a network.
# ```

# %%
rows = []
for name in pl.SUITE:
    ours = results[results["task"] == name]
    row = {"task": name.replace("_", "-"), "networks": ours["seed"].nunique()}
    row["couplings"] = report.median_count(report.per_seed(ours, "n_couplings"))
    for k, epsilon in enumerate(EPSILONS):
        mass = report.per_seed(ours, f"removable_mass_{k}")
        row[f"mass, ε = {epsilon:g}"] = report.number(np.median(mass), 2)
        if epsilon == 0.01:
            kept = report.per_seed(ours, f"kept_couplings_{k}")
            row["kept at 0.01"] = report.median_count(kept)
            report.glue({
                f"{name}_mass": report.range_text(mass),
                f"{name}_kept": report.median_count(kept),
            })
    gradient = report.per_seed(ours, "gradient_rank")
    row["gradient, rank correlation"] = report.range_text(gradient)
    report.glue({f"{name}_gradient": report.range_text(gradient)})
    report.glue({f"{name}_couplings": row["couplings"]})
    rows.append(row)
report.table(pd.DataFrame(rows), "Removable mass, medians over networks.")

# %%
rows = []
single = results[results["quantity"].str.startswith("delta_fvu_coupling_")]
for name, cell in single.groupby("task", sort=False):
    size = cell["value"].abs().sort_values(ascending=False)
    half = int((size.cumsum() < size.sum() / 2).sum()) + 1
    rows.append({
        "task": name.replace("_", "-"), "couplings": len(size),
        "largest ΔFVU": report.number(cell["value"].max(), 2),
        "cost more than 0.01": int((cell["value"] > 0.01).sum()),
        "hold half of the summed absolute change": half,
    })
    report.glue({f"{name}_half": half, f"{name}_map": len(size)})
caption = "Single couplings of the first network of each task."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# ## Summary
#
# Within a change of a hundredth in FVU, couplings that hold {glue:text}`flip_flop_mass` of the Schur mass can go at once in the flip-flop, {glue:text}`sine_mass` in sine generation, {glue:text}`integration_mass` in integration and {glue:text}`copy_mass` in copy; of {glue:text}`flip_flop_couplings`, {glue:text}`sine_couplings`, {glue:text}`integration_couplings` and {glue:text}`copy_couplings` couplings (medians over networks), {glue:text}`flip_flop_kept`, {glue:text}`sine_kept`, {glue:text}`integration_kept` and {glue:text}`copy_kept` are then left.
# In the first networks half of the summed absolute change (some couplings are better gone) lies on {glue:text}`flip_flop_half`, {glue:text}`sine_half`, {glue:text}`integration_half` and {glue:text}`copy_half` couplings.
# The gradient at the intact network ranks single couplings with a correlation of {glue:text}`flip_flop_gradient`, {glue:text}`sine_gradient`, {glue:text}`integration_gradient` and {glue:text}`copy_gradient`.
# A coupling belongs to an order of the blocks, so the map is one of the coordinates as much as of the network; see [the order inside a sector](order_gauge.ipynb).
#
# **Where next**: [no role, or out of sight?](subspaces.ipynb)
