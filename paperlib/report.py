"""Numbers as text, and the tables that more than one page shows."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from .artifacts import project_root
from .metrics import mean_sem

__all__ = [
    "ablation_numbers", "ablation_table", "claims_table", "empty_as_zero", "glue", "mean_sem_text", "number",
    "of_solved", "of_trained", "order_range", "order_text", "parameter", "per_seed", "plain_label", "plus_minus", "published_cost", "range_text",
    "solved_text", "table",
]

QUANTITY_LABELS = {
    "fvu": "FVU", "delta_fvu": "ΔFVU", "s_dt": "S_ΔT", "removed_mass": "removed mass",
    "replay_accuracy": "replay accuracy", "n_R": "n_R",
}
TASK_LABELS = {
    "copy": "copy", "flip_flop": "the flip-flop", "sine": "sine generation",
    "integration": "integration",
}
PLAIN_LABELS = {"none": "nothing", "RR": "T_RR", "CR": "T_C→R", "CC": "T_CC"}


def number(value: float, digits: int = 3) -> str:
    """A number with a few significant digits, without exponent where it reads well."""
    if value is None or not np.isfinite(value):
        return "not defined"
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        text = np.format_float_positional(
            value, precision=digits, unique=False, fractional=False, trim="-"
        )
        return text.replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa.replace('-', '−')} × 10{power}"


def plus_minus(mean: float, error: float) -> str:
    """``mean ± error``, both to the second significant digit of the error."""
    if not np.isfinite(error) or not error:
        return number(mean)
    if error < 1e-4:
        text = f"{number(mean)} ± {number(error, 2)}"
    else:
        decimals = max(0, 1 - int(np.floor(np.log10(error))))
        text = f"{mean:.{decimals}f} ± {error:.{decimals}f}".replace("-", "−")
    return text.replace(" ± ", "\u00a0±\u00a0")  # not to be broken over two lines


def mean_sem_text(values) -> str:
    """``mean ± SEM`` as text; the mean alone for one value; what is undefined is said so."""
    values = np.asarray(values, dtype=float)
    known = values[np.isfinite(values)]
    if not len(known):
        return "not defined"
    text = plus_minus(*mean_sem(known)[:2])
    missing = len(values) - len(known)
    return f"{text} ({missing} of {len(values)} not defined)" if missing else text


def mean_sd_text(values) -> str:
    """``mean ± standard deviation`` over solutions as text."""
    values = np.asarray(values, dtype=float)
    if not len(values) or not np.isfinite(values).all():
        return "not defined"
    return plus_minus(values.mean(), values.std(ddof=1) if len(values) > 1 else np.nan)


def range_text(values) -> str:
    """``lowest to highest`` as text."""
    values = np.asarray(values, dtype=float)
    if not len(values) or not np.isfinite(values).all():
        return "not defined"
    return f"{number(values.min())} to {number(values.max())}"


def median_count(values) -> str:
    """Median of counts over solutions that have one, as a whole number."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return str(round(np.median(known))) if len(known) else "not defined"


def within(printed: float, values) -> str:
    """Whether a printed number lies between our lowest and highest: yes, no, or a dash."""
    values = np.asarray(values, dtype=float)
    if not (len(values) and np.isfinite(printed) and np.isfinite(values).all()):
        return "—"
    return "yes" if values.min() <= printed <= values.max() else "no"


def plain_label(removed: str) -> str:
    """Name of a subset of blocks without mathematics."""
    return " + ".join(PLAIN_LABELS[part] for part in removed.split("+"))


def per_seed(results: pd.DataFrame, quantity: str, removed: str = "none") -> np.ndarray:
    """Values of one quantity under one ablation, in the order of the seeds."""
    rows = results[(results["quantity"] == quantity) & (results["removed"] == removed)]
    return rows.sort_values("seed")["value"].to_numpy(dtype=float)


def order_range(results: pd.DataFrame, removed: str, which=(0.025, 0.975)) -> np.ndarray:
    """Quantiles, over random orders inside the sectors, of the mean over networks.

    Parameters
    ----------
    results : DataFrame
        With rows of `paperlib.order_draws`, of one ensemble and α.
    removed : str
    which : tuple of float

    Returns
    -------
    ndarray
        Empty where there are no draws: nothing that was removed depends on an order.
    """
    ours = results[(results["removed"] == removed) & results["quantity"].str.contains("_order_")]
    ours = ours[~ours["quantity"].str.endswith("_order_0")]  # the stated order is not drawn
    means = ours.groupby("quantity")["value"].mean()
    return np.quantile(means, which) if len(means) else np.empty(0)


def order_text(results: pd.DataFrame, removed: str) -> str:
    """`order_range` as text, a dash where there is none."""
    found = order_range(results, removed)
    return range_text(found) if len(found) else "—"


SOLVED = 0.999  # replay accuracy from which a copy network, as trained, counts as solved
_NETWORK = ["task", "convention", "construction", "n_hidden", "seed"]


def _as_trained(results: pd.DataFrame) -> pd.Series:
    rows = results[
        (results["quantity"] == "replay_accuracy") & (results["removed"] == "none")
    ]
    if rows.empty:
        raise ValueError("no replay_accuracy as trained tells which networks are solved")
    # The same at every α.
    return rows.groupby(_NETWORK, sort=False)["value"].first()


def of_solved(results: pd.DataFrame, solved: bool = True) -> pd.DataFrame:
    """Rows of the networks whose held-out replay as trained reaches `SOLVED`, or of the others.

    Raises
    ------
    ValueError
        If the table does not hold the accuracy as trained.
    """
    accuracy = _as_trained(results)
    chosen = accuracy.index[(accuracy >= SOLVED) == solved]
    return results[pd.MultiIndex.from_frame(results[_NETWORK]).isin(chosen)]


FAILED = 0.1  # FVU as trained above which a cross-task network is said to have failed to train


def of_trained(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of the networks whose FVU as trained is at most `FAILED`.

    Networks without that number, as those of copy, are kept: copy has a measure of its own. So is
    an ensemble in which no network trained, as there is nothing else to judge it by.
    """
    rows = results[(results["quantity"] == "fvu") & (results["removed"] == "none")]
    rows = rows.assign(trained=rows["value"] <= FAILED)
    some = rows.groupby(_NETWORK[:-1])["trained"].transform("any")
    failed = rows[~rows["trained"] & some].set_index(_NETWORK).index
    return results[~pd.MultiIndex.from_frame(results[_NETWORK]).isin(failed)]


def empty_as_zero(results: pd.DataFrame) -> pd.DataFrame:
    """The same with S_ΔT of a block that holds nothing as zero, where it is undefined: 0/0."""
    keys = [*_NETWORK, "alpha", "removed"]
    empty = results[(results["quantity"] == "removed_mass") & (results["value"] == 0)]
    index = pd.MultiIndex.from_frame(results[keys])
    chosen = (results["quantity"] == "s_dt") & index.isin(pd.MultiIndex.from_frame(empty[keys]))
    return results.assign(value=results["value"].mask(chosen & (results["removed"] != "none"), 0.0))


def solved_text(results: pd.DataFrame) -> str:
    """``4 of 5``: how many networks are solved."""
    accuracy = _as_trained(results)
    return f"{(accuracy >= SOLVED).sum()} of {len(accuracy)}"


def ablation_numbers(results: pd.DataFrame) -> dict[str, str]:
    """What a page says about one ensemble, as text keyed by ``quantity`` or ``quantity_block``.

    Also ``worst_block`` and ``mildest_block`` by mean ΔFVU, ``worst_s_block`` by mean S_ΔT, each
    with the number of networks in which it is, and ``n_seeds``.
    """
    numbers = {"n_seeds": str(results["seed"].nunique())}
    for quantity in ("fvu", "spectral_radius", "henrici", "n_R", "alpha_gap", "final_loss"):
        numbers[quantity] = mean_sem_text(per_seed(results, quantity))
    means = {}
    for quantity in ("delta_fvu", "s_dt", "removed_mass"):
        for block in ("RR", "CR", "CC"):
            values = per_seed(results, quantity, block)
            numbers[f"{quantity}_{block}"] = mean_sem_text(values)
            known = values[np.isfinite(values)]
            if len(known):
                means[quantity, block] = known.mean()
    for key, quantity, choose in (
        ("worst_block", "delta_fvu", "max"), ("mildest_block", "delta_fvu", "min"),
        ("worst_s_block", "s_dt", "max"),
    ):
        blocks = {b: mean for (q, b), mean in means.items() if q == quantity}
        numbers[key] = "not defined"
        if blocks:
            block = {"max": max, "min": min}[choose](blocks, key=blocks.get)
            each = np.stack([per_seed(results, quantity, b) for b in blocks])
            agree = (each[list(blocks).index(block)] == getattr(np, f"nan{choose}")(each, axis=0)).sum()
            numbers[key] = f"{plain_label(block)} (in {agree} of {each.shape[1]} networks)"
    return numbers


def table(rows: pd.DataFrame, caption: str) -> Styler:
    """A table of ready-made texts: captioned, row headers in the first column, equal on reruns."""
    name = hashlib.sha256(caption.encode()).hexdigest()[:8]
    return (
        rows.style.set_caption(caption).hide(axis="index")
        .set_uuid(name).set_table_attributes('class="dataframe"')
    )


def ablation_table(results: pd.DataFrame, caption: str) -> Styler:
    """FVU, ΔFVU, S_ΔT and removed mass per subset, mean ± SEM over seeds."""
    present = [s for s in results["removed"].unique() if s != "none"]
    rows = [{"removed": "nothing", "FVU": mean_sem_text(per_seed(results, "fvu"))}]
    for removed in present:
        rows.append({
            "removed": plain_label(removed),
            "FVU": mean_sem_text(per_seed(results, "fvu", removed)),
            "ΔFVU": mean_sem_text(per_seed(results, "delta_fvu", removed)),
            "mean ΔFVU in other orders": order_text(results, removed),
            "S_ΔT": mean_sem_text(per_seed(results, "s_dt", removed)),
            "removed mass": mean_sem_text(per_seed(results, "removed_mass", removed)),
        })
    return table(pd.DataFrame(rows).fillna("—"), caption)


def glue(values: dict) -> None:
    """Store values for the pages to show: numbers as text, objects that draw themselves as such.

    Without MyST-NB, outside the book's environment, this does nothing.
    """
    try:
        from myst_nb import glue as store
    except ImportError:
        return
    for key, value in values.items():
        drawn = hasattr(value, "_repr_html_")
        store(key, value if drawn else parameter(value), display=False)


def parameter(value) -> str:
    """A parameter's value as prose shows it."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(parameter, value))
    return str(value)


def replay_table(results: pd.DataFrame) -> pd.DataFrame:
    """Replay accuracy and removed mass of every subset, by construction, as texts."""
    rows = []
    for construction, ours in results.groupby("construction", sort=False):
        for removed in ours[ours["quantity"] == "replay_accuracy"]["removed"].unique():
            values = per_seed(ours, "replay_accuracy", removed)
            rows.append({
                "network": construction.replace("_", " "),
                "removed": plain_label(removed),
                "replay accuracy": mean_sem_text(values),
                "range": range_text(values),
                "mean in other orders": order_text(ours, removed),
                "removed mass": mean_sem_text(per_seed(ours, "removed_mass", removed)),
            })
    return pd.DataFrame(rows)


# Of pages that decide claims: their figure, and the section whose cell makes the numbers.
_ANCHORS = {
    "figure_1": {"figure": "fig-figure-1", "cell": "the-eight-subsets"},
    "figure_2": {"figure": "fig-figure-2", "cell": "the-nine-cells"},
    "table_1": {"cell": "the-six-rows"},
    "open_choices": {"figure": "fig-conventions", "cell": "every-reading-of-every-task"},
}


def _links(page: str) -> str:
    """A page, and where on it the figure and the cell of its numbers are, as HTML."""
    links = [f'<a href="{page}.html">{page.replace("_", " ")}</a>']
    links += [
        f'<a href="{page}.html#{anchor}">{what}</a>'
        for what, anchor in _ANCHORS.get(page, {}).items()
    ]
    return ", ".join(links)


def published_cost(name: str) -> str:
    """How long a notebook's published run took, as text, from its record of provenance."""
    record = project_root() / "published" / f"{name}.json"
    if not record.is_file():
        return "a time that is not recorded"
    seconds = json.loads(record.read_text(encoding="utf-8"))["wall_seconds"]
    return f"{number(seconds / 60, 2)} minutes"


def claims_table(
    verdicts: pd.DataFrame, printed: pd.DataFrame, order: tuple[str, ...]
) -> pd.DataFrame:
    """Claims with the paper's value, ours and the verdict, as texts; pages and figures are links.

    Parameters
    ----------
    verdicts : DataFrame
        From `paperlib.claims.judge`.
    printed : DataFrame
        ``reported(as_printed=True)``, for the printed errors.
    order : tuple of str
        Verdicts in the order of the rows.
    """
    sems = printed.set_index("id")["sem"]
    rows = []
    by_verdict = sorted(verdicts.to_dict("records"), key=lambda row: order.index(row["verdict"]))
    for row in by_verdict:
        sem, known = sems.get(row["id"], ""), np.isfinite(row["ours"])
        ours = {
            "value": number(row["ours"]), "rank": f"correlation {number(row['ours'])}",
            "share": f"in {row['ours'] * row['n']:.0f} of {row['n']}" if known else "—",
            "construction": f"removed mass at most {number(row['ours'], 2)}",
        }.get(row["rule"], "—")
        rows.append({
            "claim": row["claim"], "place": row["where"],
            "paper": f"{row['paper']}\u00a0±\u00a0{sem}" if sem else row["paper"] or "—",
            "ours": ours,
            "interval": range_text([row["low"], row["high"]]) if np.isfinite(row["low"]) else "—",
            "networks": row["n"] or "—",
            "verdict": f"{row['verdict']}: {row['reason']}" if row["reason"] else row["verdict"],
            "made by": _links(row["page"]),
        })
    return pd.DataFrame(rows or [{"claim": "none"}])
