"""Files: results, solutions and where they live. Every write is whole or not at all."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors
import safetensors.numpy

from .constructions import Construction, make_construction
from .network import Solution
from .schur import SUBSETS
from .tasks import Task
from .training import check_seeds, train

__all__ = [
    "FAMILIES",
    "QUANTITIES",
    "RESULT_COLUMNS",
    "ArtifactError",
    "Paths",
    "family",
    "load_or_train",
    "load_solution",
    "project_root",
    "read_results",
    "reported",
    "save_solution",
    "study_results",
    "write_atomically",
    "write_results",
]

RESULT_COLUMNS = (
    "task", "convention", "construction", "n_hidden", "seed", "alpha", "removed", "quantity",
    "value",
)

QUANTITIES = {
    "fvu": "fraction of variance unexplained on held-out trials",
    "delta_fvu": "FVU after the ablation minus FVU before",
    "s_dt": "delta_fvu per unit of removed Schur mass; empty where no mass is removed",
    "removed_mass": "‖T − T̃‖_F / ‖T‖_F",
    "replay_accuracy": "fraction of (sequence, lag, channel) replayed with the right sign",
    "fvu_refit": "fvu with W_hy fitted anew on other trials",
    "replay_accuracy_refit": "replay accuracy with W_hy fitted anew on other trials",
    "account_mass": "removed ‖ΔW‖_F / ‖W‖_F; this and the next ones: paperlib.response.ACCOUNTS",
    **{
        f"account_{name}": f"the account {name} of a removal"
        for name in (
            "pcs", "target", "readout", "drive", "alignment", "one_step", "linear", "clipped"
        )
    },
    "n_couplings": "pairs of diagonal blocks",
    "gradient_rank": "rank correlation over couplings of delta_fvu and its first order",
    "steps_to_solve": "batches until accuracy ended training; empty if the budget ended it",
    "horizon": "lags trained on when training ended",
    "training_overlap": "held-out sequences that training had seen",
    "n_R": "coordinates in the leading sector",
    "alpha_gap": "distance from the threshold αρ to the nearest modulus, over ρ",
    "spectral_radius": "largest eigenvalue modulus ρ",
    "henrici": "departure from normality, over ‖W‖_F",
    "schur_residual": "‖QTQᵀ − W‖_F / ‖W‖_F",
    "n_ties": "groups of blocks whose moduli tie",
    "change": "measure of a network of yours after the ablation minus before",
    "discrepancy": "fvu with the unablated network's outputs as targets",
    "metric": "what your own function says of the outputs",
    "order_gap": "median distance of neighbouring moduli inside the sector of a block, over ρ",
    "final_loss": "training loss, mean over the last epoch",
}

# Numbered quantities, as replay_accuracy_lag_3, so that curves and draws fit the same columns.
FAMILIES = {
    "replay_accuracy_lag": "replay accuracy at one lag alone, from 1",
    "replay_accuracy_order": "replay accuracy under one order inside the sectors; 0: the stated one",
    "delta_fvu_order": "the same of delta_fvu",
}
FAMILIES |= {
    "removable_mass": "largest mass whose removal changes FVU by at most the k-th of EPSILONS",
    "kept_couplings": "couplings that are left by it; see paperlib.couplings",
    "delta_fvu_coupling": "delta_fvu without one coupling, of blocks i < j, as 1000 i + j",
    "first_order_coupling": "the same to first order, by the gradient",
}
_MEASURES = ("numerical_radius", "kreiss", "transient_growth", "separation", "projector_norm")
QUANTITIES |= {name: f"see paperlib.departure.DEPARTURES: {name}" for name in _MEASURES}
for _name in ("henrici", *_MEASURES, "fvu", "delta_fvu"):
    FAMILIES[f"{_name}_epoch"] = f"{_name} after so many epochs of training"
for _kind in ("block", "order", "gaussian", "rotated", "entries", "permuted"):
    FAMILIES[f"change_{_kind}"] = f"change of a {_kind}; see paperlib.diagnose"
for _kind in ("block", "gaussian", "rotated", "entries", "permuted"):
    FAMILIES[f"delta_fvu_{_kind}"] = f"delta_fvu of a control, {_kind}; see paperlib.controls"
    FAMILIES[f"replay_accuracy_{_kind}"] = f"replay accuracy under the control {_kind}"


def family(quantity: str) -> str:
    """A quantity's name without the number of a numbered one."""
    stem, _, number = quantity.rpartition("_")
    return stem if stem in FAMILIES and re.fullmatch(r"0|[1-9]\d*", number) else quantity


_WEIGHTS = ("W_xh", "W_hh", "W_hy")
# What every trained solution depends on, besides the module of its trainer; a hash of them tells
# whether a stored one is still current.
_TRAINING_SOURCES = ("tasks.py", "unroll.py", "constructions.py", "training.py")


class ArtifactError(ValueError):
    """A file is missing, damaged, foreign or cannot be written. The message names it."""


def project_root() -> Path:
    """The folder that holds the book: the first above the working folder with ``_config.yml``.

    Outside a checkout, the working folder itself.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "_config.yml").is_file() and (folder / "paperlib").is_dir():
            return folder
    return here


@dataclass(frozen=True)
class Paths:
    """Where one run reads and writes.

    Parameters
    ----------
    out : str or Path
        Folder of the run, relative to the project's root unless absolute.
    """

    out: str | Path

    @property
    def root(self) -> Path:
        return project_root() / self.out

    results = property(lambda self: self.root / "results")
    solutions = property(lambda self: self.root / "solutions")
    figures = property(lambda self: self.root / "figures")

    def ensemble(self, task: Task, construction: Construction | str, n_hidden: int) -> Path:
        """Folder of one ensemble; other conventions than the default are named in it."""
        construction = make_construction(construction)
        default = next(iter(type(task).conventions))
        name = task.name if task.convention == default else f"{task.name}.{task.convention}"
        return self.solutions / f"{name}-{construction.name}-{n_hidden}"


@contextmanager
def write_atomically(path: Path | str):
    """Yield a temporary path beside ``path`` that replaces it if the block succeeds.

    Raises
    ------
    ArtifactError
        If the folder or file cannot be written (permissions, full disk); ``path`` is untouched.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix
        )
        os.close(handle)
        yield Path(temporary)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise ArtifactError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def write_results(results: pd.DataFrame, path: Path | str) -> None:
    """Write a tidy table of results as CSV, after checking it against the contract.

    Parameters
    ----------
    results : DataFrame
        Columns ``RESULT_COLUMNS``; ``quantity`` from ``QUANTITIES`` or of a family of
        ``FAMILIES``, with its number; one row per number.
    path : Path

    Raises
    ------
    ArtifactError
        If columns or quantities are not of the contract, a number stands twice, or the file
        cannot be written.
    """
    _check_results(results, path)
    with write_atomically(path) as temporary:
        # 17 significant digits read back as the same float64.
        results.to_csv(temporary, index=False, float_format="%.17g", lineterminator="\n")


def read_results(path: Path | str) -> pd.DataFrame:
    """Read a table of results and check it against the contract.

    Raises
    ------
    ArtifactError
        If the file is missing, damaged or of another schema.
    """
    path = Path(path)
    try:
        results = pd.read_csv(
            path, dtype={"removed": str, "quantity": str}, keep_default_na=False,
            na_values={"value": [""], "alpha": [""], "seed": [""]},
        )
    except FileNotFoundError:
        raise ArtifactError(
            f"{path} does not exist; run the notebook that writes it "
            f"({path.stem}) or `make book` first"
        ) from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read as a results file: {error}") from error
    _check_results(results, path)
    return results


def study_results(name: str, tables: list[pd.DataFrame]) -> pd.DataFrame:
    """What this run measured for a study or, where it measured nothing, the published results.

    Parameters
    ----------
    name : str
        The study's notebook.
    tables : list of DataFrame
        Columns `RESULT_COLUMNS`; empty if the study was not run.

    Raises
    ------
    ArtifactError
        As `read_results`.
    """
    if tables:
        found = pd.concat(tables, ignore_index=True)
        if found.empty:
            raise ArtifactError(
                f"{name} has nothing to measure: none of these networks has couplings (a network "
                "with a Cayley start has none) or finite weights"
            )
        return found
    return read_results(project_root() / "published" / f"{name}.csv")


def _check_results(results: pd.DataFrame, path: Path | str) -> None:
    if tuple(results.columns) != RESULT_COLUMNS:
        raise ArtifactError(
            f"{path}: columns are {list(results.columns)}, expected {list(RESULT_COLUMNS)}"
        )
    if results.empty:
        raise ArtifactError(f"{path}: no rows")
    unknown = sorted(q for q in set(results["quantity"]) if family(q) not in {*QUANTITIES, *FAMILIES})
    unknown += sorted(set(results["quantity"]) & set(FAMILIES))  # without a number
    if unknown:
        numbered = ", ".join(f"{stem}_1 and so on" for stem in FAMILIES)
        raise ArtifactError(
            f"{path}: unknown quantity {unknown[0]!r}; allowed: {', '.join(QUANTITIES)}, {numbered}"
        )
    for column in ("task", "convention", "construction"):
        strange = [text for text in results[column].unique() if not isinstance(text, str)]
        if strange:
            raise ArtifactError(f"{path}: column {column!r} holds {strange[0]!r}, which is no name")
    if not pd.api.types.is_numeric_dtype(results["value"]):
        raise ArtifactError(f"{path}: column 'value' holds something that is not a number")
    for column, fine in (
        ("alpha", lambda v: v.isna() | ((v > 0) & (v <= 1))), ("seed", lambda v: v.isna() | (v >= 0)),
        ("n_hidden", lambda v: v >= 1),
    ):
        numeric = pd.api.types.is_numeric_dtype(results[column])
        bad = results[column] if not numeric else results[column][~fine(results[column])]
        if not numeric or len(bad):
            raise ArtifactError(f"{path}: column {column!r} holds {bad.iloc[0]!r}")
    strange = sorted(set(results["removed"]) - set(SUBSETS))
    if strange:
        raise ArtifactError(
            f"{path}: unknown subset {strange[0]!r} in column 'removed'; "
            f"allowed: {', '.join(SUBSETS)}"
        )
    repeated = results.duplicated(subset=list(RESULT_COLUMNS[:-1]))
    if repeated.any():
        row = results[repeated].iloc[0].to_dict()
        raise ArtifactError(f"{path}: the same number stands twice: {row}")


def reported(task: str | None = None, as_printed: bool = False) -> pd.DataFrame:
    """Every number that the paper prints, ``book/reported.csv``.

    Parameters
    ----------
    task : str, optional
        Only this task's rows.
    as_printed : bool
        All columns as text, digit for digit: 1.0 and 1.00 round differently.

    Returns
    -------
    DataFrame
        ``id, where, task, construction, n_hidden, alpha, removed, quantity, value, sem, words``;
        ``words`` where the paper gives no number.
    """
    path = project_root() / "book" / "reported.csv"
    if not path.is_file():
        raise ArtifactError(f"{path} does not exist: work in a checkout of the book")
    if as_printed:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    else:
        table = pd.read_csv(path, keep_default_na=False, na_values={"value": [""], "sem": [""]})
    return table if task is None else table[table["task"] == task].reset_index(drop=True)


def save_solution(solution: Solution, path: Path | str) -> Path:
    """Write a solution as ``.safetensors``, its history in the header as JSON.

    Raises
    ------
    ArtifactError
        If the file cannot be written.
    """
    tensors = {name: np.ascontiguousarray(getattr(solution, name)) for name in _WEIGHTS}
    tensors["history"] = np.ascontiguousarray(solution.history)
    header = {"paperlib": json.dumps(solution.meta, sort_keys=True)}
    with write_atomically(path) as temporary:
        temporary.write_bytes(safetensors.numpy.save(tensors, metadata=header))
    return Path(path)


def load_solution(path: Path | str) -> Solution:
    """Read a solution written by `save_solution`.

    Raises
    ------
    ArtifactError
        If the file is missing, damaged or not one of ours.
    """
    path = Path(path)
    advice = "delete it to train it again"
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except FileNotFoundError:
        raise ArtifactError(f"{path} does not exist") from None
    except (OSError, safetensors.SafetensorError) as error:
        raise ArtifactError(f"{path} is damaged ({error}); {advice}") from error
    missing = {*_WEIGHTS, "history"} - set(tensors)
    if "paperlib" not in header or missing:
        raise ArtifactError(f"{path} was not written by paperlib (lacks its header); {advice}")
    try:
        meta = json.loads(header["paperlib"])
        if not isinstance(meta, dict):
            raise TypeError("its header is no table of names and values")
        return Solution(**tensors, meta=meta)
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged ({error}); {advice}") from error


# As they were when they were imported: an edit since then did not train anything.
_AS_IMPORTED = {
    file: file.read_bytes()
    for file in (
        Path(__file__).with_name(name) for name in (*_TRAINING_SOURCES, "curriculum.py")
    )
}


def training_source_hash(trainer: Callable) -> str:
    """Hash of the modules that decide what a seed trains to."""
    digest = hashlib.sha256()
    files = [Path(__file__).with_name(name) for name in _TRAINING_SOURCES]
    files.append(Path(sys.modules[trainer.__module__].__file__))
    for file in dict.fromkeys(files):
        digest.update(_AS_IMPORTED.get(file) or file.read_bytes())
    return digest.hexdigest()[:16]


def _defaults(trainer: Callable) -> dict:
    """What a trainer's recipe is where nothing is said."""
    parameters = inspect.signature(trainer).parameters.values()
    return {
        p.name: p.default for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.name != "progress"
    }


def _plain(value):
    """A recipe's part as JSON has it: a Curriculum as a dict, an array or number of numpy's too."""
    return asdict(value) if is_dataclass(value) else value.tolist()


def _shapes(solution: Solution) -> tuple[int, int]:
    return solution.W_xh.shape[1], solution.W_hy.shape[0]


def load_or_train(
    out: Paths | str | Path,
    task: Task,
    construction: Construction | str,
    seeds: Iterable[int],
    *,
    trainer: Callable | None = None,
    progress: bool = True,
    **recipe,
) -> list[Solution]:
    """Solutions of all seeds: those stored and current are read, the others trained and stored.

    Parameters
    ----------
    out : Paths or path
        Folder of the run.
    task, construction, seeds, progress, **recipe
        As for the trainer.
    trainer : callable
        `paperlib.train`, the default, or `paperlib.train_copy`.

    Raises
    ------
    ArtifactError
        If a stored file is damaged, or one cannot be written.
    """
    paths = out if isinstance(out, Paths) else Paths(out)
    construction = make_construction(construction)
    seeds = check_seeds(seeds)
    trainer = train if trainer is None else trainer
    recipe = {**_defaults(trainer), **recipe}
    n_hidden = recipe["n_hidden"]
    stamp = {
        "task": task.name, "task_parameters": task.parameters, "construction": construction.name,
        "recipe": json.loads(json.dumps(recipe, default=_plain)), "trainer": trainer.__name__,
        "source": training_source_hash(trainer), "torch": version("torch"),
    }
    written_by = version("paperlib")
    folder = paths.ensemble(task, construction, n_hidden)
    files = {seed: folder / f"seed-{seed}.safetensors" for seed in seeds}
    solutions = {}
    for seed, file in files.items():
        if file.exists():
            stored = load_solution(file)
            current = {**stored.meta, "n_hidden": stored.n_hidden, "shapes": _shapes(stored)}
            wanted = {
                **stamp, "seed": seed, "n_hidden": n_hidden, "shapes": (task.n_in, task.n_out)
            }
            if all(current.get(key) == value for key, value in wanted.items()):
                solutions[seed] = stored
    missing = [seed for seed in seeds if seed not in solutions]
    if missing:
        for solution in trainer(task, construction, missing, progress=progress, **recipe):
            solution.meta.update(stamp, paperlib=written_by)
            save_solution(solution, files[solution.seed])
            solutions[solution.seed] = solution
    return [solutions[seed] for seed in seeds]

