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
# # What the paper leaves open
#
# Which decisions are ours, why did we take them, and how far do they move the one thing that may decide them, the trained network's own error?
#
# **You will see** each reading of each task trained and scored *without any ablation*, and the list of all decisions.
# **Before this** read [the method](../book/method.md).
#
# The rule: a convention is chosen by the literature and by the fraction of variance that the *unablated* network leaves unexplained, beside the paper's.
# No convention, seed or threshold was chosen or changed after looking at an ablation.

# %%
import shutil
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from myst_nb import glue

import paperlib as pl
from paperlib import figures, report
from paperlib.tasks import TASKS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # train every convention (half an hour on two cores), or show the published run
construction = "dense_orthogonal"  # start of W_hh
n_hidden = 64  # hidden units
seeds = [0, 1, 2]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
batch = 64  # trials per batch
learning_rate = 0.001  # of Adam
clip = 1.0  # largest gradient norm of a network
n_trials = 2048  # held-out trials of the evaluation

# %% [markdown]
# ## Every reading of every task
#
# The published run is kept in the repository, `published/open_choices.csv`, with its provenance beside it; the profile `extended` trains it again.

# %%
folder = pl.Paths(out).results
recipe = dict(n_hidden=n_hidden, epochs=epochs, batches_per_epoch=batches_per_epoch, batch=batch,
              learning_rate=learning_rate)
variants = [(name, c, clip, c) for name, kind in TASKS.items() for c in kind.conventions]
variants += [(name, None, float("inf"), "no_clipping") for name in TASKS]
if train_here:
    start, tables = perf_counter(), []
    for name, convention, limit, label in variants:
        task = pl.make_task(name, convention)
        solutions = pl.load_or_train(pl.Paths(f"{out}/{label}"), task, construction, seeds, clip=limit, **recipe)
        scored = pl.ablation_profile(solutions, task, removed=["none"], n_trials=n_trials)
        tables.append(scored[scored["quantity"].isin(["fvu", "final_loss"])].assign(convention=label))
    pl.write_results(pd.concat(tables, ignore_index=True), folder / "open_choices.csv")
    glue("training_seconds", perf_counter() - start, display=False)
else:
    published = pl.artifacts.project_root() / "published" / "open_choices.csv"
    pl.write_results(pl.read_results(published), folder / "open_choices.csv")
results = pl.read_results(folder / "open_choices.csv")

# %%
figure, axes = plt.subplots(1, len(TASKS), figsize=(12, 4.6))
paper = pl.artifacts.reported()
seen = []
for ax, (name, kind) in zip(axes, TASKS.items(), strict=True):
    ours = results[results["task"] == name]
    labels = [*kind.conventions, "no_clipping"]
    for y, label in enumerate(labels):
        values = report.per_seed(ours[ours["convention"] == label], "fvu")
        ax.plot(values, np.full(len(values), y), "o", color="black", alpha=0.6)
        seen.append(f"{name}, {label}: {report.mean_sem_text(values)}")
    printed = paper[(paper["task"] == name) & (paper["quantity"] == "fvu")]["value"].iloc[0]
    ax.axvline(printed, color=figures.PAPER_COLOUR, lw=2, label="paper")
    ax.set(title=name.replace("_", "-"), xscale="log", xlabel="FVU as trained")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
axes[0].legend()
alt = "FVU of unablated networks by convention of each task, on logarithmic axes, with the paper's value as a line. " + "; ".join(seen) + "."
glue("conventions", figures.publish(figure, "open_choices", alt, out), display=False)

# %%
rows = [
    {"task": name.replace("_", "-"), "convention": label,
     "default": "default" if label == next(iter(TASKS[name].conventions)) else "",
     "FVU, mean ± SEM": report.mean_sem_text(report.per_seed(group, "fvu")),
     "lowest to highest": " to ".join(report.number(f(report.per_seed(group, "fvu"))) for f in (min, max)),
     "networks": str(group["seed"].nunique())}
    for (name, label), group in results.groupby(["task", "convention"], sort=False)
]
glue("n_variants", str(len(rows)), display=False)
for name in TASKS:
    glue(f"{name}_paper", report.number(paper[(paper["task"] == name) & (paper["quantity"] == "fvu")]["value"].iloc[0]), display=False)
    default = results[(results["task"] == name) & (results["convention"] == next(iter(TASKS[name].conventions)))]
    glue(f"{name}_fvu", report.mean_sem_text(report.per_seed(default, "fvu")), display=False)
report.table(pd.DataFrame(rows), "FVU of the unablated network under every convention.")

# %% [markdown]
# ```{glue:figure} conventions
# :name: fig-conventions
#
# Fraction of variance unexplained by unablated networks, one point a network, under {glue:text}`n_variants` readings; the line is the paper's value. `no_clipping` is the default convention trained without a limit on the gradient.
# ```
PLACEHOLDER_PROSE
