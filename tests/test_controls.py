"""Controls of an ablation: the same size, and something else."""

import numpy as np
import pytest

from paperlib.ablation import variant_scores
from paperlib.artifacts import write_results
from paperlib.controls import CONTROLS, control_draws
from paperlib.network import Solution
from paperlib.schur import ordered_schur
from paperlib.tasks import make_task

TASK = make_task("flip_flop", length=6)


def network(n=14, seed=0, W_hh=None):
    rng = np.random.default_rng(seed)
    W_hh = rng.normal(size=(n, n)) / n**0.5 if W_hh is None else W_hh
    meta = {"construction": "dense_default", "seed": seed}
    return Solution(rng.normal(size=(n, 3)), W_hh, rng.normal(size=(3, n)) / n**0.5, meta)


@pytest.fixture
def split():
    return ordered_schur(network().W_hh).sectors(0.6)


@pytest.mark.parametrize("removed", ["RR", "CR", "CC", "RR+CC"])
@pytest.mark.parametrize("kind", CONTROLS)
def test_a_control_is_as_large_as_what_it_stands_for(split, kind, removed):
    rng = np.random.default_rng(0)
    size = np.linalg.norm(split.coordinates.W - split.without(removed))
    first, second = (CONTROLS[kind](split, removed, rng) for _ in range(2))
    assert np.linalg.norm(first) == pytest.approx(size, rel=1e-10)
    assert not np.allclose(first, second)


@pytest.mark.parametrize("kind", ["entries", "permuted"])
def test_controls_inside_the_couplings_keep_the_spectrum(split, kind):
    W = split.coordinates.W
    taken = CONTROLS[kind](split, "CR", np.random.default_rng(1))
    ours, theirs = (np.sort_complex(np.linalg.eigvals(X)) for X in (W - taken, W))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    T = split.coordinates.Q.T @ taken @ split.coordinates.Q
    assert np.abs(T[~split.coordinates.coupling_mask]).max() < 1e-12
    if kind == "permuted":
        inside = split.masks["CR"]
        np.testing.assert_allclose(
            np.sort(T[inside]), np.sort(split.coordinates.T[inside]), atol=1e-12
        )


def test_all_couplings_leave_the_control_of_entries_no_choice(split):
    taken = CONTROLS["entries"](split, "RR+CR+CC", np.random.default_rng(2))
    np.testing.assert_allclose(
        split.coordinates.W - taken, split.without("RR+CR+CC"), atol=1e-12
    )


def test_a_rotated_block_has_the_singular_values_of_the_block(split):
    taken = CONTROLS["rotated"](split, "CC", np.random.default_rng(3))
    np.testing.assert_allclose(
        np.linalg.svd(taken, compute_uv=False),
        np.linalg.svd(split.coordinates.W - split.without("CC"), compute_uv=False), atol=1e-12,
    )


def test_draws_are_results_of_the_contract(tmp_path):
    table = control_draws([network(), network(seed=1)], TASK, 0.6, draws=3, n_trials=20)
    write_results(table, tmp_path / "x.csv")
    assert len(table) == 2 * 3 * (1 + 3 * len(CONTROLS))
    split = ordered_schur(network().W_hh).sectors(0.6)
    scores = variant_scores(
        network(), [split.without("none"), split.without("CR")], TASK, n_trials=20
    )
    ours = table[(table["seed"] == 0) & (table["removed"] == "CR")].set_index("quantity")["value"]
    assert ours["delta_fvu_block_0"] == pytest.approx(scores["fvu"][1] - scores["fvu"][0])
    assert ours.nunique() == len(ours)


def test_what_holds_nothing_has_no_controls():
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(14, 14)))[0]
    assert control_draws([network(W_hh=W)], TASK, draws=2).empty
    broken = network(W_hh=np.full((14, 14), np.nan))
    assert control_draws([broken], TASK, draws=2).empty


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="draws.*0"):
        control_draws([network()], TASK, draws=0)
    with pytest.raises(ValueError, match="removed must be among.*'none'"):
        control_draws([network()], TASK, removed="none")
