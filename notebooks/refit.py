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
# # Gone, or only turned away?
#
# The paper keeps the decoder as trained. Where an ablation ruins the output, is the information gone from the hidden states, or could a new decoder still read it?
#
# **You will see** each ablation measured twice, with `W_hy` as trained and with `W_hy` fitted anew by ridge regression, and how much of the damage the new one undoes.
# **Before this** read [Figure 2](figure_2.ipynb).

# %%
import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
ridge = 1e-6  # penalty, relative to the mean square of a hidden unit
n_fit = 1024  # trials that the new decoder is fitted on
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
# ## A decoder fitted anew
#
# The new decoder is fitted on trials of its own after the ablation, the same penalty everywhere, and measured on the held-out trials that all pages use; nothing else is refitted.
# The published run is kept in the repository, `published/refit.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
if not ridge > 0:
    raise ValueError(f"ridge must be positive, got {ridge!r}")
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
tables = [
    pl.refit_profile(
        solutions, task, alpha, ["none", "RR", "CR", "CC"], n_fit=n_fit,
        n_trials=copy_trials if name == "copy" else n_trials, ridge=ridge,
    )
    for name, (task, solutions) in suite.items()
]

# %%
results = pl.study_results("refit", tables)
pl.write_results(results, pl.Paths(out).results / "refit.csv")
report.glue({"cost": report.published_cost("refit")})
figures.publish(figures.refit_figure(results), "refit", out)
report.glue({"alpha": alpha, "n_fit": n_fit, "ridge": report.number(ridge)})

# %% [markdown]
# ```{glue:figure} refit
# :name: fig-refit
#
# FVU, or for copy the share of signs that are wrong, with the decoder as trained (filled) and fitted anew (open) on {glue:text}`n_fit` other trials; one point a network. α = {glue:text}`alpha`.
# ```
#
# Networks that failed to train are drawn, and left out of the table.
# The share undone is that part of the damage which a new decoder takes back: $1$ where the refitted output is as good as that of the whole network with its own decoder, $0$ where it is as good as knowing nothing or as the old decoder, whichever is better.
# Knowing nothing means an FVU of one, or every second sign right: an output can be much worse than that, and a decoder that answers the mean would seem to undo most of such a damage.

# %%
rows, undone = [], {}
for name in pl.SUITE:
    ours = report.of_trained(results[results["task"] == name])
    quantity = "replay_accuracy" if name == "copy" else "fvu"
    whole = report.per_seed(ours, quantity)
    for removed in ("RR", "CR", "CC"):
        fixed = report.per_seed(ours, quantity, removed)
        refit = report.per_seed(ours, f"{quantity}_refit", removed)
        # Of a block that costs nothing nothing can be undone.
        lost = whole - fixed if name == "copy" else fixed - whole
        harmed = lost > 0.01
        base = np.maximum(fixed, 0.5) if name == "copy" else np.minimum(fixed, 1)
        share = (base - refit)[harmed] / (base - whole)[harmed]
        undone[name, removed] = share
        rows.append({
            "task": name.replace("_", "-"), "removed": report.plain_label(removed),
            "measure": "accuracy" if name == "copy" else "FVU",
            "as trained": report.number(np.median(fixed)),
            "fitted anew": report.number(np.median(refit)),
            "networks harmed": f"{harmed.sum()} of {len(harmed)}",
            "share undone": report.range_text(share) if len(share) else "—",
        })
        median = report.number(np.median(share), 2) if len(share) else "nothing to undo"
        report.glue({f"{name}_{removed}": median})
report.table(pd.DataFrame(rows), "Medians over networks, and what a new decoder undoes.")

# %%
mostly, hardly = [], []
for (name, removed), share in undone.items():
    label = f"{name.replace('_', '-')} {report.plain_label(removed)}"
    if len(share):
        (mostly if np.median(share) > 0.5 else hardly).append(label)
report.glue({
    "mostly": ", ".join(mostly) or "none", "hardly": ", ".join(hardly) or "none",
    "n_harmed": len(mostly) + len(hardly),
})

# %% [markdown]
# ## Summary
#
# Of {glue:text}`n_harmed` pairs of a task and a block that cost some network more than a hundredth, a new decoder undoes more than half of the damage, in the median network, in {glue:text}`mostly`: there the information was turned away from the trained decoder.
# It does not in {glue:text}`hardly`: there, in the median network, it is gone from the hidden states or can no longer be read linearly.
# In copy it undoes {glue:text}`copy_CR` of what `T_C→R` costs and {glue:text}`copy_RR` of what `T_RR` costs.
#
# **Where next**: [the claims](claims.ipynb).
