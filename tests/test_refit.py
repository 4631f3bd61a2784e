"""A decoder fitted anew: known answers, and what it can not undo."""

import numpy as np
import pytest

from paperlib.ablation import ablation_profile
from paperlib.artifacts import write_results
from paperlib.network import Solution
from paperlib.refit import refit_profile, refit_readout
from paperlib.tasks import Copy, make_task


def network(task, n=14, seed=0, **weights):
    rng = np.random.default_rng(seed)
    given = {
        "W_xh": rng.normal(size=(n, task.n_in)), "W_hh": rng.normal(size=(n, n)) / n**0.5,
        "W_hy": rng.normal(size=(task.n_out, n)) / n**0.5, **weights,
    }
    return Solution(**given, meta={"construction": "dense_default", "seed": seed})


def test_a_linear_readout_is_found_again():
    rng = np.random.default_rng(0)
    hidden, W_hy = rng.normal(size=(40, 7, 5)), rng.normal(size=(2, 5))
    targets, mask = hidden @ W_hy.T, np.ones((40, 7, 2))
    np.testing.assert_allclose(refit_readout(hidden, targets, mask, 1e-12), W_hy, atol=1e-9)
    # What does not count plays no part.
    mask[:20, :, 1] = 0
    spoilt = np.where(mask > 0, targets, 1e3)
    np.testing.assert_allclose(refit_readout(hidden, spoilt, mask, 1e-12), W_hy, atol=1e-9)


def test_ridge_by_hand():
    """One unit, h = 1 twice, y = 3: (2 + ρ · 2) w = 6 with the penalty relative to Σh² = 2."""
    found = refit_readout(np.ones((1, 2, 1)), np.full((1, 2, 1), 3.0), np.ones((1, 2, 1)), 0.5)
    np.testing.assert_allclose(found, [[2.0]])


def test_a_wrong_decoder_is_undone_and_a_lost_memory_is_not():
    """h_t = tanh(x_t + W h): unit 1 remembers the last input by a coupling from unit 0."""
    task = make_task("flip_flop", length=5, n_bits=1, pulse_probability=1.0)  # y_t = x_t
    W_hh = np.array([[0.5, 0.3], [0.0, 0.1]])
    good = network(
        task, n=2, W_xh=np.array([[1.0], [0.2]]), W_hh=W_hh, W_hy=np.array([[-1.0, 0.0]])
    )
    table = refit_profile([good], task, n_fit=200, n_trials=200).set_index(["quantity", "removed"])
    value = table["value"]
    assert value["fvu", "none"] > 1 and value["fvu_refit", "none"] < 0.1
    blind = network(task, n=2, W_xh=np.zeros((2, 1)), W_hh=W_hh, W_hy=np.array([[-1.0, 0.0]]))
    gone = refit_profile([blind], task, removed="none", n_fit=200, n_trials=200)
    assert gone.set_index("quantity")["value"]["fvu_refit"] == pytest.approx(1, abs=0.05)


def test_the_decoder_as_trained_measures_as_the_profile_does(tmp_path):
    task = Copy(s=2, d=2, lags=4)
    table = refit_profile([network(task)], task, 0.7, n_fit=60, n_trials=50)
    write_results(table, tmp_path / "x.csv")
    profile = ablation_profile([network(task)], task, 0.7, n_trials=50)
    for quantity in ("fvu", "replay_accuracy"):
        ours, theirs = (
            t[t["quantity"] == quantity].set_index("removed")["value"] for t in (table, profile)
        )
        np.testing.assert_allclose(ours, theirs[ours.index], rtol=1e-10)
    assert set(table["quantity"]) == {
        "fvu", "fvu_refit", "replay_accuracy", "replay_accuracy_refit"
    }


def test_bad_arguments_are_named():
    ones = np.ones((2, 3, 1))
    with pytest.raises(ValueError, match="ridge.*0"):
        refit_readout(ones, ones, ones, 0)
    with pytest.raises(ValueError, match="shapes do not fit"):
        refit_readout(ones, ones[:1], ones[:1])
    with pytest.raises(ValueError, match="finite"):
        refit_readout(ones * np.nan, ones, ones)
    with pytest.raises(ValueError, match="never counts"):
        refit_readout(ones, ones, ones * 0)
    with pytest.raises(ValueError, match="n_fit.*-1"):
        refit_profile([], make_task("sine"), n_fit=-1)
