"""The copy task, its curriculum, and the Cayley construction."""

import json
import math

import numpy as np
import pytest
import torch

from paperlib.constructions import CONSTRUCTIONS, cayley, cayley_D
from paperlib.curriculum import (
    Curriculum,
    _Adam,
    criterion_rows,
    train_copy,
    training_sequences,
)
from paperlib.metrics import replay_accuracy
from paperlib.network import Solution
from paperlib.schur import ordered_schur
from paperlib.tasks import Copy, FlipFlop
from paperlib.training import generator, stack_starts

SMALL = Copy(s=2, d=2, lags=8)
FAST = dict(n_hidden=10, batch=32, progress=False)


def test_trials_replay_the_sequence_over_and_over():
    task = Copy(s=3, d=2, lags=8)
    inputs, targets, mask = task.sample(5, generator(0, "data"))
    assert inputs.shape == targets.shape == mask.shape == (5, 11, 2)
    assert (inputs[:, :3].abs() == 1).all() and (inputs[:, 3:] == 0).all()
    assert (mask[:, :3] == 0).all() and (mask[:, 3:] == 1).all()
    for lag in range(8):
        assert torch.equal(targets[:, 3 + lag], inputs[:, lag % 3])


def test_a_shift_register_solves_copy_by_hand():
    """Two units a symbol would do; here one: h holds the queue, W_hh rotates it."""
    s = 4
    task = Copy(s=s, d=1, lags=12)
    gain = 3.0  # tanh saturates: the loop through all units keeps signs for ever
    W_hh = gain * np.roll(np.eye(s), 1, axis=0)
    W_xh = np.zeros((s, 1))
    W_xh[0] = 2 * gain  # a symbol overrides what the loop brings round
    W_hy = np.zeros((1, s))
    W_hy[0, s - 1] = 1.0
    # The first symbol reaches the last unit when the last symbol is shown, so it is replayed one
    # step later by the unit that the loop feeds next: unit 0.
    W_hy[0] = np.roll(W_hy[0], 1)
    network = Solution(W_xh=W_xh, W_hh=W_hh, W_hy=W_hy)
    inputs, targets, mask = task.sample(64, generator(0, "data"))
    assert replay_accuracy(network(inputs), targets.numpy(), mask.numpy()) == 1.0


def members(n_hidden, seeds=(0, 1, 2)):
    return stack_starts(Copy(), cayley, seeds, n_hidden, "torch")


@pytest.mark.parametrize("n_hidden", [1, 2, 7, 8, 72])
def test_cayley_starts_normal_with_the_spectrum_of_D(n_hidden):
    stacked = members(n_hidden)
    W, D = cayley.assemble(stacked).detach().double(), cayley_D(stacked).detach().double()
    torch.testing.assert_close(W @ W.mT, W.mT @ W, atol=1e-5, rtol=0)
    for w, d in zip(W.numpy(), D.numpy(), strict=True):
        ours, own = (np.sort(np.abs(np.linalg.eigvals(x))) for x in (w, d))
        np.testing.assert_allclose(ours, own, atol=1e-5)


def test_cayley_D_holds_the_eigenvalues_of_a_uniform_matrix():
    stacked = members(9)
    for D in cayley_D(stacked).detach().double().numpy():
        assert np.abs(D - np.diag(np.diag(D))).sum(0).max() < 1
        off = np.argwhere(np.triu(D, 1))
        assert all(j == i + 1 and D[j, i] == -D[i, j] and D[i, i] == D[j, j] for i, j in off)
        assert np.abs(np.linalg.eigvals(D)).max() < 1.2


def test_cayley_stays_orthogonal_and_normal_over_a_thousand_updates():
    stacked = members(24)
    trained = [p for p in stacked.values() if p.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=3e-3)
    draw = generator(0, "data")
    for _ in range(1000):
        optimiser.zero_grad()
        goal = torch.randn((3, 24, 24), generator=draw)
        (cayley.assemble(stacked) * goal).sum().backward()
        optimiser.step()
    A = (stacked["A"] - stacked["A"].mT).detach() / 2
    eye = torch.eye(24)
    O = torch.linalg.solve(eye + A, eye - A)
    assert (O @ O.mT - eye).abs().max() < 1e-6
    W = cayley.assemble(stacked).detach().double()
    scale = (W @ W.mT).abs().max()
    assert (W @ W.mT - W.mT @ W).abs().max() < 1e-5 * scale


def test_cayley_gradient_against_finite_differences():
    stacked = {
        k: v.detach().double().requires_grad_() if v.is_floating_point() else v
        for k, v in members(5).items()
    }
    names = [k for k, v in stacked.items() if v.requires_grad]

    def assembled(*values):
        return cayley.assemble({**stacked, **dict(zip(names, values, strict=True))})

    assert torch.autograd.gradcheck(assembled, [stacked[k] for k in names])


def test_cayley_members_one_by_one():
    together = cayley.assemble(members(12))
    for i, seed in enumerate((0, 1, 2)):
        alone = cayley.assemble(members(12, [seed]))[0]
        torch.testing.assert_close(together[i], alone, atol=1e-6, rtol=0)


def test_a_cayley_network_has_no_couplings():
    W = cayley.assemble(members(16))[0].detach().numpy()
    split = ordered_schur(W).sectors(0.9)
    assert split.removed_mass("RR+CR+CC") < 1e-5


def test_adam_is_adam():
    g = torch.Generator().manual_seed(0)
    start = torch.randn((3, 4, 5), generator=g)
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    adam, oracle = _Adam({"x": ours}), torch.optim.Adam([theirs], lr=2e-3)
    for _ in range(50):
        gradient = torch.randn((3, 4, 5), generator=g)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        adam.step(torch.full((3,), 2e-3))
        oracle.step()
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_every_construction_learns_a_small_copy(construction):
    solutions = train_copy(
        SMALL, construction, [0, 1], **FAST,
        curriculum={"window": 20, "max_steps": 6000, "promote_at": 0.99, "solve_at": 0.995},
    )
    inputs, targets, mask = SMALL.sample(256, generator(0, "evaluation"))
    for solution in solutions:
        assert solution.meta["solved"] and solution.meta["horizon"] == 8
        assert solution.meta["steps"] == len(solution.history) < 6000
        assert replay_accuracy(solution(inputs), targets.numpy(), mask.numpy()) > 0.97


def test_a_member_leaves_without_touching_the_others():
    rule = {"window": 10, "max_steps": 300, "promote_at": 0.9, "solve_at": 0.9}
    together = train_copy(SMALL, "dense_orthogonal", [0, 1, 2], **FAST, curriculum=rule)
    assert len({s.meta["steps"] for s in together}) > 1
    for solution in together:
        (alone,) = train_copy(
            SMALL, "dense_orthogonal", [solution.seed], **FAST, curriculum=rule
        )
        assert alone.meta["steps"] == solution.meta["steps"]
        np.testing.assert_allclose(alone.W_hh, solution.W_hh, atol=1e-4)


def test_the_budget_ends_a_run_and_says_so(capsys):
    with pytest.warns(UserWarning, match="n_hidden = 8 is below s · d = 64"):
        (solution,) = train_copy(
            Copy(), "dense_default", [0], n_hidden=8, batch=4,
            curriculum={"max_steps": 7},
        )
    said = capsys.readouterr().err
    assert (
        "1 of 1 networks did not meet the training criterion within the budget of 7 batches: "
        "seed 0 at 8 lags"
    ) in said
    assert not solution.meta["solved"] and solution.meta["steps"] == 7
    assert solution.meta["horizon"] == 8


def test_a_criterion_is_told_apart_from_a_budget():
    solutions = train_copy(
        SMALL, "dense_orthogonal", [0, 1, 2], **FAST,
        curriculum={"window": 10, "max_steps": 60, "promote_at": 0.9, "solve_at": 0.9},
    )
    rows = criterion_rows(solutions).set_index(["quantity", "seed"])["value"]
    for solution in solutions:
        steps = solution.meta["steps"] if solution.meta["solved"] else math.nan
        assert rows["steps_to_solve", solution.seed] == pytest.approx(steps, nan_ok=True)
        assert rows["horizon", solution.seed] == solution.meta["horizon"]


def test_training_sequences_are_those_of_training(monkeypatch):
    seen = []
    real = Copy.symbols

    def recording(self, batch, draw):
        seen.append(real(self, batch, draw))
        return seen[-1]

    monkeypatch.setattr(Copy, "symbols", recording)
    (solution,) = train_copy(
        SMALL, "dense_default", [3], **FAST, curriculum={"max_steps": 60}
    )
    drawn = torch.cat(seen)[: solution.meta["steps"] * 32]
    monkeypatch.setattr(Copy, "symbols", real)
    again = training_sequences(SMALL, 3, solution.meta["steps"], 32)
    assert torch.equal(drawn, again)


@pytest.mark.parametrize(("make", "named"), [
    (lambda: Copy(s=0), "s must be.*0"),
    (lambda: Copy(d=-1), "d must be.*-1"),
    (lambda: Copy(lags=0), "lags must be.*0"),
    (lambda: Curriculum(horizons=(16, 8)), "horizons.*growing"),
    (lambda: Curriculum(horizons=8), "horizons must be a list of growing positive integers.*8"),
    (lambda: Curriculum(horizons="816"), "horizons.*'816'"),
    (lambda: Curriculum(horizons=[8, 16.5]), "horizons.*16.5"),
    (lambda: Curriculum(learning_rates=()), "learning_rates"),
    (lambda: Curriculum(learning_rates=1e-3), "learning_rates must be a list.*0.001"),
    (lambda: Curriculum(learning_rates=["fast"]), "learning_rates.*fast"),
    (lambda: Curriculum(promote_at="always"), "promote_at.*always"),
    (lambda: Curriculum(window=True), "window.*True"),
    (lambda: Curriculum(promote_at=1.5), "promote_at.*1.5"),
    (lambda: Curriculum(solve_at=math.nan), "solve_at.*nan"),
    (lambda: Curriculum(max_steps=0), "max_steps.*0"),
    (lambda: train_copy(SMALL, "cayley", [], **FAST), "seeds"),
    (lambda: train_copy(SMALL, "cayley", [0], n_hidden=0), "n_hidden.*0"),
    (lambda: train_copy(SMALL, "dense_normal", [0], n_hidden=9), "even n_hidden.*9"),
    (lambda: train_copy(SMALL, "cayley", [0], clip=-1.0), "clip"),
    (lambda: train_copy(SMALL, "cayley", [0], clip=None), "clip.*None"),
    (lambda: train_copy(SMALL, "cayley", 3), "seeds must be a list.*3"),
    (lambda: train_copy(SMALL, "cayley", [0], io_start="zeros"), "io_start 'zeros'.*glorot"),
    (
        lambda: train_copy(SMALL, "cayley", [0], curriculum={"horizon": [8]}),
        "unknown field 'horizon' of curriculum; allowed: horizons",
    ),
])
def test_bad_input_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize(("make", "named"), [
    (lambda: train_copy(FlipFlop(), "cayley", [0]), "task must be a Copy.*FlipFlop"),
    (lambda: train_copy("copy", "cayley", [0]), "task must be a Copy.*'copy'"),
    (lambda: train_copy(SMALL, "cayley", [0], curriculum=[8, 16]), "curriculum.*dict"),
])
def test_the_wrong_kind_of_thing_is_named(make, named):
    with pytest.raises(TypeError, match=named):
        make()


def test_numpy_numbers_train_as_plain_ones_do():
    rule = {"max_steps": np.int64(4), "horizons": np.array([4]), "solve_at": np.float64(0.9)}
    (solution,) = train_copy(
        SMALL, "dense_default", [np.int64(0)], n_hidden=np.int64(6), batch=np.int32(8),
        clip=np.float32(1), curriculum=rule, progress=False,
    )
    assert json.loads(json.dumps(solution.meta)) == solution.meta
    assert solution.meta["curriculum"]["horizons"] == [4]


def test_a_last_update_that_breaks_the_weights_is_divergence(monkeypatch):
    real = _Adam.step

    def breaking(self, rates):
        real(self, rates)
        if self.steps == 5:
            with torch.no_grad():
                self.parameters["W_hh"][0] = math.nan

    monkeypatch.setattr(_Adam, "step", breaking)
    broken, fine = train_copy(
        SMALL, "dense_default", [0, 1], **FAST, curriculum={"max_steps": 5}
    )
    assert broken.meta["diverged"] and not broken.meta["solved"] and not broken.finite
    assert np.isfinite(broken.history).all() and not fine.meta["diverged"]


def test_stages_end_at_the_tasks_lags():
    rule = Curriculum(horizons=(8, 16, 32, 64), learning_rates=(4.0, 3.0, 2.0, 1.0))
    assert rule.stages(20) == [(8, 4.0), (16, 3.0), (20, 1.0)]
    assert rule.stages(128)[-1] == (128, 1.0) and len(rule.stages(128)) == 5
    assert rule.stages(4) == [(4, 1.0)]
