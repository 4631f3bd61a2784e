"""The table of notebooks and the profiles, read from ``workflow/config``."""

import difflib
from dataclasses import dataclass
from pathlib import Path

import yaml

from workflow import WorkflowError

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "workflow" / "config"


@dataclass(frozen=True)
class Row:
    """One notebook of the table: what it is, what it reads and what it writes."""

    name: str
    kind: str
    needs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Path of the jupytext source, relative to the repository."""
        return f"notebooks/{self.name}.py"

    @property
    def results(self) -> tuple[str, ...]:
        """Files it writes, relative to its ``out`` folder; the first is the results table."""
        return (f"results/{self.name}.csv", *self.writes)


def unknown(what: str, given: str, allowed) -> str:
    """A message that names the wrong word, the closest right one and all that are allowed."""
    allowed = sorted(allowed)
    close = difflib.get_close_matches(given, allowed, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"unknown {what} {given!r}.{hint} Allowed: {', '.join(allowed) or 'none'}"


def _read(path: Path) -> dict:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise WorkflowError(f"{path.relative_to(ROOT)} is not valid YAML: {error}") from None


def table() -> dict[str, Row]:
    """All notebooks in an order in which each comes after those it needs.

    Raises
    ------
    WorkflowError
        If a row needs a notebook that is not in the table, or the needs run in a circle.
    """
    rows = {
        name: Row(
            name, row["kind"], *(tuple(row.get(key, ())) for key in ("needs", "reads", "writes"))
        )
        for name, row in _read(CONFIG / "notebooks.yml")["notebooks"].items()
    }
    for row in rows.values():
        for need in row.needs:
            if need not in rows:
                raise WorkflowError(f"{row.name} needs an {unknown('notebook', need, rows)}")
    ordered: dict[str, Row] = {}
    while len(ordered) < len(rows):
        ready = [r for r in rows.values() if r.name not in ordered and set(r.needs) <= set(ordered)]
        if not ready:
            circle = ", ".join(sorted(set(rows) - set(ordered)))
            raise WorkflowError(f"notebooks.yml: these notebooks need one another: {circle}")
        ordered |= {row.name: row for row in ready}
    return ordered


def found(patterns) -> list[str]:
    """Files that match any of the patterns, relative to the repository, sorted."""
    paths = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def sources(row: Row) -> list[str]:
    """Files of the repository that a notebook depends on besides its own source."""
    return found([*_read(CONFIG / "notebooks.yml").get("sources", []), *row.reads])


def profiles() -> list[str]:
    """Names of the profiles."""
    return sorted(path.stem for path in CONFIG.glob("*.yml") if path.stem != "notebooks")


def load_profile(name: str) -> dict:
    """The content of ``workflow/config/<name>.yml``.

    Raises
    ------
    WorkflowError
        If there is no such profile.
    """
    if name not in profiles():
        raise WorkflowError(unknown("profile", name, profiles()))
    return _read(CONFIG / f"{name}.yml")


def parameters(config: dict) -> dict[str, dict]:
    """Parameters of each notebook under a profile's content: its kind's common ones, then its own.

    Raises
    ------
    WorkflowError
        If the profile names a section, a kind or a notebook that does not exist.
    """
    rows = table()
    for key in config:
        if key not in ("profile", "common", "notebooks"):
            raise WorkflowError(unknown("section", key, ("profile", "common", "notebooks")))
    common, own = config.get("common") or {}, config.get("notebooks") or {}
    for kind in common:
        if kind not in {row.kind for row in rows.values()}:
            raise WorkflowError(
                unknown("kind of notebook", kind, {row.kind for row in rows.values()})
            )
    for name in own:
        if name not in rows:
            raise WorkflowError(unknown("notebook", name, rows))
    return {
        name: {**(common.get(row.kind) or {}), **(own.get(name) or {})}
        for name, row in rows.items()
    }
