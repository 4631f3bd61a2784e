"""The networks that the chapters beyond the paper share: all four tasks, one construction."""

from collections.abc import Iterable

from .artifacts import load_or_train
from .curriculum import train_copy
from .network import Solution
from .tasks import Task, make_task

__all__ = ["SUITE", "load_suite"]

SUITE = ("flip_flop", "sine", "integration", "copy")


def load_suite(
    out,
    seeds: Iterable[int],
    copy_seeds: Iterable[int],
    *,
    construction: str = "dense_orthogonal",
    n_hidden: int = 64,
    epochs: int = 30,
    batches_per_epoch: int = 128,
    copy_hidden: int = 72,
    s: int = 8,
    d: int = 8,
    lags: int = 128,
    max_steps: int = 6000,
) -> dict[str, tuple[Task, list[Solution]]]:
    """Networks of the default conventions, those stored read back, the others trained.

    Parameters
    ----------
    out : Paths or path
        Folder of the run.
    seeds, copy_seeds : iterable of int
        One cross-task network of each task, and one copy network.
    construction : str
    n_hidden, epochs, batches_per_epoch : int
        Of cross-task networks, as for `paperlib.train`.
    copy_hidden, s, d, lags, max_steps : int
        Of copy networks, as for `paperlib.Copy` and `paperlib.train_copy`.

    Returns
    -------
    dict
        Task and solutions, keyed by the names of `SUITE`.

    Raises
    ------
    ArtifactError, TypeError, ValueError
        As `paperlib.load_or_train`.
    """
    suite = {}
    for name in SUITE:
        if name == "copy":
            task = make_task("copy", s=s, d=d, lags=lags)
            solutions = load_or_train(
                out, task, construction, copy_seeds, trainer=train_copy, n_hidden=copy_hidden,
                batch=64, clip=1.0, curriculum={"max_steps": max_steps},
            )
        else:
            task = make_task(name)
            solutions = load_or_train(
                out, task, construction, seeds, n_hidden=n_hidden, epochs=epochs,
                batches_per_epoch=batches_per_epoch,
            )
        suite[name] = task, solutions
    return suite
