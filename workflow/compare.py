"""Compare the results of two runs, table by table, and the verdicts that rest on them.

::

    python -m workflow.compare published build/paper
    python -m workflow.compare build/paper build/mine --html build/mine.html

A and B are folders of runs, or ``published``. For every table that both have: the largest
differences of each quantity over rows of the same network, rows that only one has, and in words
whether the tables are equal, nearly so, hold other networks from the same distribution, or differ.
Then the claims of the paper whose verdicts differ. A page says it all, the terminal a summary.
"""

import argparse
import json
import sys
from html import escape
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from paperlib import ArtifactError, claims, read_results, report
from paperlib.artifacts import QUANTITIES, RESULT_COLUMNS, family
from workflow import WorkflowError
from workflow.catalogue import ROOT
from workflow.files import cannot_write, relative, write_atomic

KEYS = list(RESULT_COLUMNS[:-1])
ENSEMBLE = ["task", "convention", "construction", "n_hidden"]
ROUNDING = 1e-9  # absolute or relative
NEARLY = 1e-3  # the same: other networks are seldom so close, in all numbers at once never
LEVEL = 0.05  # of the test, over all ensembles of a table
NONE = "no evidence"
VERDICTS = ("claims", "conventions")  # tables of verdicts, with columns of their own
RESAMPLES = 999
STYLE = """body {font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em}
table {border-collapse: collapse; margin: 1em 0; font-size: 0.9em}
th, td {border-bottom: 1px solid #ccc; padding: 0.2em 0.8em; text-align: left}"""


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Results tables of a run's folder, or of a flat one; that of the claims is no such table.

    Raises
    ------
    WorkflowError
        If there is no such folder.
    ArtifactError
        If a table is damaged or of another schema.
    """
    if not folder.is_dir():
        raise WorkflowError(f"there is no folder {relative(folder)}")
    nested = folder / "results"
    files = sorted((nested if nested.is_dir() else folder).glob("*.csv"))
    return {path.stem: read_results(path) for path in files if path.stem not in VERDICTS}


def differences(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Rows of either table with both values, and how far apart they are.

    Returns
    -------
    DataFrame
        The key columns, ``value_a``, ``value_b``, ``_merge``, ``absolute`` and ``relative``; a
        value that only one of them has is infinitely far from the other.
    """
    both = a.merge(b, on=KEYS, how="outer", suffixes=("_a", "_b"), indicator=True)
    x, y = both["value_a"], both["value_b"]
    same = (x == y) | (x.isna() & y.isna())
    with np.errstate(invalid="ignore"):
        both["absolute"] = (x - y).abs().where(~same, 0.0).fillna(np.inf)
        size = pd.concat([x.abs(), y.abs()], axis=1).max(axis=1)
        both["relative"] = (both["absolute"] / size).where(~same, 0.0).fillna(np.inf)
    return both


def by_quantity(both: pd.DataFrame) -> pd.DataFrame:
    """The largest differences of each quantity; numbered ones, as of lags, are taken together."""
    name = both["quantity"].map(family)
    rows = []
    for quantity, group in both.groupby(name, sort=False):
        common = group[group["_merge"] == "both"]
        rows.append({
            "quantity": quantity, "rows in both": len(common),
            "largest absolute difference": common["absolute"].max(),
            "largest relative difference": common["relative"].max(),
            "only in A": (group["_merge"] == "left_only").sum(),
            "only in B": (group["_merge"] == "right_only").sum(),
        })
    return pd.DataFrame(rows)


def same_distribution(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, str]:
    """Whether the networks of two tables could be draws from one distribution.

    Within each ensemble, networks are exchanged between A and B at random: how often is the largest
    difference in mean rank over the ensemble's numbers as large as it is? One test for all numbers
    of an ensemble, because those of a network are not independent; then one of the sum over
    ensembles, for many that differ a little, and one of the ensemble that differs most, each at
    half the level. Ensembles that hold the same numbers in A and B are left out.

    Returns
    -------
    str
        A verdict.
    str
        How many networks it rests on.
    """
    a, b = (t[t["quantity"].isin(QUANTITIES)].assign(run=r) for t, r in ((a, "A"), (b, "B")))
    cell = ["quantity", "removed", "alpha"]
    ensembles, counts = [], []
    for name, group in pd.concat([a, b]).groupby(ENSEMBLE):
        wide = group.assign(alpha=group["alpha"].fillna(-1)).pivot(
            index=["run", "seed"], columns=cell, values="value"
        )
        in_a = wide.index.get_level_values("run") == "A"
        if wide[in_a].droplevel("run").equals(wide[~in_a].droplevel("run")):
            continue
        both = wide[in_a].notna().any() & wide[~in_a].notna().any()
        if not both.any():
            continue
        # What a network lacks, such as steps to a criterion that it missed, is beyond all others.
        ranks = stats.rankdata(wide.loc[:, both].fillna(np.inf).to_numpy(), axis=0)
        ranks = (ranks - ranks.mean(axis=0)) / np.where(np.ptp(ranks, axis=0), ranks.std(axis=0), 1)
        ensembles.append((ranks, in_a, name))
        counts.append((int(in_a.sum()), int((~in_a).sum())))
    if not ensembles:
        return "differs", "no ensemble in common"
    note = "networks per ensemble, A and B: "
    note += ", ".join(f"{x} and {y}" for x, y in sorted(set(counts)))

    def apart(shuffle):
        return [
            np.abs(
                ranks[chosen].mean(axis=0) - ranks[~chosen].mean(axis=0)
            ).max() if len(ranks) > 1 else 0.0
            for ranks, in_a, _ in ensembles for chosen in [shuffle(in_a)]
        ]

    observed, rng = np.array(apart(lambda chosen: chosen)), np.random.default_rng(0)
    resampled = np.array([apart(rng.permutation) for _ in range(RESAMPLES)])

    def probability(found, drawn):
        return (1 + (drawn >= found * (1 - 1e-12)).sum(axis=0)) / (1 + RESAMPLES)

    alone = probability(observed, resampled)
    together = probability(observed.sum(), resampled.sum(axis=1))
    if min(together, len(alone) * alone.min()) <= LEVEL / 2:
        name = ensembles[int(np.lexsort((-observed, alone))[0])][2]
        return "differs", f"{note}; most in {' '.join(map(str, name))}"
    # Two-sided: the A networks can all lie above those of B or all below.
    if np.prod([min(1.0, 2 / comb(x + y, x)) for x, y in counts]) > LEVEL:
        return "other networks, too few to tell from another distribution", note
    return "other networks from the same distribution", note


def compare(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, str, pd.DataFrame]:
    """Verdict on two tables in words, a note, and the differences by quantity."""
    both = differences(a, b)
    common, counts = both[both["_merge"] == "both"], both["_merge"].value_counts()
    near = np.minimum(common["absolute"], common["relative"])
    alone = [f"{counts[side]} rows only in {name}" for side, name in (
        ("left_only", "A"), ("right_only", "B")
    ) if counts[side]]
    if len(common) and (near == 0).all():
        verdict, note = "equal", ""
    elif len(common) and (near <= ROUNDING).all():
        verdict, note = f"equal to rounding (≤ {ROUNDING:g})", ""
    elif len(common) and (near <= NEARLY).all():
        verdict, note = f"nearly equal (≤ {NEARLY:g})", ""
    else:
        verdict, note = same_distribution(a, b)
        if (near == 0).any():  # as in a table of which some numbers were altered
            note = (
                f"{(near > ROUNDING).sum()} of {len(common)} common numbers differ, at most by "
                f"{common['absolute'].max():.3g} or, relative to the larger, by "
                f"{common['relative'].max():.3g}; {note}"
            )
    if alone and not note:
        verdict += " where both have rows"
    return verdict, "; ".join([*([note] if note else []), *alone]), by_quantity(both)


def shows_published(folder: Path, name: str) -> bool:
    """Whether a run's table is a copy of the published one, as of a study that trained nothing."""
    try:
        record = json.loads((folder / "provenance" / f"{name}.json").read_text(encoding="utf-8"))
        return record["parameters"].get("train_here") is False
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False


def verdicts(a: Path, b: Path) -> tuple[pd.DataFrame, list[str]]:
    """Every claim of the paper with what either run says of it, and why some are not judged.

    Returns
    -------
    DataFrame
        ``no evidence`` where a run can not judge a claim.
    list of str
        Each reason for that once.
    """
    rows, reasons = [], {}
    for claim in claims.read_ledger():
        row = {"id": claim.id, "claim": claim.claim, "paper": claim.paper or "—"}
        for name, folder in (("A", a), ("B", b)):
            try:
                judged = claims.judge([claim], folder).iloc[0]
                row |= {name: report.number(judged["ours"]), f"verdict {name}": judged["verdict"]}
            except ArtifactError as error:
                row |= {name: "—", f"verdict {name}": NONE}
                reasons[f"not judged in {name}: {error.__cause__ or error}"] = None
        rows.append(row)
    return pd.DataFrame(rows), list(reasons)


def changed_verdicts(judged: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Claims that both runs judge and judge differently, and how many that is of how many."""
    by_both = judged[(judged["verdict A"] != NONE) & (judged["verdict B"] != NONE)]
    changed = by_both[by_both["verdict A"] != by_both["verdict B"]]
    text = f"{len(changed)} of {len(by_both)} verdicts that both runs can judge change"
    return changed, f"{text}; the ledger has {len(judged)} claims"


def page(
    a: Path, b: Path, tables: dict, judged: pd.DataFrame, reasons: list[str], alone: str
) -> str:
    """The comparison as one HTML file that needs no other."""

    def html(table: pd.DataFrame) -> str:
        return table.to_html(
            index=False, border=0, na_rep="—", float_format=lambda v: f"{v:.3g}"
        )

    changed, counted = changed_verdicts(judged)
    names = f"A = {escape(relative(a))}, B = {escape(relative(b))}"
    parts = [f"<h1>Two runs compared</h1><p>{names}</p><p>{escape(alone)}</p>"]
    summary = pd.DataFrame(
        [(name, verdict, note) for name, (verdict, note, _) in tables.items()],
        columns=["table", "verdict", "note"],
    )
    parts += ["<h2>Tables</h2>", html(summary)]
    parts += [f"<h2>Claims whose verdicts change</h2><p>{escape(counted)}.</p>"]
    parts += [html(changed) if len(changed) else "<p>None.</p>"]
    parts += [f"<p>{escape(reason)}</p>" for reason in reasons]
    parts += [f"<h2>{escape(name)}</h2>{html(rows)}" for name, (_, _, rows) in tables.items()]
    parts += ["<h2>All claims</h2>", html(judged)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Two runs compared'
        f"</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def run(a: Path, b: Path, html: Path) -> str:
    """Compare two folders, write the page, return the summary.

    Raises
    ------
    WorkflowError
        If a folder is missing, no table is in both, or the page can not be written.
    ArtifactError
        If a table is damaged or of another schema.
    """
    ours, theirs = read_tables(a), read_tables(b)
    names = [name for name in ours if name in theirs]
    if not names:
        has = " and ".join(
            f"{relative(folder)} has {', '.join(tables) or 'none'}"
            for folder, tables in ((a, ours), (b, theirs))
        )
        raise WorkflowError(f"no results table is in both folders: {has}")
    tables = {}
    for name in names:
        verdict, note, rows = compare(ours[name], theirs[name])
        if verdict == "equal" and any(shows_published(folder, name) for folder in (a, b)):
            verdict, note = "the published run, shown again", "nothing was trained to compare"
        tables[name] = verdict, note, rows
    alone = "; ".join(
        f"only in {side}: {', '.join(sorted(set(these) - set(names)))}"
        for side, these in (("A", ours), ("B", theirs)) if set(these) - set(names)
    )
    judged, reasons = verdicts(a, b)
    try:
        html.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkflowError(cannot_write(html, error)) from None
    write_atomic(html, page(a, b, tables, judged, reasons, alone))
    lines = [f"A = {relative(a)}, B = {relative(b)}"]
    width = max(map(len, names))
    for name, (verdict, note, _) in tables.items():
        lines.append(f"{name:<{width}}  {verdict}" + (f" ({note})" if note else ""))
    changed, counted = changed_verdicts(judged)
    lines += [alone] if alone else []
    lines.append(counted)
    lines += [
        f"  {row['id']}: {row['verdict A']} → {row['verdict B']} (paper {row['paper']})"
        for _, row in changed.iterrows()
    ]
    return "\n".join([*lines, *reasons, f"page: {relative(html)}"])


def main(argv: list[str] | None = None) -> int:
    """Run from a command line; 0 on success, 2 on an error."""
    parser = argparse.ArgumentParser(prog="python -m workflow.compare")
    parser.add_argument("a", metavar="A", help="folder of a run, or published")
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument("--html", default="build/compare.html", help="page to write")
    options = parser.parse_args(argv)
    try:
        print(run(ROOT / options.a, ROOT / options.b, ROOT / options.html))
    except (WorkflowError, ArtifactError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
