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
# # Context-dependent integration
#
# Which couplings does a network need that must accumulate one stream of evidence and ignore the other?
#
# **You will see** how the task is drawn, what the trained networks learn, what each coupling block is worth to them, and where their eigenvalues lie.
# **Before this** read [the method](../book/method.md); [the flip-flop page](task_flip_flop.ipynb) has the same build with a simpler task.

# %%
from time import perf_counter

import numpy as np
import pandas as pd

import paperlib as pl
from paperlib import figures, report

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
convention = "decision"  # reading of the task, one of its named conventions
construction = "dense_orthogonal"  # start of W_hh
n_hidden = 64  # hidden units
seeds = [0, 1, 2]  # one network each
epochs = 30  # passes of batches_per_epoch batches
batches_per_epoch = 128  # batches
batch = 64  # trials per batch
learning_rate = 0.001  # of Adam
clip = 0.0  # largest gradient norm of a network; 0: no limit
alpha = 0.9  # threshold of R, as a share of the spectral radius
n_trials = 2048  # held-out trials of the evaluation
orders = 50  # random orders of the blocks inside the sectors
order_trials = 512  # held-out trials for these

# %% [markdown]
# ## The task
#
# Two noisy streams arrive together; two context inputs say which of them counts {cite}`mante2013context`.
# The paper gives the four inputs and the length, {glue:text}`length` steps, which is that of the generator published with {cite:t}`schuessler2024aligned`: {glue:text}`fixation` steps of silence, {glue:text}`stimulus` of stimulus, {glue:text}`delay` of delay and {glue:text}`response` of response.
# It does not say whether the target is the running integral or a decision.
# In the convention used here it is a decision: plus or minus {glue:text}`decision_amplitude`, the sign of the cued stream's coherence, from the first response step on, and zero before; every step counts, and the noise has a standard deviation of {glue:text}`noise` per step.

# %%
pl.check_alpha(alpha)  # before it costs a training
task = pl.make_task("integration", convention)
trials = task.sample(n_trials, pl.generator(0, "evaluation"))
what = "Two noisy streams and two context lines; the target is a late step."
figure = figures.trials_figure(task, trials, what)
figures.publish(figure, "integration_trials", out)
report.glue({**task.parameters, "length": task.length})
report.glue({"alpha": alpha, "n_trials": n_trials, "orders": orders})

# %% [markdown]
# ```{glue:figure} integration_trials
# :name: fig-integration-trials
#
# Three held-out trials: streams (channels 0 and 1) and context (channels 2 and 3) above, the target below.
# ```

# %% [markdown]
# ## Training
#
# Every network sees its own fresh trials; all train side by side as one batched computation.
# What the paper says (Adam, batch, number of updates, width, orthogonal start) we take; what it leaves out is listed in [What the paper leaves open](open_choices.ipynb).

# %%
start = perf_counter()
solutions = pl.load_or_train(
    out, task, construction, seeds,
    n_hidden=n_hidden, epochs=epochs, batches_per_epoch=batches_per_epoch,
    batch=batch, learning_rate=learning_rate, clip=clip,
)
report.glue({"training_seconds": f"{perf_counter() - start:.2f}"})
report.glue({"steps": epochs * batches_per_epoch})
figures.publish(figures.history_figure(solutions), "integration_history", out)

# %% [markdown]
# ```{glue:figure} integration_history
# :name: fig-integration-history
#
# Training loss (running median over 32 batches) of the {glue:text}`n_seeds` networks over {glue:text}`steps` updates.
# ```

# %% [markdown]
# ## What each block is worth
#
# `ablation_profile` writes every network in ordered Schur coordinates, zeroes each subset of the three blocks, and rolls the network out on the same {glue:text}`n_trials` held-out trials, with `W_xh` and `W_hy` as trained.

# %%
results = pl.ablation_profile(
    solutions, task, alphas=[alpha], n_trials=n_trials
)
draws = pl.order_draws(
    solutions, task, alpha, orders=orders, n_trials=order_trials
)
results = pd.concat([results, draws], ignore_index=True)
pl.write_results(results, pl.Paths(out).results / "task_integration.csv")
report.glue(report.ablation_numbers(results))
caption = f"Damage, mean ± SEM over {len(seeds)} networks."
report.ablation_table(results, caption)

# %% [markdown]
# What removing `T_RR` or `T_CC` means depends on the order of the blocks *inside* a sector, which near-equal moduli leave open; `T_C→R` does not.
# The column on other orders holds the middle 95-percent range of the mean over {glue:text}`orders` random ones: [more on that](order_gauge.ipynb).
#
# As trained, the networks leave a fraction {glue:text}`fvu` of the variance unexplained; the paper reports {glue:text}`paper_fvu`.
# Of the three single blocks, zeroing {glue:text}`worst_block` does the most damage here and {glue:text}`mildest_block` the least.

# %%
paper = pl.reported("integration").set_index("quantity")["value"]
report.glue({"paper_fvu": paper["fvu"]})

# %% [markdown]
# ## Where the eigenvalues lie
#
# The leading sector R holds the coordinates whose eigenvalue modulus is at least {glue:text}`alpha` of the spectral radius.

# %%
shown = [s for s in solutions if s.finite][:3]
assert shown, "training diverged for all seeds: lower learning_rate or set clip"
splits = [pl.ordered_schur(s.W_hh).sectors(alpha) for s in shown]
labels = [f"seed {s.seed}" for s in shown]
spectrum = figures.spectrum_figure(splits, labels)
figures.publish(spectrum, "integration_spectrum", out)
figures.publish(figures.schur_figure(splits, labels), "integration_schur", out)

# %% [markdown]
# ```{glue:figure} integration_spectrum
# :name: fig-integration-spectrum
#
# Eigenvalues of the trained `W_hh`. Dots: leading sector; crosses: complement. The spectral radius is {glue:text}`spectral_radius`, the leading sector holds {glue:text}`n_R` coordinates, and the nearest modulus lies {glue:text}`alpha_gap` of the radius from the threshold (mean ± SEM).
# ```
#
# ```{glue:figure} integration_schur
# :name: fig-integration-schur
#
# `|T|` in ordered Schur coordinates, the three coupling blocks framed. The blocks hold {glue:text}`removed_mass_RR` (within R), {glue:text}`removed_mass_CR` (from C to R) and {glue:text}`removed_mass_CC` (within C) of the Frobenius norm of `T`.
# ```

# %% [markdown]
# ## One trial, before and after

# %%
first, split = shown[0], splits[0]
outputs = {}
for block in ("none", "RR", "CR", "CC"):
    W_hh = split.without(block)
    rolled = pl.rollout(first.W_xh, W_hh, first.W_hy, trials.inputs[:1])
    outputs[block] = rolled[0, 0].numpy()
target = np.where(trials.mask[0], trials.targets[0], np.nan)
rollouts = figures.rollouts_figure(target, outputs)
figures.publish(rollouts, "integration_rollouts", out)

# %% [markdown]
# ```{glue:figure} integration_rollouts
# :name: fig-integration-rollouts
#
# The same held-out trial as trained and with one block zeroed. Grey: target. Nothing is refitted after the ablation.
# ```

# %% [markdown]
# ## Summary
#
# Zeroing `T_RR` changes the fraction of variance unexplained by {glue:text}`delta_fvu_RR`, `T_C→R` by {glue:text}`delta_fvu_CR` and `T_CC` by {glue:text}`delta_fvu_CC` (mean ± SEM, {glue:text}`n_seeds` networks).
# Per unit of removed Schur mass, {glue:text}`worst_s_block` costs the most.
# With more seeds some networks fail to train ({glue:text}`open_choices.ipynb::integration_failed:s`): see [What the paper leaves open](open_choices.ipynb).
#
# **Where next**: [Figure 2](figure_2.ipynb) puts the three tasks side by side with the paper's values.
