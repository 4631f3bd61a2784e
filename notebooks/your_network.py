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
# # Point it at your own network
#
# You have trained a recurrent network. Which couplings does it need, and is that the block or only its size?
#
# **You will see** the profile of a network that plain PyTorch trained, `examples/angle_memory.py`, and what happens to one from JAX when its matrices are read the wrong way round.
# **Before this** read [the method](../book/method.md); the words used here are those of [the chapters on orders](order_gauge.ipynb) and [on controls](controls.ipynb).
#
# ## What you need
#
# * **Weights**: a `torch.nn` module with one recurrent layer, its state dict in a `.pt` or `.safetensors` file, or arrays in a `.npz` file. Nothing is unpickled.
#
# | array | other names it may have | shape, where columns are multiplied |
# | --- | --- | --- |
# | `W_xh` | `W_ih`, `W_in`, `kernel` | (units, inputs) |
# | `W_hh` | `W_rec`, `recurrent_kernel` | (units, units) |
# | `W_hy` | `W_out`, `dense_kernel` | (outputs, units) |
# | `b_h` | `b_rec`, `bias` | (units,) |
# | `b_y` | `b_out`, `dense_bias` | (outputs,) |
# | `h_0` | `h0` | (units,) |
#
# Only the first two are needed; `convention="row"` says that the matrices are the transposes of these shapes, as in Keras and Flax.
#
# * **Data**: an `.npz` file with `inputs` of shape (trial, time, channel), and if you like `targets` and a `mask` of the steps that count. Without targets, what is measured is how far the outputs move from those of the whole network.
#
# Set the paths in the next cell and run the notebook, or, without opening it:
#
# ```bash
# python -m paperlib diagnose weights.pt trials.npz --alpha 0.9 --out build/diagnosis
# ```

# %%
from dataclasses import replace
from pathlib import Path

import pandas as pd

import paperlib as pl
from paperlib import figures, report
from paperlib.artifacts import RESULT_COLUMNS

figures.use_style()

# %% tags=["parameters"]
out = "build/interactive"  # folder for results, relative to the repository
weights = "examples/angle_memory.pt"  # trained network: .pt, .safetensors or .npz
data = "examples/angle_memory.npz"  # trials: inputs and, if you have them, targets and mask
convention = None  # "column" or "row": which way plain arrays multiply
readout = None  # name of the linear readout, where there are several
rnn = None  # name of the recurrent layer, where there are several
gate = None  # of a GRU or LSTM: "candidate" and others
activation = "tanh"  # or "relu"; a GRU or LSTM has its own
leak = 1.0  # time step over time constant; 1 is no leak
leak_on = "rate"  # or "potential"
alpha = 0.9  # threshold of R, as a share of the spectral radius
orders = 20  # random orders inside the sectors
controls = 20  # random removals of each kind, for each block
draw_trials = 512  # trials on which orders and controls are measured
seed = 0  # of the random orders and controls

# %% [markdown]
# ## The profile

# %%
trials, _ = pl.read_trials(pl.project_root() / data)
network = pl.load_network(
    pl.project_root() / weights, convention=convention, readout=readout, rnn=rnn, gate=gate,
    activation=None if gate else activation, leak=leak, leak_on=leak_on,
    h_0=trials.pop("h_0", None),
)
diagnosis = pl.diagnose(
    network, **trials, alpha=alpha, orders=orders, controls=controls,
    draw_trials=draw_trials, seed=seed,
)
page = diagnosis.save(pl.Paths(out).root / "your_network")
print(*diagnosis.warnings, *diagnosis.notes, sep="\n")

# %%
figures.publish((diagnosis.figure(), diagnosis.alt), "your_network", out)
table, numbered = diagnosis.table, diagnosis.table["draw"].notna()
names = table["quantity"].where(
    ~numbered, table["quantity"] + "_" + table["kind"] + "_" + table["draw"].astype(str)
)
results = table.assign(
    task=Path(data).stem, convention="yours", construction="elsewhere", seed=0,
    n_hidden=network.n_hidden, alpha=alpha, quantity=names,
)[~numbered | (table["quantity"] == "change")]
results = results[list(RESULT_COLUMNS)].reset_index(drop=True)
pl.write_results(results, pl.Paths(out).results / "your_network.csv")

# %% [markdown]
# ```{glue:figure} your_network
# :name: fig-your-network
#
# The example's eigenvalues with the threshold, its Schur matrix with the three blocks, what removing each subset changes beside other orders and random removals of the same size, and how many coordinates are leading at other thresholds.
# ```

# %%
shown = diagnosis.summary.set_index("removed")
rows = []
for removed, row in shown.iterrows():
    ends, median = row[["order_low", "order_high"]].dropna(), row["control_median"]
    rows.append({
        "without": report.plain_label(removed) if removed != "none" else "nothing",
        "change": report.number(row["change"]),
        "removed mass": report.number(row["removed_mass"], 2),
        "in other orders": report.range_text(ends) if len(ends) else "—",
        "random removals, median": "—" if pd.isna(median) else report.number(median, 2),
        "reading": row["reading"],
    })
measure = diagnosis.meta["measure"]
report.glue({
    "n_hidden": network.n_hidden, "n_R": diagnosis.meta["n_R"], "alpha": alpha,
    "measure": report.QUANTITY_LABELS.get(measure, measure),
    "whole": report.number(shown.loc["none", measure], 2),
    **{b: report.number(shown.loc[b, "change"], 2) for b in ("RR", "CR", "CC")},
    **{f"{b}_reading": shown.loc[b, "reading"] for b in ("RR", "CR", "CC")},
})
report.table(pd.DataFrame(rows), "What each subset costs, and what its cost is held against.")

# %% [markdown]
# Read a row from left to right: a change that other orders of the same blocks do not share belongs to the coordinates, and one that random removals of its size reach belongs to the size.
# The folder `your_network` beside the results holds the same as a page to pass on, `report.html`, with the numbers as CSV.
#
# ## Whose matrix is transposed?
#
# PyTorch, MATLAB and the paper compute $W_{hh} h$, Keras and Flax $h W_{hh}$. The matrices are transposes of each other, with the same eigenvalues and another triangle.
# The network of `examples/xor_rows.py` is written in JAX with row vectors. Its input matrix is not square, so reading it the wrong way is refused:

# %%
kernels = pl.project_root() / "examples/xor_rows_weights.npz"
try:
    pl.load_network(kernels, convention="column")
except ValueError as error:
    print(error)

# %% [markdown]
# A recurrent matrix alone is square and gives no such sign.
# Here is the network as it was trained, and with that matrix alone the wrong way round:

# %%
right = pl.load_network(kernels, convention="row", activation="tanh")
wrong = replace(right, W_hh=right.W_hh.T)
xor, _ = pl.read_trials(pl.project_root() / "examples/xor_rows.npz")
rows = []
for label, each in {"as trained": right, "transposed": wrong}.items():
    found = pl.diagnose(each, **xor, alpha=alpha, orders=orders, controls=controls)
    values = found.summary.set_index("removed")
    report.glue({f"xor_{label.split()[-1]}": report.number(values.loc["none", "fvu"], 2)})
    rows.append({
        "W_hh": label, "FVU": report.number(values.loc["none", "fvu"], 2),
        "n_R": found.meta["n_R"],
        **{
            f"ΔFVU without {report.plain_label(b)}": report.number(values.loc[b, "change"], 2)
            for b in ("RR", "CR", "CC")
        },
        **{
            f"mass of {report.plain_label(b)}": report.number(values.loc[b, "removed_mass"], 2)
            for b in ("RR", "CR", "CC")
        },
    })
report.table(pd.DataFrame(rows), "One network, its recurrent matrix read both ways.")

# %% [markdown]
# The spectrum is the same, so neither `n_R` nor the Henrici number would tell; the FVU of the whole network does. Look at it first: a network that does not do its task has no profile worth reading.
#
# ## In your own code
#
# ```python
# with pl.ablated(model, "CC", alpha=0.9):     # your torch module, in place
#     accuracy = evaluate(model)               # whatever you measure
#                                              # here its weights are as before, bit for bit
#
# pl.diagnose(model, inputs, metric=lambda outputs: accuracy_of(outputs))
# ```
#
# A GRU or LSTM has one recurrent matrix a gate; say which by `gate="candidate"`. That is beyond the paper, which is about plain networks, and what the spectrum of one gate means is an open question.
# Continuous-time networks: `load_network(…, leak=Δt/τ)`, with `leak_on="potential"` where the leak is on the summed input and not on the rate.
#
# ## Summary
#
# The example's {glue:text}`n_hidden` units hold an angle with an {glue:text}`measure` of {glue:text}`whole`, and {glue:text}`n_R` coordinates lie in the leading sector at α = {glue:text}`alpha`.
# Without `T_RR` the measure changes by {glue:text}`RR` ({glue:text}`RR_reading`), without `T_C→R` by {glue:text}`CR` ({glue:text}`CR_reading`) and without `T_CC` by {glue:text}`CC` ({glue:text}`CC_reading`).
# The JAX network's FVU is {glue:text}`xor_trained` as trained and {glue:text}`xor_transposed` with its recurrent matrix transposed.
#
# **Where next**: [rerun the book with your own parameters](../book/rerun.md).
