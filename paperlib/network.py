"""The network of the paper, batched over members (one member = one set of weights).

``h_t = tanh(W_xh x_t + W_hh h_{t-1})``, ``y_t = W_hy h_t``, ``h_0 = 0``, no biases (paper,
Section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from .unroll import hidden_states

__all__ = ["Solution", "rollout"]


def rollout(W_xh, W_hh, W_hy, inputs, *, return_hidden: bool = False):
    """Run members on trials, in float64 and without gradients.

    Parameters
    ----------
    W_xh : array_like, shape ([member,] n_hidden, n_in)
    W_hh : array_like, shape ([member,] n_hidden, n_hidden)
    W_hy : array_like, shape ([member,] n_out, n_hidden)
        Weights; a leading member axis of length 1, or none, is shared by all members.
    inputs : array_like, shape ([member,] trial, time, n_in)
        Inputs, likewise shared if without member axis.
    return_hidden : bool
        Also return the hidden states.

    Returns
    -------
    outputs : Tensor, shape (member, trial, time, n_out)
    hidden : Tensor, shape (member, trial, time, n_hidden)
        Only if ``return_hidden``.

    Raises
    ------
    ValueError
        If shapes do not fit each other.
    """
    tensors = {
        name: _leading_member(name, value, ndim)
        for name, value, ndim in (
            ("W_xh", W_xh, 2), ("W_hh", W_hh, 2), ("W_hy", W_hy, 2), ("inputs", inputs, 3)
        )
    }
    members = max(t.shape[0] for t in tensors.values())
    for name, t in tensors.items():
        if t.shape[0] not in (1, members):
            raise ValueError(f"{name} has {t.shape[0]} members where others have {members}")
    _check_shapes(*(tuple(t.shape[1:]) for t in list(tensors.values())[:3]))
    x = tensors["inputs"].transpose(1, 2)
    if x.shape[-1] != tensors["W_xh"].shape[-1]:
        raise ValueError(
            f"inputs have {x.shape[-1]} channels where W_xh takes {tensors['W_xh'].shape[-1]}"
        )
    if min(x.shape) == 0:
        raise ValueError(f"inputs are empty: shape {tuple(tensors['inputs'].shape)}")
    W_xh, W_hh, W_hy, x = (
        t.expand(members, *t.shape[1:])
        for t in (tensors["W_xh"], tensors["W_hh"], tensors["W_hy"], x)
    )
    with torch.no_grad():
        hidden = hidden_states(W_xh, W_hh, x)
        time, trials = hidden.shape[1:3]
        outputs = torch.bmm(hidden.view(members, time * trials, -1), W_hy.mT)
        outputs = outputs.view(members, time, trials, -1).transpose(1, 2)
    return (outputs, hidden.transpose(1, 2)) if return_hidden else outputs


def _leading_member(name: str, value, ndim: int) -> Tensor:
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()  # as those of a Schur form, of which torch would warn
    tensor = torch.as_tensor(value).to(torch.float64)
    if tensor.ndim == ndim:
        tensor = tensor[None]
    if tensor.ndim != ndim + 1:
        raise ValueError(f"{name} must have {ndim} or {ndim + 1} axes, got {tensor.ndim - 1}")
    return tensor


def _check_shapes(xh: tuple, hh: tuple, hy: tuple) -> None:
    n = hh[0]
    if hh != (n, n) or n == 0:
        raise ValueError(f"W_hh must be square and not empty, got shape {hh}")
    if len(xh) != 2 or xh[0] != n:
        raise ValueError(f"W_xh must have shape ({n}, n_in) to fit W_hh, got {xh}")
    if len(hy) != 2 or hy[1] != n:
        raise ValueError(f"W_hy must have shape (n_out, {n}) to fit W_hh, got {hy}")


@dataclass(frozen=True, eq=False)
class Solution:
    """One trained network.

    Attributes
    ----------
    W_xh : ndarray, shape (n_hidden, n_in)
    W_hh : ndarray, shape (n_hidden, n_hidden)
    W_hy : ndarray, shape (n_out, n_hidden)
    meta : dict
        Its history: task, convention, task_parameters, construction, seed, training
        parameters, versions. Plain JSON types.
    history : ndarray, shape (steps,)
        Training loss after each batch.

    Raises
    ------
    ValueError
        If shapes do not fit. (Non-finite weights are allowed: a run that diverged is a result.)
    """

    W_xh: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray
    meta: dict = field(default_factory=dict)
    history: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))

    def __post_init__(self):
        for name in ("W_xh", "W_hh", "W_hy"):
            value = np.asarray(getattr(self, name))
            if value.ndim != 2 or value.dtype.kind != "f":
                raise ValueError(
                    f"{name} must be a float matrix, got {value.dtype} of shape {value.shape}"
                )
            object.__setattr__(self, name, value)
        _check_shapes(self.W_xh.shape, self.W_hh.shape, self.W_hy.shape)

    n_hidden = property(lambda self: self.W_hh.shape[0])
    seed = property(lambda self: self.meta.get("seed"))
    construction = property(lambda self: self.meta.get("construction"))

    @property
    def finite(self) -> bool:
        """Whether all weights are finite: False for a run that diverged."""
        return all(np.isfinite(w).all() for w in (self.W_xh, self.W_hh, self.W_hy))

    def __call__(self, inputs) -> np.ndarray:
        """Outputs, shape (trial, time, n_out), on inputs of shape (trial, time, n_in)."""
        return rollout(self.W_xh, self.W_hh, self.W_hy, inputs)[0].numpy()
