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
# **You will see** how the task is drawn, what the trained networks learn, where their eigenvalues lie, and what each coupling block is worth.
# **Before this** read [the method](../book/method.md); [the flip-flop page](task_flip_flop.ipynb) has the same build with a simpler task.

# %%
from time import perf_counter

import numpy as np
from myst_nb import glue

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
alpha = 0.9  # threshold of the leading sector, as a share of the spectral radius
n_trials = 2048  # held-out trials of the evaluation

# %% [markdown]
# ## The task
#
# Two noisy streams arrive together; two context inputs say which of them counts {cite}`mante2013context`.
# The paper gives the four inputs and the length, {glue:text}`length` steps, which is that of the generator published with {cite:t}`schuessler2024aligned`: {glue:text}`fixation` steps of silence, {glue:text}`stimulus` of stimulus, {glue:text}`delay` of delay and {glue:text}`response` of response.
# It does not say whether the target is the running integral or a decision.
# In the convention used here it is a decision: plus or minus {glue:text}`decision_amplitude`, the sign of the cued stream's coherence, from the first response step on, and zero before; every step counts, and the noise has a standard deviation of {glue:text}`noise` per step.

# %%
task = pl.make_task("integration", convention)
trials = task.sample(n_trials, pl.generator(0, "evaluation"))
alt = "Three trials of context-dependent integration: two noisy streams and two context lines during the stimulus window, and a target that is zero until the response and then holds the sign of the cued stream."
glue("trials", figures.publish(figures.trials_figure(task, trials), "integration_trials", alt, out), display=False)
for key, value in {**task.parameters, "length": task.length}.items():
    glue(key, report.parameter(value), display=False)

# %% [markdown]
# ```{glue:figure} trials
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
    out, task, construction, seeds, n_hidden=n_hidden, epochs=epochs,
    batches_per_epoch=batches_per_epoch, batch=batch, learning_rate=learning_rate, clip=clip,
)
glue("training_seconds", perf_counter() - start, display=False)
for key, value in dict(steps=epochs * batches_per_epoch, batch=batch, n_hidden=n_hidden, alpha=alpha,
                       n_trials=n_trials, learning_rate=learning_rate, clip=clip).items():
    glue(key, report.parameter(value), display=False)

# %%
finals = ", ".join(report.number(s.meta["final_loss"]) for s in solutions)
alt = f"Training loss against step on a logarithmic axis; final losses {finals}."
glue("history", figures.publish(figures.history_figure(solutions), "integration_history", alt, out), display=False)

# %% [markdown]
# ```{glue:figure} history
# :name: fig-integration-history
#
# Training loss (running median over 32 batches) of the {glue:text}`n_seeds` networks over {glue:text}`steps` updates.
# ```

# %% [markdown]
# ## What each block is worth
#
# `ablation_profile` writes every network in ordered Schur coordinates, zeroes each subset of the three blocks, and rolls the network out on the same {glue:text}`n_trials` held-out trials, with `W_xh` and `W_hy` as trained.

# %%
results = pl.ablation_profile(solutions, task, alphas=[alpha], n_trials=n_trials)
pl.write_results(results, pl.Paths(out).results / "task_integration.csv")
for key, text in report.ablation_numbers(results).items():
    glue(key, text, display=False)
report.ablation_table(results, f"Context-dependent integration: damage by removed couplings, mean ± SEM over {len(seeds)} networks.")

# %% [markdown]
# As trained, the networks leave a fraction {glue:text}`fvu` of the variance unexplained; the paper reports {glue:text}`paper_fvu`.
# Of the three single blocks, zeroing {glue:text}`worst_block` does the most damage here and {glue:text}`mildest_block` the least.

# %%
paper = pl.artifacts.reported("integration")
printed = paper[paper["quantity"] == "fvu"]["value"]
glue("paper_fvu", report.number(printed.iloc[0]), display=False)

# %% [markdown]
# ## Where the eigenvalues lie
#
# The leading sector R holds the coordinates whose eigenvalue modulus is at least {glue:text}`alpha` of the spectral radius.

# %%
shown = [s for s in solutions if s.finite][:3]
splits = [pl.ordered_schur(s.W_hh).sectors(alpha) for s in shown]
labels = [f"seed {s.seed}" for s in shown]
sizes = ", ".join(str(split.n_R) for split in splits)
alt = f"Eigenvalues in the complex plane by seed, split at the threshold circle; the leading sectors hold {sizes} of {n_hidden} coordinates."
glue("spectrum", figures.publish(figures.spectrum_figure(splits, labels), "integration_spectrum", alt, out), display=False)

# %% [markdown]
# ```{glue:figure} spectrum
# :name: fig-integration-spectrum
#
# Eigenvalues of the trained `W_hh`. Dots: leading sector; crosses: complement. The spectral radius is {glue:text}`spectral_radius`, the leading sector holds {glue:text}`n_R` coordinates, and the nearest modulus lies {glue:text}`alpha_gap` of the radius from the threshold (mean ± SEM).
# ```

# %%
masses = {b: np.mean([split.removed_mass(b) for split in splits]) for b in ("RR", "CR", "CC")}
alt = "Magnitude of the Schur matrix with sectors framed; mean share of the mass: " + ", ".join(
    f"{report.plain_label(b)} {report.number(m, 2)}" for b, m in masses.items()
)
glue("schur", figures.publish(figures.schur_figure(splits, labels), "integration_schur", alt, out), display=False)

# %% [markdown]
# ```{glue:figure} schur
# :name: fig-integration-schur
#
# `|T|` in ordered Schur coordinates, the three coupling blocks framed. The blocks hold {glue:text}`removed_mass_RR` (within R), {glue:text}`removed_mass_CR` (from C to R) and {glue:text}`removed_mass_CC` (within C) of the Frobenius norm of `T`.
# ```

# %% [markdown]
# ## One trial, before and after

# %%
first = shown[0]
coords = splits[0]
outputs = {}
for removed in ("none", "RR", "CR", "CC"):
    rolled = pl.rollout(first.W_xh, coords.without(removed), first.W_hy, trials.inputs[:1])
    outputs[removed] = rolled[0, 0].numpy()
target = np.where(trials.mask[0], trials.targets[0], np.nan)
spread = {b: np.sqrt(np.nanmean((y - target) ** 2)) for b, y in outputs.items()}
alt = f"One trial of seed {first.seed}: target and output as trained and without each block; root mean squared errors " + ", ".join(
    f"{report.plain_label(b)} removed {report.number(e, 2)}" for b, e in spread.items()
)
glue("rollouts", figures.publish(figures.rollouts_figure(target, outputs), "integration_rollouts", alt, out), display=False)

# %% [markdown]
# ```{glue:figure} rollouts
# :name: fig-integration-rollouts
#
# The same held-out trial as trained and with one block zeroed. Grey: target. Nothing is refitted after the ablation.
# ```

# %% [markdown]
# ## Summary
#
# Zeroing `T_RR` raises the fraction of variance unexplained by {glue:text}`delta_fvu_RR`, `T_C→R` by {glue:text}`delta_fvu_CR` and `T_CC` by {glue:text}`delta_fvu_CC` (mean ± SEM, {glue:text}`n_seeds` networks).
# Per unit of removed Schur mass, {glue:text}`worst_s_block` costs the most.
# With the other reading of the task, a running integral instead of a decision, the profile can differ: see [What the paper leaves open](open_choices.ipynb).
#
# **Where next**: [Figure 2](figure_2.ipynb) puts the three tasks side by side with the paper's values.
