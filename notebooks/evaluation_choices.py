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
# # Choices made after training
#
# Held-out trials, the mean in the FVU, the order of equal moduli, the network that is shown for all: how far could these decisions move a number?
#
# **You will see** the same trained networks measured again under other choices, each beside the spread over networks, which is the measure of what matters.
# **Before this** read [what the paper leaves open](open_choices.ipynb).

# %%
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.tasks import TASKS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
n_sets = 5  # independent held-out sets of each size
n_hidden = 64  # hidden units, cross-task networks
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
sizes = [256, 2048, 8192]  # held-out trials; the second is used elsewhere
copy_hidden = 72  # hidden units, copy networks
copy_seeds = [0, 1, 2, 3, 4]  # one network each
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
max_steps = 6000  # budget of batches
copy_sizes = [128, 512, 2048]  # held-out sequences; the second is used elsewhere

# %% [markdown]
# ## Other held-out trials
#
# Each network is measured on {glue:text}`n_sets` independent sets of each of several sizes; the trials that all other pages use are the first set of the second size.
# The published run is kept in the repository, `published/evaluation_choices.csv`; the profile `extended` measures it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
few = [n for n, v in {"seeds": seeds, "copy_seeds": copy_seeds}.items() if len(v) < 2]
few += ["n_sets"] if n_sets < 2 else []
few += [n for n, v in {"sizes": sizes, "copy_sizes": copy_sizes}.items() if len(v) < 2]
if few:
    raise ValueError(f"{few[0]}: a spread needs at least two, got {globals()[few[0]]}")
tables = []
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
SHOWN = ["fvu", "delta_fvu", "replay_accuracy", "n_R", "n_ties", "alpha_gap"]
for name, (task, solutions) in suite.items():
    for size in copy_sizes if name == "copy" else sizes:
        for k in range(n_sets):
            scored = pl.ablation_profile(
                solutions, task, alpha, ["none", "RR", "CR", "CC"], size, seed=k
            )
            scored = scored[scored["quantity"].isin(SHOWN)]
            tables.append(scored.assign(convention=f"{size} trials, set {k}"))

# %%
results = pl.study_results("evaluation_choices", tables)
pl.write_results(results, pl.Paths(out).results / "evaluation_choices.csv")
report.glue({"cost": report.published_cost("evaluation_choices")})

# %%
label = results["convention"].str.extract(r"(\d+) trials, set (\d+)").astype(int)
results = results.assign(size=label[0], set=label[1])
rows = []
for name in pl.SUITE:
    quantity = "replay_accuracy" if name == "copy" else "delta_fvu"
    for removed in ("none", "RR", "CR", "CC"):
        shown = "fvu" if (quantity, removed) == ("delta_fvu", "none") else quantity
        cell = results[
            (results["task"] == name) & (results["quantity"] == shown)
            & (results["removed"] == removed)
        ]
        wide = cell.pivot(index="seed", columns=["size", "set"], values="value")
        row = {"task": name, "quantity": shown, "removed": removed}
        largest = wide[max(wide.columns.get_level_values("size"))]
        row["networks"] = largest.mean(axis=1).std()
        for size in sorted(set(cell["size"])):
            # Root mean square over networks of each one's spread over the sets.
            row[size] = wide[size].var(axis=1).mean() ** 0.5
        row["used"] = row[sorted(set(cell["size"]))[1]]
        rows.append(row)
# %%
spreads = pd.DataFrame(rows)
figures.publish(figures.spreads_figure(spreads), "evaluation_choices", out)
report.glue({"n_sets": results["set"].nunique()})
varied = spreads[spreads["networks"] != 0]  # NaN stays: it is to be seen
for key, rows in (
    ("removed", varied["removed"] != "none"), ("whole", varied["removed"] == "none")
):
    share = (varied["used"] / varied["networks"])[rows].sort_values()
    worst = varied.loc[share.index[-1]]
    where = worst["task"].replace("_", "-")
    if key == "removed":
        where += f" without {report.plain_label(worst['removed'])}"
    report.glue({
        f"share_{key}": float(share.iloc[-1]), f"worst_{key}": where,
        f"share_{key}_median": float(share.median()),
    })

# %% [markdown]
# ```{glue:figure} evaluation_choices
# :name: fig-evaluation-choices
#
# Standard deviation of FVU (nothing removed), ΔFVU (a block removed) or, for copy, replay accuracy: over networks (filled), and of one network over {glue:text}`n_sets` held-out sets of each size (open; the larger the mark, the more trials).
# ```

# %%
texts = []
for row in spreads.to_dict("records"):
    known = sorted(k for k in row if isinstance(k, int) and row[k] == row[k])
    texts.append({
        "task": row["task"].replace("_", "-"),
        "removed": report.plain_label(row["removed"]),
        "measure": report.QUANTITY_LABELS[row["quantity"]],
        "over networks": report.number(row["networks"], 2),
        "over sets, small to large": ", ".join(report.number(row[k], 2) for k in known),
    })
report.table(pd.DataFrame(texts), "Standard deviations over networks and over held-out sets.")

# %% [markdown]
# At the size that the other pages use, the standard deviation over sets of what a removal costs is at most {glue:text}`share_removed` of that over networks ({glue:text}`worst_removed`), and {glue:text}`share_removed_median` of it in the median.
# Of the error as trained it is at most {glue:text}`share_whole` of it ({glue:text}`worst_whole`); above one, networks differ by less than sets of trials do.
#
# ## Another mean in the FVU
#
# The paper divides by the variance around a mean $\bar y$ and does not say over what the mean is taken.
# The choice changes the denominator only, so each reading multiplies every FVU of a task by one factor.

# %%
texts, moved = [], {}
CROSS = pl.SUITE[:3]
for name, convention in [(n, c) for n in CROSS for c in TASKS[n].conventions]:
    trials = pl.make_task(name, convention).sample(
        sizes[1], pl.generator(0, "evaluation")
    )
    y, mask = trials.targets.double(), trials.mask.double()
    n = mask.sum((0, 1))

    def variance(mean):
        return float((mask * (y - mean) ** 2).sum())

    ours = variance((mask * y).sum((0, 1)) / n)
    factors = {
        "zero": ours / variance(0),
        "one for all channels": ours / variance((mask * y).sum() / n.sum()),
        "one a step and channel": ours
        / variance((mask * y).sum(0) / mask.sum(0).clamp(min=1)),
    }
    moved[name, convention] = max(abs(f - 1) for f in factors.values())
    texts.append({
        "task": name.replace("_", "-"), "convention": convention,
        **{k: report.number(v, 4) for k, v in factors.items()},
    })
# %%
usual = max(moved[name, next(iter(TASKS[name].conventions))] for name in CROSS)
report.glue({
    "mean_moves": f"{100 * max(moved.values()):.1f} %",
    "mean_moves_default": f"{100 * usual:.1f} %",
    "mean_moves_where": " ".join(max(moved, key=moved.get)).replace("_", "-"),
})
report.table(pd.DataFrame(texts), "Factor on every FVU under another mean.")

# %% [markdown]
# ## Order, threshold, representative

# %%
spectra = results[results["quantity"].isin(["n_ties", "alpha_gap"])]
spectra = spectra.groupby(["task", "seed", "quantity"])["value"].first().unstack()
report.glue({
    "n_networks": len(spectra), "n_tied": int((spectra["n_ties"] > 0).sum()),
    "smallest_gap": float(spectra["alpha_gap"].min()),
})
copies = results[(results["task"] == "copy") & (results["set"] == 0)]
copies = report.of_solved(copies[copies["size"] == copies["size"].unique()[1]])
texts = []
for removed in ("RR", "CR", "CC"):
    values = report.per_seed(copies, "replay_accuracy", removed)
    texts.append({
        "removed": report.plain_label(removed),
        "first solved": report.number(values[0]) if len(values) else "—",
        "all solved": report.range_text(values),
        "rank of the first, from the lowest":
        f"{(values < values[0]).sum() + 1} of {len(values)}" if len(values) else "—",
    })
report.table(pd.DataFrame(texts), "The representative copy network among all solved ones.")

# %% [markdown]
# Of the {glue:text}`n_networks` networks measured here, {glue:text}`n_tied` have eigenvalues whose moduli tie (equal within rounding), which is where the rule for ties decides; near ties are another matter, since what `T_RR` and `T_CC` hold depends on the order inside a sector.
# No modulus lies nearer to the threshold than {glue:text}`smallest_gap` of the spectral radius, so rounding does not decide who belongs to R either.
#
# ## Summary
#
# Over held-out sets the cost of a removal varies by at most {glue:text}`share_removed` of what it varies by over networks (standard deviations).
# Another mean in the FVU moves it by at most {glue:text}`mean_moves_default` under the default conventions and by {glue:text}`mean_moves` under any of them ({glue:text}`mean_moves_where`); ties decide {glue:text}`n_tied` of {glue:text}`n_networks` networks.
# How much more the order inside a sector decides where moduli are near but not equal is measured on [a page of its own](order_gauge.ipynb).
#
# **Where next**: [which conclusions survive other readings](conventions.ipynb).
