"""The paper's claims, each judged by a rule that was fixed before any verdict was seen.

``book/claims.yml`` holds the claims and, under ``rules``, what each rule means in words; the
functions of `RULES` are those words as code. A rule sees one table, a network a row, with a column
for each quantity and what was removed, such as ``delta_fvu_CR``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from ._ledger import (
    TABLES,
    Claim,
    allowed,
    column,
    columns_of,
    holds,
    printed_interval,
    read_ledger,
    read_rules,
    statements,
    suffixes,
)
from .artifacts import ArtifactError, Paths, project_root, read_results, write_atomically
from .metrics import bootstrap_interval
from .report import of_solved
from .schur import SUBSETS
from .tasks import TASKS

__all__ = [
    "COLUMNS", "RULES", "TABLES", "VERDICTS", "Claim", "across", "evidence_folder", "judge",
    "printed_interval", "read_evidence", "read_ledger", "read_rules", "write_verdicts",
]

VERDICTS = (
    "not reproduced", "same direction", "not decidable", "reproduced", "true by construction"
)
COLUMNS = (
    "id", "where", "claim", "task", "quantity", "removed", "paper", "ours", "low", "high", "n",
    "rule", "verdict", "reason", "evidence", "page",
)
ROUNDING = 1e-5  # removed mass of couplings that are zero, from weights in single precision
FEWEST = 5  # networks for a share to be more than a direction
TAILS = (0.025, 0.975)  # of every interval


def judge(
    ledger: list[Claim], evidence: Mapping[str, pd.DataFrame] | Path | str
) -> pd.DataFrame:
    """The verdict on every claim.

    Parameters
    ----------
    ledger : list of Claim
        From `read_ledger`.
    evidence : folder, or dict of DataFrame
        A run's folder or ``published``; or results tables keyed by their names.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, a row a claim. ``low`` and ``high`` are the interval that the rule
        names, ``n`` counts networks.

    Raises
    ------
    ArtifactError
        If evidence is missing, of another schema or size, or of the smoke profile. The message
        names the claim.
    """
    tables, rows = dict(evidence) if isinstance(evidence, Mapping) else {}, []
    for claim in ledger:
        networks, stem = None, claim.evidence.get("results", "")
        try:
            if claim.rule != "undecidable":
                if stem not in tables:
                    if isinstance(evidence, Mapping):
                        raise ArtifactError(f"there is no {stem} among the evidence")
                    tables[stem] = read_evidence(stem, Path(evidence))
                networks = _networks(claim, tables[stem])
            found = RULES[claim.rule](claim, networks)
        except ArtifactError as error:
            raise ArtifactError(f"claim {claim.id!r}: {error}") from error
        row = {**asdict(claim), "task": ", ".join(claim.tasks), "evidence": stem}
        rows.append({**dict.fromkeys(("ours", "low", "high"), np.nan), **row, **found})
    return pd.DataFrame(rows, columns=COLUMNS)


def across(ledger: list[Claim], results: pd.DataFrame) -> pd.DataFrame:
    """Claims about one task, judged again under every convention of it in a table of results.

    Parameters
    ----------
    ledger : list of Claim
    results : DataFrame
        In the results contract, of one construction, width and α; a recipe counts as a convention.

    Returns
    -------
    DataFrame
        As from `judge`, with ``convention`` as last column. Claims that need quantities, subsets,
        thresholds, constructions or widths that the table has not are left out.

    Raises
    ------
    ArtifactError
        As `judge`.
    """
    alphas, parts = set(results["alpha"].dropna()), []
    for claim in ledger:
        here = results[results["task"].isin(claim.tasks)]
        if (
            len(claim.tasks) > 1 or here.empty or claim.rule not in ("value", "share")
            or not set(claim.evidence["alpha"]) <= alphas
            or claim.evidence["construction"] not in set(here["construction"])
            or claim.evidence["n_hidden"] not in set(here["n_hidden"])
            or not _needs(claim) <= {*map(column, here["quantity"], here["removed"])}
        ):
            continue
        for convention in here["convention"].unique():
            wanted = {**claim.evidence, "convention": convention}
            found = judge([replace(claim, evidence=wanted)], {wanted["results"]: results})
            parts.append(found.assign(convention=convention))
    if not parts:
        return pd.DataFrame(columns=[*COLUMNS, "convention"])
    return pd.concat(parts, ignore_index=True)


def _needs(claim: Claim) -> set[str]:
    """Columns of the wide table, without α, that a claim's rule takes."""
    if claim.rule == "value":
        return {column(claim.quantity, claim.removed)}
    return set().union(*map(columns_of, statements(claim)))


def write_verdicts(verdicts: pd.DataFrame, path: Path | str) -> None:
    """Write the table of `judge` or `across` as CSV, whole or not at all.

    Raises
    ------
    ArtifactError
        If its columns or verdicts are others, or the file cannot be written.
    """
    columns = tuple(c for c in verdicts.columns if c != "convention")
    if columns != COLUMNS or not set(verdicts["verdict"]) <= set(VERDICTS):
        raise ArtifactError(f"{path}: not a table of verdicts")
    with write_atomically(path) as temporary:
        verdicts.to_csv(temporary, index=False, float_format="%.17g", lineterminator="\n")


# --- evidence -----------------------------------------------------------------------------------


def evidence_folder(evidence: str, out: str | Path) -> Path:
    """Where evidence lies: ``"run"``, the run's own folder; ``"published"``, the repository's.

    Raises
    ------
    ValueError
        For any other word.
    """
    allowed("evidence", evidence, ("run", "published"))
    return Paths(out).root if evidence == "run" else project_root() / "published"


def read_evidence(stem: str, folder: Path) -> pd.DataFrame:
    """A results table of a run's folder, or of a flat one; never a smoke-sized one.

    Raises
    ------
    ArtifactError
        If it is missing, of another schema, or of the smoke profile.
    """
    flat = not (folder / "results").is_dir()
    table = folder / ("" if flat else "results") / f"{stem}.csv"
    record = folder / ("" if flat else "provenance") / f"{stem}.json"
    # A run by hand in an editor leaves no record; its sizes are checked all the same.
    if record.is_file():
        try:
            profile = json.loads(record.read_text(encoding="utf-8"))["profile"]
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{record} is damaged: {error}") from error
        if profile == "smoke":
            raise ArtifactError(f"{table} is of the profile smoke, which can decide nothing")
    return read_results(table)


def _networks(claim: Claim, results: pd.DataFrame) -> pd.DataFrame:
    """The claim's rows of a table, one network a row, indexed by task and seed."""
    wanted, stem = claim.evidence, claim.evidence["results"]
    conventions = {
        task: wanted.get("convention", next(iter(TASKS[task].conventions))) for task in claim.tasks
    }
    rows = results[
        (results["convention"] == results["task"].map(conventions))
        & (results["construction"] == wanted["construction"])
    ]
    missing = set(claim.tasks) - set(rows["task"])
    if missing:
        raise ArtifactError(f"{stem} has no {wanted['construction']} networks of {min(missing)}")
    sizes = ", ".join(map(str, sorted(set(rows["n_hidden"]))))
    rows = rows[rows["n_hidden"] == wanted["n_hidden"]]
    if rows.empty:
        raise ArtifactError(f"{stem} has n_hidden {sizes}, the claim is of {wanted['n_hidden']}")
    kept = rows[rows["alpha"].isin(wanted["alpha"])]
    if set(kept["alpha"]) != set(wanted["alpha"]):
        raise ArtifactError(f"{stem} has not all of α = {wanted['alpha']}")
    names = kept["quantity"] + "_" + kept["removed"].str.replace("+", "_")
    names += kept["alpha"].map(dict(zip(wanted["alpha"], suffixes(wanted), strict=True)))
    wide = kept.assign(name=names).pivot(index=["task", "seed"], columns="name", values="value")
    if claim.tasks == ("copy",):
        try:
            solved = of_solved(rows)["seed"].unique()
        except ValueError as error:
            raise ArtifactError(f"{stem}: {error}") from error
        wide = wide[wide.index.isin(solved, level="seed")]
    return wide


def _values(networks: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    missing = [name for name in names if name not in networks]
    if missing:
        raise ArtifactError(f"its evidence has no {missing[0]}")
    return networks[names]


# --- rules --------------------------------------------------------------------------------------


def _found(verdict: str, reason: str, n: int, ours=np.nan, low=np.nan, high=np.nan) -> dict:
    return {
        "verdict": verdict, "reason": reason, "n": n, "ours": ours, "low": low, "high": high
    }


def _value(claim: Claim, networks: pd.DataFrame) -> dict:
    """Printed interval against our prediction interval, and our effect against none."""
    against, m = claim.parameters["against"], claim.parameters["m"]
    names = [column(claim.quantity, claim.removed)]
    names += [column(claim.quantity, "none")] if against == "unablated" else []
    values = _values(networks, names).to_numpy()
    n, lost = len(values), int((~np.isfinite(values)).any(axis=1).sum())
    if n < 2:
        return _found("not decidable", "fewer than two networks to judge by", n)
    if lost:
        return _found("not decidable", f"{lost} of {n} networks have no finite value", n)
    ours = values[:, 0]
    mean = ours.mean()
    half = stats.t.ppf(TAILS[1], n - 1) * ours.std(ddof=1) * np.sqrt(1 / m + 1 / n)
    numbers = (n, mean, mean - half, mean + half)
    lowest, highest = printed_interval(claim.paper)
    meets = mean - half <= highest and mean + half >= lowest
    apart = "" if meets else "the printed number lies outside our interval"
    if against == "none":
        if meets and claim.quantity == "fvu" and mean - half < 0:
            apart = "but our networks differ so widely that the interval reaches below zero"
        return _found("reproduced" if meets else "not reproduced", apart, *numbers)
    # Positive is the paper's direction.
    effect = values[:, 1] - ours if against == "unablated" else ours * np.sign(float(claim.paper))
    below, above = bootstrap_interval(effect)
    if above < 0:
        return _found("not reproduced", "our effect has the other sign", *numbers)
    if below > 0:
        return _found("reproduced" if meets else "same direction", apart, *numbers)
    if meets:
        return _found(
            "not decidable", "no effect at all is not excluded", *numbers
        )
    return _found("not reproduced", f"{apart}, and no effect is not excluded", *numbers)


def _share(claim: Claim, networks: pd.DataFrame) -> dict:
    """Share of the networks in which a statement holds, against one half."""
    if networks.empty:
        return _found("not decidable", "no network to judge by", 0)
    # Each statement in the task that bears it out best; the weakest statement decides.
    best = [
        max((one for _, one in holds(s, networks).groupby(level="task")), key=pd.Series.mean)
        for s in statements(claim)
    ]
    decisive = min(best, key=pd.Series.mean)
    n, share = len(decisive), decisive.mean()
    # Resampled zeros and ones are binomial.
    low, high = stats.binom.ppf(TAILS, n, share) / n
    if share <= 0.5:
        verdict, reason = "not reproduced", "it holds in no more than half of the networks"
    elif n < FEWEST or low <= 0.5:
        verdict, reason = "same direction", "too few networks to exclude one half"
    else:
        verdict, reason = "reproduced", ""
    return _found(verdict, reason, n, share, low, high)


def _rank(claim: Claim, networks: pd.DataFrame, resamples: int = 999) -> dict:
    """Rank correlation of two quantities over tasks and single blocks, against a bound."""
    quantities, below = (claim.parameters["x"], claim.parameters["y"]), claim.parameters["below"]
    names = [column(quantity, block) for quantity in quantities for block in ("RR", "CR", "CC")]
    groups = [one.to_numpy() for _, one in _values(networks, names).groupby(level="task")]
    n = min(map(len, groups))
    if not np.isfinite(np.concatenate(groups)).all():
        return _found("not decidable", "some networks have no finite value", n)

    def correlation(samples):
        cells = np.stack([np.median(sample, axis=0) for sample in samples])
        x, y = cells[:, :3].ravel(), cells[:, 3:].ravel()
        return stats.spearmanr(x, y).statistic if np.ptp(x) and np.ptp(y) else np.nan

    rng = np.random.default_rng(0)
    drawn = [correlation([rng.choice(g, len(g)) for g in groups]) for _ in range(resamples)]
    numbers = (n, correlation(groups), *np.quantile(drawn, TAILS))
    if np.isnan(numbers[1]):
        return _found("not decidable", "all cells are equal: there is no order", *numbers)
    if not numbers[1] < below:
        return _found("not reproduced", "the correlation reaches the bound", *numbers)
    if n < FEWEST or not numbers[3] < below:
        return _found("same direction", "too few networks to exclude the bound", *numbers)
    return _found("reproduced", "", *numbers)


def _construction(claim: Claim, networks: pd.DataFrame) -> dict:
    """Whether any removal took away more than rounding."""
    masses = _values(networks, [column("removed_mass", removed) for removed in SUBSETS[1:]])
    n, largest = len(masses), masses.to_numpy().max(initial=0.0)
    if n and largest <= ROUNDING:  # NaN is not
        verdict, reason = "true by construction", "no coupling holds more than rounding"
    else:
        verdict = "not decidable"
        reason = "the couplings hold mass" if n else "no network to judge by"
    return {**_found(verdict, reason, n, largest if n else np.nan), "quantity": "removed_mass"}


def _undecidable(claim: Claim, networks: None) -> dict:
    return _found("not decidable", claim.parameters["reason"], 0)


RULES: dict[str, Callable[[Claim, pd.DataFrame], dict]] = {
    "value": _value, "share": _share, "rank": _rank, "construction": _construction,
    "undecidable": _undecidable,
}
