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
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.artifacts import family

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder of the results, relative to the repository
alpha = 0.9  # threshold of R, as a share of the spectral radius

# %% [markdown]
# ## The nine cells

# %%
tasks = {
    "flip_flop": "3-bit flip-flop",
    "sine": "sine generation",
    "integration": "context-dependent integration",
}
blocks = ("RR", "CR", "CC")
quantities = ("fvu", "delta_fvu", "s_dt", "removed_mass")
folder = pl.Paths(out).results
results = pd.concat(
    pl.read_results(folder / f"task_{name}.csv") for name in tasks
)
results = results[
    results["quantity"].map(family).isin([*quantities, "delta_fvu_order"])
    & results["removed"].isin(["none", *blocks])
    & (results["alpha"] == alpha)
]
pl.write_results(results, folder / "figure_2.csv")

# %%
paper = pl.reported()
figures.publish(figures.figure_2(results, paper, tasks), "figure_2", out)
by_task = {name: results[results["task"] == name] for name in tasks}
for name, ours in by_task.items():
    numbers = report.ablation_numbers(ours)
    report.glue({f"{name}_{key}": text for key, text in numbers.items()})
    for block in ("RR", "CC"):
        report.glue({f"{name}_orders_{block}": report.order_text(ours, block)})
fvu = results[(results["quantity"] == "fvu") & (results["removed"] == "none")]
report.glue({
    "n_failed": f"{(fvu['value'] > report.FAILED).sum()} of {len(fvu)}",
    "failed": report.FAILED,
})
counts = sorted({ours["seed"].nunique() for ours in by_task.values()})
report.glue({"n_seeds": counts, "alpha": alpha})

# %% [markdown]
# ```{glue:figure} figure_2
# :name: fig-figure-2
#
# Damage done by zeroing one coupling block (top) and damage per unit of removed Schur mass (bottom). Bars and error bars: mean ± SEM over {glue:text}`n_seeds` networks per task; points: networks; brackets: the middle 95-percent range of our mean under random orders of the blocks inside the sectors, on which `T_RR` and `T_CC` depend; diamonds: the paper's printed mean ± SEM where it prints one. α = {glue:text}`alpha`.
# ```
#
# The vertical scales differ between tasks.
# `S_ΔT` of a block that holds almost no mass is a ratio of two tiny numbers.
# The paper prints no number for zeroing `T_RR` ("almost none" in the flip-flop, "little" in sine generation), none for integration, and `S_ΔT` only for sine generation.

# %% [markdown]
# ## Beside the paper, in numbers

# %%
rows = []
for _, printed in paper[paper["task"].isin(tasks)].iterrows():
    task, removed, quantity = printed[["task", "removed", "quantity"]]
    ours = report.per_seed(by_task[task], quantity, removed)
    value = report.plus_minus(printed["value"], printed["sem"])
    rows.append({
        "task": tasks[task],
        "removed": report.plain_label(removed),
        "quantity": report.QUANTITY_LABELS[quantity],
        "paper": printed["words"] or value,
        "ours, mean ± SEM": report.mean_sem_text(ours),
        "ours, range": report.range_text(ours),
        "paper within": report.within(printed["value"], ours),
    })
    if quantity == "delta_fvu":
        report.glue({f"{task}_paper_{removed}": value})
answers = [row["paper within"] for row in rows]
report.glue({"n_within": answers.count("yes")})
report.glue({"n_printed": answers.count("yes") + answers.count("no")})
caption = "Every number the paper prints for these tasks, beside ours."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# ## All nine cells

# %%
rows = []
for name, ours in by_task.items():
    for block in blocks:
        row = {"task": tasks[name], "removed": report.plain_label(block)}
        for quantity in ("delta_fvu", "s_dt", "removed_mass"):
            values = report.per_seed(ours, quantity, block)
            label = report.QUANTITY_LABELS[quantity]
            row[label] = report.mean_sem_text(values)
        row["mean ΔFVU in other orders"] = report.order_text(ours, block)
        rows.append(row)
report.table(pd.DataFrame(rows), "All nine cells: mean ± SEM over networks.")

# %% [markdown]
# ## Summary
#
# The most damaging single block is {glue:text}`flip_flop_worst_block` in the flip-flop, {glue:text}`sine_worst_block` in sine generation and {glue:text}`integration_worst_block` in integration.
# Per unit of removed mass it is {glue:text}`flip_flop_worst_s_block`, {glue:text}`sine_worst_s_block` and {glue:text}`integration_worst_s_block`.
# Of the {glue:text}`n_printed` numbers that the paper prints, {glue:text}`n_within` lie between our lowest and our highest network.
# The paper says "almost none" and "little" for `T_RR` in the flip-flop and in sine generation; here it costs {glue:text}`flip_flop_delta_fvu_RR` and {glue:text}`sine_delta_fvu_RR`.
# In integration the paper's largest damage is that of `T_CC`.
# The profile belongs to a task *and* to how its gaps were filled: [What the paper leaves open](open_choices.ipynb) lists the decisions behind these bars.
#
# Of these networks {glue:text}`n_failed` fail to train (FVU above {glue:text}`failed`); with ten seeds some integration networks do ({glue:text}`open_choices.ipynb::integration_failed:s`, see [What the paper leaves open](open_choices.ipynb)).
# With so few networks a standard error is itself uncertain; the points say more than the bars.
#
# **Where next**: [What the paper leaves open](open_choices.ipynb), or [rerun it with your own parameters](../book/rerun.md).
