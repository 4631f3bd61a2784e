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
# # Figure 2: three tasks, three couplings
#
# Which coupling block can a trained network lose, and does the answer depend on the task?
#
# **You will see** the paper's Figure 2 remade from networks trained here, each network as a point, with the paper's printed values beside it.
# **Before this** run the three task notebooks, which train the networks: [flip-flop](task_flip_flop.ipynb), [sine](task_sine.ipynb), [integration](task_integration.ipynb).
# This notebook only reads their results.

# %%
import matplotlib.pyplot as plt
import pandas as pd
from myst_nb import glue

import paperlib as pl
from paperlib import figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder of the results, relative to the repository
alpha = 0.9  # threshold of the leading sector, as a share of the spectral radius

# %% [markdown]
# ## The nine cells

# %%
tasks = {"flip_flop": "3-bit flip-flop", "sine": "sine generation", "integration": "context-dependent integration"}
blocks = ("RR", "CR", "CC")
folder = pl.Paths(out).results
results = pd.concat([pl.read_results(folder / f"task_{name}.csv") for name in tasks])
shown = results["quantity"].isin(["fvu", "delta_fvu", "s_dt", "removed_mass"])
shown &= results["removed"].isin(["none", *blocks]) & (results["alpha"] == alpha)
results = results[shown].reset_index(drop=True)
pl.write_results(results, folder / "figure_2.csv")
paper = pl.artifacts.reported()

# %%
quantities = {"delta_fvu": r"damage $\Delta$FVU", "s_dt": r"damage per mass $S_{\Delta T}$"}
figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), sharex="col")
seen = []
for column, (name, title) in enumerate(tasks.items()):
    ours, theirs = results[results["task"] == name], paper[paper["task"] == name]
    for ax, (quantity, label) in zip(axes[:, column], quantities.items(), strict=True):
        values = {b: report.per_seed(ours, quantity, b) for b in blocks}
        figures.seed_bars(ax, values, ours["construction"].iloc[0], theirs[theirs["quantity"] == quantity])
        ax.set_ylabel(label if column == 0 else "")
        seen += [f"{title}, {quantity} without {report.plain_label(b)}: {report.mean_sem_text(v)}" for b, v in values.items()]
    axes[0, column].set_title(title)
    axes[1, column].set_xlabel("removed coupling")
figures.seed_bars_legend(figure, ours["construction"].iloc[0])
alt = "Two rows by three tasks of bars over the removed coupling block. " + "; ".join(seen) + "."
glue("figure_2", figures.publish(figure, "figure_2", alt, out), display=False)

# %%
counts = {name: results[results["task"] == name]["seed"].nunique() for name in tasks}
glue("n_seeds", ", ".join(map(str, sorted(set(counts.values())))), display=False)
glue("alpha", report.parameter(alpha), display=False)
for name in tasks:
    for key, text in report.ablation_numbers(results[results["task"] == name]).items():
        glue(f"{name}_{key}", text, display=False)

# %% [markdown]
# ```{glue:figure} figure_2
# :name: fig-figure-2
#
# Damage done by zeroing one coupling block (top) and damage per unit of removed Schur mass (bottom). Bars and error bars: mean ± SEM over {glue:text}`n_seeds` networks per task; points: networks; diamonds: the paper's printed mean ± SEM where it prints one. α = {glue:text}`alpha`.
# ```
#
# The vertical scales differ between tasks.
# The paper prints no number for zeroing `T_RR` ("almost none" in the flip-flop, "little" in sine generation), none for integration, and `S_ΔT` only for sine generation.

# %% [markdown]
# ## Beside the paper, in numbers

# %%
rows = []
for (_, theirs) in paper[paper["task"].isin(tasks)].iterrows():
    ours = report.per_seed(results[results["task"] == theirs["task"]], theirs["quantity"], theirs["removed"])
    rows.append({
        "task": tasks[theirs["task"]], "removed": report.plain_label(theirs["removed"]),
        "quantity": report.QUANTITY_LABELS[theirs["quantity"]],
        "paper": theirs["words"] or report.plus_minus(theirs["value"], theirs["sem"]),
        "ours, mean ± SEM": report.mean_sem_text(ours),
        "ours, lowest to highest": f"{report.number(ours.min())} to {report.number(ours.max())}",
    })
report.table(pd.DataFrame(rows), "Every number the paper prints for these tasks, beside ours.")

# %% [markdown]
# ## All nine cells

# %%
rows = [
    {
        "task": title, "removed": report.plain_label(block),
        **{report.QUANTITY_LABELS[q]: report.mean_sem_text(report.per_seed(results[results["task"] == name], q, block))
           for q in ("delta_fvu", "s_dt", "removed_mass")},
    }
    for name, title in tasks.items() for block in blocks
]
report.table(pd.DataFrame(rows), "Our nine cells: mean ± SEM over networks.")

# %% [markdown]
# ## Summary
#
# The most damaging single block is {glue:text}`flip_flop_worst_block` in the flip-flop, {glue:text}`sine_worst_block` in sine generation and {glue:text}`integration_worst_block` in integration.
# Per unit of removed mass it is {glue:text}`flip_flop_worst_s_block`, {glue:text}`sine_worst_s_block` and {glue:text}`integration_worst_s_block`.
# The profile belongs to a task *and* to how its gaps were filled: [What the paper leaves open](open_choices.ipynb) lists the decisions behind these bars.
#
# With so few networks a standard error is itself uncertain; the points say more than the bars.
