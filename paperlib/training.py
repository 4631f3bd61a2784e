"""Training an ensemble of solutions together, as one batched computation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from numbers import Real

import numpy as np
import torch
from tqdm import tqdm

from .constructions import Construction, initial_weights, make_construction
from .network import Solution
from .tasks import Task, Trials
from .unroll import hidden_states

__all__ = ["check_seeds", "generator", "train"]

_STREAMS = {"weights": 0, "data": 1, "evaluation": 2}
DATA = ("fresh", "fixed")


def generator(seed: int, stream: str) -> torch.Generator:
    """Random generator of one purpose of one seed: ``weights``, ``data`` or ``evaluation``.

    Streams of different seeds and purposes are independent, whoever else draws.
    """
    state = np.random.SeedSequence([seed, _STREAMS[stream]]).generate_state(1, np.uint64)[0]
    # torch takes 64-bit seeds but reads them as signed.
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))


def check_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """Seeds as a tuple of distinct non-negative integers.

    Raises
    ------
    ValueError
        If there is none, one is repeated, or one is not a non-negative integer.
    """
    if not isinstance(seeds, Iterable) or isinstance(seeds, str):
        raise ValueError(f"seeds must be a list of non-negative integers, got {seeds!r}")
    seeds = tuple(seeds)
    if not seeds:
        raise ValueError("seeds must name at least one seed, got none")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seeds must be non-negative integers, got {seed!r}")
    repeated = sorted({s for s in seeds if seeds.count(s) > 1})
    if repeated:
        raise ValueError(f"seeds must be distinct, got {repeated[0]} more than once")
    return tuple(map(int, seeds))


def is_count(value) -> bool:
    """Whether a value is a positive integer, Python's or NumPy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1


def is_number(value, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a finite real number from ``low`` to ``high``."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and math.isfinite(value) and low <= value <= high


def check_counts(**counts: int) -> tuple[int, ...]:
    """The counts as plain integers; what is not a positive integer is refused by name."""
    for name, value in counts.items():
        if not is_count(value):
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return tuple(map(int, counts.values()))


def check_clip(clip: float) -> float:
    """A limit on a gradient's norm as a plain number; anything else is refused."""
    if not is_number(clip, low=0):
        raise ValueError(f"clip must be at least 0 (no clipping) and finite, got {clip!r}")
    return float(clip)


def check_task(task: Task, kind: type[Task] = Task) -> None:
    """Refuse what is not a task, or not of this kind."""
    if not isinstance(task, kind):
        raise TypeError(
            f"task must be a {kind.__name__}, such as from paperlib.make_task, got {task!r}"
        )


@contextmanager
def one_thread():
    """One thread: faster at these sizes, and numbers that do not depend on the core count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(
    task: Task,
    construction: Construction | str,
    seeds: Iterable[int],
    *,
    n_hidden: int = 64,
    epochs: int = 30,
    batches_per_epoch: int = 128,
    batch: int = 64,
    learning_rate: float = 1e-3,
    clip: float = 0.0,
    io_start: str = "torch",
    data: str = "fresh",
    progress: bool = True,
) -> list[Solution]:
    """Train one network per seed, all together (paper, Section 4, for the default numbers).

    Adam on the masked mean squared error. A seed fixes a member's
    initial weights and data, and members share no arithmetic, so a seed means the same network
    whatever trains beside it, up to rounding in batched products (training is chaotic: a
    difference in the last bit grows with the number of steps).

    Parameters
    ----------
    task : Task
    construction : Construction or str
        Start and parametrisation of ``W_hh``.
    seeds : iterable of int
        Distinct non-negative integers, at least one.
    n_hidden : int
    epochs, batches_per_epoch, batch : int
        ``epochs * batches_per_epoch`` steps on ``batch`` trials each.
    learning_rate : float
    clip : float
        Largest norm of a member's gradient; 0 never clips, as the paper mentions no clipping.
    io_start : {"torch", "glorot", "lecun"}
        Law of the start of ``W_xh`` and ``W_hy``, see `initial_weights`.
    data : {"fresh", "fixed"}
        New trials at every batch, or those of the first epoch again in each, in a new order.
    progress : bool
        Show a bar with loss and time left.

    Returns
    -------
    list of Solution
        In the order of ``seeds``; those that diverged are kept, with ``meta["diverged"]``.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong kind or out of range.
    """
    check_task(task)
    construction = make_construction(construction)
    seeds = check_seeds(seeds)
    n_hidden, epochs, batches_per_epoch, batch = check_counts(
        n_hidden=n_hidden, epochs=epochs, batches_per_epoch=batches_per_epoch, batch=batch
    )
    if not (is_number(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate must be positive and finite, got {learning_rate!r}")
    if data not in DATA:
        raise ValueError(f"unknown data {data!r}; allowed: {', '.join(DATA)}")
    recipe = {
        "n_hidden": n_hidden, "epochs": epochs, "batches_per_epoch": batches_per_epoch,
        "batch": batch, "learning_rate": float(learning_rate), "clip": check_clip(clip),
        "io_start": io_start, "data": data,
    }
    with one_thread():
        parameters = stack_starts(task, construction, seeds, n_hidden, io_start)
        history = _fit(
            task, construction, parameters, [generator(s, "data") for s in seeds],
            epochs, batches_per_epoch, batch, recipe["learning_rate"], recipe["clip"],
            data == "fresh", progress,
        )
        W_hh = construction.assemble(parameters).detach()
    solutions = []
    for i, seed in enumerate(seeds):
        weights = {k: parameters[k][i].detach().numpy().copy() for k in ("W_xh", "W_hy")}
        solution = Solution(
            W_hh=W_hh[i].numpy().copy(), **weights, history=history[i].copy(),
            meta={
                "task": task.name, "convention": task.convention,
                "task_parameters": task.parameters, "construction": construction.name,
                "seed": seed, **recipe,
            },
        )
        solution.meta["final_loss"] = float(solution.history[-batches_per_epoch:].mean())
        solution.meta["diverged"] = not solution.finite
        if not solution.finite:
            warnings.warn(f"{task.name}, seed {seed}: training diverged", stacklevel=2)
        solutions.append(solution)
    return solutions


def stack_starts(task, construction, seeds, n_hidden, io_start) -> dict[str, torch.Tensor]:
    starts = [
        initial_weights(
            construction, task.n_in, n_hidden, task.n_out, generator(s, "weights"), io_start
        )
        for s in seeds
    ]
    stacked = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
    return {
        # Integers and booleans say how a construction is built; they are not trained.
        name: value.requires_grad_() if value.is_floating_point() else value
        for name, value in stacked.items()
    }


def _fit(
    task, construction, parameters, generators, epochs, batches_per_epoch, batch,
    learning_rate, clip, fresh, progress,
) -> np.ndarray:
    """Fit the stacked parameters in place; returns the losses, shape (member, steps)."""
    optimiser = torch.optim.Adam(parameters.values(), lr=learning_rate)
    history = np.empty((len(generators), epochs * batches_per_epoch), np.float32)
    bar = tqdm(
        total=history.shape[1], disable=not progress, unit="step", mininterval=1.0,
        desc=f"train {task.name} ×{len(generators)}", dynamic_ncols=True,
    )
    with bar:
        for epoch in range(epochs):
            if fresh or epoch == 0:
                trials = [task.sample(batches_per_epoch * batch, g) for g in generators]
            else:
                trials = [_shuffled(t, g) for t, g in zip(trials, generators, strict=True)]
            data = _as_batches(trials, batches_per_epoch, batch)
            for b in range(batches_per_epoch):
                losses = _step(construction, parameters, optimiser, clip, *(x[b] for x in data))
                history[:, epoch * batches_per_epoch + b] = losses
                bar.update()
            recent = history[:, epoch * batches_per_epoch :][:, :batches_per_epoch].mean()
            bar.set_postfix(loss=f"{recent:.3g}", refresh=False)
    return history


def _shuffled(trials: Trials, generator: torch.Generator) -> Trials:
    order = torch.randperm(len(trials.inputs), generator=generator)
    return Trials(*(part[order] for part in trials))


def _as_batches(samples: list[Trials], batches: int, batch: int) -> Trials:
    """An epoch's trials, each tensor of shape (batches, member, time, batch, channel)."""
    return Trials(*(
        torch.stack(parts).unflatten(1, (batches, batch)).permute(1, 0, 3, 2, 4).contiguous()
        for parts in zip(*samples, strict=True)
    ))


def _step(construction, parameters, optimiser, clip, inputs, targets, mask) -> np.ndarray:
    """One update of every member; returns its loss before the update, shape (member,)."""
    optimiser.zero_grad()
    hidden = hidden_states(parameters["W_xh"], construction.assemble(parameters), inputs)
    # W_hy from the left: its gradient is then the fast order of a thin product.
    outputs = torch.bmm(parameters["W_hy"], hidden.flatten(1, 2).mT).mT.reshape(targets.shape)
    error = (mask * (outputs - targets).square()).sum((1, 2, 3)) / mask.sum((1, 2, 3))
    # A sum over members keeps their gradients apart.
    error.sum().backward()
    if clip:
        clip_members([p.grad for p in parameters.values()], clip)
    optimiser.step()
    return error.detach().numpy()


def clip_members(gradients: list[torch.Tensor], clip: float) -> None:
    """Scale each member's gradient, over all its parameters, to a norm of at most ``clip``."""
    squares = sum(g.flatten(1).square().sum(1) for g in gradients)
    scale = (clip / squares.sqrt()).clamp(max=1.0)
    for g in gradients:
        g.mul_(scale.view(-1, *[1] * (g.ndim - 1)))
