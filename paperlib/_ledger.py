"""Reading the ledger of claims, ``book/claims.yml``, and checking every entry of it."""

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from .artifacts import QUANTITIES, ArtifactError, project_root, reported
from .report import TASK_LABELS, plain_label
from .schur import SUBSETS
from .tasks import TASKS
from .training import is_number

TABLES = ("figure_1", "figure_2", "table_1", "open_choices")  # what may be evidence
PARAMETERS = {  # of each rule
    "value": {"m", "against"}, "share": {"holds"}, "rank": {"x", "y", "below"},
    "construction": set(), "undecidable": {"reason"},
}
MEASURES = list(QUANTITIES)


@dataclass(frozen=True)
class Claim:
    """One claim; an entry that stands for several numbers makes several.

    Attributes
    ----------
    id, where, claim, quantity, removed, page : str
        ``removed`` is empty where the claim is about several blocks.
    tasks : tuple of str
    paper : str
        Number or words as printed; empty where the paper prints neither.
    rule : str
    parameters, evidence : dict
        Of the rule, and which rows of which results table.
    """

    id: str
    where: str
    claim: str
    tasks: tuple[str, ...]
    quantity: str
    removed: str
    paper: str
    rule: str
    parameters: dict
    evidence: dict
    page: str


def printed_interval(text: str) -> tuple[float, float]:
    """All numbers that round to a printed one: half a unit of its last digit to either side.

    >>> printed_interval("64")
    (63.5, 64.5)
    """
    value = Decimal(text)
    half = Decimal(1).scaleb(value.as_tuple().exponent) / 2
    return float(value - half), float(value + half)


def read_rules(path: Path | str | None = None) -> dict[str, str]:
    """What each rule means in words; of ``book/claims.yml`` if no path is given."""
    return _content(path)[1]["rules"]


def read_ledger(path: Path | str | None = None, paper: pd.DataFrame | None = None) -> list[Claim]:
    """All claims of a ledger, in its order.

    Parameters
    ----------
    path : Path, optional
        ``book/claims.yml`` if not given.
    paper : DataFrame, optional
        ``reported(as_printed=True)`` if not given.

    Raises
    ------
    ArtifactError
        If the file cannot be read, or an entry is wrong; the message names it.
    """
    path, content = _content(path)
    paper = reported(as_printed=True) if paper is None else paper
    claims, ids = [], []
    for place, entry in enumerate(content["claims"] or []):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise ArtifactError(f"{path.name}: entry {place} has no id")
        try:
            claims += _claims(entry, paper)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else error
            raise ArtifactError(f"{path.name}, claim {name!r}: {what}") from error
        ids.append(name)
    for names in (ids, [claim.id for claim in claims]):  # of entries, and of what they claim
        name, count = Counter(names).most_common(1)[0] if names else ("", 0)
        if count > 1:
            raise ArtifactError(f"{path.name}: {name!r} stands there {count} times")
    return claims


def _content(path: Path | str | None) -> tuple[Path, dict]:
    path = Path(path or project_root() / "book" / "claims.yml")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path} cannot be read as a ledger: {error}") from error
    if not isinstance(content, dict) or set(content) != {"rules", "claims"}:
        raise ArtifactError(f"{path} must have the sections rules and claims, and no other")
    if not isinstance(content["rules"], dict) or not isinstance(content["claims"], list | None):
        raise ArtifactError(f"{path}: rules must be a table and claims a list")
    if set(content["rules"]) != set(PARAMETERS):
        raise ArtifactError(f"{path}: rules must be {', '.join(PARAMETERS)}")
    return path, content


def allowed(what: str, given, known) -> None:
    """Refuse what is not known, a word or several.

    Raises
    ------
    ValueError
        Naming the word and all that are known.
    """
    for one in given if isinstance(given, (list, tuple, set)) else [given]:
        if one not in known:
            raise ValueError(f"unknown {what} {one!r}; allowed: {', '.join(map(str, known))}")


def _claims(entry: dict, paper: pd.DataFrame) -> list[Claim]:
    """The claims of one entry: one, or one for each number that it is about."""
    own = ["reported"] if "reported" in entry else ["where", "task", "quantity", "removed"]
    allowed("key", set(entry), ["id", "claim", "rule", "evidence", "page", *own])
    if not isinstance(entry.get("rule"), dict) or len(entry["rule"]) != 1:
        raise ValueError("has no rule, or not one")
    ((rule, parameters),) = entry["rule"].items()
    allowed("rule", rule, PARAMETERS)
    if set(parameters) != PARAMETERS[rule]:
        raise ValueError(f"rule {rule} takes {', '.join(sorted(PARAMETERS[rule])) or 'nothing'}")
    if "reported" not in entry:
        return [_claim(entry, entry, rule)]
    patterns = entry["reported"]
    if not isinstance(patterns, list) or not patterns:
        raise ValueError(f"reported must be a list of ids of numbers, got {patterns!r}")
    rows = []
    for pattern in patterns:
        found = [row for row in paper.to_dict("records") if fnmatchcase(row["id"], pattern)]
        if not found:
            raise ValueError(f"there is no number {pattern!r} in reported.csv")
        rows += found
    return [_claim(entry, row, rule) for row in rows]


def _claim(entry: dict, row: dict, rule: str) -> Claim:
    """The claim of an entry about a number, or about what it says itself."""
    removed, task = row.get("removed", ""), row["task"]
    allowed("removed", removed, ("", "each subset", *SUBSETS))
    evidence = {}
    if row is not entry:
        evidence = {"construction": row["construction"], "n_hidden": int(row["n_hidden"])}
        evidence["alpha"] = float(row["alpha"])
    evidence |= entry.get("evidence", {})
    text = entry["claim"]
    if row is not entry:
        network = row["construction"].replace("_", " ")
        text = text.format(
            removed=plain_label(removed) if removed in SUBSETS else "", alpha=row["alpha"],
            task=TASK_LABELS[task], network="Cayley" if network == "cayley" else network,
        )
    claim = Claim(
        id=row["id"], where=row["where"], claim=text,
        tasks=tuple(task) if isinstance(task, list) else (task,), quantity=row["quantity"],
        removed=removed, paper=row.get("value") or row.get("words") or "", rule=rule,
        parameters=entry["rule"][rule], evidence=evidence, page=entry["page"],
    )
    pages = sorted(path.stem for path in (project_root() / "notebooks").glob("*.py"))
    allowed("page", claim.page, pages)
    allowed("task", claim.tasks, TASKS)
    allowed("quantity", claim.quantity, MEASURES)
    if rule != "undecidable":
        _check_evidence(evidence)
        _check_parameters(claim)
    return claim


def _check_evidence(evidence: dict) -> None:
    allowed("evidence", evidence["results"], TABLES)
    keys = ("results", "convention", "construction", "n_hidden", "alpha")
    allowed("key of evidence", set(evidence), keys)
    if not isinstance(evidence["n_hidden"], int) or not isinstance(evidence["construction"], str):
        raise ValueError("evidence needs a construction and a whole number n_hidden")
    evidence["alpha"] = np.atleast_1d(np.asarray(evidence["alpha"], dtype=float)).tolist()


def _check_parameters(claim: Claim) -> None:
    given = claim.parameters
    if claim.rule == "value":
        allowed("against", given["against"], ("none", "zero", "unablated"))
        allowed("m", given["m"], range(1, 10))
        try:
            printed_interval(claim.paper)
        except InvalidOperation:
            raise ValueError(f"a value needs a printed number, not {claim.paper!r}") from None
    elif claim.rule == "rank":
        allowed("quantity", [given["x"], given["y"]], MEASURES)
        if not is_number(given["below"], -1, 1):
            raise ValueError(f"below must be a correlation, got {given['below']!r}")
    elif claim.rule == "share":
        names = [
            column(quantity, removed) + end
            for quantity in MEASURES for removed in SUBSETS for end in suffixes(claim.evidence)
        ]
        if not statements(claim):
            raise ValueError("holds is empty")
        for statement in statements(claim):
            holds(statement, pd.DataFrame(1.0, index=[0], columns=names))


def column(quantity: str, removed: str) -> str:
    """Name of a column of the wide table that rules see."""
    return f"{quantity}_{removed.replace('+', '_')}"


def suffixes(evidence: dict) -> list[str]:
    """What stands behind a column's name: α, where a claim takes several."""
    alphas = evidence["alpha"]
    return [""] if len(alphas) == 1 else [f"_{alpha:.2f}".replace(".", "") for alpha in alphas]


def statements(claim: Claim) -> list[str]:
    """What the rule share counts networks by."""
    given = claim.parameters["holds"]
    return given if isinstance(given, list) else [given]


def columns_of(statement: str) -> set[str]:
    """Columns of the wide table that a statement speaks of."""
    return set(re.findall(r"\b[A-Za-z_]\w*", statement)) - {"and", "or", "not", "abs"}


def holds(statement: str, networks: pd.DataFrame) -> pd.Series:
    """In which networks a statement holds; one that lacks a value does not bear it out.

    Raises
    ------
    ArtifactError
        If the statement does not evaluate to true or false.
    """
    unknown = sorted(columns_of(statement) - set(networks))
    if unknown:
        raise ArtifactError(f"there is no {unknown[0]} for {statement!r}")
    try:
        found = networks.eval(statement, engine="python")
    except Exception as error:  # whatever Python or pandas finds wrong with a text
        raise ArtifactError(f"{statement!r} does not evaluate: {error}") from error
    if not isinstance(found, pd.Series) or found.dtype != bool:
        raise ArtifactError(f"{statement!r} is not true or false in each network")
    return found & networks[sorted(columns_of(statement))].notna().all(axis=1)
