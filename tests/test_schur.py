"""Ordered Schur coordinates: known answers, invariances, and matrices that are hard to order."""

import numpy as np
import pytest
import scipy.linalg
import torch
from scipy.linalg import lapack

from paperlib import _reorder, metrics
from paperlib.schur import SUBSETS, SchurError, ordered_schur

EPS = np.finfo(float).eps


def gaussian(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n)) / np.sqrt(n)


def orthogonal(n, seed=0):
    return np.linalg.qr(gaussian(n, seed))[0]


def rotation(modulus, angle):
    c, s = modulus * np.cos(angle), modulus * np.sin(angle)
    return np.array([[c, -s], [s, c]])


def block_triangular(blocks, couplings):
    """Quasi-triangular matrix with these diagonal blocks over these couplings."""
    T = np.triu(couplings, 1)
    at = 0
    for block in map(np.atleast_2d, blocks):
        T[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return T


def roots_of_unity(n, seed=0):
    """Eighth roots of unity, each n/8 times, coupled: the spectrum that repeat copy trains to."""
    copies = max(1, n // 8)
    blocks = ([1.0, -1.0] + [rotation(1.0, k * np.pi / 4) for k in (1, 2, 3)]) * copies
    return rotated(block_triangular(blocks, gaussian(8 * copies, seed + 1)), seed)


def real_jordan(n, modulus=1.0, angle=0.9):
    """One real Jordan block of a complex pair: defective, all moduli equal."""
    pairs = (n + 1) // 2
    return np.kron(np.eye(pairs), rotation(modulus, angle)) + np.eye(2 * pairs, k=2)


def grcar(n):
    return np.eye(n) - np.eye(n, k=-1) + sum(np.eye(n, k=k) for k in (1, 2, 3))


def frank(n):
    row, column = np.mgrid[1 : n + 1, 1 : n + 1]
    return np.where(column >= row - 1, n + 1 - np.maximum(row, column), 0).astype(float)


def rotated(W, seed=7):
    U = orthogonal(len(W), seed)
    return U @ W @ U.T


def ascending_pairs(n):
    """Every pair of blocks stands in the wrong order."""
    pairs = (n + 1) // 2
    blocks = [rotation((k + 1) / pairs, 0.1 + 2.9 * (k % 7) / 7) for k in range(pairs)]
    return block_triangular(blocks, gaussian(2 * pairs))


HARD = {
    "gaussian": gaussian,
    "orthogonal": orthogonal,
    "symmetric": lambda n: gaussian(n) + gaussian(n).T,
    "skew": lambda n: gaussian(n) - gaussian(n).T,
    "zero": lambda n: np.zeros((n, n)),
    "identity": np.eye,
    "all ones": lambda n: np.ones((n, n)),
    "rank one": lambda n: np.outer(gaussian(n)[0], gaussian(n, 1)[0]),
    "Jordan block, nilpotent": lambda n: np.eye(n, k=1),
    "Jordan block, nilpotent, lower": lambda n: np.eye(n, k=-1),
    "Jordan block, nilpotent, rotated": lambda n: rotated(np.eye(n, k=1)),
    "Jordan block of 1": lambda n: np.eye(n) + np.eye(n, k=1),
    "Jordan block of 1, rotated": lambda n: rotated(np.eye(n) + np.eye(n, k=1)),
    "nilpotent, full, rotated": lambda n: rotated(np.triu(gaussian(n), 1)),
    "real Jordan block": real_jordan,
    "real Jordan block, rotated": lambda n: rotated(real_jordan(n)),
    "Jordan blocks of size 2": lambda n: rotated(
        np.kron(np.eye((n + 1) // 2), [[0.5, 1], [0, 0.5]])
    ),
    "roots of unity": roots_of_unity,
    "permutation": lambda n: np.eye(n)[np.random.default_rng(0).permutation(n)],
    "cyclic shift": lambda n: np.roll(np.eye(n), 1, axis=0),
    "Grcar": grcar,
    "Frank": frank,
    "ascending": lambda n: np.triu(gaussian(n), 1) + np.diag(np.arange(1, n + 1) / n),
    "ascending pairs": ascending_pairs,
    "graded": lambda n: gaussian(n) * 10.0 ** -np.linspace(0, 12, n),
    "far from normal": lambda n: np.diag(np.linspace(0.5, 1, n)) + np.triu(1e6 * gaussian(n), 1),
}


def assert_promises(W, form):
    """Everything that `ordered_schur` promises of any matrix, by means other than its own."""
    n, size = len(W), np.linalg.norm(W)
    T, Q = form.T, form.Q
    assert T.shape == Q.shape == (n, n) and T.dtype == Q.dtype == np.float64
    np.testing.assert_array_equal(form.W, W)
    # Factorisation.
    assert np.linalg.norm(Q.T @ Q - np.eye(n)) <= 50 * n * EPS
    assert np.linalg.norm(Q @ T @ Q.T - W) <= 50 * n * EPS * size
    assert form.residual <= 50 * n * EPS and form.orthogonality <= 50 * n * EPS
    # Blocks: they tile the diagonal, nothing stands below them, pairs are standardised.
    starts = [start for start, _ in form.blocks]
    sizes = [block_size for _, block_size in form.blocks]
    assert starts == [0, *np.cumsum(sizes)[:-1]] and sum(sizes) == n and set(sizes) <= {1, 2}
    block = np.repeat(np.arange(len(sizes)), sizes)
    assert not T[block[:, None] > block[None, :]].any()
    for start, block_size in form.blocks:
        if block_size == 2:
            (a, b), (c, d) = T[start : start + 2, start : start + 2]
            assert a == d and b * c < 0
            assert form.eigenvalues[start] == form.eigenvalues[start + 1].conjugate()
            assert form.eigenvalues[start].imag > 0
    # Eigenvalues belong to their blocks; moduli do not increase but by ties.
    own = np.concatenate([np.linalg.eigvals(T[s : s + k, s : s + k]) for s, k in form.blocks])
    np.testing.assert_allclose(np.abs(own), form.moduli, rtol=1e-7, atol=1e-12 * size)
    np.testing.assert_array_equal(np.abs(form.eigenvalues), form.moduli)
    group = np.cumsum(-np.diff(np.sort(form.moduli)[::-1], prepend=np.inf) > form.tie_width)
    label = group[np.searchsorted(-np.sort(form.moduli)[::-1], -form.moduli)]
    assert (np.diff(label) >= 0).all()
    assert form.spectral_radius == form.moduli.max()
    # Ties: the groups of two or more blocks, as ranges.
    blocks_of = [np.unique(block[label == one]) for one in np.unique(label)]
    assert form.ties == tuple(
        (starts[b[0]], starts[b[-1]] + sizes[b[-1]]) for b in blocks_of if len(b) > 1
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 65])
@pytest.mark.parametrize("name", HARD)
def test_promises_hold(name, n):
    W = HARD[name](n)  # or the next size that the name allows
    assert_promises(W, ordered_schur(W))


@pytest.mark.parametrize("name", ["gaussian", "roots of unity", "Jordan block, nilpotent, rotated"])
def test_promises_hold_at_256(name):
    W = HARD[name](256)
    assert_promises(W, ordered_schur(W))


def test_promises_hold_at_1024():
    W = orthogonal(1024)
    assert_promises(W, ordered_schur(W))


def test_overflow_is_an_error_not_an_infinity():
    with pytest.raises(SchurError, match="overflows"):
        ordered_schur(np.full((4, 4), 1.7e308))


@pytest.mark.parametrize("exponent", [-1000, -40, -1, 3, 40, 900])
def test_powers_of_two_scale_exactly(exponent):
    W = gaussian(20)
    form, scaled = ordered_schur(W), ordered_schur(np.ldexp(W, exponent))
    np.testing.assert_array_equal(scaled.Q, form.Q)
    np.testing.assert_array_equal(scaled.T, np.ldexp(form.T, exponent))
    np.testing.assert_array_equal(scaled.moduli, np.ldexp(form.moduli, exponent))
    assert scaled.residual == form.residual and scaled.blocks == form.blocks


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("name", ["gaussian", "orthogonal", "symmetric", "Grcar", "graded"])
def test_scale_plays_no_part(name, scale):
    W = HARD[name](32)
    form, scaled = ordered_schur(W), ordered_schur(scale * W)
    # Moduli move by rounding of scale · W, times their condition where W is far from normal.
    np.testing.assert_allclose(
        scaled.moduli / scale, form.moduli, atol=1e-7 * form.spectral_radius, rtol=0
    )
    assert scaled.sectors(0.9).n_R == form.sectors(0.9).n_R
    assert len(scaled.ties) == len(form.ties)
    assert scaled.residual <= 50 * 32 * EPS


def test_by_hand_2x2():
    # Triangular but in the wrong order: eigenvalues 1 and 3, coupling 4. The ordered form has 3
    # first and, both forms having the same norm, a coupling of the same size.
    form = ordered_schur([[1.0, 4.0], [0.0, 3.0]])
    np.testing.assert_allclose(np.diag(form.T), [3.0, 1.0])
    assert abs(form.T[0, 1]) == pytest.approx(4.0)
    assert form.T[1, 0] == 0 and form.blocks == ((0, 1), (1, 1))
    split = form.sectors(0.9)
    assert split.n_R == 1
    assert split.alpha_gap == pytest.approx(0.1)
    assert split.removed_mass("CR") == pytest.approx(4 / np.sqrt(26))
    # The eigenvector of 3 is (2, 1)/√5. P projects on it: W̃ = PWP + (I−P)W(I−P) by hand.
    np.testing.assert_allclose(split.without("CR"), [[2.6, 0.8], [0.8, 1.4]], atol=1e-14)


def test_by_hand_4x4():
    # A pair of modulus 1 below 0.5 and above −2: order −2, pair, 0.5; sector of α = 0.4 is three
    # coordinates, and α = 0.6 cuts after −2.
    W = scipy.linalg.block_diag(0.5, [[0.0, -1.0], [1.0, 0.0]], -2.0)
    W[0, 3] = 7.0
    form = ordered_schur(W)
    assert form.blocks == ((0, 1), (1, 2), (3, 1))
    np.testing.assert_allclose(form.eigenvalues, [-2, 1j, -1j, 0.5], atol=1e-15)
    np.testing.assert_allclose(form.moduli, [2, 1, 1, 0.5])
    assert form.ties == ()
    split = form.sectors(0.4)
    assert split.n_R == 3 and split.alpha_gap == pytest.approx(0.1)
    assert form.sectors(0.6).n_R == 1 and form.sectors(0.25).n_R == 4
    # The one coupling is between −2 and 0.5, hence in CR, and the pair stays untouched.
    assert np.abs(form.T[0, 3]) == pytest.approx(7.0)
    np.testing.assert_allclose(split.T_without("CR")[0, 3], 0.0)
    np.testing.assert_allclose(split.without("RR"), W, atol=1e-14)
    masks = split.masks
    assert masks["RR"].sum() == 2 and masks["CR"].sum() == 3 and masks["CC"].sum() == 0
    assert not masks["RR"][1, 2]  # inside the pair


@pytest.mark.parametrize("seed", range(5))
def test_eigenvalues_are_numpys(seed):
    W = gaussian(40, seed)
    ours, theirs = ordered_schur(W).eigenvalues, np.linalg.eigvals(W)
    np.testing.assert_allclose(np.sort_complex(ours), np.sort_complex(theirs), atol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_sectors_split_the_couplings(seed, alpha):
    form = ordered_schur(gaussian(30, seed))
    split = form.sectors(alpha)
    # Masks are disjoint and together all strictly block-upper entries.
    together = sum(mask.astype(int) for mask in split.masks.values())
    np.testing.assert_array_equal(together, form.coupling_mask.astype(int))
    R, C = slice(None, split.n_R), slice(split.n_R, None)
    for name, rows, columns in (("RR", R, R), ("CR", R, C), ("CC", C, C)):
        assert split.masks[name].sum() == split.masks[name][rows, columns].sum()
    # R is what reaches the threshold.
    threshold = alpha * form.spectral_radius
    assert (form.moduli[: split.n_R] >= threshold - form.tie_width).all()
    assert (form.moduli[split.n_R :] < threshold).all()
    gap = np.abs(form.moduli / form.spectral_radius - alpha).min()
    assert split.alpha_gap == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize("removed", SUBSETS)
@pytest.mark.parametrize("seed", range(3))
def test_ablation_never_moves_an_eigenvalue(seed, removed):
    # 0.2 keeps the matrix near enough to normal for its spectrum to be well-conditioned.
    W = orthogonal(24, seed) * np.linspace(0.5, 1, 24) + 0.2 * gaussian(24, seed + 10)
    split = ordered_schur(W).sectors(0.8)
    assert 0 < split.n_R < 24
    ablated = np.linalg.eigvals(split.without(removed))
    np.testing.assert_allclose(
        np.sort_complex(ablated), np.sort_complex(np.linalg.eigvals(W)), atol=1e-10
    )


@pytest.mark.parametrize("removed", SUBSETS)
def test_without_is_q_t_qt(removed):
    form = ordered_schur(gaussian(25))
    split = form.sectors(0.7)
    T = split.T_without(removed)
    np.testing.assert_allclose(split.without(removed), form.Q @ T @ form.Q.T, atol=1e-13)
    gone = np.zeros((25, 25), dtype=bool)
    for name in removed.split("+"):
        if name != "none":
            gone |= split.masks[name]
    assert not T[gone].any()
    np.testing.assert_array_equal(T[~gone], form.T[~gone])
    mass = np.linalg.norm(form.T - T) / np.linalg.norm(form.T)
    assert split.removed_mass(removed) == pytest.approx(mass, rel=1e-12)


def test_removing_nothing_is_exact():
    W = gaussian(25)
    split = ordered_schur(W).sectors(0.9)
    np.testing.assert_array_equal(split.without("none"), W)
    assert split.removed_mass("none") == 0.0
    everything = ordered_schur(W).sectors(1e-9)
    assert everything.n_R == 25
    np.testing.assert_array_equal(everything.without("CR+CC"), W)  # empty blocks


@pytest.mark.parametrize("seed", range(4))
def test_removed_masses_add_up_in_squares(seed):
    split = ordered_schur(gaussian(30, seed)).sectors(0.7)
    square = {removed: split.removed_mass(removed) ** 2 for removed in SUBSETS}
    assert min(square["RR"], square["CR"], square["CC"]) > 0
    for removed in SUBSETS[1:]:
        parts = sum(square[name] for name in removed.split("+"))
        assert square[removed] == pytest.approx(parts, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_cr_depends_on_the_leading_subspace_only(seed):
    W = gaussian(30, seed)
    split = ordered_schur(W).sectors(0.7)
    # The projector from the left and right eigenvectors of numpy, not from our Q.
    values, vectors = np.linalg.eig(W)
    leading = np.abs(values) >= 0.7 * np.abs(values).max()
    assert leading.sum() == split.n_R
    basis = scipy.linalg.orth(np.hstack([vectors[:, leading].real, vectors[:, leading].imag]))
    P = basis @ basis.T
    rest = np.eye(30) - P
    np.testing.assert_allclose(split.without("CR"), P @ W @ P + rest @ W @ rest, atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "roots of unity", "orthogonal", "Grcar", "rank one"])
def test_henrici_is_couplings_and_pair_asymmetry(name):
    W = HARD[name](32)
    form = ordered_schur(W)
    total = np.sum(form.T[form.coupling_mask] ** 2)
    for start, size in form.blocks:
        if size == 2:
            total += (form.T[start, start + 1] + form.T[start + 1, start]) ** 2
    assert np.sqrt(total) == pytest.approx(metrics.henrici(W), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_hidden_unit_permutations_and_sign_flips_are_symmetries(seed):
    rng = np.random.default_rng(seed)
    W = gaussian(30, seed)
    S = np.eye(30)[rng.permutation(30)] * rng.choice([-1.0, 1.0], size=30)
    here, there = ordered_schur(W).sectors(0.7), ordered_schur(S @ W @ S.T).sectors(0.7)
    np.testing.assert_allclose(there.coordinates.moduli, here.coordinates.moduli, rtol=1e-10)
    assert there.n_R == here.n_R
    # No ties and well-separated moduli: the whole flag is unique, so all subsets are equivariant.
    for removed in SUBSETS:
        expected = S @ here.without(removed) @ S.T
        np.testing.assert_allclose(there.without(removed), expected, atol=1e-9)
        mass = here.removed_mass(removed)
        assert there.removed_mass(removed) == pytest.approx(mass, rel=1e-8)


def test_cr_is_equivariant_under_ties_too():
    # Inside the leading sector of 32 tied moduli no order is well-posed, the subspace is.
    rng = np.random.default_rng(3)
    U = orthogonal(48, 2)
    T = np.triu(gaussian(48), 1) * 0.3
    T[:32, :32] = roots_of_unity(32)
    T[32:, 32:] *= 0.3
    W = U @ T @ U.T
    S = np.eye(48)[rng.permutation(48)] * rng.choice([-1.0, 1.0], size=48)
    here, there = ordered_schur(W, 1e-4).sectors(0.9), ordered_schur(S @ W @ S.T, 1e-4).sectors(0.9)
    assert here.n_R == there.n_R == 32
    np.testing.assert_allclose(there.without("CR"), S @ here.without("CR") @ S.T, atol=1e-8)


@pytest.mark.parametrize("name", ["orthogonal", "symmetric", "skew", "permutation", "identity"])
@pytest.mark.parametrize("n", [5, 64])
def test_normal_matrices_have_no_couplings(name, n):
    form = ordered_schur(HARD[name](n))
    split = form.sectors(0.5)
    for removed in SUBSETS:
        assert split.removed_mass(removed) <= form.mass_floor
        assert np.isnan(metrics.s_dt(1e-3, split.removed_mass(removed), form.mass_floor))


def test_couplings_of_a_normal_matrix_stored_in_float32_are_rounding():
    # The relative error of storing is some 1e-8, far above the floor of float64.
    blocks = scipy.linalg.block_diag(*[rotation(m, 1.0) for m in np.linspace(0.5, 1, 32)])
    form = ordered_schur(rotated(blocks).astype(np.float32))
    split = form.sectors(0.8)
    assert 0 < split.removed_mass("RR+CR+CC") <= form.mass_floor
    assert split.removed_mass("RR+CR+CC") > 64 * EPS
    assert form.mass_floor == 64 * np.finfo(np.float32).eps


@pytest.mark.parametrize("seed", range(3))
def test_float32_is_converted_before_the_decomposition(seed):
    W = gaussian(64, seed).astype(np.float32)
    single, double = ordered_schur(W), ordered_schur(W.astype(np.float64))
    np.testing.assert_array_equal(single.T, double.T)
    np.testing.assert_array_equal(single.Q, double.Q)
    assert (np.diff(single.moduli) <= single.tie_width).all()
    assert single.precision == np.finfo(np.float32).eps and double.precision == EPS


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 33, 200])
def test_orthogonal_matrices_are_all_leading(n, alpha):
    # All moduli are 1 up to rounding, and R must not be cut by rounding, not even at α = 1.
    form = ordered_schur(orthogonal(n, seed=n))
    split = form.sectors(alpha)
    assert split.n_R == n
    assert split.alpha_gap == pytest.approx(1 - alpha, abs=1e-12)
    assert form.ties == (((0, n),) if len(form.blocks) > 1 else ())


def test_tie_rule_goes_by_real_part():
    angles = [2.0, 0.5, 1.2]
    form = ordered_schur(scipy.linalg.block_diag(-1.0, *[rotation(1.0, a) for a in angles], 1.0))
    np.testing.assert_allclose(
        form.eigenvalues[[0, 1, 3, 5, 7]].real, [1.0, *np.cos([0.5, 1.2, 2.0]), -1.0], atol=1e-14
    )
    assert form.ties == ((0, 8),)
    # Negative and positive real eigenvalues of one modulus: the positive leads.
    np.testing.assert_array_equal(np.diag(ordered_schur(np.diag([-2.0, 2.0, 1.0])).T), [2, -2, 1])


def test_equal_real_parts_keep_lapacks_order():
    # Fourfold eigenvalue 1 with rounding in it: nothing to sort by, so nothing moves.
    W = np.diag([1.0, 1.0 + 4 * EPS, 1.0 - 2 * EPS, 1.0 + 8 * EPS])
    np.testing.assert_array_equal(ordered_schur(W).Q, np.eye(4))


@pytest.mark.parametrize("seed", range(3))
def test_roots_of_unity_are_one_tie_in_order_of_real_part(seed):
    form = ordered_schur(roots_of_unity(64, seed), tie_tolerance=1e-3)
    assert form.ties == ((0, 64),)
    assert form.sectors(0.9).n_R == 64
    assert (np.diff(form.eigenvalues.real) <= 1e-2).all()


def test_ties_chain_and_respect_the_tolerance():
    W = np.diag([1.0, 1.0 - 0.8e-3, 1.0 - 1.6e-3, 0.9, 0.5, 0.5 - 2e-3])
    assert ordered_schur(W, tie_tolerance=1e-3).ties == ((0, 3),)
    assert ordered_schur(W, tie_tolerance=3e-3).ties == ((0, 3), (4, 6))
    assert ordered_schur(W).ties == ()


def test_a_sector_does_not_cut_a_tie():
    W = np.diag([1.0, 0.9 + 4e-9, -(0.9 + 2e-9), 0.9 - 4e-9, 0.5])
    split = ordered_schur(W).sectors(0.9)
    assert split.n_R == 4
    assert split.alpha_gap < 1e-8  # and the call is reported as close
    assert ordered_schur(W).sectors(0.90001).n_R == 1


@pytest.mark.parametrize("W", [np.zeros((3, 3)), np.eye(3, k=1), [[0.0]]])
def test_spectral_radius_zero_puts_everything_in_r(W):
    split = ordered_schur(W).sectors(0.9)
    assert split.n_R == len(W) and split.alpha_gap == 0.0
    assert split.coordinates.spectral_radius == 0.0
    assert split.removed_mass("CR") == split.removed_mass("CC") == 0.0


def test_the_same_matrix_gives_the_same_bits():
    W = roots_of_unity(64)
    one, two = ordered_schur(W), ordered_schur(W.copy(order="F"))
    np.testing.assert_array_equal(one.T, two.T)
    np.testing.assert_array_equal(one.Q, two.Q)


def test_input_is_left_alone_and_output_is_read_only():
    W = gaussian(10)
    before = W.copy()
    form = ordered_schur(W)
    np.testing.assert_array_equal(W, before)
    W[0, 0] = 99.0
    assert form.W[0, 0] == before[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        form.T[0, 0] = 1.0
    form.sectors().without("CR")[0, 0] = 1.0  # a fresh array


def test_accepts_integers_lists_and_tensors():
    W = [[2, 1], [0, 3]]
    expected = ordered_schur(np.array(W, dtype=float)).T
    for same in (W, np.array(W), np.array(W, dtype=np.uint8), torch.tensor(W, dtype=torch.float32)):
        np.testing.assert_array_equal(ordered_schur(same).T, expected)
    weight = torch.nn.RNN(2, 5).weight_hh_l0  # requires grad
    assert ordered_schur(weight).n == 5


# Exchanges that LAPACK rejects


def test_a_refused_exchange_is_recovered(monkeypatch):
    """LAPACK always says no: pairs are exchanged by QR iteration, and it is reported."""
    monkeypatch.setattr(lapack, "dtrexc", lambda a, q, ifst, ilst, **kw: (a, q, 1))
    W = ascending_pairs(8)
    form = ordered_schur(W)
    assert_promises(W, form)
    assert {swap.outcome for swap in form.rejected_swaps} == {"recovered"}


def test_a_refused_exchange_without_recovery_is_an_error(monkeypatch):
    monkeypatch.setattr(lapack, "dtrexc", lambda a, q, ifst, ilst, **kw: (a, q, 1))
    monkeypatch.setattr(_reorder, "ROTATIONS", 0)
    with pytest.raises(SchurError, match="out of order.*rejected"):
        ordered_schur(ascending_pairs(8))


def test_a_refused_exchange_within_a_tie_is_recorded(monkeypatch):
    monkeypatch.setattr(lapack, "dtrexc", lambda a, q, ifst, ilst, **kw: (a, q, 1))
    W = np.diag([-1.0, 1.0 - 1e-10, 0.5])
    form = ordered_schur(W)
    assert form.rejected_swaps == ((0, 1.0, 1.0 - 1e-10, "tied"),)
    np.testing.assert_array_equal(form.T, W)
    assert form.ties == ((0, 2),)


def test_other_info_is_an_error(monkeypatch):
    monkeypatch.setattr(lapack, "dtrexc", lambda a, q, ifst, ilst, **kw: (a, q, -4))
    with pytest.raises(SchurError, match="info = -4"):
        ordered_schur(np.diag([1.0, 2.0]))


def test_an_exchange_that_does_nothing_is_noticed(monkeypatch):
    monkeypatch.setattr(lapack, "dtrexc", lambda a, q, ifst, ilst, **kw: (a, q, 0))
    with pytest.raises(SchurError, match="out of order"):
        ordered_schur(np.diag([1.0, 2.0]))


def test_a_wrong_factorisation_is_noticed(monkeypatch):
    schur = scipy.linalg.schur
    monkeypatch.setattr(scipy.linalg, "schur", lambda W, **kw: (schur(W, **kw)[0], np.eye(len(W))))
    with pytest.raises(SchurError, match="failed its check: residual"):
        ordered_schur(gaussian(5))


def clustered_pairs(seed):
    """Pairs of nearly one modulus, large couplings, pairs far from normal: hard to exchange."""
    rng = np.random.default_rng(seed)
    pairs = int(rng.integers(2, 5))
    centre, spread = rng.normal(size=2)
    blocks = []
    for _ in range(pairs):
        a = centre * (1 + 10.0 ** rng.integers(-12, 0) * rng.normal())
        b = spread * (1 + 10.0 ** rng.integers(-12, 0) * rng.normal())
        skew = 10 ** rng.uniform(-4, 4)
        blocks.append(np.array([[a, b * skew], [-b / skew, a]]))
    couplings = gaussian(2 * pairs, seed) * 10 ** rng.uniform(-6, 6)
    return block_triangular(blocks, couplings)


def test_ill_conditioned_exchanges():
    refused = 0
    for seed in range(200):
        W = clustered_pairs(seed)
        form = ordered_schur(W)
        assert_promises(W, form)
        refused += len(form.rejected_swaps)
    assert refused > 0  # or these matrices test nothing


# Bad input


@pytest.mark.parametrize(
    ("W", "error", "match"),
    [
        (np.zeros((2, 3)), ValueError, r"got shape \(2, 3\)"),
        (np.zeros(4), ValueError, r"got shape \(4,\)"),
        (np.zeros((2, 2, 2)), ValueError, r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 0)), ValueError, r"got shape \(0, 0\)"),
        (3.0, ValueError, r"got shape \(\)"),
        ([[1.0, np.nan], [0.0, 1.0]], ValueError, "got nan at row 0, column 1"),
        ([[1.0, 0.0], [-np.inf, 1.0]], ValueError, "got -inf at row 1, column 0"),
        (np.eye(2, dtype=complex), TypeError, "got dtype complex128"),
        (np.eye(2, dtype=bool), TypeError, "got dtype bool"),
        ([["a", "b"], ["c", "d"]], TypeError, "got dtype <U1"),
        ([[1.0, 2.0], [3.0]], TypeError, "got list"),
        (np.array([[None]]), TypeError, "got dtype object"),
        (None, TypeError, "got dtype object"),
        (torch.eye(2, dtype=torch.bfloat16), TypeError, "got Tensor"),
        (scipy.sparse.eye_array(3), TypeError, "got dtype object"),
    ],
)
def test_refuses_what_is_not_a_real_square_matrix(W, error, match):
    with pytest.raises(error, match="W must be a square, real, finite matrix.*" + match):
        ordered_schur(W)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.0001, 90, np.nan, np.inf])
def test_refuses_alpha_out_of_range(alpha):
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\], got"):
        ordered_schur(np.eye(2)).sectors(alpha)


@pytest.mark.parametrize("alpha", ["0.9", None, True, [0.9], 0.9j])
def test_refuses_alpha_that_is_no_number(alpha):
    with pytest.raises(TypeError, match=r"alpha must be a number in \(0, 1\], got"):
        ordered_schur(np.eye(2)).sectors(alpha)


@pytest.mark.parametrize("removed", ["TRR", "RR+RR", "T_RR+RR", "T_none", "", "rr", "none+RR", None, ["RR"]])
def test_refuses_unknown_blocks_and_lists_the_eight(removed):
    split = ordered_schur(np.eye(2)).sectors()
    for method in (split.without, split.T_without, split.removed_mass):
        with pytest.raises(ValueError, match="removed must be one of") as caught:
            method(removed)
        assert all(subset in str(caught.value) for subset in SUBSETS)


@pytest.mark.parametrize(("written", "meant"), [
    ("T_RR", "RR"), ("T_C→R", "CR"), ("C→R", "CR"), ("T_CR", "CR"), ("CC+RR", "RR+CC"),
    ("T_CC+T_C→R+RR", "RR+CR+CC"),
])
def test_blocks_may_be_written_as_in_the_paper_and_in_any_order(written, meant):
    split = ordered_schur(np.triu(np.arange(1.0, 17).reshape(4, 4))).sectors(0.6)
    assert split.removed_mass(meant) > 0
    np.testing.assert_array_equal(split.without(written), split.without(meant))


@pytest.mark.parametrize(
    ("tolerance", "error"),
    [(-1e-9, ValueError), (1.0, ValueError), (np.nan, ValueError), ("1e-8", TypeError)],
)
def test_refuses_tie_tolerance(tolerance, error):
    with pytest.raises(error, match=r"tie_tolerance must be .* \[0, 1\)"):
        ordered_schur(np.eye(2), tie_tolerance=tolerance)


# --- other orders inside a sector ---------------------------------------------------------------


@pytest.mark.parametrize("make", [gaussian, roots_of_unity, grcar])
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_shuffling_inside_sectors_keeps_what_is_well_posed(make, scale):
    W = make(24) * scale
    split, rng = ordered_schur(W).sectors(0.8), np.random.default_rng(0)
    assert 0 < split.n_R < split.coordinates.n or make is roots_of_unity
    size = np.linalg.norm(W / scale)
    P = split.coordinates.Q[:, : split.n_R] @ split.coordinates.Q[:, : split.n_R].T
    formula = W / scale - P @ (W / scale) @ (np.eye(len(W)) - P)
    for _ in range(5):
        other = split.shuffled(rng)
        form = other.coordinates
        assert form.residual < 1e-13 and form.orthogonality < 1e-12
        assert other.n_R == split.n_R and other.alpha_gap == split.alpha_gap
        # The same eigenvalues, up to their condition; those of R still come first.
        inside = np.sort(form.moduli[: split.n_R]) / scale
        np.testing.assert_allclose(
            inside, np.sort(split.coordinates.moduli[: split.n_R]) / scale, atol=1e-4
        )
        np.testing.assert_allclose(other.without("CR") / scale, formula, atol=1e-9 * size)
        assert abs(other.removed_mass("CR") - split.removed_mass("CR")) < 1e-9


def test_shuffling_changes_what_is_not_well_posed():
    split = ordered_schur(gaussian(24)).sectors(0.6)
    other = split.shuffled(np.random.default_rng(1))
    for removed in ("RR", "CC", "RR+CC"):
        apart = np.linalg.norm(other.without(removed) - split.without(removed))
        assert apart > 0.01 * np.linalg.norm(split.coordinates.W)


def test_two_real_eigenvalues_by_hand():
    """[[3, 4], [0, 2]]: the other order is a rotation by the eigenvector of 2, (−4, 1)/√17."""
    W = np.array([[3.0, 4.0], [0.0, 2.0]])
    split, rng = ordered_schur(W).sectors(0.5), np.random.default_rng(0)
    v = np.array([-4.0, 1.0]) / 17**0.5
    w = np.array([1.0, 4.0]) / 17**0.5
    seen = {}
    for _ in range(20):
        other = split.shuffled(rng)
        seen[round(other.coordinates.T[0, 0])] = other
    assert sorted(seen) == [2, 3]
    np.testing.assert_allclose(seen[3].without("RR"), [[3, 0], [0, 2]], atol=1e-14)
    np.testing.assert_allclose(
        seen[2].without("RR"), 2 * np.outer(v, v) + 3 * np.outer(w, w), atol=1e-14
    )
    # The coupling has the same size either way, 4, because the eigenvalues have.
    assert abs(seen[2].coordinates.T[0, 1]) == pytest.approx(4)


def test_every_order_is_as_likely():
    W = block_triangular([4.0, 3.0, 2.0, 0.1], gaussian(4))
    split, rng = ordered_schur(W).sectors(0.4), np.random.default_rng(0)
    orders = [
        tuple(np.round(np.diagonal(split.shuffled(rng).coordinates.T)[:3])) for _ in range(1200)
    ]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6 and min(counts) > 140 and max(counts) < 260


def test_shuffled_sectors_belong_to_their_alpha():
    W = block_triangular([5.0, 4.0, 3.0, 1.0], gaussian(4))
    split = ordered_schur(W).sectors(0.5)
    shuffles = (split.shuffled(np.random.default_rng(seed)) for seed in range(20))
    other = next(s for s in shuffles if s.coordinates.moduli[0] < 3.5)
    assert other.coordinates.sectors(0.5).n_R == 3
    with pytest.raises(ValueError, match="alpha = 0.9.*shuffled"):
        other.coordinates.sectors(0.9)
    with pytest.raises(TypeError, match="rng.*numpy.random.Generator.*7"):
        split.shuffled(7)
