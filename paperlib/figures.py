"""The one plotting style, and the figures that more than one notebook draws."""

from __future__ import annotations

import base64
import html
import io
import math
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import LogNorm, SymLogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ._ledger import printed_interval
from .artifacts import Paths, write_atomically
from .metrics import mean_sem
from .network import Solution
from .report import (
    QUANTITY_LABELS,
    glue,
    mean_sem_text,
    number,
    order_range,
    of_solved,
    per_seed,
    plain_label,
    range_text,
)
from .schur import Sectors
from .tasks import Task, Trials

# One colour per coupling block and one marker per construction, on every page (Okabe and Ito).
BLOCK_COLOURS = {"none": "#000000", "RR": "#0072B2", "CR": "#D55E00", "CC": "#009E73"}
CONSTRUCTION_MARKERS = {
    "dense_default": "s", "dense_orthogonal": "o", "dense_normal": "^", "cayley": "D"
}
UNSOLVED = {"marker": "x", "ms": 6, "alpha": 0.6}  # a network that does not solve its task
PAPER_COLOUR = "#CC79A7"
TARGET_COLOUR = "#999999"
# Marker and colour of a verdict, none of them a block's: vivid where the claim fails.
VERDICT_STYLES = {
    "not reproduced": ("X", "#000000"), "same direction": ("^", "#E69F00"),
    "not decidable": ("s", "#BBBBBB"), "reproduced": ("o", "#56B4E9"),
}
BLOCK_LABELS = {
    "none": "nothing", "RR": r"$T_{RR}$", "CR": r"$T_{C\to R}$", "CC": r"$T_{CC}$"
}


def use_style() -> None:
    """Set the house style for all figures that follow."""
    sns.set_theme(
        style="ticks", context="notebook", font_scale=1.15,
        rc={
            "axes.spines.right": False, "axes.spines.top": False,
            "axes.titlesize": "medium", "figure.dpi": 110, "savefig.dpi": 160,
            "legend.frameon": False, "font.family": "DejaVu Sans",
            # Ids in SVG files are random unless salted.
            "svg.hashsalt": "paperlib", "figure.constrained_layout.use": True,
        },
    )


def subset_label(removed: str) -> str:
    """Label of a subset of blocks, in mathtext."""
    return " + ".join(BLOCK_LABELS[part] for part in removed.split("+"))


class Published:
    """A figure as published: an image with its alt text, for notebooks and pages alike."""

    def __init__(self, png: bytes, alt: str, width: int):
        self.png, self.alt, self.width = png, alt, width

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode("ascii")
        alt = html.escape(self.alt, quote=True)
        style = f"width:{self.width}px;max-width:100%"
        return f'<img src="data:image/png;base64,{data}" alt="{alt}" style="{style}">'

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return self.alt


def publish(drawn: tuple[Figure, str], name: str, out: Paths | str) -> None:
    """Write a figure as SVG and PNG with its alt text beside, and glue it under ``name``.

    Parameters
    ----------
    drawn : (Figure, str)
        The figure, closed afterwards, and its alt text: what is seen, in words made from the
        data.
    name : str
        File name without extension in ``<out>/figures``, and key for ``{glue:figure}``.
    out : Paths or str
        Folder of the run.
    """
    figure, alt = drawn
    paths = out if isinstance(out, Paths) else Paths(out)
    drawing = {}
    # Dates and versions would make equal figures differ.
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=metadata)
        drawing[suffix] = buffer.getvalue()
        with write_atomically(paths.figures / f"{name}.{suffix}") as temporary:
            temporary.write_bytes(drawing[suffix])
    plt.close(figure)
    with write_atomically(paths.figures / f"{name}.txt") as temporary:
        Path(temporary).write_text(alt + "\n", encoding="utf-8")
    width = round(72 * figure.get_figwidth())
    glue({name: Published(drawing["png"], alt, width)})


def _require_rows(rows: pd.DataFrame) -> None:
    if rows.empty:
        raise ValueError("there is nothing to draw: the table has no rows")


def trials_figure(task: Task, trials: Trials, what: str, n: int = 3) -> tuple[Figure, str]:
    """Inputs above targets for the first ``n`` trials; steps that do not count are shaded.

    ``what`` says in words what a trial looks like, for the alt text.
    """
    n = min(n, len(trials.inputs))
    figure, axes = plt.subplots(
        2, n, figsize=(3.4 * n, 4.2), sharex=True, sharey="row", squeeze=False
    )
    steps = np.arange(task.length)
    for k in range(n):
        for row, values in enumerate((trials.inputs[k], trials.targets[k])):
            ax = axes[row, k]
            for channel in range(values.shape[1]):
                ax.plot(
                    steps, values[:, channel], drawstyle="steps-mid",
                    color=sns.color_palette("colorblind")[channel],
                    ls=("-", "--", ":", "-.")[channel % 4], label=f"channel {channel}",
                )
            idle = trials.mask[k].amax(1).numpy() == 0
            if row and idle.any():
                ax.fill_between(
                    steps, 0, 1, where=idle, color="0.9", step="mid",
                    transform=ax.get_xaxis_transform(), zorder=0,
                )
        axes[0, k].set_title(f"trial {k}")
        axes[1, k].set_xlabel("time (steps)")
    axes[0, 0].set_ylabel("input")
    axes[1, 0].set_ylabel("target")
    widest = axes[0, 0] if task.n_in >= task.n_out else axes[1, 0]
    if max(task.n_in, task.n_out) > 1:
        figure.legend(
            *widest.get_legend_handles_labels(), loc="outside lower center",
            ncols=max(task.n_in, task.n_out),
        )
    return figure, f"{n} trials, inputs above targets. {what}"


def history_figure(solutions: list[Solution], window: int = 32) -> tuple[Figure, str]:
    """Training loss of each solution, as a running median over ``window`` batches."""
    figure, ax = plt.subplots(figsize=(6.4, 3.4))
    for solution in solutions:
        smooth = pd.Series(solution.history).rolling(window, min_periods=1).median()
        ax.semilogy(np.arange(len(smooth)) + 1, smooth, lw=1.2, label=f"seed {solution.seed}")
    ax.set(xlabel="training step (batches)", ylabel="loss (mean squared error)")
    ax.legend(ncols=max(1, len(solutions) // 5 + 1))
    finals = ", ".join(f"{number(s.meta['final_loss'])} (seed {s.seed})" for s in solutions)
    return figure, f"Training loss against step, logarithmic axis. Final losses: {finals}."


def spectrum_figure(
    splits: list[Sectors], labels: list[str], roots: int = 0
) -> tuple[Figure, str]:
    """Eigenvalues in the complex plane with unit circle and threshold; one panel a solution.

    ``roots`` marks the roots of unity of that order.
    """
    n = len(splits)
    figure, axes = plt.subplots(
        1, n, figsize=(3.5 * n, 4.0), sharex=True, sharey=True, squeeze=False
    )
    angle = np.linspace(0, 2 * np.pi, 400)
    for ax, split, label in zip(axes[0], splits, labels, strict=True):
        values = split.coordinates.eigenvalues
        leading = np.arange(len(values)) < split.n_R
        ax.plot(np.cos(angle), np.sin(angle), color="0.75", lw=1, label="unit circle")
        if roots:
            unity = 2 * np.pi * np.arange(roots) / roots
            ax.plot(
                np.cos(unity), np.sin(unity), "s", ms=11, mfc="none", color=PAPER_COLOUR,
                label="roots of unity",
            )
        radius = split.alpha * split.coordinates.spectral_radius
        ax.plot(
            radius * np.cos(angle), radius * np.sin(angle), color="0.3", lw=1, ls="--",
            label=r"threshold $\alpha\rho$",
        )
        ax.scatter(
            values.real[leading], values.imag[leading], s=22, color=BLOCK_COLOURS["RR"],
            marker="o", label="leading sector R", zorder=3,
        )
        ax.scatter(
            values.real[~leading], values.imag[~leading], s=22, color=BLOCK_COLOURS["CC"],
            marker="x", label="complement C", zorder=3,
        )
        ax.set(title=f"{label}, $n_R$ = {split.n_R}", xlabel=r"Re $\lambda$", aspect="equal")
    axes[0, 0].set_ylabel(r"Im $\lambda$")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=min(3, 2 * n)
    )
    sizes = ", ".join(
        f"{split.n_R} of {split.coordinates.n} ({label})"
        for split, label in zip(splits, labels, strict=True)
    )
    alt = f"Eigenvalues in the complex plane, split at the threshold circle. In R: {sizes}."
    return figure, alt


def schur_figure(splits: list[Sectors], labels: list[str]) -> tuple[Figure, str]:
    """|T| on a logarithmic scale with the sectors framed; one panel a solution."""
    n = len(splits)
    figure, axes = plt.subplots(1, n, figsize=(3.6 * n + 0.6, 4.2), squeeze=False)
    largest = max(np.abs(s.coordinates.T).max() for s in splits) or 1.0
    norm = LogNorm(largest * 1e-3, largest)
    for ax, split, label in zip(axes[0], splits, labels, strict=True):
        magnitude = np.maximum(np.abs(split.coordinates.T), norm.vmin)
        image = ax.imshow(magnitude, cmap="Greys", norm=norm, interpolation="nearest")
        size = split.coordinates.n
        frames = {
            "RR": (0, 0, split.n_R, split.n_R),
            "CR": (split.n_R, 0, size - split.n_R, split.n_R),
            "CC": (split.n_R, split.n_R, size - split.n_R, size - split.n_R),
        }
        for block, (x, y, width, height) in frames.items():
            if width and height:
                inset = 0.3
                ax.add_patch(plt.Rectangle(
                    (x - 0.5 + inset, y - 0.5 + inset), width - 2 * inset, height - 2 * inset,
                    fill=False, color=BLOCK_COLOURS[block], lw=2,
                ))
        ax.set(title=label, xlabel="Schur coordinate (column)")
        ax.spines[["top", "right"]].set_visible(True)
    axes[0, 0].set_ylabel("Schur coordinate (row)")
    figure.colorbar(image, ax=axes[0, -1], label=r"$|T_{ij}|$", extend="min", shrink=0.8)
    handles = [
        Line2D([], [], color=BLOCK_COLOURS[b], lw=2, label=BLOCK_LABELS[b])
        for b in ("RR", "CR", "CC")
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    masses = ", ".join(
        f"{plain_label(b)} {number(np.mean([s.removed_mass(b) for s in splits]), 2)}"
        for b in ("RR", "CR", "CC")
    )
    alt = f"Magnitudes of T with the coupling blocks framed; mean share of the norm: {masses}."
    return figure, alt


def rollouts_figure(
    target: np.ndarray, outputs: dict[str, np.ndarray]
) -> tuple[Figure, str]:
    """Outputs of one trial under each ablation, one column each, over the target.

    Parameters
    ----------
    target : ndarray, shape (time, n_out)
        NaN where the output does not count.
    outputs : dict of ndarray, shape (time, n_out)
        Keyed by what was removed.
    """
    n_out = target.shape[1]
    figure, axes = plt.subplots(
        n_out, len(outputs), figsize=(2.9 * len(outputs), 1.0 + 1.6 * n_out),
        sharex=True, sharey=True, squeeze=False,
    )
    steps = np.arange(len(target))
    for column, (removed, values) in enumerate(outputs.items()):
        for channel in range(n_out):
            ax = axes[channel, column]
            ax.plot(steps, target[:, channel], color=TARGET_COLOUR, lw=4, alpha=0.6, label="target")
            ax.plot(
                steps, values[:, channel], color=BLOCK_COLOURS[removed], lw=1.5,
                label=f"output without {BLOCK_LABELS[removed]}" if removed != "none" else "output",
            )
        axes[0, column].set_title(
            "as trained" if removed == "none" else f"without {BLOCK_LABELS[removed]}"
        )
        axes[-1, column].set_xlabel("time (steps)")
    # Outputs of a damaged network may be far off; the target stays readable.
    extent = 2.5 * max(np.nanmax(np.abs(target)), 0.1)
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set_ylim(max(low, -extent), min(high, extent))
    for channel in range(n_out):
        axes[channel, 0].set_ylabel("output" if n_out == 1 else f"output {channel}")
    errors = ", ".join(
        f"{number(np.sqrt(np.nanmean((values - target) ** 2)), 2)} without {plain_label(removed)}"
        for removed, values in outputs.items()
    )
    return figure, f"Target and outputs of one trial; root mean squared error {errors}."


def figure_2(
    results: pd.DataFrame, paper: pd.DataFrame, titles: dict[str, str]
) -> tuple[Figure, str]:
    """Two rows (ΔFVU, S_ΔT) by one column a task: the paper's Figure 2.

    Parameters
    ----------
    results : DataFrame
        In the results contract, one α.
    paper : DataFrame
        From `paperlib.artifacts.reported`.
    titles : dict
        Title of each task's column, keyed by the task's name.
    """
    _require_rows(results)
    rows = {"delta_fvu": r"damage $\Delta$FVU", "s_dt": r"damage per mass $S_{\Delta T}$"}
    figure, axes = plt.subplots(
        2, len(titles), figsize=(3.7 * len(titles), 6.4), sharex="col", squeeze=False
    )
    seen = []
    for column, (task, title) in enumerate(titles.items()):
        ours, theirs = results[results["task"] == task], paper[paper["task"] == task]
        for ax, (quantity, label) in zip(axes[:, column], rows.items(), strict=True):
            values = {b: per_seed(ours, quantity, b) for b in ("RR", "CR", "CC")}
            construction = ours["construction"].iloc[0]
            orders = {b: order_range(ours, b) for b in values} if quantity == "delta_fvu" else {}
            _seed_bars(ax, values, construction, theirs[theirs["quantity"] == quantity], orders)
            ax.set_ylabel(label if column == 0 else "")
            seen += [
                f"{title}, {quantity} without {plain_label(b)}: {mean_sem_text(v)}"
                for b, v in values.items()
            ]
        axes[0, column].set_title(title)
        axes[1, column].set_xlabel("removed coupling")
    handles = [
        Patch(color="0.3", alpha=0.35, label="mean ± SEM, here"),
        Line2D(
            [], [], color="0.3", ls="", label="one network, here",
            marker=CONSTRUCTION_MARKERS.get(construction, "o"),
        ),
        Line2D(
            [], [], color="0.35", ls="", marker="$\\mathrm{I}$", ms=11,
            label="mean in other in-sector orders",
        ),
        Line2D(
            [], [], color="black", ls="", marker="D", mfc=PAPER_COLOUR, label="paper, mean ± SEM"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, "Bars over the removed coupling, by task. " + "; ".join(seen) + "."


def conventions_figure(results: pd.DataFrame, paper: pd.DataFrame) -> tuple[Figure, str]:
    """FVU of unablated networks by convention, one panel a task, the paper's value as a line."""
    _require_rows(results)
    tasks = list(results["task"].unique())
    figure, axes = plt.subplots(
        len(tasks), 1, figsize=(8.5, 2.9 * len(tasks)), sharex=True, squeeze=False
    )
    seen = []
    for ax, task in zip(axes[:, 0], tasks, strict=True):
        groups = results[results["task"] == task].groupby("convention", sort=False)
        for y, (label, group) in enumerate(groups):
            values = per_seed(group, "fvu")
            ax.plot(values, np.full(len(values), y), "o", color="black", alpha=0.6)
            seen.append(f"{task}, {label}: {mean_sem_text(values)}")
        printed = paper[(paper["task"] == task) & (paper["quantity"] == "fvu")]["value"].iloc[0]
        ax.axvline(printed, color=PAPER_COLOUR, lw=2, label="paper")
        ax.set(title=task.replace("_", "-"), xscale="log")
        ax.set_yticks(range(len(groups)), list(groups.groups))
        ax.invert_yaxis()
    axes[-1, 0].set_xlabel("FVU as trained")
    axes[0, 0].legend(loc="lower right")
    return figure, "FVU of unablated networks by convention. " + "; ".join(seen) + "."


def _seed_bars(
    ax: plt.Axes, values: dict[str, np.ndarray], construction: str, paper: pd.DataFrame,
    orders: dict[str, np.ndarray],
) -> None:
    """Bars of mean ± SEM over solutions, each solution a point, the paper's value beside.

    Parameters
    ----------
    ax : Axes
    values : dict of ndarray, shape (solution,)
        Keyed by the removed block.
    construction : str
        Decides the marker.
    paper : DataFrame
        Rows of ``reported()`` for this task and quantity.
    orders : dict of ndarray
        Ends of the mean's range over orders inside the sectors, keyed by the removed block; empty
        where there is none.
    """
    for x, (block, sample) in enumerate(values.items()):
        sample = np.asarray(sample, dtype=float)
        known = sample[np.isfinite(sample)]
        if len(known):
            mean, sem, _ = mean_sem(known)
            ax.bar(x, mean, width=0.62, color=BLOCK_COLOURS[block], alpha=0.35, zorder=1)
            ax.errorbar(
                x, mean, yerr=np.nan_to_num(sem), color=BLOCK_COLOURS[block], capsize=4, lw=2,
                zorder=2,
            )
            spread = np.linspace(-0.14, 0.14, len(known)) if len(known) > 1 else [0.0]
            ax.scatter(
                x + np.asarray(spread), known, s=26, color=BLOCK_COLOURS[block], zorder=3,
                marker=CONSTRUCTION_MARKERS.get(construction, "o"), edgecolor="white", lw=0.6,
            )
        else:
            ax.annotate("no mass", (x, 0), ha="center", va="bottom", fontsize="small")
        if len(orders.get(block, ())):
            ax.errorbar(
                x - 0.42, orders[block].mean(), yerr=np.ptp(orders[block]) / 2, color="0.35",
                capsize=4, lw=1.6, zorder=2,
            )
        printed = paper[paper["removed"] == block]
        if len(printed) and np.isfinite(printed["value"].iloc[0]):
            row = printed.iloc[0]
            ax.errorbar(
                x + 0.4, row["value"], yerr=np.nan_to_num(row["sem"]), color="black", marker="D",
                mfc=PAPER_COLOUR, ms=7, capsize=3, lw=1.2, zorder=4,
            )
    ax.axhline(0, color="0.4", lw=0.8)
    ax.set_xticks(range(len(values)), [BLOCK_LABELS[b] for b in values])
    ax.set_xlim(-0.6, len(values) - 0.35)


def raster_figure(
    target: np.ndarray, outputs: dict[str, np.ndarray], lags: int = 48
) -> tuple[Figure, str]:
    """Replay of one sequence as an image, channels by lags, under each ablation.

    Parameters
    ----------
    target : ndarray, shape (lag, channel)
    outputs : dict of ndarray, shape (lag, channel)
        Keyed by what was removed.
    lags : int
        Lags shown, from the first.
    """
    rows = {"target": target, **outputs}
    figure, axes = plt.subplots(len(rows), 1, figsize=(8, 1.35 * len(rows)), sharex=True)
    for ax, (label, values) in zip(axes, rows.items(), strict=True):
        image = ax.imshow(
            values[:lags].T, aspect="auto", cmap="PuOr", vmin=-1.2, vmax=1.2,
            extent=(0.5, min(lags, len(values)) + 0.5, values.shape[1] - 0.5, -0.5),
            interpolation="nearest",
        )
        name = {"target": "target", "none": "as trained"}.get(label)
        ax.set_title(name or f"without {BLOCK_LABELS[label]}", loc="left")
        ax.set_ylabel("channel")
    axes[-1].set_xlabel("lag (steps of replay)")
    figure.colorbar(image, ax=axes, label="output", shrink=0.6)
    shares = ", ".join(
        f"{number(np.mean(np.sign(v[:lags]) == target[:lags]))} without {plain_label(k)}"
        for k, v in outputs.items()
    )
    return figure, f"One sequence replayed; share of right signs in view: {shares}."


def lags_figure(results: pd.DataFrame) -> tuple[Figure, str]:
    """Replay accuracy by lag under each single ablation, one line a solution.

    ``results`` holds the quantities ``replay_accuracy_lag_…`` of one construction and one α.
    """
    _require_rows(results)
    lagged = results[results["quantity"].str.startswith("replay_accuracy_lag_")]
    lagged = lagged.assign(lag=lagged["quantity"].str.rsplit("_", n=1).str[1].astype(int))
    blocks = [b for b in BLOCK_LABELS if b in set(lagged["removed"])]
    figure, axes = plt.subplots(
        1, len(blocks), figsize=(3 * len(blocks), 3.4), sharex=True, sharey=True, squeeze=False
    )
    seen = []
    for ax, block in zip(axes[0], blocks, strict=True):
        for _, curve in lagged[lagged["removed"] == block].groupby("seed"):
            curve = curve.sort_values("lag")
            ax.plot(curve["lag"], curve["value"], color=BLOCK_COLOURS[block], lw=1.2, alpha=0.7)
        ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
        ax.set(title=f"without {BLOCK_LABELS[block]}", xlabel="lag (steps)", ylim=(-0.02, 1.02))
        values = lagged[lagged["removed"] == block]["value"]
        seen.append(f"{number(values.min(), 2)} to {number(values.max(), 2)} {plain_label(block)}")
    axes[0, 0].set_title("as trained")
    axes[0, 0].set_ylabel("replay accuracy")
    return figure, "Replay accuracy by lag, range over lags and networks without: " + "; ".join(seen)


def figure_1(
    results: pd.DataFrame, paper: pd.DataFrame, titles: dict[str, str]
) -> tuple[Figure, str]:
    """Replay accuracy under all eight subsets, one panel a construction: the paper's Figure 1.

    Pairs that differ only by also removing ``T_CC`` stand side by side, joined by a grey line for
    the representative, the first solved seed; the other solutions are faint, unsolved ones are
    crosses.

    Parameters
    ----------
    results, paper : DataFrame
        One α; ``paper`` from `paperlib.artifacts.reported`.
    titles : dict
        Title of each construction's panel, keyed by its name.
    """
    _require_rows(results)
    pairs = {
        "nothing": ("none", "CC"), BLOCK_LABELS["RR"]: ("RR", "RR+CC"),
        BLOCK_LABELS["CR"]: ("CR", "CR+CC"),
        f"{BLOCK_LABELS['RR']} + {BLOCK_LABELS['CR']}": ("RR+CR", "RR+CR+CC"),
    }
    figure, axes = plt.subplots(
        1, len(titles), figsize=(5.2 * len(titles), 4.6), sharey=True, squeeze=False
    )
    seen = []
    for ax, (construction, title) in zip(axes[0], titles.items(), strict=True):
        ours, unsolved = (
            part[part["construction"] == construction]
            for part in (of_solved(results), of_solved(results, solved=False))
        )
        theirs = paper[paper["construction"] == construction].set_index("removed")["value"]
        everywhere = theirs.get("each subset")
        for x, pair in enumerate(pairs.values()):
            values = [per_seed(ours, "replay_accuracy", removed) for removed in pair]
            places = (x - 0.16, x + 0.16)
            for place, removed, sample in zip(places, pair, values, strict=True):
                filled = "CC" in removed
                style = {
                    "color": BLOCK_COLOURS["CC"] if filled else "black",
                    "marker": CONSTRUCTION_MARKERS[construction], "ls": "",
                }
                ax.plot(np.full(len(sample[1:]), place), sample[1:], ms=5, alpha=0.3, **style)
                ax.plot(np.full(len(sample[:1]), place), sample[:1], ms=9, zorder=3, **style)
                failed = per_seed(unsolved, "replay_accuracy", removed)
                ax.plot(np.full(len(failed), place), failed, **style | UNSOLVED)
                printed = theirs.get(removed, everywhere)
                if printed is not None:
                    ax.plot(
                        place + 0.1, printed, marker="D", ms=6, color="black",
                        mfc=PAPER_COLOUR, ls="", zorder=4,
                    )
                seen += [f"{title} without {plain_label(removed)} {number(v)}" for v in sample[:1]]
            if len(values[0]):
                ax.plot(places, [sample[0] for sample in values], color="0.6", lw=1.5, zorder=2)
        ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
        ax.set_xticks(range(len(pairs)), list(pairs))
        ax.set(title=title, xlabel="removed")
    axes[0, 0].set_ylabel("replay accuracy")
    marker = CONSTRUCTION_MARKERS["dense_orthogonal"]
    handles = [
        Line2D([], [], color="black", ls="", marker=marker, ms=9, label="first solved seed"),
        Line2D(
            [], [], color=BLOCK_COLOURS["CC"], ls="", marker=marker, ms=9,
            label=f"also without {BLOCK_LABELS['CC']}",
        ),
        Line2D([], [], color="black", ls="", marker=marker, ms=5, alpha=0.3, label="other solved"),
        Line2D([], [], color="black", ls="", **UNSOLVED, label="not solved"),
        Line2D([], [], color="black", ls="", marker="D", mfc=PAPER_COLOUR, label="paper"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    shown = "; ".join(seen) or "there is none"
    return figure, f"Replay accuracy by removed couplings, first solved seed: {shown}."


def grid_figure(results: pd.DataFrame, fits_from: int) -> tuple[Figure, str]:
    """Replay accuracy by width as trained and without each block, one panel a construction.

    Parameters
    ----------
    results : DataFrame
        One α.
    fits_from : int
        Width from which a linear replay fits; a line marks it.
    """
    _require_rows(results)
    names, widths = list(results["construction"].unique()), sorted(results["n_hidden"].unique())
    rows = math.ceil(len(names) / 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(9, 1 + 3.2 * rows), sharex=True, sharey=True, squeeze=False
    )
    places = dict(zip(BLOCK_COLOURS, np.linspace(-0.27, 0.27, len(BLOCK_COLOURS)), strict=True))
    seen = []
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, names, strict=False):
        for solved in (True, False):
            ours = of_solved(results, solved)
            for (x, width), block in product(enumerate(widths), places):
                cell = ours[(ours["construction"] == name) & (ours["n_hidden"] == width)]
                values = per_seed(cell, "replay_accuracy", block)
                style = {"marker": CONSTRUCTION_MARKERS[name], "ms": 6, "alpha": 0.7}
                ax.plot(
                    np.full(len(values), x + places[block]), values, ls="",
                    color=BLOCK_COLOURS[block], **style if solved else UNSOLVED,
                )
                if len(values) and block == "none":
                    state = "solved" if solved else "unsolved"
                    seen.append(f"{name} {width} {state}: {mean_sem_text(values)}")
        fit = np.interp(fits_from, widths, range(len(widths)))
        ax.axvline(fit - 0.5, color="0.6", lw=0.8)
        ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
        ax.set_xticks(range(len(widths)), widths)
        ax.set(title=name.replace("_", " "), ylim=(-0.03, 1.03))
    for ax in axes[-1]:
        ax.set_xlabel(r"width $N_h$")
    for ax in axes[:, 0]:
        ax.set_ylabel("replay accuracy")
    handles = [
        Line2D([], [], color=colour, ls="", marker="o", label=(
            "as trained" if block == "none" else f"without {BLOCK_LABELS[block]}"
        ))
        for block, colour in BLOCK_COLOURS.items()
    ]
    handles.append(Line2D([], [], color="black", ls="", **UNSOLVED, label="not solved"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure, "Replay accuracy by construction and width, as trained: " + "; ".join(seen) + "."


def claims_figure(verdicts: pd.DataFrame, paper: pd.DataFrame) -> tuple[Figure, str]:
    """Every printed number that a claim is about, and ours relative to it, a row each.

    Parameters
    ----------
    verdicts : DataFrame
        From `paperlib.claims.judge`; rows of the rule ``value`` are drawn.
    paper : DataFrame
        From `paperlib.artifacts.reported`.
    """
    _require_rows(verdicts)
    drawn = verdicts[verdicts["rule"] == "value"]
    rows = drawn.join(paper.set_index("id")[["construction", "alpha"]], on="id")
    rows["who"] = rows["construction"].where(rows["task"] == "copy", rows["task"])
    rows["group"] = rows["where"].str.split(" and ").str[0] + ", " + rows["who"]
    rows["group"] = rows["group"].str.replace("_", " ")
    figure, ax = plt.subplots(figsize=(9.5, 1.8 + 0.26 * (len(rows) + rows["group"].nunique())))
    labels, seen = [], []
    for group, members in rows.groupby("group", sort=False):
        labels.append(rf"$\bf{{{group.replace(' ', '~')}}}$")
        for row in members.itertuples():
            what = QUANTITY_LABELS[row.quantity]
            if row.removed != "none":
                what += f" without {plain_label(row.removed)}"
            if members["alpha"].nunique() > 1:
                what += f", α = {row.alpha}"
            _claim_row(ax, len(labels), row)
            labels.append(what)
            if row.verdict != "reproduced":
                seen.append(f"{group}, {what}: {row.paper}, ours {number(row.ours)}, {row.verdict}")
    ax.axvline(0, color=PAPER_COLOUR, lw=1, zorder=0)
    ax.set_xscale("symlog", linthresh=0.1, linscale=1)
    widest = max(1.0, np.abs(ax.get_xlim()).max())
    ticks = [t for t in (-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100) if abs(t) <= widest]
    ax.set_xticks(ticks, [f"{100 * t:+.0f} %".replace("-", "−") if t else "paper" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.tick_params(axis="x", labelsize="x-small")
    ax.set_yticks(range(len(labels)), labels, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="ours minus the printed number, as a share of it")
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color="0.9")
    handles = [
        Line2D([], [], color=colour, lw=2, marker=marker, ms=8, mec="black", label=verdict)
        for verdict, (marker, colour) in VERDICT_STYLES.items()
    ]
    handles.append(Line2D([], [], color=PAPER_COLOUR, lw=7, alpha=0.6, label="paper, as rounded"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    counts = rows["verdict"].value_counts()
    alt = "Printed numbers and ours beside them: " + ", ".join(
        f"{counts.get(verdict, 0)} {verdict}" for verdict in VERDICT_STYLES
    )
    return figure, f"{alt}. {'; '.join(seen)}{'.' if seen else ''}".strip()


def _claim_row(ax: plt.Axes, y: int, row) -> None:
    """The printed number with its rounding, and our mean with its interval, relative to it."""
    printed = float(row.paper)

    def relative(values):
        return (np.asarray(values, dtype=float) - printed) / abs(printed)

    marker, colour = VERDICT_STYLES[row.verdict]
    ax.plot(
        relative(printed_interval(row.paper)), [y, y], color=PAPER_COLOUR, lw=7, alpha=0.6,
        solid_capstyle="butt",
    )
    ax.plot(relative([row.low, row.high]), [y, y], color=colour, lw=2)
    ax.plot(
        relative([row.ours]), [y], ls="", marker=marker, ms=8, mfc=colour, mec="black", mew=0.8
    )


def spreads_figure(spreads: pd.DataFrame) -> tuple[Figure, str]:
    """Standard deviations over networks and over held-out sets, one row a task and block.

    Parameters
    ----------
    spreads : DataFrame
        Columns task, removed, networks (spread over networks) and, one for each number of trials
        and named by it, the spread over sets of so many.
    """
    _require_rows(spreads)
    tasks = list(spreads["task"].unique())
    figure, axes = plt.subplots(len(tasks), 1, figsize=(8.5, 1 + 1.6 * len(tasks)), sharex=True)
    seen = []
    for ax, task in zip(np.atleast_1d(axes), tasks, strict=True):
        for y, row in enumerate(spreads[spreads["task"] == task].to_dict("records")):
            sizes = sorted(k for k in row if isinstance(k, int) and np.isfinite(row[k]))
            colour = BLOCK_COLOURS.get(row["removed"], "black")
            ax.plot(row["networks"], y, "o", color=colour, ms=8)
            for size, ms in zip(sizes, np.linspace(4, 9, len(sizes)), strict=True):
                ax.plot(row[size], y, "o", mfc="none", mec=colour, ms=ms)
            seen.append(
                f"{task}, {plain_label(row['removed'])} removed: {number(row['networks'], 2)} over "
                "networks, " + ", ".join(f"{number(row[k], 2)} over sets of {k}" for k in sizes)
            )
        removed = list(spreads[spreads["task"] == task]["removed"])
        ax.set_yticks(range(len(removed)), [subset_label(r) if r != "none" else "none" for r in removed])
        ax.set(title=task.replace("_", "-"), xscale="log")
        ax.set_ylim(len(removed) - 0.5, -0.5)
        ax.grid(axis="x", color="0.92")
    np.atleast_1d(axes)[-1].set_xlabel("standard deviation")
    handles = [
        Line2D([], [], color="black", ls="", marker="o", ms=8, label="over networks"),
        Line2D([], [], color="black", ls="", marker="o", mfc="none", label="over held-out sets"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure, "Standard deviations. " + "; ".join(seen) + "."


def _damage_axis(ax: plt.Axes, values) -> None:
    """A y-axis for ΔFVU: linear around zero, logarithmic beyond, with room for every value."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set_ylim(min(1.6 * low, -0.003), max(1.6 * high, 0.003))
    ax.axhline(0, color="0.4", lw=0.8)


def orders_figure(results: pd.DataFrame) -> tuple[Figure, str]:
    """What removing RR and CC costs under many orders inside the sectors, one panel a task.

    ``results`` holds rows of `paperlib.order_draws`, one α; order 0, the stated one, is large.
    """
    drawn = results[results["quantity"].str.contains("_order_")]
    _require_rows(drawn)
    tasks = list(drawn["task"].unique())
    figure, axes = plt.subplots(
        math.ceil(len(tasks) / 2), 2, figsize=(11, 3.6 * math.ceil(len(tasks) / 2)), squeeze=False
    )
    for ax in axes.flat[len(tasks) :]:
        ax.set_visible(False)
    places, seen = {"RR": -0.18, "CC": 0.18}, []
    for ax, task in zip(axes.flat, tasks, strict=False):
        ours = drawn[drawn["task"] == task]
        seeds = sorted(ours["seed"].unique())
        for (x, seed), (removed, place) in product(enumerate(seeds), places.items()):
            cell = ours[(ours["seed"] == seed) & (ours["removed"] == removed)]
            stated = cell["quantity"].str.endswith("_order_0")
            others, own = cell["value"][~stated], cell["value"][stated]
            style = {"color": BLOCK_COLOURS[removed], "marker": "o", "ls": ""}
            ax.plot(np.full(len(others), x + place), others, ms=3, alpha=0.35, **style)
            ax.plot(np.full(len(own), x + place), own, ms=7, mec="black", **style)
            seen.append(f"{task}, seed {seed}, {plain_label(removed)}: {range_text(others)}")
        replay = ours["quantity"].iloc[0].startswith("replay_accuracy")
        ax.set(title=task.replace("_", "-"), xlabel="network (seed)")
        ax.set_ylabel("accuracy left" if replay else r"damage $\Delta$FVU")
        ax.set_xticks(range(len(seeds)), seeds)
        ax.grid(axis="y", color="0.92")
        if not replay:
            _damage_axis(ax, ours["value"])
    handles = [
        Line2D(
            [], [], color=BLOCK_COLOURS[block], ls="", marker="o", label=f"{BLOCK_LABELS[block]}, {which}",
            **style,
        )
        for which, style in (("random orders", {"ms": 3}), ("stated order", {"ms": 7, "mec": "black"}))
        for block in places
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure, "Damage by network under random orders, lowest to highest. " + "; ".join(seen) + "."


CONTROL_MARKERS = {"gaussian": "s", "rotated": "^", "entries": "v", "permuted": "x"}


def controls_figure(results: pd.DataFrame) -> tuple[Figure, str]:
    """Each ablation beside its controls, one panel a task.

    Parameters
    ----------
    results : DataFrame
        From `paperlib.control_draws`, with columns ``measure`` (delta_fvu or replay_accuracy) and
        ``kind`` (``"block"`` or the name of a control).
    """
    _require_rows(results)
    tasks = list(results["task"].unique())
    rows = math.ceil(len(tasks) / 2)
    figure, axes = plt.subplots(rows, 2, figsize=(11, 1 + 3.4 * rows), squeeze=False)
    for ax in axes.flat[len(tasks) :]:
        ax.set_visible(False)
    kinds = ["block", *CONTROL_MARKERS]
    places, seen = dict(zip(kinds, np.linspace(-0.32, 0.32, len(kinds)), strict=True)), []
    for ax, task in zip(axes.flat, tasks, strict=False):
        ours = results[results["task"] == task]
        blocks, medians = [b for b in BLOCK_LABELS if b in set(ours["removed"])], []
        for (x, block), kind in product(enumerate(blocks), kinds):
            cell = ours[(ours["removed"] == block) & (ours["kind"] == kind)]
            values = cell.groupby("seed")["value"].median().to_numpy()
            style = {"color": BLOCK_COLOURS[block], "marker": "o", "ms": 8, "mec": "white"}
            if kind != "block":
                style = {"color": "0.35", "marker": CONTROL_MARKERS[kind], "ms": 5, "mfc": "none"}
            ax.plot(np.full(len(values), x + places[kind]), values, ls="", alpha=0.8, **style)
            medians += list(values)
            if len(values):
                middle = number(np.median(values), 2)
                seen.append(f"{task}, {plain_label(block)}, {kind}: median {middle}")
        ax.set(title=task.replace("_", "-"))
        ax.set_xticks(range(len(blocks)), [BLOCK_LABELS[b] for b in blocks])
        ax.grid(axis="y", color="0.92")
        if ours["measure"].iloc[0] == "replay_accuracy":
            ax.set_ylabel("accuracy left")
            ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
        else:
            ax.set_ylabel(r"damage $\Delta$FVU")
            _damage_axis(ax, medians)
    handles = [Line2D([], [], color="black", ls="", marker="o", ms=8, label="the block")]
    handles += [
        Line2D([], [], color="0.35", ls="", marker=marker, ms=5, mfc="none", label=kind)
        for kind, marker in CONTROL_MARKERS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, "Damage of each block and of its controls. " + "; ".join(seen) + "."


def refit_figure(results: pd.DataFrame) -> tuple[Figure, str]:
    """What ablations cost with the decoder as trained and fitted anew, one panel a task.

    ``results`` as from `paperlib.refit_profile`, one α; of copy the share of wrong signs is drawn.
    """
    _require_rows(results)
    tasks = list(results["task"].unique())
    rows = math.ceil(len(tasks) / 2)
    figure, axes = plt.subplots(rows, 2, figsize=(11, 1 + 3.4 * rows), squeeze=False)
    for ax in axes.flat[len(tasks) :]:
        ax.set_visible(False)
    seen = []
    for ax, task in zip(axes.flat, tasks, strict=False):
        ours = results[results["task"] == task]
        replay = "replay_accuracy" in set(ours["quantity"])
        blocks = [b for b in BLOCK_COLOURS if b in set(ours["removed"])]
        for x, block in enumerate(blocks):
            for place, end, fill in ((-0.15, "", BLOCK_COLOURS[block]), (0.15, "_refit", "none")):
                quantity = ("replay_accuracy" if replay else "fvu") + end
                values = per_seed(ours, quantity, block)
                values = 1 - values if replay else values
                ax.plot(
                    np.full(len(values), x + place), values, "o", color=BLOCK_COLOURS[block],
                    mfc=fill, ms=7, alpha=0.8,
                )
                what = "fitted anew" if end else "as trained"
                middle = number(np.median(values), 2)
                seen.append(f"{task}, {plain_label(block)} removed, {what}: median {middle}")
        ax.set(title=task.replace("_", "-"), ylabel="wrong signs" if replay else "FVU")
        ax.set_yscale("symlog", linthresh=1e-3)
        ax.set_ylim(bottom=0)
        ax.set_xticks(
            range(len(blocks)), ["none" if b == "none" else BLOCK_LABELS[b] for b in blocks]
        )
        ax.set_xlabel("removed")
        ax.grid(axis="y", color="0.92")
    handles = [
        Line2D([], [], color="black", ls="", marker="o", ms=7, label="decoder as trained"),
        Line2D(
            [], [], color="black", ls="", marker="o", ms=7, mfc="none", label="decoder fitted anew"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure, "Error by removed block, two decoders. " + "; ".join(seen) + "."


TASK_MARKERS = {"flip_flop": "o", "sine": "^", "integration": "s", "copy": "D"}


def prediction_figure(wide: pd.DataFrame, account: str, floor: float) -> tuple[Figure, str]:
    """Damage as predicted against damage as measured, one mark a removal.

    Parameters
    ----------
    wide : DataFrame
        Columns task, removed, unseen, delta_fvu and the account's.
    account : str
        Column of predicted ΔFVU.
    floor : float
        Added to both, so that what costs nothing can be drawn.
    """
    _require_rows(wide)
    figure, ax = plt.subplots(figsize=(7.5, 6.2))
    x, y = (floor + wide[name].clip(0, 1e6) for name in ("delta_fvu", account))
    for (task, removed, unseen), cell in wide.groupby(["task", "removed", "unseen"], sort=False):
        ax.plot(
            x[cell.index], y[cell.index], ls="", marker=TASK_MARKERS[task], mec="white", mew=0.5,
            color=BLOCK_COLOURS[removed], ms=9 if unseen else 5, alpha=0.95 if unseen else 0.35,
        )
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    ax.plot(ends, ends, color="0.4", lw=1)
    ax.set(
        xscale="log", yscale="log", xlabel=rf"measured $\Delta$FVU + {floor:g}",
        ylabel=rf"predicted $\Delta$FVU + {floor:g}",
    )
    handles = [
        Line2D([], [], color=BLOCK_COLOURS[b], ls="", marker="o", label=f"without {label}")
        for b, label in BLOCK_LABELS.items() if b in set(wide["removed"])
    ]
    handles += [
        Line2D([], [], color="0.3", ls="", marker=marker, label=task.replace("_", "-"))
        for task, marker in TASK_MARKERS.items() if task in set(wide["task"])
    ]
    figure.legend(handles=handles, loc="outside right upper")
    gap = np.log10(y / x)
    seen = [
        f"{task}: median of predicted over measured {number(10 ** gap[cell.index].median(), 2)}"
        for task, cell in wide.groupby("task", sort=False)
    ]
    return figure, f"Predicted against measured damage of {len(wide)} removals. " + "; ".join(seen) + "."


def couplings_figure(results: pd.DataFrame, epsilons) -> tuple[Figure, str]:
    """Maps of single couplings, measured and by the gradient, over removable mass by tolerance.

    One column a task.

    Parameters
    ----------
    results : DataFrame
        From `paperlib.coupling_profile`.
    epsilons : sequence of float
        Tolerances, in the order of the numbered quantities.
    """
    _require_rows(results)
    tasks = list(results["task"].unique())
    figure, axes = plt.subplots(
        3, len(tasks), figsize=(3.4 * len(tasks), 10.6), squeeze=False, height_ratios=[1.1, 1.1, 1]
    )
    norm, seen, image = SymLogNorm(1e-3, vmin=-1, vmax=1), [], None
    for (*maps, below), task in zip(axes.T, tasks, strict=True):
        ours = results[results["task"] == task]
        for ax, kind in zip(maps, ("delta_fvu", "first_order"), strict=True):
            single = ours[ours["quantity"].str.startswith(f"{kind}_coupling_")]
            if len(single):
                single = single[single["seed"] == single["seed"].iloc[0]]
                place = single["quantity"].str.rpartition("_")[2].astype(int)
                grid = np.full((place.max() % 1000 + 1,) * 2, np.nan)
                grid[place // 1000, place % 1000] = single["value"]
                image = ax.imshow(grid, cmap="PuOr_r", norm=norm, interpolation="nearest")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(MaxNLocator(5, integer=True))
        maps[0].set(title=task.replace("_", "-"))
        maps[1].set(xlabel="block read")
        masses = np.stack([per_seed(ours, f"removable_mass_{k}") for k in range(len(epsilons))])
        below.plot(epsilons, masses, color="0.35", marker="o", ms=4, lw=1, alpha=0.6)
        below.set(xscale="log", ylim=(0, 1), xlabel=r"tolerance $\epsilon$ of FVU")
        middle = ", ".join(
            f"{number(m, 2)} at {e:g}" for m, e in zip(np.median(masses, 1), epsilons, strict=True)
        )
        seen.append(f"{task}: median removable mass {middle}")
    axes[0, 0].set_ylabel("measured\nblock written to")
    axes[1, 0].set_ylabel("by the gradient\nblock written to")
    axes[2, 0].set_ylabel("largest removable mass")
    if image is not None:
        figure.colorbar(
            image, ax=axes[:2], label=r"$\Delta$FVU without it", fraction=0.02, extend="both",
            ticks=[-1, -0.01, 0, 0.01, 1],
        )
    return figure, "Removable mass by tolerance. " + "; ".join(seen) + "."


def departure_figure(results: pd.DataFrame, measures) -> tuple[Figure, str]:
    """Damage of each block and measures of departure over training, one column a task.

    Parameters
    ----------
    results : DataFrame
        With quantities numbered by epoch, as ``delta_fvu_epoch_4`` and ``kreiss_epoch_4``.
    measures : iterable of str
        Names of the measures.
    """
    epoch = results["quantity"].str.extract(r"^(.+)_epoch_(\d+)$")
    watched = results.assign(measure=epoch[0], epoch=pd.to_numeric(epoch[1]))
    watched = watched[watched["measure"].notna()]
    _require_rows(watched)
    tasks = list(watched["task"].unique())
    figure, axes = plt.subplots(
        2, len(tasks), figsize=(3.9 * len(tasks), 6.8), sharex=True, squeeze=False
    )
    styles = dict(zip(measures, ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3))), strict=False))
    seen = []
    for (above, below), task in zip(axes.T, tasks, strict=True):
        ours = watched[watched["task"] == task]
        damage = ours[ours["measure"] == "delta_fvu"]
        for block in ("RR", "CR", "CC"):
            line = damage[damage["removed"] == block].groupby("epoch")["value"].median()
            above.plot(line, color=BLOCK_COLOURS[block], marker="o", ms=5)
            if len(line):
                seen.append(
                    f"{task}, {plain_label(block)}: {number(line.iloc[0], 2)} to {number(line.iloc[-1], 2)}"
                )
        _damage_axis(above, damage[damage["removed"] != "none"]["value"])
        for measure, style in styles.items():
            line = ours[ours["measure"] == measure].groupby("epoch")["value"].median()
            below.plot(line, color="0.25", ls=style, marker="o", ms=3)
        above.set(title=task.replace("_", "-"), xscale="log")
        below.set(xlabel="epochs of training", yscale="log")
        ticks = sorted(ours["epoch"].unique())
        below.set_xticks(ticks, [f"{e:g}" for e in ticks])
        below.minorticks_off()
    axes[0, 0].set_ylabel(r"damage $\Delta$FVU")
    axes[1, 0].set_ylabel("measure")
    handles = [
        Line2D([], [], color=BLOCK_COLOURS[b], marker="o", label=f"without {BLOCK_LABELS[b]}")
        for b in ("RR", "CR", "CC")
    ]
    handles += [
        Line2D([], [], color="0.25", ls=style, label=measure.replace("_", " "))
        for measure, style in styles.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure, "Median damage over training, first to last checkpoint. " + "; ".join(seen) + "."


def recipes_figure(results: pd.DataFrame, paper: pd.DataFrame) -> tuple[Figure, str]:
    """Replay accuracy by recipe (the ``convention``), one panel a subset, the paper as a line.

    Parameters
    ----------
    results : DataFrame
        One construction and α.
    paper : DataFrame
        From `paperlib.artifacts.reported`, one number per subset.
    """
    _require_rows(results)
    names, subsets = list(results["convention"].unique()), ("RR", "CR", "RR+CR", "CC")
    printed = paper.set_index("removed")["value"]
    figure, axes = plt.subplots(
        1, len(subsets), figsize=(2.5 * len(subsets), 1.5 + 0.5 * len(names)), sharex=True,
        sharey=True,
    )
    seen = []
    for ax, removed in zip(axes, subsets, strict=True):
        for (y, name), solved in product(enumerate(names), (True, False)):
            cell = of_solved(results[results["convention"] == name], solved)
            values = per_seed(cell, "replay_accuracy", removed)
            style = {"marker": CONSTRUCTION_MARKERS[results["construction"].iloc[0]], "alpha": 0.6}
            ax.plot(
                values, np.full(len(values), y), ls="",
                color=BLOCK_COLOURS.get(removed, "0.35"), **style if solved else UNSOLVED,
            )
            if len(values):
                state = "solved" if solved else "unsolved"
                seen.append(
                    f"{name}, {state}, without {plain_label(removed)}: {mean_sem_text(values)}"
                )
        if removed in printed:
            ax.axvline(printed[removed], color=PAPER_COLOUR, lw=2, label="paper")
        ax.axvline(0.5, color="0.6", lw=0.8, ls=":")
        ax.set(title=f"− {subset_label(removed)}", xlabel="replay accuracy")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    handles = [
        Line2D([], [], color=PAPER_COLOUR, lw=2, label="paper"),
        Line2D([], [], color="black", ls="", **UNSOLVED, label="not solved"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure, "Replay accuracy by recipe. " + "; ".join(seen) + "."


def profiles_figure(results: pd.DataFrame) -> tuple[Figure, str]:
    """ΔFVU without each block by convention, one panel a task, one point a network.

    ``results`` holds several conventions of each task, one α.
    """
    _require_rows(results)
    tasks = list(results["task"].unique())
    counts = [results[results["task"] == task]["convention"].nunique() for task in tasks]
    figure, axes = plt.subplots(
        len(tasks), 1, figsize=(8.5, 1.2 * len(tasks) + 0.55 * sum(counts)), sharex=True,
        squeeze=False, height_ratios=counts,
    )
    places, seen = dict(zip(("RR", "CR", "CC"), (-0.22, 0, 0.22), strict=True)), []
    for ax, task in zip(axes[:, 0], tasks, strict=True):
        groups = results[results["task"] == task].groupby("convention", sort=False)
        for y, (label, group) in enumerate(groups):
            for block, place in places.items():
                values = per_seed(group, "delta_fvu", block)
                ax.plot(
                    values, np.full(len(values), y + place), "o", ms=5, alpha=0.7,
                    color=BLOCK_COLOURS[block],
                )
                middle = number(np.median(values), 2)
                seen.append(f"{task}, {label}, {plain_label(block)}: median {middle}")
        ax.axvline(0, color="0.4", lw=0.8)
        ax.set_xscale("symlog", linthresh=0.01)
        ax.set(title=task.replace("_", "-"))
        ax.set_yticks(range(len(groups)), list(groups.groups))
        ax.set_ylim(len(groups) - 0.5, -0.5)
        ax.grid(axis="x", color="0.92")
    axes[-1, 0].set_xlabel(r"damage $\Delta$FVU (linear up to ±0.01, logarithmic beyond)")
    handles = [
        Line2D([], [], color=BLOCK_COLOURS[b], ls="", marker="o", label=f"without {label}")
        for b, label in BLOCK_LABELS.items() if b in places
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure, "ΔFVU by convention and removed block. " + "; ".join(seen) + "."


def verdicts_figure(verdicts: pd.DataFrame, titles: dict[str, str]) -> tuple[Figure, str]:
    """Verdicts by claim and convention as marks, one panel a task.

    Parameters
    ----------
    verdicts : DataFrame
        From `paperlib.claims.across`.
    titles : dict
        Of tasks, keyed by their names.
    """
    _require_rows(verdicts)
    tasks = [task for task in titles if task in set(verdicts["task"])]
    counts = [verdicts[verdicts["task"] == task]["id"].nunique() for task in tasks]
    figure, axes = plt.subplots(
        len(tasks), 1, figsize=(10, 2.2 * len(tasks) + 0.36 * sum(counts)), squeeze=False,
        height_ratios=[count + 1.5 for count in counts],
    )
    seen = []
    for ax, task in zip(axes[:, 0], tasks, strict=True):
        ours = verdicts[verdicts["task"] == task]
        claims, labels = list(ours["id"].unique()), list(ours["convention"].unique())
        for row in ours.itertuples():
            marker, colour = VERDICT_STYLES[row.verdict]
            ax.plot(
                labels.index(row.convention), claims.index(row.id), ls="", marker=marker, ms=10,
                mfc=colour, mec="black", mew=0.6,
            )
        for claim, group in ours.groupby("id", sort=False):
            held = (group["verdict"] == "reproduced").sum()
            seen.append(f"{claim} reproduced under {held} of {len(group)}")
        ax.set_xticks(
            range(len(labels)), [x.replace("_", " ") for x in labels], rotation=20, ha="right",
            rotation_mode="anchor",
        )
        ax.set_yticks(range(len(claims)), claims)
        ax.set(title=titles[task], xlim=(-0.5, len(labels) - 0.5))
        ax.set_ylim(len(claims) - 0.5, -0.5)
        ax.grid(color="0.92")
        ax.set_axisbelow(True)
    handles = [
        Line2D([], [], color=colour, ls="", marker=marker, ms=10, mec="black", label=verdict)
        for verdict, (marker, colour) in VERDICT_STYLES.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure, "Verdicts by claim and convention: " + "; ".join(seen) + "."
