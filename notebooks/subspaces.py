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
# # No role, or out of sight?
#
# Is a harmless ablation harmless because the block has no role, or because it misses the activity and the readout? The paper ends with this question.
#
# **You will see** how much of each removal meets the directions in which the network is active and which are read out, and how well each account, and one formula, predicts the damage in networks that it has not seen.
# **Before this** read [Figure 2](figure_2.ipynb) and [is it the block, or its size?](controls.ipynb)
#
# ## Accounts of a removal
#
# An ablation takes $\Delta W = W - \tilde W$ away, and with it the drive $\Delta W h_{t-1}$. How much of it acts where the hidden states vary (principal components), or where they covary with the target; how much is written into the rows of `W_hy`; how much of the recurrent drive it is; what one ablated step from an intact state changes in the output.
#
# The last account follows the drive along the whole trajectory, linear in the change of state:
#
# $$\delta_t = (1 - h_t^2) \circ (\tilde W \delta_{t-1} - \Delta W h_{t-1}), \qquad \hat y_t = y_t + W_{hy}\, \delta_t,$$
#
# with $h_t + \delta_t$ kept between $-1$ and $1$, where the states of a tanh network are. This **clipped linear response** is the formula; it has no constant to fit. It was fixed before any of the unseen networks was trained.

# %%
import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.response import ACCOUNTS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
n_hidden = 64  # hidden units, cross-task networks
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  # known networks, one each
unseen = [10, 11, 12, 13, 14]  # networks that nothing was fitted or chosen on
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
n_trials = 128  # trials, not those of other pages
copy_hidden = 72  # hidden units, copy networks
copy_seeds = [0, 1, 2, 3, 4]  # known networks, one each
copy_unseen = [5, 6, 7]  # networks that nothing was fitted or chosen on
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
max_steps = 6000  # budget of batches
copy_trials = 32  # sequences

# %% [markdown]
# ## Known and unseen networks
#
# Known networks are those of the other pages. Every account but the response needs a scale, which is fitted on the known ones: a line between logarithms. The unseen ones are only predicted.
# The published run is kept in the repository, `published/subspaces.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
suite = {} if not train_here else pl.load_suite(
    out, [*seeds, *unseen], [*copy_seeds, *copy_unseen], construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
tables = [
    pl.accounts_profile(
        solutions, task, alpha,
        n_trials=copy_trials if name == "copy" else n_trials,
    )
    for name, (task, solutions) in suite.items()
]

# %%
results = pl.study_results("subspaces", tables)
pl.write_results(results, pl.Paths(out).results / "subspaces.csv")
report.glue({"cost": report.published_cost("subspaces")})
wide = results[results["removed"] != "none"].pivot(
    index=["task", "seed", "removed"], columns="quantity", values="value"
).reset_index()
wide.columns = [c.removeprefix("account_") for c in wide.columns]
copy = wide["task"] == "copy"
wide["unseen"] = np.where(
    copy, wide["seed"].isin(copy_unseen), wide["seed"].isin(unseen)
)

# %% [markdown]
# Damage spans four orders of magnitude, so it is compared on the scale $\log_{10}(10^{-3} + \Delta\mathrm{FVU})$, what is below zero taken as zero.
# $R^2$ is one minus the squared error of the prediction over the variance of the damage, over all tasks and blocks together; it is negative where the mean damage would have been the better guess.

# %%
FLOOR = 1e-3


def scale(damage):
    """Damage on the scale that it is compared on."""
    return np.log10(FLOOR + np.clip(damage, 0, 1e6))


def r_squared(predicted, true):
    """Share of the variance that a prediction explains; not of a fit."""
    spread = ((true - true.mean()) ** 2).sum()
    return 1 - ((predicted - true) ** 2).sum() / spread if spread else np.nan


# %%
true, known = scale(wide["delta_fvu"]), ~wide["unseen"]
predicted = {}
for name in ACCOUNTS:
    if name in ("linear", "clipped"):
        predicted[name] = scale(wide[name])
    else:
        x = np.log10(wide[name].clip(1e-6))
        slope, level = np.polyfit(x[known], true[known], 1)
        predicted[name] = slope * x + level
# What is known without looking at the removal: this block of this task in the known networks.
cells = true[known].groupby([wide["task"], wide["removed"]]).mean().rename("usual")
predicted["usual"] = wide.join(cells, on=["task", "removed"])["usual"].fillna(true[known].mean())
wide["usual"] = predicted["usual"]

# %%
rows = []
USUAL = {"usual": "no account: the mean of this block in the known networks of this task"}
for name, what in (USUAL | ACCOUNTS).items():
    row = {"account": name.replace("_", " "), "what it is": what}
    for which, chosen in (("known", known), ("unseen", ~known)):
        row[f"R², {which}"] = report.number(
            r_squared(predicted[name][chosen], true[chosen]), 2
        )
    row["rank correlation, unseen"] = report.number(
        wide.loc[~known, name].corr(wide.loc[~known, "delta_fvu"], "spearman"), 2
    )
    rows.append(row)
    report.glue({f"{name}_known": row["R², known"], f"{name}_unseen": row["R², unseen"]})
report.glue({
    "n_known": int(known.sum()), "n_unseen": int((~known).sum()),
    "n_networks": wide.loc[~known, ["task", "seed"]].drop_duplicates().shape[0],
})
unseen_score = r_squared(predicted["clipped"][~known], true[~known])
report.glue({"aim": "met" if unseen_score >= 0.9 else "missed"})
caption = "How much of the damage each account predicts, all tasks and blocks together."
report.table(pd.DataFrame(rows), caption)

# %%
drawn = figures.prediction_figure(wide, "clipped", FLOOR)
figures.publish(drawn, "subspaces", out)

# %%
rows = []
for (task, unseen_), cell in wide.groupby(["task", "unseen"], sort=False):
    chosen, ratio = cell.index, cell["clipped"] / cell["delta_fvu"]
    rows.append({
        "task": task.replace("_", "-"), "networks": "unseen" if unseen_ else "known",
        "removals": len(chosen),
        **{
            f"R² of the {label}": report.number(
                r_squared(predicted[which][chosen], true[chosen]), 2
            )
            for label, which in {"formula": "clipped", "usual value": "usual"}.items()
        },
        "predicted over measured, medians": ", ".join(
            f"{report.plain_label(b)} {report.number(r.median(), 2)}"
            for b, r in ratio.groupby(cell["removed"])
        ),
    })
    if unseen_:
        report.glue({
            f"{task}_unseen": rows[-1]["R² of the formula"],
            f"{task}_usual": rows[-1]["R² of the usual value"],
            f"{task}_ratio": rows[-1]["predicted over measured, medians"],
        })
report.table(pd.DataFrame(rows), "The formula, task by task.")

# %% [markdown]
# ```{glue:figure} subspaces
# :name: fig-subspaces
#
# Damage predicted by the clipped linear response against damage measured, one mark a removal; large: networks that nothing was chosen on. On the line the prediction is right.
# ```
#
# ## Within a block of a task
#
# Much of the damage is known from the task and the block alone. What is left is whether an account says which network loses more by the same removal.

# %%
rows, inside = [], {}
for (task, removed), cell in wide.groupby(["task", "removed"], sort=False):
    row = {"task": task.replace("_", "-"), "removed": report.plain_label(removed)}
    for name in ("mass", "alignment", "clipped"):
        found = cell[name].corr(cell["delta_fvu"], "spearman")
        row[name] = report.number(found, 2)
        inside.setdefault(name, []).append(found)
    rows.append({**row, "networks": len(cell)})
report.glue({f"{n}_inside": report.number(np.nanmedian(v), 2) for n, v in inside.items()})
caption = "Rank correlation with the damage over networks, known and unseen, of one removal."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# ## Out of sight, or without a role
#
# A removal that moves the FVU by less than a hundredth either way is harmless here; networks that failed to train are left out, because they have nothing to lose.
# A harmless removal is *nearly empty* if its norm is less than a hundredth of that of `W_hh`, *out of sight* if it meets the activity less than a tenth as much as a random matrix of its norm would (the account "alignment"), and else *in sight, without a role*.
# Whether being out of sight is what makes a removal harmless is told by the harmful ones: how many of them are out of sight too.

# %%
trained = report.of_trained(results)[["task", "seed"]].drop_duplicates()
kept = wide.merge(trained, on=["task", "seed"])
kept["harmless"] = kept["delta_fvu"].abs() < 0.01
kept["class"] = np.select(
    [kept["mass"] < 0.01, kept["alignment"] < 0.1], ["nearly empty", "out of sight"], "in sight"
)
rows = []
for (task, removed), cell in kept.groupby(["task", "removed"], sort=False):
    counts = cell.groupby("class")["harmless"].agg(["sum", "size"])
    rows.append({
        "task": task.replace("_", "-"), "removed": report.plain_label(removed),
        "removals": len(cell), "alignment": report.range_text(cell["alignment"]),
        **{
            f"harmless, of those {c}": f"{counts['sum'].get(c, 0)} of {counts['size'].get(c, 0)}"
            for c in ("nearly empty", "out of sight", "in sight")
        },
    })
for name, cell in kept.groupby("class"):
    report.glue({f"n_{name.replace(' ', '_')}": f"{cell['harmless'].sum()} of {len(cell)}"})
for name in {"nearly empty", "out of sight", "in sight"} - set(kept["class"]):
    report.glue({f"n_{name.replace(' ', '_')}": "0 of 0"})
report.glue({"n_harmless": int(kept["harmless"].sum()), "n_all": len(kept)})
report.table(pd.DataFrame(rows), "Removals by what they meet, and how many of them are harmless.")

# %%
of_copy = wide[copy & (wide["removed"] == "CC")]["delta_fvu"]
report.glue({"copy_CC": report.range_text(of_copy)})

# %% [markdown]
# ## Summary
#
# On {glue:text}`n_unseen` removals in {glue:text}`n_networks` networks that it had not seen, the clipped linear response predicts the damage with $R^2$ {glue:text}`clipped_unseen` ({glue:text}`clipped_known` on known ones): flip-flop {glue:text}`flip_flop_unseen`, sine {glue:text}`sine_unseen`, integration {glue:text}`integration_unseen`, copy {glue:text}`copy_unseen`. The aim, nine tenths over all of them, is {glue:text}`aim`.
# To know only the task and the block, and to answer their mean in the known networks, gives {glue:text}`usual_unseen` (flip-flop {glue:text}`flip_flop_usual`, sine {glue:text}`sine_usual`, integration {glue:text}`integration_usual`, copy {glue:text}`copy_usual`): most of what the formula predicts is which task and which block it is. It is told neither, and works from the weights and the activity of the one network.
# Among networks that lose the same block in the same task, its rank correlation with the damage is {glue:text}`clipped_inside` in the median, that of the mass {glue:text}`mass_inside` and that of the alignment with the activity {glue:text}`alignment_inside`.
# Over all tasks and blocks the mass that the paper divides by explains {glue:text}`mass_unseen`, the share on principal components {glue:text}`pcs_unseen`, the share on directions of the target {glue:text}`target_unseen`, the share in the readout {glue:text}`readout_unseen`, the drive {glue:text}`drive_unseen`, one step {glue:text}`one_step_unseen`, the response without its clip {glue:text}`linear_unseen`.
# Predicted over measured, by block, the formula gives in the flip-flop {glue:text}`flip_flop_ratio`, in copy {glue:text}`copy_ratio`, in sine generation {glue:text}`sine_ratio` and in integration {glue:text}`integration_ratio`: a tangent at the intact state cannot see a state on the other side of a decision, nor an oscillation that drifts out of phase.
#
# Of {glue:text}`n_all` removals in networks that trained, {glue:text}`n_harmless` are harmless: {glue:text}`n_nearly_empty` of the nearly empty ones, {glue:text}`n_out_of_sight` of those out of sight and {glue:text}`n_in_sight` of those in sight.
# So where a removal is harmless by this measure, look first at how much it removes.
# Copy's `T_CC` is harmless by replay accuracy; by this measure it costs {glue:text}`copy_CC`.
#
# **Where next**: [gone, or only turned away?](refit.ipynb)
