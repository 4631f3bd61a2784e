"""Ablation: one path for every subset, α, task and measure."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch

from paperlib import ablation, metrics
from paperlib.ablation import (
    ablate,
    ablation_profile,
    order_draws,
    undefined,
    variant_scores,
)
from paperlib.artifacts import QUANTITIES, RESULT_COLUMNS, read_results, write_results
from paperlib.network import Solution, rollout
from paperlib.schur import SUBSETS, ordered_schur
from paperlib.tasks import Trials, make_task
from paperlib.training import generator

PER_SUBSET = {"fvu", "delta_fvu", "s_dt", "removed_mass"}
PER_SOLUTION = {"n_R", "alpha_gap", "spectral_radius", "henrici", "schur_residual", "n_ties"}


@dataclass(frozen=True)
class Signs:
    """Three random symbols, to be answered at once: small, and with a replay accuracy."""

    length: int = 6
    n_in: int = 3
    n_out: int = 2
    name: ClassVar[str] = "signs"
    convention: ClassVar[str] = "plain"
    replay: ClassVar[bool] = True

    def sample(self, batch, generator):
        inputs = torch.randn((batch, self.length, self.n_in), generator=generator)
        targets = torch.where(inputs[..., : self.n_out] >= 0, 1.0, -1.0)
        mask = torch.ones_like(targets)
        mask[:, 0] = 0
        return Trials(inputs, targets, mask)


def solution(seed=0, n=12, W_hh=None, n_in=3, n_out=2, dtype=np.float32, **meta):
    """A random network: ablation does not care whether it was trained."""
    rng = np.random.default_rng(seed)
    scale = 1 / np.sqrt(n)
    W_hh = rng.normal(size=(n, n)) * scale if W_hh is None else W_hh
    weights = (rng.normal(size=(n, n_in)), W_hh, rng.normal(size=(n_out, n)) * scale)
    meta = {"construction": "dense_default", "seed": seed, **meta}
    return Solution(*(np.asarray(w, dtype=dtype) for w in weights), meta)


def value(table, quantity, removed="none", **where):
    rows = table[(table["quantity"] == quantity) & (table["removed"] == removed)]
    for name, wanted in where.items():
        rows = rows[rows[name] == wanted]
    (number,) = rows["value"]
    return number


@pytest.mark.parametrize("removed", SUBSETS)
def test_ablate_is_the_sectors_without(removed):
    W = solution().W_hh
    expected = ordered_schur(W).sectors(0.7).without(removed)
    np.testing.assert_array_equal(ablate(W, removed, alpha=0.7), expected)


@pytest.mark.parametrize("seed", range(3))
def test_ablate_is_equivariant_under_relabelling_of_hidden_units(seed):
    rng = np.random.default_rng(seed)
    W = solution(seed).W_hh.astype(float)
    S = np.eye(12)[rng.permutation(12)] * rng.choice([-1.0, 1.0], size=12)
    for removed in SUBSETS:
        there = ablate(S @ W @ S.T, removed, alpha=0.7)
        np.testing.assert_allclose(there, S @ ablate(W, removed, alpha=0.7) @ S.T, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"removed": "XX"}, ValueError, "RR\\+CR\\+CC; got 'XX'"),
        ({"removed": "CR", "alpha": 0.0}, ValueError, "alpha must be in"),
        ({"removed": "CR", "W": np.zeros((2, 3))}, ValueError, "W must be a square"),
    ],
)
def test_ablate_refuses(arguments, error, match):
    with pytest.raises(error, match=match):
        ablate(**{"W": np.eye(3), **arguments})


def test_profile_is_the_contracts_table(tmp_path):
    table = ablation_profile([solution(0), solution(1)], Signs(), alphas=(0.7, 0.9), n_trials=20)
    assert tuple(table.columns) == RESULT_COLUMNS
    assert set(table["quantity"]) == PER_SUBSET | PER_SOLUTION | {"replay_accuracy"}
    assert set(table["quantity"]) <= set(QUANTITIES)
    assert set(table["removed"]) == set(SUBSETS)
    assert len(table) == 2 * 2 * (8 * 5 + 6)
    assert not table.duplicated(list(RESULT_COLUMNS[:-1])).any()
    assert set(table["task"]) == {"signs"} and set(table["convention"]) == {"plain"}
    write_results(table, tmp_path / "table.csv")
    pd.testing.assert_frame_equal(read_results(tmp_path / "table.csv"), table, check_dtype=False)


@pytest.mark.parametrize("seed", range(2))
def test_profile_is_what_one_would_compute_by_hand(seed):
    one, task, alpha = solution(seed), Signs(), 0.7
    table = ablation_profile([one], task, alphas=(alpha,), n_trials=50, seed=5)
    trials = [x.numpy().astype(float) for x in task.sample(50, generator(5, "evaluation"))]
    split = ordered_schur(one.W_hh).sectors(alpha)

    def scores(W):
        outputs = rollout(one.W_xh, W, one.W_hy, trials[0])[0].numpy()
        return metrics.fvu(outputs, *trials[1:]), metrics.replay_accuracy(outputs, *trials[1:])

    before, _ = scores(one.W_hh)
    for removed in SUBSETS:
        fvu, accuracy = scores(split.without(removed))
        mass = split.removed_mass(removed)
        assert value(table, "fvu", removed) == pytest.approx(fvu, rel=1e-9)
        assert value(table, "delta_fvu", removed) == pytest.approx(fvu - before, abs=1e-12)
        assert value(table, "replay_accuracy", removed) == accuracy
        assert value(table, "removed_mass", removed) == mass
        if mass:
            ratio = (fvu - before) / mass
            assert value(table, "s_dt", removed) == pytest.approx(ratio, abs=1e-9)
    assert value(table, "n_R") == split.n_R
    assert value(table, "alpha_gap") == split.alpha_gap
    W = one.W_hh.astype(float)
    radius = np.abs(np.linalg.eigvals(W)).max()
    assert value(table, "spectral_radius") == pytest.approx(radius)
    assert value(table, "henrici") == metrics.henrici(W) / metrics.frobenius(W)
    assert value(table, "schur_residual") < 1e-13 and value(table, "n_ties") == 0


def test_nothing_removed_changes_nothing():
    table = ablation_profile([solution(0), solution(1)], Signs(), n_trials=30)
    for seed in (0, 1):
        assert value(table, "delta_fvu", seed=seed) == 0.0
        assert value(table, "removed_mass", seed=seed) == 0.0
        assert np.isnan(value(table, "s_dt", seed=seed))


def test_members_may_differ_in_size_and_construction_and_keep_their_order():
    members = [
        solution(3), solution(0, n=7, construction="cayley"), solution(1), solution(2, n=7)
    ]
    table = ablation_profile(members, Signs(), n_trials=30)
    order = table[["construction", "n_hidden", "seed"]].drop_duplicates()
    assert [tuple(row) for row in order.itertuples(index=False)] == [
        ("dense_default", 12, 3),
        ("cayley", 7, 0),
        ("dense_default", 12, 1),
        ("dense_default", 7, 2),
    ]


def test_a_value_does_not_depend_on_what_is_measured_beside_it():
    task, members = Signs(), [solution(k) for k in range(4)]
    together = ablation_profile(members, task, alphas=(0.5, 0.9), n_trials=64)
    for member in members:
        alone = ablation_profile([member], task, alphas=(0.9,), removed=("CR",), n_trials=64)
        beside = together.merge(alone, on=list(RESULT_COLUMNS[:-1]))
        assert len(beside) == len(alone)
        # To rounding: batched products may sum in another order.
        np.testing.assert_allclose(beside["value_x"], beside["value_y"], rtol=0, atol=1e-12)


def test_the_same_call_gives_the_same_bits():
    arguments = [solution(k) for k in range(2)], Signs()
    one, two = (ablation_profile(*arguments, n_trials=40) for _ in range(2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    other = ablation_profile(*arguments, n_trials=40, seed=1)
    assert value(other, "fvu", seed=0) != value(one, "fvu", seed=0)


def test_chunks_and_batches_leave_the_numbers_alone(monkeypatch):
    members = [solution(k) for k in range(3)]
    expected = ablation_profile(members, Signs(), n_trials=50)
    sizes = []

    def watched(W_xh, W_hh, W_hy, inputs):
        sizes.append((len(W_hh), len(inputs)))
        return rollout(W_xh, W_hh, W_hy, inputs)

    monkeypatch.setattr(ablation, "rollout", watched)
    monkeypatch.setattr(ablation, "CHUNK_BYTES", 7 * 8 * 12 * 6)  # seven trials
    monkeypatch.setattr(ablation, "BATCH_BYTES", 5 * (8 * 12**2 + 7 * 8 * 12 * 6 + 50 * 6 * 2 * 8))
    chunked = ablation_profile(members, Signs(), n_trials=50)
    assert max(sizes) == (5, 7) and len(sizes) == 5 * 8  # 24 variants by 5, 50 trials by 7
    np.testing.assert_allclose(chunked["value"], expected["value"], rtol=0, atol=1e-12)


def test_memory_is_bounded(monkeypatch):
    """Never more than one batch of weights and one chunk of hidden states, whatever is asked."""
    largest = []

    def counted(W_xh, W_hh, W_hy, inputs):
        largest.append(W_hh.nbytes + 8 * len(W_hh) * inputs[..., 0].size * W_hh.shape[-1])
        return torch.zeros((len(W_hh), *inputs.shape[:2], W_hy.shape[1]), dtype=torch.float64)

    monkeypatch.setattr(ablation, "rollout", counted)
    monkeypatch.setattr(ablation, "CHUNK_BYTES", 2**19)
    monkeypatch.setattr(ablation, "BATCH_BYTES", 2**24)
    members = [solution(k, n=128) for k in range(5)]
    # All at once: 40 variants x 4096 trials x 50 steps x 128 units, 8 GB.
    ablation_profile(members, Signs(length=50), n_trials=4096)
    assert max(largest) <= 2**24 and len(largest) > 100


@pytest.mark.parametrize("name", ["flip_flop", "sine", "integration"])
def test_every_task_takes_the_same_path(name):
    task = make_task(name)
    member = solution(n=16, n_in=task.n_in, n_out=task.n_out)
    table = ablation_profile([member], task, alphas=[0.8], n_trials=16)
    assert set(table["quantity"]) == PER_SUBSET | PER_SOLUTION
    assert np.isfinite(table.loc[table["quantity"] == "fvu", "value"]).all()
    assert set(table["convention"]) == {task.convention}


def test_removed_and_alphas_may_be_one_value():
    table = ablation_profile([solution()], Signs(), alphas=0.7, removed="CR", n_trials=10)
    assert list(table["removed"].unique()) == ["none", "CR"]  # the baseline is always there
    assert set(table["alpha"]) == {0.7}


def test_every_missing_value_has_a_reason(tmp_path):
    rng = np.random.default_rng(0)
    orthogonal = np.linalg.qr(rng.normal(size=(12, 12)))[0] * np.linspace(1, 0.5, 12)
    symmetric = orthogonal + orthogonal.T
    broken = solution(2)
    broken.W_xh[0, 0] = np.nan
    members = [solution(0), solution(1, W_hh=symmetric), broken]
    table = ablation_profile(members, Signs(), n_trials=20, alphas=(0.5, 1.0))
    write_results(table, tmp_path / "table.csv")
    missing = undefined(read_results(tmp_path / "table.csv"))
    assert len(missing) == table["value"].isna().sum()
    assert missing["reason"].notna().all()

    def reasons(**where):
        rows = missing
        for name, wanted in where.items():
            rows = rows[rows[name] == wanted]
        return set(rows["reason"])

    assert reasons(seed=0, removed="none") == {"nothing was removed: 0/0"}
    # α = 1 leaves one eigenvalue or pair in R: no coupling inside it.
    assert reasons(seed=0, removed="RR", alpha=1.0) == {
        "the removed couplings (RR) are empty or zero: 0/0"
    }
    (rounding,) = reasons(seed=1, removed="RR+CR+CC", alpha=0.5)
    assert "rounding of the stored weights" in rounding
    (diverged,) = reasons(seed=2, quantity="fvu", removed="CR", alpha=1.0)
    assert "its training diverged" in diverged
    assert set(missing[missing["seed"] != 2]["quantity"]) == {"s_dt"}


def test_outputs_that_overflow_are_not_hidden():
    member = solution(0, dtype=np.float64)
    member.W_hy[:] = 1e300
    with np.errstate(all="ignore"):
        table = ablation_profile([member], Signs(), n_trials=10)
    assert np.isinf(value(table, "fvu"))
    reasons = undefined(table)
    assert set(reasons.loc[reasons["quantity"] == "delta_fvu", "reason"]) == {
        "the outputs of this network are not finite"
    }


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"solutions": []}, "solutions must hold at least one"),
        ({"alphas": ()}, "alphas must be distinct and at least one"),
        ({"alphas": (0.9, 0.9)}, "alphas must be distinct"),
        ({"alphas": (0.9, 1.5)}, r"alpha must be in \(0, 1\], got 1.5"),
        ({"removed": ()}, "removed must be distinct and at least one"),
        ({"removed": ("CR", "CR")}, "removed must be distinct"),
        ({"removed": ("CR", "RC")}, "removed must be among none, RR, .*; got 'RC'"),
        ({"n_trials": 0}, "n_trials must be a positive integer, got 0"),
        ({"n_trials": -3}, "n_trials must be a positive integer"),
        ({"n_trials": 2.5}, "n_trials must be a positive integer"),
        ({"task": make_task("sine")}, "channels"),
    ],
)
def test_profile_refuses(arguments, match):
    with pytest.raises(ValueError, match=match):
        ablation_profile(**{"solutions": [solution()], "task": Signs(), **arguments})


@pytest.mark.parametrize("task", [Signs(), make_task("flip_flop", length=8)])
def test_variants_score_as_the_profile_does(task):
    """A network with the matrix of an ablation in place of its own is that ablation."""
    network = solution(n_out=task.n_out)
    profile = ablation_profile([network], task, n_trials=40)
    split = ordered_schur(network.W_hh).sectors(0.9)
    scores = variant_scores(network, [split.without(s) for s in SUBSETS], task, n_trials=40)
    for name, values in scores.items():
        rows = profile[profile["quantity"] == name].set_index("removed")["value"]
        np.testing.assert_allclose(values, rows[list(SUBSETS)], rtol=1e-12)
    assert ("replay_accuracy" in scores) == (task.name == "signs")


def test_variants_must_fit():
    with pytest.raises(ValueError, match=r"matrices must have shape \(variant, 12, 12\)"):
        variant_scores(solution(), np.eye(12), Signs())


def test_orders_are_those_of_the_shuffled_sectors():
    task, network = Signs(), solution(seed=3, n=16)
    table = order_draws([network], task, alpha=0.6, orders=4, n_trials=30)
    assert set(table["removed"]) == {s for s in SUBSETS if "RR" in s or "CC" in s}
    assert set(table["quantity"]) == {f"replay_accuracy_order_{k}" for k in range(5)}
    split = ordered_schur(network.W_hh).sectors(0.6)
    rng = np.random.default_rng([0, 3])
    for k in range(5):
        one = split if k == 0 else split.shuffled(rng)
        scores = variant_scores(network, [one.without("RR+CC")], task, 30)
        quantity = f"replay_accuracy_order_{k}"
        assert value(table, quantity, "RR+CC") == scores["replay_accuracy"][0]
    again = order_draws([solution(seed=5), network], task, alpha=0.6, orders=4, n_trials=30)
    pd.testing.assert_frame_equal(
        again[again["seed"] == 3].reset_index(drop=True), table, check_exact=False, rtol=1e-9
    )


def test_without_couplings_no_order_is_drawn():
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    none = order_draws([solution(W_hh=W, dtype=np.float64)], Signs(), orders=2)
    some = order_draws([solution()], Signs(), orders=2)
    assert none.empty and (none.dtypes[["n_hidden", "seed", "alpha"]] == some.dtypes[
        ["n_hidden", "seed", "alpha"]
    ]).all()


def test_the_order_inside_a_sector_of_one_block_decides_nothing():
    """R and C of one eigenvalue each: there is nothing to order and nothing to remove."""
    W = np.array([[0.9, 0.3], [0.0, 0.2]])
    network = solution(n=2, n_out=3, W_hh=W, dtype=np.float64)
    table = order_draws([network], make_task("flip_flop", length=6), orders=6, n_trials=20)
    assert set(table["quantity"]) == {f"delta_fvu_order_{k}" for k in range(7)}
    alone = table[table["removed"].isin(["RR", "CC", "RR+CC"])]
    assert (alone["value"] == 0).all()
    both = table[table["removed"] == "RR+CR"]["value"]
    assert both.abs().min() > 1e-6 and np.ptp(both) < 1e-12


def test_orders_are_refused_by_name():
    with pytest.raises(ValueError, match="orders.*0"):
        order_draws([solution()], Signs(), orders=0)
    with pytest.raises(ValueError, match="removed must be among RR, CC.*'CR'"):
        order_draws([solution()], Signs(), removed="CR")
    with pytest.raises(ValueError, match="alpha.*1.5"):
        order_draws([solution()], Signs(), alpha=1.5)
    broken = solution(W_hh=np.full((12, 12), np.nan))
    assert order_draws([broken], Signs()).empty
