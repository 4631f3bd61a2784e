"""Ordered real Schur coordinates of a square matrix, their sectors, and what ablating them leaves.

``W = Q T Qᵀ`` with blocks ordered by non-increasing eigenvalue modulus; ``T = B + N`` with ``B``
the 1×1 and 2×2 diagonal blocks and ``N`` the couplings between them. The leading sector R holds
``|λ| ≥ α ρ(W)``, C is the rest, and N falls into RR, CR (the paper's T_C→R) and CC.
"""

import numbers
import re
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg

from ._reorder import (
    EPS,
    RejectedSwap,
    SchurError,
    block_eigenvalues,
    chain,
    find_blocks,
    reorder,
    shuffle,
)
from .metrics import frobenius, removed_mass

__all__ = [
    "SUBSETS", "OrderedSchur", "RejectedSwap", "SchurError", "Sectors", "check_alpha",
    "ordered_schur",
]

SUBSETS = ("none", "RR", "CR", "CC", "RR+CR", "RR+CC", "CR+CC", "RR+CR+CC")


@dataclass(frozen=True, eq=False)
class OrderedSchur:
    """``W = Q T Qᵀ``, ordered. Made by `ordered_schur`; arrays are read-only.

    Attributes
    ----------
    W, Q, T : ndarray, shape (n, n), float64
    blocks : tuple of (start, size)
        Diagonal blocks of T from the top, size 1 or 2.
    eigenvalues : ndarray, shape (n,), complex
        One per coordinate; a pair as +imaginary, −imaginary.
    moduli : ndarray, shape (n,)
    residual, orthogonality : float
        ``‖QTQᵀ − W‖_F / ‖W‖_F`` (0 for a zero matrix) and ``‖QᵀQ − I‖_F``.
    ties : tuple of (start, stop)
        Half-open ranges of coordinates whose blocks (two or more) tie in modulus.
    tie_width : float
        Gap up to which neighbouring moduli tie, in units of W.
    rejected_swaps : tuple of RejectedSwap
        Exchanges that LAPACK refused, and whether they were done in another way or left in a tie.
    precision : float
        Machine epsilon of the type in which W was given.
    """

    W: np.ndarray
    Q: np.ndarray
    T: np.ndarray
    blocks: tuple
    eigenvalues: np.ndarray
    moduli: np.ndarray
    residual: float
    orthogonality: float
    ties: tuple
    tie_width: float
    rejected_swaps: tuple
    precision: float

    @property
    def n(self):
        """Size of the matrix."""
        return len(self.T)

    @property
    def spectral_radius(self):
        """ρ(W), the largest modulus."""
        return float(self.moduli.max())

    @property
    def mass_floor(self):
        """Removed mass at or below which nothing but rounding of the given W was removed."""
        return max(self.n, 10) * self.precision

    @property
    def coupling_mask(self):
        """Boolean (n, n): the strictly block-upper entries, those of N."""
        block = np.repeat(np.arange(len(self.blocks)), [size for _, size in self.blocks])
        return block[:, None] < block[None, :]

    def sectors(self, alpha=0.9):
        """Split the coordinates at ``|λ| ≥ α ρ``.

        Moduli within `tie_width` of each other are not told apart, nor from the threshold: R
        takes a tie as a whole if its largest modulus reaches ``α ρ − tie_width``. A sector thus
        cuts neither a 2×2 block nor a tie, α = 1 on an orthogonal matrix gives R everything, and
        R is always the first n_R coordinates. `Sectors.alpha_gap` tells how close the call was.

        Parameters
        ----------
        alpha : float in (0, 1]

        Raises
        ------
        TypeError, ValueError
            If alpha is not a number in (0, 1], or the coordinates were shuffled inside the
            sectors of another one.
        """
        alpha, radius = check_alpha(alpha), self.spectral_radius
        group = chain(self.moduli, self.tie_width)
        reached = group[self.moduli >= alpha * radius - self.tie_width].max()
        in_R = group <= reached
        n_R = int(np.count_nonzero(in_R))
        if not in_R[:n_R].all():
            raise ValueError(
                f"alpha = {alpha}: its sector R does not lead, because the blocks were shuffled "
                "inside the sectors of another alpha"
            )
        distance = np.abs(self.moduli - alpha * radius).min()
        gap = float(distance / radius) if radius else 0.0
        return Sectors(self, alpha, n_R, gap, self._masks(n_R))

    def _masks(self, n_R):
        in_R, couplings = np.arange(self.n) < n_R, self.coupling_mask
        return {
            "RR": couplings & in_R[:, None] & in_R[None, :],
            "CR": couplings & in_R[:, None] & ~in_R[None, :],
            "CC": couplings & ~in_R[:, None] & ~in_R[None, :],
        }


def check_alpha(alpha):
    """``alpha`` as a float; a notebook asks before it trains.

    Raises
    ------
    TypeError, ValueError
        If it is not a number in (0, 1].
    """
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
        raise TypeError(f"alpha must be a number in (0, 1], got {alpha!r}")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must be in (0, 1], got {alpha!r}")
    return float(alpha)


@dataclass(frozen=True, eq=False)
class Sectors:
    """Sectors R and C of an `OrderedSchur` at one α. Made by `OrderedSchur.sectors`.

    Attributes
    ----------
    coordinates : OrderedSchur
    alpha : float
    n_R : int
        Coordinates in R: the first n_R.
    alpha_gap : float
        ``min |‖λ‖ − α ρ| / ρ``, distance of the threshold to the nearest modulus; 0 where ρ = 0.
    masks : dict of ndarray, shape (n, n), bool
        Entries of the couplings RR, CR (rows R, columns C: the paper's T_C→R) and CC.
    """

    coordinates: OrderedSchur = field(repr=False)
    alpha: float
    n_R: int
    alpha_gap: float
    masks: dict = field(repr=False)

    def _removed(self, removed):
        """Return the entries of T that `removed` takes away, zero elsewhere."""
        named = re.sub("T_(?=[RC])|→", "", removed).split("+") if isinstance(removed, str) else []
        known = set(named) <= set(self.masks) and len(set(named)) == len(named)
        if named != ["none"] and not (named and known):
            raise ValueError(
                f"removed must be one of {', '.join(SUBSETS)}; got {removed!r} (blocks may be in any "
                "order, and written as T_CC or T_C→R)"
            )
        mask = np.zeros(self.coordinates.T.shape, dtype=bool)
        for name, block in self.masks.items():
            if name in named:
                mask |= block
        return np.where(mask, self.coordinates.T, 0.0)

    def T_without(self, removed):
        """``T̃(S)``: T with the named couplings zeroed, shape (n, n)."""
        return self.coordinates.T - self._removed(removed)

    def without(self, removed):
        """``W̃(S) = Q T̃(S) Qᵀ``, shape (n, n), float64; eigenvalues are those of W.

        Computed as ``W − Q (T − T̃) Qᵀ``, the same matrix, so that removing nothing gives W itself
        and not W with the rounding of a factorisation. `removed` is one of `SUBSETS`; blocks may be
        in any order and written as the paper does, ``T_C→R``.
        """
        entries = self._removed(removed)
        if not entries.any():
            return self.coordinates.W.copy()
        return self.coordinates.W - self.coordinates.Q @ entries @ self.coordinates.Q.T

    def removed_mass(self, removed):
        """``‖T − T̃(S)‖_F / ‖T‖_F``."""
        return removed_mass(self.coordinates.T, self.T_without(removed))

    def shuffled(self, rng):
        """The same sectors with the blocks inside each in an order drawn uniformly at random.

        What ``CR`` removes does not depend on that order: R spans the leading invariant subspace,
        P projects on it, and ``W̃ = W − P W (I − P)``. What ``RR`` and ``CC`` remove does.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        Sectors
            Its coordinates hold another Q and T of the same W, with moduli in no order inside a
            sector and without `OrderedSchur.ties`.

        Raises
        ------
        TypeError
            If rng is no generator.
        SchurError
            If the result fails the check that `ordered_schur` makes.
        """
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, got {rng!r}")
        form = self.coordinates
        exponent = int(np.frexp(np.abs(form.W).max())[1])
        T, Q = (np.array(X, order="F") for X in (np.ldexp(form.T, -exponent), form.Q))
        for start, stop in ((0, self.n_R), (self.n_R, form.n)):
            T, Q = shuffle(T, Q, start, stop, rng)
        residual, orthogonality = _checked(np.ldexp(form.W, -exponent), Q, T)
        blocks, eigenvalues = _spectrum(T)
        scale = float(np.ldexp(1.0, exponent))
        eigenvalues = eigenvalues * scale
        form = replace(
            form, Q=Q, T=np.ldexp(T, exponent), blocks=blocks, eigenvalues=eigenvalues,
            moduli=np.abs(eigenvalues), residual=residual, orthogonality=orthogonality, ties=(),
            rejected_swaps=(),
        )
        return replace(self, coordinates=form, masks=form._masks(self.n_R))


def ordered_schur(W, tie_tolerance=1e-8):
    """Real Schur form with the diagonal blocks in non-increasing order of modulus.

    Neighbours in the sorted list of moduli tie where they differ by at most ``tie_tolerance · ρ``,
    or, if that is larger, by what rounding leaves: ``n ε ‖W‖_F``, or more where exchanging
    ill-conditioned blocks is seen to move them. Ties chain. Inside a tie the blocks go by
    non-increasing real part, real parts chained by the same width, then by the order in which
    LAPACK's QR algorithm found them. That is deterministic for a given matrix and LAPACK, but no
    order inside a tie is well-posed, hence `OrderedSchur.ties`.

    Parameters
    ----------
    W : array or tensor, shape (n, n)
        Real and finite. Integers and float32 are converted to float64 before anything else.
    tie_tolerance : float in [0, 1)

    Returns
    -------
    OrderedSchur

    Raises
    ------
    TypeError, ValueError
        If W is complex, not numeric, not square, empty or not finite; if tie_tolerance is not in
        [0, 1).
    SchurError
        If LAPACK does not converge, or the result fails its own check of residual, orthogonality,
        block structure or order. Exchanges that LAPACK rejects (``info = 1``) are done by QR
        iteration instead, or left where they are within a tie, and recorded either way.

    Notes
    -----
    W is scaled by a power of two, which is exact, so its size plays no part. LAPACK's ``dtrexc``
    exchanges neighbouring blocks one pair at a time.

    Source: Z. Bai and J. W. Demmel, Linear Algebra Appl. 186 (1993) 73–95.
    """
    if isinstance(tie_tolerance, bool) or not isinstance(tie_tolerance, numbers.Real):
        raise TypeError(f"tie_tolerance must be a number in [0, 1), got {tie_tolerance!r}")
    if not 0 <= tie_tolerance < 1:
        raise ValueError(f"tie_tolerance must be in [0, 1), got {tie_tolerance!r}")
    W, precision = _as_matrix(W)
    n = len(W)
    exponent = int(np.frexp(np.abs(W).max())[1])
    scaled = np.ldexp(W, -exponent)
    try:
        T, Q = scipy.linalg.schur(scaled, output="real")
    except scipy.linalg.LinAlgError as error:
        raise SchurError(f"LAPACK found no Schur form of W (n = {n}): {error}") from error
    T, Q, width, rejected = reorder(np.asfortranarray(T), np.asfortranarray(Q), tie_tolerance)

    residual, orthogonality = _checked(scaled, Q, T)
    blocks, eigenvalues = _spectrum(T)
    starts, sizes = map(np.array, zip(*blocks))
    group = chain(np.abs(eigenvalues[starts]), width)  # 0, 0, 1, 2, 2, …: sorted, as T is
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.flatnonzero(np.diff(group, append=group[-1] + 1))
    ties = [
        (int(starts[a]), int(starts[b] + sizes[b])) for a, b in zip(first, last) if b > a
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        scale = float(np.ldexp(1.0, exponent))
        T, eigenvalues = np.ldexp(T, exponent), eigenvalues * scale
        moduli = np.abs(eigenvalues)
    if not (np.isfinite(T).all() and np.isfinite(moduli).all()):
        raise SchurError("W is too large: its Schur form overflows float64")
    for array in (W, Q, T, eigenvalues, moduli):
        array.flags.writeable = False
    return OrderedSchur(
        W=W,
        Q=Q,
        T=T,
        blocks=blocks,
        eigenvalues=eigenvalues,
        moduli=moduli,
        residual=residual,
        orthogonality=orthogonality,
        ties=tuple(ties),
        tie_width=width * scale,
        rejected_swaps=tuple(
            swap._replace(
                upper_modulus=swap.upper_modulus * scale, lower_modulus=swap.lower_modulus * scale
            )
            for swap in rejected
        ),
        precision=precision,
    )


def _checked(W, Q, T):
    """Residual and orthogonality of ``W = Q T Qᵀ``; too large ones are refused."""
    n, size = len(W), frobenius(W)
    residual = frobenius(Q @ T @ Q.T - W) / size if size else 0.0
    orthogonality = frobenius(Q.T @ Q - np.eye(n))
    allowed = 1e3 * max(n, 10) * EPS
    if not (residual <= allowed and orthogonality <= allowed):
        raise SchurError(
            f"Schur form of W (n = {n}) failed its check: residual {residual:.1e}, orthogonality "
            f"{orthogonality:.1e}, allowed {allowed:.1e}"
        )
    return residual, orthogonality


def _spectrum(T):
    """Blocks of T, and its eigenvalues, one per coordinate, a pair as +imaginary, −imaginary."""
    blocks = find_blocks(T)
    starts, sizes = map(np.array, zip(*blocks))
    eigenvalues = np.repeat(block_eigenvalues(T, blocks), sizes)
    second = starts[sizes == 2] + 1
    eigenvalues[second] = eigenvalues[second].conj()
    return blocks, eigenvalues


def _as_matrix(W):
    """Check W; return a float64 copy and the machine epsilon of the type it came in."""
    allowed = "W must be a square, real, finite matrix with at least one row"
    if hasattr(W, "detach"):  # a torch tensor, without importing torch
        W = W.detach().cpu()
    try:
        array = np.asarray(W)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{allowed}; got {type(W).__name__}: {error}") from error
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{allowed}; got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(f"{allowed}; got shape {array.shape}")
    with np.errstate(over="ignore"):
        matrix = np.array(array, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        raise ValueError(
            f"{allowed}; got {matrix[row, column]} at row {row}, column {column} "
            f"({len(bad)} entries are not finite)"
        )
    precision = np.finfo(array.dtype).eps if array.dtype.kind == "f" else EPS
    return matrix, max(float(precision), EPS)
