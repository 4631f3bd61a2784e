"""How ``W_hh`` starts and is parametrised (paper, Section 3).

A construction draws the start of one member; training stacks members. ``m = n_hidden^{-1/2}``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = [
    "CONSTRUCTIONS",
    "IO_STARTS",
    "Construction",
    "cayley",
    "cayley_D",
    "dense_default",
    "dense_normal",
    "dense_orthogonal",
    "initial_weights",
    "make_construction",
]


@dataclass(frozen=True)
class Construction:
    """A start and a parametrisation of ``W_hh``.

    Attributes
    ----------
    name : str
        Name in results and files.
    draw : callable
        ``draw(n_hidden, generator) -> dict of float32 tensors``: the trained parameters.
    assemble : callable
        Maps the (stacked) parameters to ``W_hh``; for dense constructions it is the identity.
    """

    name: str
    draw: Callable[[int, torch.Generator], dict[str, Tensor]]
    assemble: Callable[[dict[str, Tensor]], Tensor] = lambda parameters: parameters["W_hh"]

    def __call__(self, n_hidden: int, generator: torch.Generator) -> dict[str, Tensor]:
        if isinstance(n_hidden, bool) or not isinstance(n_hidden, int) or n_hidden < 1:
            raise ValueError(f"n_hidden must be a positive integer, got {n_hidden!r}")
        return self.draw(n_hidden, generator)


# Half the width of the uniform law that W_xh and W_hy start from.
IO_STARTS: dict[str, Callable[[int, int, int], float]] = {
    "torch": lambda fan_in, fan_out, n_hidden: n_hidden**-0.5,
    "glorot": lambda fan_in, fan_out, n_hidden: (6 / (fan_in + fan_out)) ** 0.5,
    "lecun": lambda fan_in, fan_out, n_hidden: (3 / fan_in) ** 0.5,
}


def _symmetric(shape, half_width: float, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=generator) - 1) * half_width


def _uniform(shape, n_hidden: int, generator: torch.Generator) -> Tensor:
    return _symmetric(shape, n_hidden**-0.5, generator)


def _haar(n: int, generator: torch.Generator) -> Tensor:
    """Orthogonal matrix from the Haar measure, float64."""
    gaussian = torch.randn((n, n), generator=generator, dtype=torch.float64)
    Q, R = torch.linalg.qr(gaussian)
    # QR fixes columns up to sign; taking R's signs out makes the law uniform (Mezzadri 2007).
    return Q * torch.sign(torch.diagonal(R))


def _draw_default(n_hidden: int, generator: torch.Generator) -> dict[str, Tensor]:
    return {"W_hh": _uniform((n_hidden, n_hidden), n_hidden, generator)}


def _draw_orthogonal(n_hidden: int, generator: torch.Generator) -> dict[str, Tensor]:
    return {"W_hh": _haar(n_hidden, generator).float()}


def _draw_normal(n_hidden: int, generator: torch.Generator) -> dict[str, Tensor]:
    if n_hidden % 2:
        raise ValueError(
            f"dense_normal needs an even n_hidden (pairs of eigenvalues), got {n_hidden}"
        )
    variance = 1 / 6  # as printed in the paper: N(0, 1/6) read as mean and variance
    a, b = torch.randn((2, n_hidden // 2), generator=generator, dtype=torch.float64)
    rows = variance**0.5 * torch.stack([torch.stack([a, -b], 1), torch.stack([b, a], 1)], 1)
    D = torch.block_diag(*rows)
    Q = _haar(n_hidden, generator)
    return {"W_hh": (Q @ D @ Q.mT).float()}


def _draw_cayley(n_hidden: int, generator: torch.Generator) -> dict[str, Tensor]:
    U = _uniform((n_hidden, n_hidden), n_hidden, generator).double()
    # D: the eigenvalues of a second uniform matrix, pairs first, as real blocks.
    values = torch.linalg.eigvals(_uniform((n_hidden, n_hidden), n_hidden, generator).double())
    pairs = values[values.imag > 0]
    reals = values[values.imag == 0].real
    n_pairs = len(pairs)
    pair = torch.arange(n_hidden) < 2 * n_pairs
    a = torch.cat([pairs.real, reals, torch.zeros(n_pairs, dtype=torch.float64)])
    b = torch.cat([pairs.imag, torch.zeros(n_hidden // 2 - n_pairs, dtype=torch.float64)])
    block = torch.where(pair, torch.arange(n_hidden) // 2, torch.arange(n_hidden) - n_pairs)
    return {
        "A": ((U - U.mT) / 2).float(),
        "D_a": a[:n_hidden].float(),
        "D_b": b.float(),
        "block": block,
        "pair": pair[: 2 * (n_hidden // 2) : 2],
    }


def _assemble_cayley(parameters: dict[str, Tensor]) -> Tensor:
    """``O(A) D O(A)ᵀ`` with ``O(A) = (I − A)(I + A)⁻¹``, stacked over members."""
    U = parameters["A"]
    # Adam moves all entries of U; only its skew part acts, so A stays skew exactly.
    A = (U - U.mT) / 2
    eye = torch.eye(A.shape[-1], dtype=A.dtype)
    # I − A and (I + A)⁻¹ commute, so one solve does, and no inverse is formed.
    O = torch.linalg.solve(eye + A, eye - A)
    return O @ cayley_D(parameters) @ O.mT


def cayley_D(parameters: dict[str, Tensor]) -> Tensor:
    """The block-diagonal ``D`` of a Cayley construction, shape (member, n_hidden, n_hidden).

    2×2 blocks ``[[a, −b], [b, a]]`` first, then 1×1 blocks.
    """
    diagonal = parameters["D_a"].gather(-1, parameters["block"])
    n = diagonal.shape[-1]
    b = torch.zeros_like(diagonal)[..., : n - 1].clone()
    b[..., ::2] = parameters["D_b"] * parameters["pair"]
    return (
        torch.diag_embed(diagonal) - torch.diag_embed(b, offset=1) + torch.diag_embed(b, offset=-1)
    )


cayley = Construction("cayley", _draw_cayley, _assemble_cayley)
dense_default = Construction("dense_default", _draw_default)
dense_orthogonal = Construction("dense_orthogonal", _draw_orthogonal)
dense_normal = Construction("dense_normal", _draw_normal)

CONSTRUCTIONS: dict[str, Construction] = {
    c.name: c for c in (dense_default, dense_orthogonal, dense_normal, cayley)
}


def make_construction(construction: str | Construction) -> Construction:
    """Look a construction up by name.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if isinstance(construction, Construction):
        return construction
    if construction not in CONSTRUCTIONS:
        raise ValueError(
            f"unknown construction {construction!r}; allowed: {', '.join(CONSTRUCTIONS)}"
        )
    return CONSTRUCTIONS[construction]


def initial_weights(
    construction: Construction,
    n_in: int,
    n_hidden: int,
    n_out: int,
    generator: torch.Generator,
    io_start: str = "torch",
) -> dict[str, Tensor]:
    """All trained parameters of one member at its start.

    Parameters
    ----------
    construction : Construction
    n_in, n_hidden, n_out : int
    generator : torch.Generator
    io_start : {"torch", "glorot", "lecun"}
        Law of ``W_xh`` and ``W_hy``, on which the paper is silent, each uniform: in ``[-m, m]`` as
        in ``torch.nn.RNN`` and ``torch.nn.Linear``; of variance 2 / (fan_in + fan_out) as in
        Keras; or of variance 1 / fan_in, as is usual with JAX. A generator gives the same matrices
        up to scale.

    Raises
    ------
    ValueError
        If ``io_start`` is unknown.
    """
    if io_start not in IO_STARTS:
        raise ValueError(f"unknown io_start {io_start!r}; allowed: {', '.join(IO_STARTS)}")
    half_width = IO_STARTS[io_start]
    return {
        **construction(n_hidden, generator),
        "W_xh": _symmetric((n_hidden, n_in), half_width(n_in, n_hidden, n_hidden), generator),
        "W_hy": _symmetric((n_out, n_hidden), half_width(n_hidden, n_out, n_hidden), generator),
    }
