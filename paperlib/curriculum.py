"""Training replay to a criterion: a horizon that grows, member by member, until copy is solved.

The paper does not say how its copy networks were trained. This recipe reaches a stated replay
accuracy or reports that it did not; every number in it was chosen by steps to solve alone.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from .artifacts import RESULT_COLUMNS
from .constructions import Construction, make_construction
from .network import Solution
from .tasks import Copy
from .training import (
    check_clip,
    check_counts,
    check_seeds,
    check_task,
    clip_members,
    generator,
    is_count,
    is_number,
    one_thread,
    stack_starts,
)
from .unroll import hidden_states

__all__ = [
    "Curriculum", "count_repeats", "criterion_rows", "train_copy", "training_sequences",
]

_BLOCK = 50  # batches drawn at once from a member's stream of data


@dataclass(frozen=True)
class Curriculum:
    """When the horizon grows and when training stops.

    Parameters
    ----------
    horizons : tuple of int
        Lags trained on, growing; those beyond the task's lags are left out, and the task's lags
        come last.
    learning_rates : tuple of float
        Adam's rate at each horizon, the last one for all further ones.
    promote_at : float
        Replay accuracy over ``window`` batches at which a member's horizon grows.
    solve_at : float
        The same at the last horizon: the member is solved and stops.
    window : int
        Batches.
    max_steps : int
        Budget; a member that has not been solved by then is kept, and said to be unsolved.

    Raises
    ------
    ValueError
        If a field is of the wrong kind or out of range.
    """

    horizons: tuple[int, ...] = (8, 16, 32, 64)
    learning_rates: tuple[float, ...] = (3e-3, 3e-3, 1.5e-3, 1.5e-3, 6e-4)
    promote_at: float = 0.999
    solve_at: float = 0.9995
    window: int = 50
    max_steps: int = 12_000

    def __post_init__(self):
        def all_of(values, fine):
            return isinstance(values, (tuple, list, np.ndarray)) and all(map(fine, values))

        def is_accuracy(value):
            return is_number(value, high=1) and value > 0.5

        rates, horizons = self.learning_rates, self.horizons
        growing = all_of(horizons, is_count) and sorted({*horizons}) == [*horizons]
        positive = all_of(rates, lambda rate: is_number(rate) and rate > 0) and len(rates) > 0
        checks = {
            "horizons": (growing, "a list of growing positive integers"),
            "learning_rates": (positive, "a list of positive finite numbers, at least one"),
            "promote_at": (is_accuracy(self.promote_at), "in (0.5, 1]"),
            "solve_at": (is_accuracy(self.solve_at), "in (0.5, 1]"),
            "window": (is_count(self.window), "a positive integer"),
            "max_steps": (is_count(self.max_steps), "a positive integer"),
        }
        for name, (fine, allowed) in checks.items():
            if not fine:
                raise ValueError(f"{name} must be {allowed}, got {getattr(self, name)!r}")
        plain = {
            "horizons": tuple(map(int, horizons)), "learning_rates": tuple(map(float, rates)),
            "promote_at": float(self.promote_at), "solve_at": float(self.solve_at),
            "window": int(self.window), "max_steps": int(self.max_steps),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, curriculum: Curriculum | dict | None) -> Curriculum:
        """A curriculum from one, from a dict of some of its fields, or the default.

        Raises
        ------
        TypeError, ValueError
            If it is none of these, or a field is unknown or wrong.
        """
        if isinstance(curriculum, cls):
            return curriculum
        if not isinstance(curriculum, dict | None):
            raise TypeError(f"curriculum must be a Curriculum or a dict, got {curriculum!r}")
        known = [f.name for f in fields(cls)]
        unknown = sorted(map(str, set(curriculum or {}) - set(known)))
        if unknown:
            raise ValueError(
                f"unknown field {unknown[0]!r} of curriculum; allowed: {', '.join(known)}"
            )
        return cls(**(curriculum or {}))

    def stages(self, lags: int) -> list[tuple[int, float]]:
        """Horizon and learning rate of each stage for a task with ``lags``."""
        horizons = [h for h in self.horizons if h < lags] + [lags]
        rates = [*self.learning_rates, *[self.learning_rates[-1]] * len(horizons)]
        # The last stage always has the last rate, however many stages a short task skips.
        return [*zip(horizons[:-1], rates, strict=False), (lags, self.learning_rates[-1])]


class _Adam:
    """Adam on stacked parameters with a learning rate of its own per member.

    Kingma and Ba (2015), their defaults, as ``torch.optim.Adam``, which has one rate for all
    members and state that cannot be cut down when a member is solved.
    """

    def __init__(self, parameters: dict[str, Tensor]):
        self.parameters = parameters
        self.mean = {k: torch.zeros_like(p) for k, p in parameters.items()}
        self.square = {k: torch.zeros_like(p) for k, p in parameters.items()}
        self.steps = 0

    def step(self, rates: Tensor) -> None:
        self.steps += 1
        scale = rates / (1 - 0.9**self.steps)
        correction = math.sqrt(1 - 0.999**self.steps)
        with torch.no_grad():
            for name, p in self.parameters.items():
                mean, square = self.mean[name], self.square[name]
                mean.lerp_(p.grad, 0.1)
                square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                update = mean / (square.sqrt() / correction + 1e-8)
                p.sub_(update * scale.view(-1, *[1] * (p.ndim - 1)))

    def keep(self, members: list[int]) -> None:
        for name, p in self.parameters.items():
            self.parameters[name] = p.detach()[members].clone().requires_grad_()
            self.mean[name] = self.mean[name][members]
            self.square[name] = self.square[name][members]


def training_sequences(task: Copy, seed: int, steps: int, batch: int) -> Tensor:
    """Every sequence that training with this seed saw in its first ``steps`` batches.

    Its stream of data is drawn again, so that held-out sequences can be *known* to be unseen.

    Returns
    -------
    Tensor, shape (steps * batch, s, d)
    """
    draw = generator(seed, "data")
    blocks = [
        task.symbols(_BLOCK * batch, draw) for _ in range(math.ceil(steps / _BLOCK))
    ]
    return torch.cat(blocks)[: steps * batch]


def count_repeats(held_out: Tensor, seen: Tensor) -> int:
    """How many of the held-out sequences are among those seen, both (sequence, s, d)."""
    known = {row.tobytes() for row in np.packbits(seen.flatten(1).numpy() > 0, axis=1)}
    packed = np.packbits(held_out.flatten(1).numpy() > 0, axis=1)
    return sum(row.tobytes() in known for row in packed)


def criterion_rows(solutions: Iterable[Solution]) -> pd.DataFrame:
    """Whether and when solutions of `train_copy` met their criterion, as rows of results.

    Returns
    -------
    DataFrame
        ``steps_to_solve`` (NaN where unsolved) and ``horizon`` of every solution.
    """
    rows = []
    for solution in solutions:
        meta = solution.meta
        where = (
            meta["task"], meta["convention"], solution.construction, solution.n_hidden,
            solution.seed, np.nan, "none",
        )
        steps = meta["steps"] if meta["solved"] else np.nan
        rows += [(*where, "steps_to_solve", steps), (*where, "horizon", meta["horizon"])]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS).astype({"value": float})


def train_copy(
    task: Copy,
    construction: Construction | str,
    seeds: Iterable[int],
    *,
    n_hidden: int = 72,
    batch: int = 64,
    clip: float = 1.0,
    io_start: str = "torch",
    curriculum: Curriculum | dict | None = None,
    progress: bool = True,
) -> list[Solution]:
    """Train one copy network per seed, together, each until it is solved.

    Mean squared error on the replayed symbols, Adam, each member's gradient limited to a norm of
    ``clip``. A member's horizon, learning rate and end depend on its own accuracy alone, so a
    seed means the same network whatever trains beside it, up to rounding.

    Parameters
    ----------
    task : Copy
    construction : Construction or str
    seeds : iterable of int
    n_hidden, batch : int
    clip : float
        0 never clips.
    io_start : {"torch", "glorot", "lecun"}
        Law of the start of ``W_xh`` and ``W_hy``, see `initial_weights`.
    curriculum : Curriculum or dict of its fields, optional
    progress : bool

    Returns
    -------
    list of Solution
        In the order of ``seeds``. ``meta`` says whether ``solved``, after how many ``steps``, and
        the ``horizon`` reached; unsolved and diverged members are kept.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong kind or out of range.

    Warns
    -----
    UserWarning
        If there are fewer hidden units than signs to hold, so that no linear replay exists.
    """
    check_task(task, Copy)
    curriculum = Curriculum.of(curriculum)
    construction, seeds = make_construction(construction), check_seeds(seeds)
    n_hidden, batch = check_counts(n_hidden=n_hidden, batch=batch)
    clip = check_clip(clip)
    if n_hidden < task.s * task.d:
        warnings.warn(
            f"n_hidden = {n_hidden} is below s · d = {task.s * task.d}, the signs to hold: "
            "expect networks that use their whole budget and stay unsolved",
            stacklevel=2,
        )
    with one_thread():
        run = _Run(task, construction, seeds, n_hidden, batch, clip, io_start, curriculum)
        members = run.fit(progress)
    recipe = {
        "n_hidden": n_hidden, "batch": batch, "clip": clip, "io_start": io_start,
        "curriculum": {k: list(v) if isinstance(v, tuple) else v
                       for k, v in asdict(curriculum).items()},
    }
    solutions = []
    for seed, member in zip(seeds, members, strict=True):
        solution = Solution(
            **member["weights"], history=np.array(member["losses"], np.float32),
            meta={
                "task": task.name, "convention": task.convention,
                "task_parameters": task.parameters, "construction": construction.name,
                "seed": seed, **recipe,
                "steps": len(member["losses"]), "horizon": run.stages[member["stage"]][0],
                "final_loss": float(np.mean(member["losses"][-curriculum.window :])),
            },
        )
        # The loss is that before the last update, which may have broken the weights.
        diverged = member["diverged"] or not solution.finite
        solution.meta.update(diverged=diverged, solved=member["solved"] and not diverged)
        solutions.append(solution)
    return solutions


class _Run:
    """The state of one ensemble in training; members leave it when they are solved."""

    def __init__(self, task, construction, seeds, n_hidden, batch, clip, io_start, curriculum):
        self.task, self.construction, self.batch, self.clip = task, construction, batch, clip
        self.curriculum, self.stages = curriculum, curriculum.stages(task.lags)
        stacked = stack_starts(task, construction, seeds, n_hidden, io_start)
        self.fixed = {k: v for k, v in stacked.items() if not v.requires_grad}
        self.adam = _Adam({k: v for k, v in stacked.items() if v.requires_grad})
        self.members = [
            {"seed": seed, "data": generator(seed, "data"), "stage": 0, "recent": [],
             "losses": [], "solved": False, "diverged": False}
            for seed in seeds
        ]
        self.active = list(self.members)

    def fit(self, progress: bool) -> list[dict]:
        limit = self.curriculum.max_steps
        bar = tqdm(
            total=limit, disable=not progress, unit="step", mininterval=1.0, dynamic_ncols=True,
            desc=f"train {self.task.name} {self.construction.name} ×{len(self.members)}",
        )
        with bar:
            for step in range(limit):
                if step % _BLOCK == 0:
                    self._draw()
                self._step(step % _BLOCK)
                self._promote(last=step == limit - 1)
                bar.update()
                if step % 20 == 0 or not self.active:
                    horizons = sorted({self.stages[m["stage"]][0] for m in self.active})
                    accuracy = np.mean([m["recent"][-1] for m in self.active if m["recent"]] or 1.0)
                    solved = sum(m["solved"] for m in self.members)
                    bar.set_postfix(
                        solved=f"{solved}/{len(self.members)}",
                        lags="–".join(map(str, horizons)), accuracy=f"{accuracy:.4f}",
                        refresh=False,
                    )
                if not self.active:
                    break
            if progress and not all(m["solved"] for m in self.members):
                bar.write(self._criterion_missed(), file=sys.stderr)
        return self.members

    def _criterion_missed(self) -> str:
        """Who did not meet the criterion, and where each one stood."""
        stood = []
        for m in self.members:
            if not m["solved"]:
                accuracy = np.mean(m["recent"][-self.curriculum.window :] or [np.nan])
                state = "diverged" if m["diverged"] else f"accuracy {accuracy:.4f}"
                stood.append(f"seed {m['seed']} at {self.stages[m['stage']][0]} lags ({state})")
        return (
            f"{len(stood)} of {len(self.members)} networks did not meet the training criterion "
            f"within the budget of {self.curriculum.max_steps} batches: {', '.join(stood)}"
        )

    def _draw(self) -> None:
        for member in self.active:
            drawn = self.task.symbols(_BLOCK * self.batch, member["data"])
            member["block"] = drawn.unflatten(0, (_BLOCK, self.batch)).transpose(1, 2)

    def _step(self, place: int) -> None:
        task, adam = self.task, self.adam
        parameters = {**adam.parameters, **self.fixed}
        for p in adam.parameters.values():
            p.grad = None
        W_hh = self.construction.assemble(parameters)
        losses, hits = torch.zeros(len(self.active)), torch.zeros(len(self.active))
        for horizon, group in self._groups().items():
            symbols = torch.stack([self.active[i]["block"][place] for i in group])
            inputs, targets = task.unroll(symbols, horizon)  # (member, time, trial, d)
            hidden = hidden_states(parameters["W_xh"][group], W_hh[group], inputs)[:, task.s :]
            outputs = torch.bmm(parameters["W_hy"][group], hidden.flatten(1, 2).mT).mT
            outputs = outputs.reshape(targets.shape)
            losses[group] = (outputs - targets).square().mean((1, 2, 3))
            hits[group] = (outputs.detach() * targets > 0).float().mean((1, 2, 3))
        losses.sum().backward()
        if self.clip:
            clip_members([p.grad for p in adam.parameters.values()], self.clip)
        adam.step(torch.tensor([self.stages[m["stage"]][1] for m in self.active]))
        for member, loss, hit in zip(self.active, losses.tolist(), hits.tolist(), strict=True):
            member["losses"].append(loss)
            member["recent"].append(hit)

    def _groups(self) -> dict[int, list[int]]:
        """Members by horizon: those with a short one do not wait for the others."""
        groups: dict[int, list[int]] = {}
        for i, member in enumerate(self.active):
            groups.setdefault(self.stages[member["stage"]][0], []).append(i)
        return groups

    def _promote(self, last: bool) -> None:
        """Grow horizons, and let solved, diverged and timed-out members go."""
        rule, leaving = self.curriculum, []
        for i, member in enumerate(self.active):
            final = member["stage"] == len(self.stages) - 1
            recent = member["recent"][-rule.window :]
            reached = np.mean(recent) >= (rule.solve_at if final else rule.promote_at)
            if len(recent) == rule.window and reached:
                if final:
                    member["solved"] = True
                else:
                    member["stage"] += 1
                    member["recent"] = []
            member["diverged"] = not math.isfinite(member["losses"][-1])
            if member["solved"] or member["diverged"] or last:
                leaving.append(i)
        if leaving:
            self._release(leaving)

    def _release(self, leaving: list[int]) -> None:
        parameters = {**self.adam.parameters, **self.fixed}
        W_hh = self.construction.assemble(parameters).detach()
        for i in leaving:
            self.active[i]["weights"] = {
                "W_hh": W_hh[i].numpy().copy(),
                **{k: parameters[k][i].detach().numpy().copy() for k in ("W_xh", "W_hy")},
            }
        staying = [i for i in range(len(self.active)) if i not in leaving]
        self.active = [self.active[i] for i in staying]
        if staying:
            self.adam.keep(staying)
            self.fixed = {k: v[staying] for k, v in self.fixed.items()}
