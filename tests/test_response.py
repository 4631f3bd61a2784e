"""Accounts of a removal: projections by hand, and the response where it is exact."""

import numpy as np
import pytest

import paperlib as pl
from paperlib.artifacts import QUANTITIES, write_results
from paperlib.network import Solution, rollout
from paperlib.response import ACCOUNTS, accounts_profile, response
from paperlib.schur import ordered_schur
from paperlib.tasks import make_task

TASK = make_task("flip_flop", length=6)


def network(n=14, seed=0, scale=1.0, **weights):
    rng = np.random.default_rng(seed)
    given = {
        "W_xh": scale * rng.normal(size=(n, 3)), "W_hh": rng.normal(size=(n, n)) / n**0.5,
        "W_hy": rng.normal(size=(3, n)) / n**0.5, **weights,
    }
    return Solution(**given, meta={"construction": "dense_default", "seed": seed})


def rolled(one, W_hh, inputs):
    return rollout(one.W_xh, W_hh, one.W_hy, inputs, return_hidden=True)[1][0].numpy()


@pytest.mark.parametrize("clip", [False, True])
def test_the_response_is_exact_for_small_removals(clip):
    """The error is of second order: ten times smaller a removal, a hundred times smaller an error."""
    one, rng = network(), np.random.default_rng(1)
    inputs = rng.normal(size=(5, 6, 3))
    W, change = np.asarray(one.W_hh), rng.normal(size=(14, 14))
    hidden, errors = rolled(one, W, inputs), []
    for size in (1e-3, 1e-4):
        true = rolled(one, W - size * change, inputs) - hidden
        errors.append(np.abs(response(W, W - size * change, hidden, clip=clip) - true).max())
    assert errors[1] < errors[0] / 50 and errors[0] < 1e-3


def test_the_response_of_a_nearly_linear_network_is_its_rollout():
    one = network(scale=1e-4)
    inputs = np.random.default_rng(1).normal(size=(4, 6, 3))
    split = ordered_schur(one.W_hh).sectors(0.6)
    hidden, without = rolled(one, one.W_hh, inputs), split.without("CC")
    found = response(one.W_hh, without, hidden)
    true = rolled(one, without, inputs) - hidden
    np.testing.assert_allclose(found, true, atol=1e-6 * np.abs(true).max())


def test_clipped_states_stay_where_tanh_is():
    one = network(scale=3.0)
    inputs = np.random.default_rng(1).normal(size=(4, 6, 3))
    hidden = rolled(one, one.W_hh, inputs)
    far = hidden + response(one.W_hh, -9 * np.asarray(one.W_hh), hidden)
    assert np.abs(far).max() <= 1
    assert np.abs(hidden + response(one.W_hh, -9 * np.asarray(one.W_hh), hidden, False)).max() > 1


def test_one_step_by_hand():
    """h_1 = tanh(x); removing all of W changes h_2 from tanh(W h_1) to 0."""
    h = np.array([[[0.5], [np.tanh(0.4)]]])
    found = response(np.array([[0.8]]), np.array([[0.0]]), h, clip=False)
    np.testing.assert_allclose(found[0, :, 0], [0, -(1 - np.tanh(0.4) ** 2) * 0.4])


def test_accounts_are_results_and_agree_with_each_other(tmp_path):
    table = accounts_profile([network(), network(seed=1)], TASK, 0.6, n_trials=30)
    write_results(table, tmp_path / "x.csv")
    names = {f"account_{name}" for name in ACCOUNTS}
    whole, table = table[table["removed"] == "none"], table[table["removed"] != "none"]
    assert list(whole["quantity"]) == ["fvu", "fvu"]
    assert set(table["quantity"]) == names | {"delta_fvu"} and names <= set(QUANTITIES)
    wide = table.pivot(index=["seed", "removed"], columns="quantity", values="value")
    shares = wide[["account_pcs", "account_target", "account_readout"]]
    assert ((shares >= 0) & (shares <= 1 + 1e-12)).all(axis=None)
    for (seed, removed), row in wide.iterrows():
        split = ordered_schur(network(seed=seed).W_hh).sectors(0.6)
        assert row["account_mass"] == pytest.approx(split.removed_mass(removed))


def test_a_block_that_misses_the_activity_costs_nothing():
    """Units 2 and 3 are never driven: what they would send is zero, and the accounts say so."""
    W_hh = np.diag([0.9, 0.8, 0.5, 0.3])
    W_hh[0, 2], W_hh[0, 3] = 0.7, 0.4
    W_xh = np.zeros((4, 3))
    W_xh[:2] = np.random.default_rng(0).normal(size=(2, 3))
    W_hy = np.eye(3, 4)
    one = network(n=4, W_hh=W_hh, W_xh=W_xh, W_hy=W_hy)
    table = accounts_profile([one], TASK, 0.85, removed="CR", n_trials=40)
    value = table.set_index("quantity")["value"].drop("fvu")
    assert value["account_mass"] > 0.3 and value["account_readout"] == pytest.approx(1)
    for name in ("account_pcs", "account_target", "account_drive", "account_alignment",
                 "account_one_step",
                 "account_linear", "account_clipped", "delta_fvu"):  # fmt: skip
        assert abs(value[name]) < 1e-12, name


def test_alignment_and_one_step_by_hand():
    """Two units, the second one's drive from the first alone: N = W[0, 1] acts on h_2."""
    W_hh = np.array([[0.9, 0.6], [0.0, 0.5]])
    W_xh, W_hy = np.array([[1.0, 0, 0], [0, 1.0, 0]]), np.array([[2.0, 0], [0, 0], [0, 0]])
    one = network(n=2, W_hh=W_hh, W_xh=W_xh, W_hy=W_hy)
    table = accounts_profile([one], TASK, 0.8, removed="CR", n_trials=30)
    value = table.set_index("quantity")["value"]
    inputs, targets, mask = (
        np.asarray(x, float) for x in TASK.sample(30, pl.generator(1, "evaluation"))
    )
    h = rolled(one, one.W_hh, inputs)
    before = np.concatenate([np.zeros_like(h[:, :1]), h[:, :-1]], axis=1)
    meets = np.sum((0.6 * before[..., 1]) ** 2) * 2 / (0.36 * np.sum(before**2))
    assert value["account_alignment"] == pytest.approx(meets)
    stepped = before @ np.diag([0.9, 0.5]) + inputs @ W_xh.T
    moved = 2 * (np.tanh(stepped[..., 0]) - h[..., 0])
    moved = pl.fvu(targets + moved[..., None] * [1.0, 0, 0], targets, mask)
    assert value["account_one_step"] == pytest.approx(moved)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="shapes do not fit"):
        response(np.eye(3), np.eye(3), np.zeros((2, 4, 5)))
    with pytest.raises(ValueError, match="n_trials.*0"):
        accounts_profile([network()], TASK, n_trials=0)
    with pytest.raises(ValueError, match="removed must be among.*'none'"):
        accounts_profile([network()], TASK, removed="none")
