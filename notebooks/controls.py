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
# # Is it the block, or its size?
#
# A block is special only where removing it costs something else than removing as much of anything. Which blocks are?
#
# **You will see** beside each ablation four controls, removals of the same Frobenius norm, and which of the paper's statements they leave standing.
# **Before this** read [Figure 2](figure_2.ipynb) and [the order inside a sector](order_gauge.ipynb).
#
# ## Four controls
#
# An ablation takes $\Delta W = W - \tilde W(S)$ away. A control takes away a matrix with the same Frobenius norm:
#
# * **gaussian**: independent normal entries; it knows nothing of `W`;
# * **rotated**: $U \Delta W U^\top$ with a random orthogonal $U$; the same singular values, other directions;
# * **entries**: couplings from anywhere in `N`, drawn at random until they hold the same mass; still no eigenvalue moves;
# * **permuted**: the couplings of the block, each moved to another place *within the block*; the same two subspaces, other couplings.
#
# A block that differs from the first two does not act by its size alone; one that does not differ from the last acts by where it stands and not by what it holds.

# %%
import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.controls import CONTROLS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
draws = 40  # of each control, network and block
n_hidden = 64  # hidden units, cross-task networks
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
n_trials = 512  # held-out trials
copy_hidden = 72  # hidden units, copy networks
copy_seeds = [0, 1, 2, 3, 4]  # one network each
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
max_steps = 6000  # budget of batches
copy_trials = 128  # held-out sequences

# %% [markdown]
# ## Damage beside its controls
#
# The published run is kept in the repository, `published/controls.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
tables = [
    pl.control_draws(
        solutions, task, alpha, draws=draws,
        n_trials=copy_trials if name == "copy" else n_trials,
    )
    for name, (task, solutions) in suite.items()
]

# %%
results = pl.study_results("controls", tables)
pl.write_results(results, pl.Paths(out).results / "controls.csv")
report.glue({"cost": report.published_cost("controls")})
parts = results["quantity"].str.extract(r"^(.+)_([a-z]+)_(\d+)$")
results = results.assign(measure=parts[0], kind=parts[1], draw=parts[2].astype(int))
figures.publish(figures.controls_figure(results), "controls", out)
report.glue({"draws": results["draw"].max(), "alpha": alpha})

# %% [markdown]
# ```{glue:figure} controls
# :name: fig-controls
#
# Damage, or for copy the accuracy that is left: large points the ablation, one a network; small marks the median over {glue:text}`draws` draws of each control in the same network. α = {glue:text}`alpha`.
# ```
#
# In one network a block *costs more* than a control where its damage lies above the middle 95-percent range of the draws, and *less* where it lies below.
# A block of a few entries can be permuted in a few ways only; networks in which a control has fewer than half as many values as draws are not counted for it, and where those are the most, it decides nothing.

# %%
# Damage: of an accuracy, what is lost is what counts.
sign = results["measure"].map({"delta_fvu": 1.0, "replay_accuracy": -1.0})
damage = results.assign(value=sign * results["value"])
rows, special = [], []
for (name, removed), cell in damage.groupby(["task", "removed"], sort=False):
    own = cell[cell["kind"] == "block"].set_index("seed")["value"]
    row = {
        "task": name.replace("_", "-"), "removed": report.plain_label(removed),
        "networks": len(own),
    }
    verdicts = []
    for kind in CONTROLS:
        drawn = cell[cell["kind"] == kind].groupby("seed")["value"]
        # A few entries can be dealt out in a few ways only: no range to lie outside of.
        free = drawn.nunique() > drawn.size() / 2
        more = int((own > drawn.quantile(0.975))[free].sum())
        less = int((own < drawn.quantile(0.025))[free].sum())
        row[kind] = f"more {more}, less {less} of {free.sum()}"
        half = len(own) / 2
        verdicts.append("more" if more > half else "less" if less > half else "neither")
    rows.append(row)
    special.append((name, removed, *verdicts))
report.table(pd.DataFrame(rows), "Networks in which a block costs more or less than each control.")

# %%
kinds = list(CONTROLS)
found = pd.DataFrame(special, columns=["task", "removed", *kinds])
label = found["task"].str.replace("_", "-") + " " + found["removed"].map(report.plain_label)
size = found[["gaussian", "rotated"]]
by_size = {w: label[(size == w).all(axis=1)] for w in ("more", "less")}
by_size["rest"] = label[~label.isin(pd.concat(list(by_size.values())))]
all_four = found[kinds].nunique(axis=1) == 1
for word, names in by_size.items():
    report.glue({f"size_{word}": ", ".join(names) or "none"})
report.glue({
    "n_blocks": len(found),
    "all_four": ", ".join(
        f"{n} ({w})" for n, w in zip(label[all_four], found["gaussian"][all_four])
        if w != "neither"
    ) or "none",
})
# %%
lookup = found.set_index(["task", "removed"])
rows = []
for claim, task, removed, hoped in (
    ("T_CC alone leaves copy as it is", "copy", "CC", "less"),
    ("T_C→R costs copy much", "copy", "CR", "more"),
    ("T_RR costs copy some", "copy", "RR", "more"),
    ("T_RR does almost nothing in the flip-flop", "flip_flop", "RR", "less"),
    ("T_C→R costs the flip-flop most", "flip_flop", "CR", "more"),
    ("T_RR does little in sine generation", "sine", "RR", "less"),
    ("T_CC costs sine generation much", "sine", "CC", "more"),
    ("T_CC dominates integration", "integration", "CC", "more"),
):
    if (task, removed) in lookup.index:
        row = lookup.loc[(task, removed)]
        rows.append({"statement": claim, "special means": f"costs {hoped}", **row})
# %%
claims = pd.DataFrame(rows)
same = claims[kinds].eq(claims["special means"].str.removeprefix("costs "), axis=0)
report.glue({
    "n_statements": len(claims), "n_size": int(same[["gaussian", "rotated"]].all(axis=1).sum()),
    "n_all": int(same.all(axis=1).sum()),
})
caption = "The paper's statements: in most networks, does the block cost more or less?"
report.table(claims, caption)

# %% [markdown]
# ## Summary
#
# Of {glue:text}`n_blocks` pairs of a task and a block, these cost more than as much of anything (gaussian and rotated) in most networks: {glue:text}`size_more`; these cost less: {glue:text}`size_less`; on the rest most networks do not agree, some costing more and some less than their controls, or neither: {glue:text}`size_rest`.
# Against all four controls stand {glue:text}`all_four`.
# Of {glue:text}`n_statements` statements of the paper about one block, {glue:text}`n_size` are about more than its size, and {glue:text}`n_all` also about more than its place. (The paper makes no such comparison: these are its statements, read as statements about a block.)
# More and less say on which side of its controls a block lies, not how far: where a block is small, both can be thousandths.
# Where a block costs no more than its permuted self, what matters are the two subspaces that it joins, and not the couplings that it holds.
#
# **Where next**: [the claims](claims.ipynb).
