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
# # Copy, trained in other ways
#
# The paper does not say how its copy networks were trained. Which of its numbers depend on it?
#
# **You will see** the same task, construction and seeds under recipes that each differ from ours in what the table says, and what the removed blocks then cost.
# **Before this** read [copy with periodic replay](task_copy.ipynb).

# %%
from time import perf_counter

import pandas as pd

import paperlib as pl
from paperlib import figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
train_here = False  # train with every recipe, or show the published run
construction = "dense_orthogonal"  # start of W_hh
n_hidden = 72  # hidden units
s = 8  # symbols of a sequence
d = 8  # channels: signs of a symbol
lags = 128  # replayed steps
seeds = [0, 1, 2, 3, 4]  # one network each, per recipe
max_steps = 6000  # budget of batches
alpha = 0.9  # threshold of R, as a share of the spectral radius
n_trials = 512  # held-out sequences of the evaluation
orders = 20  # random orders inside the sectors, of each network
order_trials = 128  # held-out sequences of those

# %% [markdown]
# ## One change at a time
#
# These recipes were written down before any of their networks was ablated; ours stays what it is, whatever comes out.
# The published run is kept in the repository, `published/copy_recipes.csv`, with its provenance beside it; the profile `extended` trains it again.

# %%
rule = {"max_steps": max_steps}
RECIPES = {
    "as in this book": {},
    "no clipping": {"clip": 0.0},
    "small batches": {"batch": 16},
    "one constant rate": {"curriculum": {**rule, "learning_rates": [1e-3]}},
    "eager horizon": {"curriculum": {**rule, "promote_at": 0.97}},
    "all lags at once": {"curriculum": {**rule, "horizons": []}},
    "trained on": {"curriculum": {**rule, "solve_at": 1.0, "window": 200}},
    "glorot start": {"io_start": "glorot"},
    "lecun start": {"io_start": "lecun"},
}
WHAT = {
    "no clipping": "no limit on the gradient",
    "small batches": "a quarter of the sequences a batch",
    "one constant rate": "the rate of the paper's other tasks, throughout",
    "eager horizon": "the horizon grows at a lower accuracy",
    "all lags at once": "no horizon that grows, and the last learning rate throughout",
    "trained on": "past our criterion, until 200 batches in a row have no error; a window "
    "of that length also slows the horizon's growth",
    "glorot start": "W_xh and W_hy start uniform, of variance 2 / (fan in + fan out)",
    "lecun start": "W_xh and W_hy start uniform, of variance 1 / fan in",
}
rows = [{"recipe": name, "differs in": text} for name, text in WHAT.items()]
report.table(pd.DataFrame(rows), "The recipes.")

# %%
pl.check_alpha(alpha)  # before it costs a training
task, start, tables = pl.Copy(s=s, d=d, lags=lags), perf_counter(), []
SHOWN = ["steps_to_solve", "horizon", "n_R", "removed_mass", "replay_accuracy"]
for name, changed in RECIPES.items() if train_here else ():
    recipe = {"batch": 64, "clip": 1.0, "curriculum": rule, **changed}
    folder = out if not changed else f"{out}/recipes/{name.replace(' ', '_')}"
    solutions = pl.load_or_train(
        folder, task, construction, seeds, trainer=pl.train_copy,
        n_hidden=n_hidden, **recipe,
    )
    scored = pl.ablation_profile(solutions, task, alpha, n_trials=n_trials)
    found = pd.concat([
        pl.criterion_rows(solutions), scored[scored["quantity"].isin(SHOWN)],
        pl.order_draws(
            solutions, task, alpha, ["RR", "CC"], orders=orders, n_trials=order_trials
        ),
    ])
    tables.append(found.assign(convention=name))

# %%
if train_here:
    report.glue({"training_seconds": f"{perf_counter() - start:.2f}"})
results = pl.study_results("copy_recipes", tables)
pl.write_results(results, pl.Paths(out).results / "copy_recipes.csv")

# %%
paper = pl.reported("copy")
paper = paper[paper["where"].str.startswith("Figure 1")]
paper = paper[paper["construction"] == construction]
drawn = figures.recipes_figure(results, paper)
figures.publish(drawn, "copy_recipes", out)
report.glue({"n_seeds": results["seed"].nunique(), "max_steps": max_steps})

# %% [markdown]
# ```{glue:figure} copy_recipes
# :name: fig-copy-recipes
#
# Replay accuracy with the named blocks removed, one mark a network and {glue:text}`n_seeds` a recipe; crosses are not solved within {glue:text}`max_steps` batches; the lines are the paper's values.
# ```

# %%
rows = []
for name, cell in results.groupby("convention", sort=False):
    row = {"recipe": name, "solved": report.solved_text(cell)}
    steps = report.per_seed(cell, "steps_to_solve")
    row["batches"] = report.median_count(steps)
    report.glue({f"{name.replace(' ', '_')}_batches": row["batches"]})
    row["n_R"] = report.range_text(report.per_seed(cell, "n_R"))
    for removed in ("none", "RR", "CR", "CC", "RR+CR"):
        values = report.per_seed(cell, "replay_accuracy", removed)
        label = "full" if removed == "none" else "without " + report.plain_label(removed)
        row[label] = report.range_text(values)
    for removed in ("RR", "CC"):
        label = f"mean without {report.plain_label(removed)}, other orders"
        row[label] = report.order_text(cell, removed)
    rows.append(row)
caption = "Replay accuracy, lowest to highest of all networks, solved or not; of other orders 95 %."
report.table(pd.DataFrame(rows), caption)

# %%
apart, solved = {}, report.of_solved(results)
for removed in ("RR", "CR", "RR+CR"):
    values = report.per_seed(solved, "replay_accuracy", removed)
    theirs = paper.set_index("removed")["value"][removed]
    report.glue({f"all_{removed}": report.range_text(values)})
    report.glue({f"paper_{removed}": report.number(theirs)})
    apart[removed] = report.within(theirs, values)
lost, dearest = {}, []
for name, cell in solved.groupby("convention", sort=False):
    left = {b: report.per_seed(cell, "replay_accuracy", b) for b in ("RR", "CR", "CC")}
    lost[name] = report.per_seed(cell, "replay_accuracy") - left["CC"]
    dearest += list((left["CR"] < left["RR"]) & (left["CR"] < left["CC"]))
report.glue({"dearest": f"{sum(dearest)} of {len(dearest)}"})
worst = max(lost, key=lambda name: lost[name].max(), default="none is solved")
most = lost[worst].max() if lost else float("nan")
report.glue({"worst_CC": worst, "most_CC": report.number(most, 2)})
report.glue({"met": sum(v == "yes" for v in apart.values()), "of": len(apart)})

# %% [markdown]
# ## Summary
#
# Over all recipes, solved networks keep {glue:text}`all_RR` of their accuracy without `T_RR` (paper {glue:text}`paper_RR`), {glue:text}`all_CR` without `T_C→R` (paper {glue:text}`paper_CR`) and {glue:text}`all_RR+CR` without both (paper {glue:text}`paper_RR+CR`): {glue:text}`met` of these {glue:text}`of` numbers of the paper lie within the range.
# `T_C→R` costs the most of the three in {glue:text}`dearest` of them; *how much* is lost without it and without `T_RR` depends on the recipe, and a value below one half, which is replay with flipped sign, may come out where the paper's is above.
# Without `T_CC` they lose at most {glue:text}`most_CC`, and the most under the recipe "{glue:text}`worst_CC`".
# Our recipe was chosen by batches to solve among those tried first: a median of {glue:text}`as_in_this_book_batches`; without a limit on the gradient it is {glue:text}`no_clipping_batches`, which was found afterwards and changed nothing.
# What `T_RR` and `T_CC` hold depends besides on the order of the blocks inside a sector, which no recipe fixes: the last columns of the table give the means over networks in random orders. Of the default recipe, over all networks and orders that [the chapter on it](order_gauge.ipynb) drew, the accuracy left without `T_RR` is {glue:text}`order_gauge.ipynb::copy_RR_all:s` and without `T_CC` {glue:text}`order_gauge.ipynb::copy_CC_all:s`.
#
# **Where next**: [the whole grid](copy_grid.ipynb) of constructions and widths.
