"""How a `Diagnosis` is shown: its figure, and the page that holds figure, tables and warnings."""

import base64
import io
import math
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .controls import CONTROLS
from .figures import BLOCK_COLOURS, BLOCK_LABELS, CONTROL_MARKERS, subset_label, use_style
from .report import QUANTITY_LABELS, number, plain_label, range_text
from .schur import SUBSETS


BLOCKS = ("RR", "CR", "CC")


def measure_label(meta):
    """Name of the measure as pages show it."""
    return meta.get("metric") or QUANTITY_LABELS.get(meta["measure"], meta["measure"])


def some_trials(meta):
    """Whether orders and controls are measured on a part of the trials."""
    return meta["draw_trials"] < meta["trials"]


def alt(diagnosis):
    """What the figure shows, in words made from the numbers."""
    split, rows = diagnosis.split, diagnosis.summary.set_index("removed")["change"]
    changes = ", ".join(f"{plain_label(s)} {number(rows[s])}" for s in SUBSETS[1:])
    sizes = diagnosis.sectors["n_R"]
    return (
        f"Four panels. Eigenvalues in the complex plane, {split.n_R} of {split.coordinates.n} in "
        f"the leading sector at alpha = {split.alpha:g}. Magnitudes of T with the coupling blocks "
        f"framed. Change of {measure_label(diagnosis.meta)} without each subset: "
        f"{changes}. Size of the leading sector over alpha, "
        f"from {sizes.max()} down to {sizes.min()}."
    )


def figure(diagnosis, columns=2):
    """The four panels, in one or two columns."""
    if columns not in (1, 2):
        raise ValueError(f"columns must be 1 or 2, got {columns!r}")
    with plt.rc_context():  # the house style, without changing the caller's
        use_style()
        # Not through pyplot, which would keep every figure open and show it twice.
        drawn = Figure((13, 11) if columns == 2 else (5.6, 20), layout="constrained")
        # One by one, so that long labels of one panel do not narrow the others.
        parts = drawn.subfigures(4 // columns, columns, squeeze=False).ravel()
        for panel, part in zip((_spectrum, _magnitudes, _changes, _sizes), parts, strict=True):
            panel(diagnosis, part.subplots())
            part.legend(
                *part.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2,
                fontsize="small",
            )
    return drawn


def png(diagnosis, columns=2):
    """The figure as PNG, the same bytes for the same numbers."""
    buffer = io.BytesIO()
    figure(diagnosis, columns).savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def _spectrum(diagnosis, ax):
    split = diagnosis.split
    values, radius = split.coordinates.eigenvalues, split.coordinates.spectral_radius
    leading = np.arange(len(values)) < split.n_R
    circle = np.exp(2j * np.pi * np.linspace(0, 1, 400))
    ax.plot(circle.real, circle.imag, color="0.75", lw=1, label="unit circle")
    threshold = split.alpha * radius * circle
    ax.plot(
        threshold.real, threshold.imag, color="0.3", lw=1, ls="--",
        label=r"threshold $\alpha\rho$",
    )
    for label, block, marker, which in (
        ("leading sector R", "RR", "o", leading), ("complement C", "CC", "x", ~leading)
    ):
        ax.scatter(
            values.real[which], values.imag[which], s=22, color=BLOCK_COLOURS[block],
            marker=marker, label=label, zorder=3,
        )
    # A tiny spectrum would be a point inside the unit circle.
    extent = 1.12 * max(radius, min(1, 4 * radius) or 1)
    ax.set(
        title=f"eigenvalues, $n_R$ = {split.n_R} of {len(values)}", xlabel=r"Re $\lambda$",
        ylabel=r"Im $\lambda$", aspect="equal", xlim=(-extent, extent), ylim=(-extent, extent),
    )


def _magnitudes(diagnosis, ax):
    split = diagnosis.split
    n, n_R, T = split.coordinates.n, split.n_R, np.abs(split.coordinates.T)
    norm = LogNorm((T.max() or 1) * 1e-3, T.max() or 1)
    image = ax.imshow(
        np.maximum(T, norm.vmin), cmap="Greys", norm=norm, interpolation="nearest"
    )
    for block, (x, y, width, height) in {
        "RR": (0, 0, n_R, n_R), "CR": (n_R, 0, n - n_R, n_R), "CC": (n_R, n_R, n - n_R, n - n_R)
    }.items():
        if width and height:
            inset = 0.004 * n
            ax.add_patch(plt.Rectangle(
                (x - 0.5 + inset, y - 0.5 + inset), width - 2 * inset, height - 2 * inset,
                fill=False, color=BLOCK_COLOURS[block], lw=2, label=BLOCK_LABELS[block],
            ))
    ax.set(title="Schur form", xlabel="Schur coordinate (column)", ylabel="Schur coordinate (row)")
    ax.spines[["top", "right"]].set_visible(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, integer=True))
    ax.figure.colorbar(image, ax=ax, label=r"$|T_{ij}|$", extend="min", shrink=0.8)


def _changes(diagnosis, ax):
    rows, label = diagnosis.summary.set_index("removed"), measure_label(diagnosis.meta)
    changes = diagnosis.table[diagnosis.table["quantity"] == "change"]
    for y, removed in enumerate(SUBSETS[1:]):
        row, ours = rows.loc[removed], changes[changes["removed"] == removed]
        colour = BLOCK_COLOURS.get(removed, "0.55")
        ax.barh(y, row["change"], height=0.62, color=colour, alpha=0.35, zorder=1)
        ax.plot(row["change_drawn"], y, "o", color=colour, ms=9, mec="black", zorder=4)
        if np.isfinite([row["order_low"], row["order_high"]]).all():
            ax.plot(
                [row["order_low"], row["order_high"]], [y + 0.38] * 2, "|-", color="0.35", lw=1.6,
                ms=8, zorder=3,
            )
        for place, kind in zip(np.linspace(-0.24, 0.24, len(CONTROLS)), CONTROLS, strict=True):
            drawn = ours[ours["kind"] == kind]["value"]
            ax.plot(
                drawn, np.full(len(drawn), y + place), ls="", marker=CONTROL_MARKERS[kind], ms=4,
                color="0.35", mfc="none", alpha=0.6, zorder=2,
            )
        if not np.isfinite(row["change"]):
            ax.annotate(" not finite", (0, y), va="center")
    for name, style in {
        ("ablation, on the same trials" if some_trials(diagnosis.meta) else "ablation"): {
            "color": "0.55", "ls": "", "marker": "o", "ms": 9, "mec": "black"
        },
        "other orders": {"color": "0.35", "marker": "|", "ms": 8, "lw": 1.6},
        **{
            f"control: {kind}": {"color": "0.35", "ls": "", "marker": mark, "ms": 4, "mfc": "none"}
            for kind, mark in CONTROL_MARKERS.items()
        },
    }.items():
        ax.plot([], [], label=name, **style)
    known = np.abs(rows["change"][np.isfinite(rows["change"])]).max()
    linear = 10.0 ** (np.floor(np.log10(known)) - 2) if known > 0 else 1.0
    ax.set_xscale("symlog", linthresh=linear)
    if some_trials(diagnosis.meta):
        ax.barh([], [], color="0.55", alpha=0.35, label="ablation, on all trials")
    drawn = np.r_[0, changes["value"], rows["order_low"], rows["order_high"]]
    low, high = (end(drawn[np.isfinite(drawn)]) for end in (np.min, np.max))
    ax.set_xlim(min(1.8 * low, -0.3 * linear), max(1.8 * high, 0.3 * linear))
    # matplotlib's own ticks, one a decade, run into each other.
    decades = [int(np.log10(max(1.8 * side / linear, 0.1)) + 1) for side in (-low, high)]
    step = max(1, math.ceil(sum(decades) / 5))
    ax.set_xticks([0, *(
        sign * linear * 10.0**k
        for sign, count in zip((-1, 1), decades, strict=True) for k in range(step - 1, count, step)
    )])
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set_yticks(range(len(SUBSETS) - 1), [subset_label(s) for s in SUBSETS[1:]])
    ax.set_ylim(len(SUBSETS) - 1.4, -0.6)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.set(
        title=f"change of {label} by what is removed",
        xlabel=f"change (linear within ±{linear:g})",
    )


def _sizes(diagnosis, ax):
    sectors, split = diagnosis.sectors, diagnosis.split
    ax.plot(
        sectors["alpha"], sectors["n_R"], drawstyle="steps-mid", color=BLOCK_COLOURS["RR"], lw=2
    )
    ax.axvline(split.alpha, color="0.3", lw=1, ls="--")
    ax.plot(
        split.alpha, split.n_R, "o", ms=9, color=BLOCK_COLOURS["RR"], mec="black",
        label=rf"$\alpha$ = {split.alpha:g}, $n_R$ = {split.n_R}",
    )
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set(title="size of the leading sector", xlabel=r"threshold $\alpha$", ylabel=r"$n_R$")
    ax.set_ylim(0, 1.08 * sectors["n_R"].max())
    ax.grid(axis="y", color="0.92")


def _table(rows, caption):
    """A table of texts, escaped; the first column heads the rows, as cards on a narrow screen."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in rows[0])

    def line(row):
        (_, first), *others = row.items()
        cells = "".join(
            f'<td data-label="{escape(name)}">{escape(str(value))}</td>' for name, value in others
        )
        return f'<tr><th scope="row">{escape(str(first))}</th>{cells}</tr>'

    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(map(line, rows))}</tbody></table></div>"
    )


def summary_rows(diagnosis):
    """The summary as texts, one dict a row."""
    meta, dash = diagnosis.meta, "—"

    def text(value, wanted=True):
        return number(value) if wanted else dash

    rows = []
    for row in diagnosis.summary.to_dict("records"):
        drawn, ordered = (row[k] == row[k] for k in ("control_share", "order_low"))
        ends = row["order_low"], row["order_high"]
        first = {f"change, first {meta['draw_trials']}": number(row["change_drawn"])}
        rows.append({
            "removed": plain_label(row["removed"]),
            measure_label(meta): number(row[meta["measure"]]),
            "change": number(row["change"]),
            "removed mass": number(row["removed_mass"]),
            **(first if some_trials(meta) else {}),
            "change in other orders": range_text(ends) if ordered else dash,
            "controls, median": text(row["control_median"], drawn),
            "controls as large": f"{100 * row['control_share']:.0f} %" if drawn else dash,
            "reading": row["reading"],
        })
    return rows


def text(diagnosis):
    """The summary, aligned for a terminal, then warnings and notes."""
    found = summary_rows(diagnosis)
    rows = [list(found[0]), *(list(row.values()) for row in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines += [f"\nWarning: {warning}" for warning in diagnosis.warnings]
    return "\n".join([*lines, *(f"\nNote: {note}" for note in diagnosis.notes)])


_WORDS = {
    "fvu": "FVU is the fraction of the targets' variance that the outputs leave unexplained: 0 is "
    "perfect, 1 as good as always answering the mean.",
    "discrepancy": "The discrepancy is the mean squared distance to the unablated network's "
    "outputs over their variance: 0 is no change, 1 as far as their mean.",
    "metric": "The measure is the metric that was given; only its changes are judged.",
}
_READING = (
    ("change", "the measure without these couplings, minus the measure of the whole network."),
    (
        "removed mass", "the size of what was removed, as a share of the norm of W_hh. Shares of "
        "two blocks do not add up to that of both: their squares do.",
    ),
    (
        "change in other orders", "eigenvalues inside a sector may be ordered otherwise, which "
        "gives other T_RR and T_CC of the same network, and the same T_C→R. Lowest and highest "
        "change over random orders. If this range is wide, the change says something of the "
        "order and not of the network.",
    ),
    (
        "controls", "random removals from W_hh of the same size as the block, of four kinds: "
        "gaussian, noise on all entries; rotated, what the block removes in a random orthonormal "
        "basis; entries, couplings from anywhere in T; permuted, the block's own couplings dealt "
        "out anew over its places.",
    ),
    (
        "controls as large", "the share of these that change the measure at least as much. If it "
        "is not small, what you see is the size of the removal and not its place.",
    ),
    ("—", "nothing to compare with: the block is empty or has no other order or control."),
)


def _how_to_read():
    """What the columns mean, for a reader who has not seen the book."""
    entries = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in _READING)
    return (
        "<details open><summary>How to read this</summary>"
        "<p>A block matters where its removal changes the measure much, in every order, and more "
        f"than controls of its size do.</p><dl>{entries}</dl></details>"
    )


def _list(title, items):
    entries = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<h2>{title}</h2><ul>{entries}</ul>" if items else ""


def _which(meta):
    return f"the first {meta['draw_trials']} trials" if some_trials(meta) else "all trials"


def body(diagnosis, wide=None):
    """Warnings, figure, tables, notes and settings as HTML; ``wide`` spares drawing it again."""
    meta = diagnosis.meta
    wide, narrow = (
        "data:image/png;base64," + base64.b64encode(image).decode()
        for image in (wide or png(diagnosis), png(diagnosis, columns=1))
    )
    sectors = [
        {"alpha": f"{row.alpha:g}", "n_R": row.n_R, "n_C": row.n_C, "gap": number(row.alpha_gap, 2)}
        | {f"mass of {plain_label(b)}": number(getattr(row, f"mass_{b}")) for b in BLOCKS}
        for row in diagnosis.sectors.itertuples()
    ]
    flat = {k: v for k, v in meta.items() if k != "versions" and v is not None} | meta["versions"]
    settings = "".join(
        f"<dt>{escape(k.replace('_', ' '))}</dt><dd>{escape(str(v))}</dd>" for k, v in flat.items()
    )
    return f"""<p>{meta['network']} of {meta['n_hidden']} units, {meta['trials']} trials of
{meta['steps']} steps. T_RR couples the {meta['n_R']} leading Schur coordinates
(|λ| ≥ {meta['alpha']:g} ρ) among themselves, T_C→R the other {meta['n_hidden'] - meta['n_R']} into
them, T_CC the others among themselves. {escape(_WORDS[meta['measure']])}</p>
{_list("Warnings", diagnosis.warnings)}
<picture><source media="(max-width: 700px)" srcset="{narrow}">
<img src="{wide}" alt="{escape(alt(diagnosis))}" style="max-width:100%"></picture>
{_table(summary_rows(diagnosis), "What each removal changes")}
<p>Other orders and controls are measured on {_which(meta)}.</p>
{_how_to_read()}
{_list("Notes", diagnosis.notes)}
<details><summary>Sectors at other thresholds</summary>
{_table(sectors, "Sectors by alpha; gap: distance to the nearest modulus over the spectral radius")}
</details>
<details><summary>Settings</summary><dl>{settings}</dl></details>"""


def document(diagnosis, wide=None):
    """The report: one file that asks nothing of the network."""
    title = f"Ablation profile of a network of {diagnosis.meta['n_hidden']} units"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0 auto; max-width: 70rem; padding: 1rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }}
.wide {{ overflow-x: auto; margin: 1rem 0; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
caption {{ text-align: left; font-weight: 600; padding-bottom: 0.4rem; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0;
  border-bottom: 1px solid #ddd; white-space: nowrap; }}
thead th {{ white-space: normal; vertical-align: bottom; }}
td:last-child {{ min-width: 15rem; white-space: normal; }}
th[scope=row] {{ font-weight: 400; }}
summary {{ cursor: pointer; margin: 0.5rem 0; font-weight: 600; }}
dl {{ display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.1rem 1rem; }}
dd {{ margin: 0; }}
@media (max-width: 700px) {{
  dl {{ display: block; }}
  dd {{ margin: 0 0 0.4rem 1rem; }}
  table, caption, tbody, tr, th[scope=row], td {{ display: block; }}
  thead {{ display: none; }}
  tr {{ border-bottom: 1px solid #999; padding: 0.5rem 0; }}
  th[scope=row] {{ font-weight: 600; }}
  th, td {{ border: 0; padding: 0.1rem 0; white-space: normal; }}
  td::before {{ content: attr(data-label) ": "; color: #555; }}
}}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body(diagnosis, wide)}
</main>
</body>
</html>
"""
