"""Couplings one by one: known answers on small networks, and the gradient against differences."""

import numpy as np
import pytest

from paperlib.ablation import variant_scores
from paperlib.artifacts import write_results
from paperlib.couplings import EPSILONS, _gradient, coupling_map, coupling_profile, stabilisers
from paperlib.network import Solution
from paperlib.schur import ordered_schur
from paperlib.tasks import make_task

TASK = make_task("flip_flop", length=6)


def network(n=9, seed=0, **weights):
    rng = np.random.default_rng(seed)
    given = {
        "W_xh": rng.normal(size=(n, 3)), "W_hh": rng.normal(size=(n, n)) / n**0.5,
        "W_hy": rng.normal(size=(3, n)) / n**0.5, **weights,
    }
    return Solution(**given, meta={"construction": "dense_default", "seed": seed})


def test_masses_of_all_couplings_are_the_mass_of_N():
    one = network()
    split = ordered_schur(one.W_hh).sectors(0.9)
    worth = coupling_map(one, TASK, n_trials=20)
    n = len(split.coordinates.blocks)
    assert len(worth.pairs) == n * (n - 1) // 2
    assert np.sqrt(worth.mass.sum()) == pytest.approx(split.removed_mass("RR+CR+CC"))


def test_one_coupling_by_hand():
    """Two units, 1 → 0: the only coupling is W[0, 1], and zeroing it is zeroing the entry."""
    W = np.array([[0.9, 0.4], [0.0, 0.3]])
    one = network(n=2, W_hh=W)
    worth = coupling_map(one, TASK, n_trials=40)
    cut = W.copy()
    cut[0, 1] = 0
    scores = variant_scores(one, [W, cut], TASK, 40, seed=1)["fvu"]
    np.testing.assert_allclose(worth.delta_fvu, [scores[1] - scores[0]], rtol=1e-10)
    assert worth.mass[0] == pytest.approx(0.16 / (0.81 + 0.16 + 0.09))


def test_the_gradient_against_differences():
    one, size = network(), 1e-5
    form = ordered_schur(one.W_hh)
    found = _gradient(one, form, TASK, 20, 1)
    rng = np.random.default_rng(0)
    direction = rng.normal(size=form.T.shape)
    moved = [form.Q @ (form.T + sign * size * direction) @ form.Q.T for sign in (1, -1)]
    scores = variant_scores(one, moved, TASK, 20, seed=1)["fvu"]
    assert np.sum(found * direction) == pytest.approx((scores[0] - scores[1]) / (2 * size), rel=1e-5)


def test_small_couplings_cost_what_the_first_order_says():
    W = np.diag([0.9, 0.7, 0.5, 0.3]) + 1e-5 * np.triu(np.random.default_rng(0).normal(size=(4, 4)), 1)
    worth = coupling_map(network(n=4, W_hh=W), TASK, n_trials=40)
    np.testing.assert_allclose(worth.first_order, worth.delta_fvu, rtol=1e-3, atol=1e-12)


def test_what_misses_the_activity_can_all_be_removed():
    """Units 2 and 3 are never driven: what they send costs nothing, at any ε."""
    W = np.diag([0.9, 0.8, 0.5, 0.3])
    W[0, 1], W[0, 2], W[1, 3] = 0.5, 0.7, 0.4
    W_xh = np.zeros((4, 3))
    W_xh[:2] = np.random.default_rng(0).normal(size=(2, 3))
    one = network(n=4, W_hh=W, W_xh=W_xh)
    worth = coupling_map(one, TASK, n_trials=40)
    mass, kept = stabilisers(one, TASK, worth, epsilons=(1e-9, 1e3), n_trials=40)
    total = np.sum(W**2)
    assert mass[0] == pytest.approx(np.sqrt((0.49 + 0.16) / total)) and kept[0] == 1
    assert mass[1] == pytest.approx(np.sqrt((0.25 + 0.49 + 0.16) / total)) and kept[1] == 0


def test_a_larger_allowance_never_removes_less():
    one = network()
    mass, kept = stabilisers(one, TASK, coupling_map(one, TASK, n_trials=30), n_trials=30)
    assert (np.diff(mass) >= 0).all() and (np.diff(kept) <= 0).all()


def test_the_profile_is_results_of_the_contract(tmp_path):
    table = coupling_profile([network(), network(seed=1)], TASK, n_trials=20, steps=8)
    write_results(table, tmp_path / "x.csv")
    ours = table[table["seed"] == 0].set_index("quantity")["value"]
    n = int(ours["n_couplings"])
    for kind in ("delta_fvu", "first_order"):
        assert sum(q.startswith(f"{kind}_coupling_") for q in ours.index) == n
    assert not table[table["seed"] == 1]["quantity"].str.startswith("delta_fvu_coupling").any()
    assert f"removable_mass_{len(EPSILONS) - 1}" in ours and -1 <= ours["gradient_rank"] <= 1
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 9)))[0]
    assert coupling_profile([network(W_hh=W)], TASK, n_trials=5).empty


def test_bad_arguments_are_named():
    one = network()
    worth = coupling_map(one, TASK, n_trials=5)
    with pytest.raises(ValueError, match="epsilons.*-1"):
        stabilisers(one, TASK, worth, epsilons=(-1,))
    with pytest.raises(ValueError, match="steps.*0"):
        stabilisers(one, TASK, worth, steps=0)
