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
# # Claims, one by one
#
# What does the paper claim, and which of it do networks trained here bear out?
#
# **You will see** every number and every statement of the paper's results with a verdict that a program gives by rules fixed beforehand: first what fails, then what holds.
# **Before this** run the notebooks that make the evidence: [Table 1](table_1.ipynb), [Figure 1](figure_1.ipynb), [Figure 2](figure_2.ipynb) and [What the paper leaves open](open_choices.ipynb); this one only reads their results.

# %%
import pandas as pd

import paperlib as pl
from paperlib import claims, figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder of the results, relative to the repository
evidence = "run"  # what decides: results of this "run", or the "published" ones

# %% [markdown]
# ## Judging
#
# The claims are the entries of `book/claims.yml`, in our words; the numbers stay in `book/reported.csv`, digit for digit as printed.
# A smoke-sized run is refused as evidence.

# %%
ledger, folder = claims.read_ledger(), claims.evidence_folder(evidence, out)
tables = {name: claims.read_evidence(name, folder) for name in claims.TABLES}
verdicts = claims.judge(ledger, tables)
claims.write_verdicts(verdicts, pl.Paths(out).results / "claims.csv")

# %%
counts = verdicts["verdict"].value_counts()
for verdict in claims.VERDICTS:
    key = f"n_{verdict.replace(' ', '_')}"
    report.glue({key: int(counts.get(verdict, 0))})
sources = {"run": "this run", "published": "the published run"}
report.glue({"n_claims": len(verdicts), "evidence": sources[evidence]})
wide = verdicts["reason"].str.contains("below zero")
report.glue({"n_wide": int(wide.sum())})
printed = pl.reported(as_printed=True)

# %% [markdown]
# Of {glue:text}`n_claims` claims, {glue:text}`n_not_reproduced` are not reproduced, {glue:text}`n_same_direction` go in the same direction, {glue:text}`n_not_decidable` are not decidable, {glue:text}`n_reproduced` are reproduced and {glue:text}`n_true_by_construction` are true by construction.
# What decides are the results of {glue:text}`evidence`; claims on the flip-flop, sine generation and integration rest on the networks of [what the paper leaves open](open_choices.ipynb), which are those of the published run unless that notebook trained its own (`train_here`, as in the profile `extended`).
#
# ## What fails, in part or in whole

# %%
held = verdicts["verdict"].isin(["reproduced", "true by construction"])
failed = report.claims_table(verdicts[~held], printed, claims.VERDICTS)
report.table(failed, "Claims that are not borne out in full.")

# %% [markdown]
# A claim goes in the *same direction* where our effect has the paper's sign but another size, or where most networks agree but too few to be sure.
# It is *not decidable* where our networks differ too much, or where the paper does not give enough to decide it.
#
# ## What holds

# %%
good = report.claims_table(verdicts[held], printed, claims.VERDICTS)
report.table(good, "Claims that hold.")

# %% [markdown]
# ## What the verdicts rest on
#
# Two decisions inside the rules could be taken otherwise, and were not, because verdicts had been seen: networks that failed to train (FVU above {glue:text}`failed`) are judged with the others, and `S_ΔT` of a block that holds nothing, which is 0/0, bears no statement out.
# These verdicts would be others:

# %%
otherwise = {
    "trained networks alone": report.of_trained,
    "S_ΔT of nothing as zero": report.empty_as_zero,
}
rows = verdicts[["claim", "verdict"]].copy()
rows["ours"] = verdicts["ours"].map(report.number)
for label, change in otherwise.items():
    again = claims.judge(ledger, {n: change(t) for n, t in tables.items()})
    rows[label] = again["verdict"] + ", " + again["ours"].map(report.number)
    rows.loc[again["verdict"] == verdicts["verdict"], label] = "the same"
moved = rows[(rows[list(otherwise)] != "the same").any(axis=1)]
report.glue({"n_moved": len(moved), "failed": report.FAILED})
shown = moved if len(moved) else pd.DataFrame([{"claim": "none"}])
report.table(shown, "Verdicts that would be others, with our value behind each.")

# %% [markdown]
# A number is *reproduced* where further networks of ours can be expected to meet it; where ours differ widely, that asks for little, so the interval belongs to the verdict.
# {glue:text}`n_wide` verdicts are of this kind without doubt: the interval reaches below zero, which the quantity cannot, because a few networks with a much larger error (or that failed to train) stretch it.
# That copy is replayed as accurately as printed holds by selection, because only solved networks are judged; how many are solved is said on [its page](task_copy.ipynb).
# The table with three thresholds is judged row by row, so that numbers which do not depend on the threshold count three times.
# Numbers without `T_RR` or `T_CC` are those of the stated order inside the sectors; judged again in {glue:text}`order_gauge.ipynb::orders:s` random orders, {glue:text}`order_gauge.ipynb::n_moved:s` of {glue:text}`order_gauge.ipynb::n_claims:s` verdicts [depend on it](order_gauge.ipynb).
# What is *true by construction* was not tested by anybody: it says that nothing was removed.
#
# ## On another machine
#
# Training is chaotic: from the same seeds another processor trains [other networks](../book/rerun.md). The results were first published from one machine and later made anew on another, by the same rules; `published/elsewhere/claims.csv` keeps the first verdicts.

# %%
there = pd.read_csv(pl.project_root() / "published" / "elsewhere" / "claims.csv")
both = verdicts.merge(there, on="id", suffixes=("", "_there"))
rows = [
    {
        "claim": row.claim, "here": f"{row.verdict}, {report.number(row.ours)}",
        "there": f"{row.verdict_there}, {report.number(row.ours_there)}",
    }
    for row in both[both["verdict"] != both["verdict_there"]].itertuples()
]
report.glue({"n_elsewhere": len(rows), "n_both": len(both)})
shown = pd.DataFrame(rows or [{"claim": "none"}])
report.table(shown, "Verdicts that differ between two machines, with the value behind each.")

# %% [markdown]
# {glue:text}`n_elsewhere` of {glue:text}`n_both` verdicts differ, which is about what the choice of networks is worth.
#
# ## All numbers at a glance

# %%
drawn = figures.claims_figure(verdicts, pl.reported())
figures.publish(drawn, "claims", out)

# %% [markdown]
# ```{glue:figure} claims
# :name: fig-claims
#
# Every printed number and ours: marks are means over our networks, lines the 95-percent interval for as many further networks as the paper averages, bands the numbers that round to the printed one. The axis is linear around zero and logarithmic beyond; what is true by construction is left out.
# ```
#
# ## The rules

# %%
used = verdicts["rule"].value_counts()
rows = [
    {"rule": name, "claims": int(used.get(name, 0)), "what it means": text}
    for name, text in claims.read_rules().items()
]
report.table(pd.DataFrame(rows), "The rules, fixed before any verdict was seen.")

# %% [markdown]
# ## Summary
#
# {glue:text}`n_reproduced` of {glue:text}`n_claims` claims are reproduced here, {glue:text}`n_same_direction` more in direction; {glue:text}`n_not_reproduced` are not.
# A verdict is one of our networks under our reading of each task, and the readings are part of it.
# On another machine, whose networks are others, {glue:text}`n_elsewhere` of the verdicts were others.
# {glue:text}`n_moved` verdicts would be others if networks that failed to train were left out, or if removing nothing counted as costing nothing per mass.
# No rule and no margin was changed after a verdict was seen; the means of earlier, smaller ensembles were known when they were written.
#
# **Where next**: [Table 1](table_1.ipynb), or [rerun it with your own parameters](../book/rerun.md).
