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
# # Which conclusions survive other readings
#
# The paper does not fix its tasks or its copy recipe. Which of its claims hold under every reading, and which under ours alone?
#
# **You will see** what removing each block costs under every convention of every task, and each claim about one task that these networks can decide judged again under each of them.
# **Before this** read [what the paper leaves open](open_choices.ipynb), where the conventions are explained and were picked, and [the claims](claims.ipynb), whose rules are used here unchanged.

# %%
import numpy as np
import pandas as pd
from IPython.display import display

import paperlib as pl
from paperlib import claims, figures, report
from paperlib.metrics import mean_sem

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder of the results, relative to the repository
evidence = "run"  # what decides: results of this "run", or the "published" ones

# %% [markdown]
# ## The damage under every convention
#
# The full network's error picked the defaults; what follows was looked at only afterwards, and changed nothing.

# %%
folder = claims.evidence_folder(evidence, out)
tasks = claims.read_evidence("open_choices", folder)
copy = claims.read_evidence("copy_recipes", folder)
profiles = figures.profiles_figure(tasks)
figures.publish(profiles, "profiles", out)

# %% [markdown]
# ```{glue:figure} profiles
# :name: fig-profiles
#
# Damage by removed block under every convention, one point a network. The last of each task, from `clipped_at_1` on, are the default convention, trained in another way, as [said before](open_choices.ipynb); for copy see [other recipes](copy_recipes.ipynb).
# ```
#
# `T_RR` and `T_CC` are those of the stated order of the blocks inside the sectors. Every other order is as good a choice ([a chapter of its own](order_gauge.ipynb)), so each of their means carries the range that it takes over random orders.

# %%
rows, wide = [], []
for (task, name), group in tasks.groupby(["task", "convention"], sort=False):
    row = {"task": task.replace("_", "-"), "convention": name}
    for removed in ("RR", "CC"):
        label, found = report.plain_label(removed), report.order_range(group, removed)
        values = report.per_seed(group, "delta_fvu", removed)
        row[f"without {label}"] = report.mean_sem_text(values)
        row[f"{label}, other orders"] = report.order_text(group, removed)
        wide += [np.ptp(found) > 2 * mean_sem(values).sem] if len(found) else []
    rows.append(row)
report.glue({"n_wide": sum(wide), "n_cells": len(wide)})
caption = "Mean ΔFVU ± SEM, and 95 % of its means over random orders inside the sectors."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# In {glue:text}`n_wide` of these {glue:text}`n_cells` means the range over orders is wider than the bar of one standard error to either side: there a choice that nobody states moves the mean more than the choice of networks does.
#
# ## Where a block is empty

# %%
rows = []
masses = tasks[tasks["quantity"] == "removed_mass"]
for (task, name), group in masses.groupby(["task", "convention"], sort=False):
    row = {"task": task.replace("_", "-"), "convention": name}
    for removed in ("RR", "CR", "CC"):
        values = report.per_seed(group, "removed_mass", removed)
        row[report.plain_label(removed)] = f"{(values == 0).sum()} of {len(values)}"
    rows.append(row)
    report.glue({f"{task}_{name}_empty": row["T_RR"]})
sine = tasks[tasks["task"] == "sine"]
sine = sine[sine["convention"] == sine["convention"].iloc[0]]
held = report.per_seed(sine, "removed_mass", "RR") > 0
cost = report.per_seed(sine, "delta_fvu", "RR")[held]
report.glue({"sine_cost": report.range_text(cost)})
report.table(pd.DataFrame(rows), "Networks in which a block holds nothing.")

# %% [markdown]
# Where only one eigenvalue or one pair reaches the threshold, `T_RR` is empty and removing it removes nothing.
# That is so in {glue:text}`sine_constant_cue_empty` sine networks of the default convention; in the others its removal changes the FVU by {glue:text}`sine_cost`.
# A mean over networks hides this: "little damage" can be many networks that lose nothing, because nothing was there.
#
# ## Every claim, under every convention

# %%
ledger = claims.read_ledger()
verdicts = pd.concat(
    [claims.across(ledger, tasks), claims.across(ledger, copy)],
    ignore_index=True,
)
written = pl.Paths(out).results / "conventions.csv"
claims.write_verdicts(verdicts, written)
titles = {
    "copy": "copy, by recipe", "flip_flop": "flip-flop",
    "sine": "sine generation", "integration": "integration",
}
figures.publish(figures.verdicts_figure(verdicts, titles), "conventions", out)

# %% [markdown]
# ```{glue:figure} conventions
# :name: fig-conventions-verdicts
#
# The verdict on each claim about one task, by convention; the first column is the default. The names are those of [the ledger](claims.ipynb).
# ```

# %%
judged = verdicts[verdicts["n"] >= 2]
silent = verdicts.groupby("convention", sort=False)["n"].max() < 2
report.glue({"silent": ", ".join(silent.index[silent]) or "none"})

# %%
rows, kept = [], {"everywhere": [], "never": [], "split": [], "against": []}
for (task, name), group in judged.groupby(["task", "id"], sort=False):
    held = group["verdict"] == "reproduced"
    missed = (group["verdict"] == "not reproduced") & (group["n"] >= claims.FEWEST)
    kind = (
        "everywhere" if held.all() else "against" if missed.all()
        else "split" if missed.any() else "never"
    )
    kept[kind].append(name)
    rows.append({
        "task": titles[task], "id": name,
        "claim": group["claim"].iloc[0],
        "default": group["verdict"].iloc[0],
        "reproduced": f"under {held.sum()} of {len(group)}",
        "contradicted": f"under {missed.sum()} of {len(group)}",
    })
report.glue({
    "n_claims": len(rows), "n_ledger": len(ledger), "fewest": claims.FEWEST
})
for kind, names in kept.items():
    report.glue({f"n_{kind}": len(names)})
    report.glue({f"which_{kind}": ", ".join(names) or "no claim"})
report.table(pd.DataFrame(rows), "How many conventions bear a claim out.")

# %%
rows = []
for (task, name), group in verdicts.groupby(["task", "convention"], sort=False):
    ours = group.set_index("id")["verdict"]
    first = verdicts[verdicts["task"] == task]
    first = first[first["convention"] == first["convention"].iloc[0]]
    differs = ours != first.set_index("id")["verdict"].reindex(ours.index)
    if name == first["convention"].iloc[0]:
        continue
    rows.append({
        "task": titles[task], "convention or recipe": name,
        "networks": int(group["n"].max()),
        "verdicts that differ": f"{differs.sum()} of {len(ours)}",
        "which": ", ".join(ours.index[differs]) or "—"
        if group["n"].max() >= 2 else "too few networks to judge",
    })
report.table(pd.DataFrame(rows), "Verdicts that differ from those under the default.")

# %%
default = verdicts.groupby("task")["convention"].transform("first")
usual = verdicts[verdicts["convention"] == default].set_index("id")["verdict"]
others = verdicts[(verdicts["convention"] != default) & (verdicts["task"] != "copy")]
for name, group in others.groupby("convention"):
    moved = (group["verdict"] != group["id"].map(usual)).sum()
    report.glue({f"differs_{name}": f"{moved} of {len(group)}"})

# %% [markdown]
# Where a convention has fewer networks than the default, a verdict can differ for want of networks alone.
# Below, a claim counts as contradicted only where it is not reproduced *and* at least {glue:text}`fewest` networks say so: one network that solved its task is no evidence against anything.
#
# ## Without the networks that failed to train
#
# The verdicts above are on all networks. These would be others if networks that failed to train were left out, or if `S_ΔT` of a block that holds nothing were zero and not undefined, as [explained](claims.ipynb).

# %%
keys, rows = ["task", "convention", "id"], []
first = verdicts[verdicts["task"] != "copy"].set_index(keys)["verdict"]
for label, change in {
    "trained alone": report.of_trained, "S_ΔT of nothing zero": report.empty_as_zero
}.items():
    again = claims.across(ledger, change(tasks)).set_index(keys)
    again = again["verdict"].reindex(first.index)
    for where in first.index[(again != first) & again.notna()]:
        rows.append({
            "task": titles[where[0]], "convention": where[1], "claim": where[2],
            "all networks": first[where], "otherwise": again[where], "if": label,
        })
report.glue({"n_otherwise": len(rows), "n_judged": len(first)})
table = pd.DataFrame(rows or [{"claim": "none"}])
report.table(table, "Verdicts that would be others.")

# %% [markdown]
# ## In how many networks
#
# Claims about single networks, by the share in which they hold.

# %%
shares = verdicts[verdicts["rule"] == "share"]
for (task, title) in titles.items():
    ours = shares[shares["task"] == task]
    if ours.empty:
        continue
    counts = (ours["ours"].fillna(0) * ours["n"]).round().astype(int)
    cells = counts.astype(str) + " of " + ours["n"].astype(str)
    wide = ours.assign(cell=cells.where(ours["n"] > 0, "—")).pivot(
        index="convention", columns="claim", values="cell"
    )
    wide = wide.reindex(ours["convention"].unique())[ours["claim"].unique()]
    shown = wide.rename_axis(columns=None).reset_index()
    display(report.table(shown, f"Networks that bear a claim out: {title}."))

# %% [markdown]
# ## Summary
#
# Of {glue:text}`n_claims` claims about one task,
#
# * {glue:text}`n_everywhere` are reproduced under every convention: {glue:text}`which_everywhere`;
# * {glue:text}`n_never` are never contradicted, but not reproduced everywhere: {glue:text}`which_never`;
# * {glue:text}`n_split` are contradicted under some conventions: {glue:text}`which_split`;
# * {glue:text}`n_against` are contradicted under every convention: {glue:text}`which_against`.
#
# Of {glue:text}`n_judged` verdicts on claims about the three tasks, {glue:text}`n_otherwise` would be others if failed networks were left out or removing nothing counted as free.
#
# What depends on the convention is a finding about a reading of the task as much as about the network, and the paper does not say which reading was its own.
# Contradicted means "not reproduced" by at least {glue:text}`fewest` networks.
# Conventions or recipes under which fewer than two networks can be judged are left out of these counts: {glue:text}`silent`.
# Of copy only solved networks are judged; where fewer than that are, a statement about networks can at best go in the same direction, by the rules.
# The other claims of the {glue:text}`n_ledger` in the ledger are about several tasks, several thresholds or networks that these tables do not hold, and are not judged again here.
#
# **Where next**: [the claims](claims.ipynb), or [what the paper leaves open](open_choices.ipynb).
