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
# # The order inside a sector
#
# Removing `T_RR` or `T_CC` depends on the order of blocks inside the sector. How much of a printed number is the network's, and how much is the order's?
#
# **You will see** every network written in many other orders, all of them Schur forms of the same matrix with the same two sectors, and what removing the blocks costs in each.
# **Before this** read [the method](../book/method.md) and [Figure 2](figure_2.ipynb).
#
# ## What is well-posed, and what is not
#
# Let $Q = [Q_R\ Q_C]$ and $P = Q_R Q_R^\top$, the projection onto the leading invariant subspace.
# $W = Q T Q^\top$ has the coupling $Q_R T_{C\to R} Q_C^\top = P W (I - P)$, because $Q_R$ spans an invariant subspace.
# So removing it leaves $\tilde W = W - P W (I - P)$, which knows the subspace and no order.
#
# Inside R no such formula exists: $T_{RR}$ are the couplings *between* the blocks, and which directions the blocks are depends on which comes first.
# Any order inside R, and any inside C, gives a real Schur form with the same sectors; the paper sorts by modulus, which decides by gaps that may be tiny.

# %%
import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import claims, figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # measure the run's own networks, or show the published run
construction = "dense_orthogonal"  # start of W_hh
alpha = 0.9  # threshold of R, as a share of the spectral radius
orders = 50  # random orders of each network
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
# ## Other orders of the same networks
#
# The published run is kept in the repository, `published/order_gauge.csv`; the profile `extended` makes it again, on networks that are trained, in {glue:text}`cost`.

# %%
pl.check_alpha(alpha)  # before it costs a training
tables = []
suite = {} if not train_here else pl.load_suite(
    out, seeds, copy_seeds, construction=construction, n_hidden=n_hidden,
    epochs=epochs, batches_per_epoch=batches_per_epoch, copy_hidden=copy_hidden,
    s=s, d=d, lags=lags, max_steps=max_steps,
)
SHOWN = ["delta_fvu", "fvu", "replay_accuracy", "n_R"]
for name, (task, solutions) in suite.items():
    size = copy_trials if name == "copy" else n_trials
    stated = pl.ablation_profile(solutions, task, alpha, n_trials=size)
    tables += [
        stated[stated["quantity"].isin(SHOWN)],
        pl.order_draws(solutions, task, alpha, orders=orders, n_trials=size),
        pl.order_gaps(solutions, task, alpha),
    ]

# %%
results = pl.study_results("order_gauge", tables)
pl.write_results(results, pl.Paths(out).results / "order_gauge.csv")
report.glue({"cost": report.published_cost("order_gauge")})
figures.publish(figures.orders_figure(results), "order_gauge", out)
is_draw = results["quantity"].str.contains("_order_")
number = results["quantity"].where(is_draw).str.extract(r"_order_(\d+)$")[0]
draws = results[is_draw].assign(order=number[is_draw].astype(int))
report.glue({"orders": draws["order"].max(), "alpha": alpha})

# %% [markdown]
# ```{glue:figure} order_gauge
# :name: fig-order-gauge
#
# Damage, or for copy the accuracy that is left, without `T_RR` and without `T_CC`: one column a network, small points {glue:text}`orders` random orders inside the sectors, large ones the stated order, by modulus. α = {glue:text}`alpha`.
# ```

# %%
def rank_among(value, drawn):
    """Share of draws below a value, one network a row; equal ones count half below, half above."""
    below, above = (drawn.sub(value, axis=0) * sign for sign in (1, -1))
    return ((below < -1e-12).mean(axis=1) + (above > -1e-12).mean(axis=1)) / 2


# %%
rows, widest = [], {}
for name, removed in [(n, b) for n in pl.SUITE for b in ("RR", "CC")]:
    ours = results[results["task"] == name]
    cell = draws[(draws["task"] == name) & (draws["removed"] == removed)]
    wide = cell.pivot(index="seed", columns="order", values="value")
    drawn = wide.drop(columns=0)
    kinds = drawn.round(12).nunique(axis=1)
    free = kinds > 1  # else there is nothing to order
    rank = rank_among(wide[0], drawn)[free]
    spread = drawn.max(axis=1) - drawn.min(axis=1)
    widest[name, removed] = report.range_text(drawn.loc[spread.idxmax()])
    gap = report.per_seed(ours, "order_gap", removed)
    gap = gap[np.isfinite(gap)]
    rows.append({
        "task": name.replace("_", "-"),
        "removed": report.plain_label(removed),
        "measure": "accuracy left" if name == "copy" else "ΔFVU",
        "over networks, stated order": report.number(wide[0].std(), 2),
        "over orders": report.number(drawn.var(axis=1).mean() ** 0.5, 2),
        "widest": widest[name, removed],
        "stated inside the middle 95 %": f"{rank.between(0.025, 0.975).sum()} of {free.sum()}",
        "different values": report.range_text(kinds),
        "median gap of moduli": report.number(np.median(gap), 2) if len(gap) else "—",
    })
    report.glue({f"{name}_{removed}_all": report.range_text(drawn.to_numpy().ravel())})

# %%
for (name, removed), text in widest.items():
    report.glue({f"{name}_{removed}_widest": text})
caption = "Standard deviations over networks and over orders, and what decides the order."
report.table(pd.DataFrame(rows), caption)

# %% [markdown]
# Sorting by modulus is no random order, so the stated order can lie outside the draws; networks in which nothing can be ordered are not counted.
# Gaps are those of neighbouring moduli in a sector, over the spectral radius.
#
# ## Which block matters most
#
# `T_C→R` costs the same in every order, so the ranking of the three blocks can change only because the other two move.

# %%
rows = []
for name in pl.SUITE:
    quantity = "replay_accuracy" if name == "copy" else "delta_fvu"
    ours = results[results["task"] == name]
    fixed = ours[(ours["quantity"] == quantity) & (ours["removed"] == "CR")]
    cells = draws[draws["task"] == name].groupby("removed")
    wide = {
        b: cells.get_group(b).pivot(index="seed", columns="order", values="value")
        for b in ("RR", "CC")
    }
    wide["CR"] = wide["RR"] * 0 + fixed.set_index("seed").loc[
        wide["RR"].index, "value"
    ].to_numpy()[:, None]
    stack = np.stack([wide[b].to_numpy() for b in ("RR", "CR", "CC")])
    stack = -stack if name == "copy" else stack  # damage
    worst, ranking = stack.argmax(0), stack.argsort(0)  # the stated order first
    same_worst = (worst[:, 1:] == worst[:, :1]).mean(1)
    same_ranking = (ranking[:, :, 1:] == ranking[:, :, :1]).all(0).mean(1)
    rows.append({
        "task": name.replace("_", "-"), "networks": len(worst),
        "worst block the same in all orders": f"{(same_worst == 1).sum()}",
        "share of orders": report.number(same_worst.mean()),
        "of orders, whole ranking": report.number(same_ranking.mean(), 2),
    })
    report.glue({f"{name}_worst": f"{(same_worst == 1).sum()} of {len(worst)}"})

# %%
report.table(pd.DataFrame(rows), "In how many orders the ranking of blocks stays.")

# %% [markdown]
# ## The claims again
#
# Each claim about one task is judged again in each order, by its own rule: the networks are the same, only the order inside the sectors is another.

# %%
fixed = results[~is_draw & results["quantity"].isin(SHOWN)]
parts = []
for order, drawn in draws.groupby("order"):
    moved = drawn.drop(columns="order").assign(
        quantity=drawn["quantity"].str.replace(r"_order_\d+$", "", regex=True)
    )
    keys = ["task", "seed", "removed", "quantity"]
    rest = fixed[~pd.MultiIndex.from_frame(fixed[keys]).isin(
        pd.MultiIndex.from_frame(moved[keys])
    )]
    parts.append(pd.concat([rest, moved]).assign(convention=f"order {order}"))
verdicts = claims.across(claims.read_ledger(), pd.concat(parts, ignore_index=True))

# %%
rows, shares, moving = [], [], 0
for name, group in verdicts.groupby("id", sort=False):
    stated, others = group["verdict"].iloc[0], group["verdict"].iloc[1:]
    shares.append((others == stated).mean())
    moving += group["ours"].round(12).nunique() > 1
    if shares[-1] < 1:
        counts = others.value_counts()
        rows.append({
            "claim": group["claim"].iloc[0], "task": group["task"].iloc[0],
            "stated order": stated,
            "random orders": ", ".join(f"{v}: {n}" for v, n in counts.items()),
        })
report.glue({"n_claims": len(shares), "n_moving": moving, "n_moved": len(rows)})
report.table(
    pd.DataFrame(rows or [{"claim": "none"}]), "Claims whose verdict depends on the order."
)

# %%
paper = pl.reported("copy").set_index("id")["value"]
left = draws[(draws["task"] == "copy") & (draws["removed"] == "RR")]["value"]
report.glue({
    "paper_RR": report.number(paper["f1-orth-rr"]),
    "copy_reached": f"{(left >= paper['f1-orth-rr']).sum()} of {len(left)}",
})

# %% [markdown]
# ## Copy, and what is left of the paper's `−T_RR`
#
# Replay asks for the eight eighth roots of unity, eight times each: by modulus nothing in R comes first, and the order is decided by small departures from the unit circle.
# Over all networks and orders the accuracy left without `T_RR` is {glue:text}`copy_RR_all`; the paper prints {glue:text}`paper_RR`, which {glue:text}`copy_reached` of our numbers reach.
# So the order does not explain the distance to the paper, and the number that remains, about the same in every order, says how much R's blocks lean on each other, not which of them.
#
# ## Summary
#
# In integration one network's damage without `T_RR` goes from {glue:text}`integration_RR_widest` with the order alone; in the flip-flop from {glue:text}`flip_flop_RR_widest`, in sine generation from {glue:text}`sine_RR_widest`, and in copy the accuracy left from {glue:text}`copy_RR_widest`.
# The most damaging block is the same in all orders in {glue:text}`flip_flop_worst` flip-flop, {glue:text}`sine_worst` sine, {glue:text}`integration_worst` integration and {glue:text}`copy_worst` copy networks; of {glue:text}`n_claims` claims judged here the number behind {glue:text}`n_moving` moves with the order, and the verdict on {glue:text}`n_moved`. (Claims on `S_ΔT` are not judged here.)
#
# **Where next**: [what the paper leaves open](open_choices.ipynb).
