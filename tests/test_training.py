"""Training: the batched ensemble against a plain PyTorch loop, and what a seed means."""

import math

import numpy as np
import pytest
import torch

import paperlib.training as training
from paperlib.constructions import CONSTRUCTIONS, initial_weights
from paperlib.tasks import FlipFlop, Sine
from paperlib.training import generator, train

SMALL = dict(n_hidden=12, epochs=2, batches_per_epoch=8, batch=16, progress=False)


def plain_loop(
    task, construction, seed, *, n_hidden, epochs, batches_per_epoch, batch, clip, data
):
    """The same training as anyone would write it: nn.RNN, autograd, clip_grad_norm_, Adam."""
    start = initial_weights(
        CONSTRUCTIONS[construction], task.n_in, n_hidden, task.n_out, generator(seed, "weights")
    )
    rnn = torch.nn.RNN(task.n_in, n_hidden, bias=False, batch_first=True)
    readout = torch.nn.Linear(n_hidden, task.n_out, bias=False)
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(start["W_xh"])
        rnn.weight_hh_l0.copy_(start["W_hh"])
        readout.weight.copy_(start["W_hy"])
    parameters = [*rnn.parameters(), *readout.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=1e-3)
    draw, losses = generator(seed, "data"), []
    for epoch in range(epochs):
        if data == "fresh" or epoch == 0:
            trials = task.sample(batches_per_epoch * batch, draw)
        else:
            order = torch.randperm(batches_per_epoch * batch, generator=draw)
            trials = [part[order] for part in trials]
        for b in range(batches_per_epoch):
            inputs, targets, mask = (x[b * batch : (b + 1) * batch] for x in trials)
            optimiser.zero_grad()
            error = mask * (readout(rnn(inputs)[0]) - targets) ** 2
            loss = error.sum() / mask.sum()
            loss.backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            optimiser.step()
            losses.append(loss.item())
    return rnn.weight_hh_l0.detach().numpy(), np.array(losses)


@pytest.mark.parametrize(("clip", "data"), [(0.0, "fresh"), (0.05, "fresh"), (0.0, "fixed")])
@pytest.mark.parametrize("task", [FlipFlop(), FlipFlop.from_convention("schuessler")])
def test_ensemble_trains_as_a_plain_loop_does(task, clip, data):
    """Also the tolerance across machines: after 16 steps, 1e-4 of the weights' scale.

    Training is chaotic: a difference in the last bit grows with the number of steps.
    """
    solutions = train(task, "dense_orthogonal", [5, 2], clip=clip, data=data, **SMALL)
    for solution in solutions:
        recipe = {k: v for k, v in SMALL.items() if k != "progress"}
        W_hh, losses = plain_loop(
            task, "dense_orthogonal", solution.seed, clip=clip, data=data, **recipe
        )
        np.testing.assert_allclose(solution.W_hh, W_hh, atol=1e-4 * np.abs(W_hh).max())
        np.testing.assert_allclose(solution.history, losses, rtol=1e-4)


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_a_seed_means_the_same_network_whatever_trains_beside_it(construction):
    together = train(FlipFlop(), construction, [0, 1, 2, 7], **SMALL)
    for solution in together:
        (alone,) = train(FlipFlop(), construction, [solution.seed], **SMALL)
        for name in ("W_xh", "W_hh", "W_hy"):
            ours, own = getattr(solution, name), getattr(alone, name)
            np.testing.assert_allclose(ours, own, atol=1e-5 * np.abs(own).max())


def test_two_runs_are_equal_bit_for_bit():
    first, second = (train(Sine(), "dense_default", [0, 1], **SMALL) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.W_hh, b.W_hh) and np.array_equal(a.history, b.history)
    assert not np.array_equal(first[0].W_hh, first[1].W_hh)


def test_a_member_that_diverges_is_kept_and_harms_no_other(monkeypatch):
    clean = train(FlipFlop(), "dense_orthogonal", [0, 1], **SMALL)
    start = training.stack_starts

    def poisoned(*arguments):
        parameters = start(*arguments)
        with torch.no_grad():
            parameters["W_hh"][0] = math.inf
        return parameters

    monkeypatch.setattr(training, "stack_starts", poisoned)
    with pytest.warns(UserWarning, match="seed 0.*diverged"):
        hurt, well = train(FlipFlop(), "dense_orthogonal", [0, 1], **SMALL)
    assert hurt.meta["diverged"] and not well.meta["diverged"]
    assert np.array_equal(well.W_hh, clean[1].W_hh)


def test_clipping_limits_each_member_by_its_own_norm():
    big, small = torch.full((1, 2, 2), 10.0), torch.full((1, 2, 2), 0.01)
    gradients = [torch.cat([big, small]), torch.cat([big, small])]
    training.clip_members(gradients, 1.0)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)
    torch.testing.assert_close(norms, torch.tensor([1.0, 0.01 * math.sqrt(8)]))


def test_training_learns():
    (solution,) = train(
        FlipFlop(length=8), "dense_orthogonal", [0], n_hidden=24, epochs=10, batches_per_epoch=30,
        learning_rate=5e-3, progress=False,
    )
    assert solution.history[-30:].mean() < 0.3 * solution.history[:30].mean()
    assert len(solution.history) == 300


def test_thread_count_is_given_back():
    before = torch.get_num_threads()
    train(FlipFlop(), "dense_orthogonal", [0], **SMALL)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("change", "named"), [
    ({"seeds": []}, "seeds.*at least one"),
    ({"seeds": [1, 2, 1]}, "seeds must be distinct.*1"),
    ({"seeds": [-1]}, "seeds.*-1"),
    ({"seeds": [0.5]}, "seeds.*0.5"),
    ({"construction": "sparse"}, "construction 'sparse'.*dense_orthogonal"),
    ({"n_hidden": 0}, "n_hidden.*0"),
    ({"epochs": -3}, "epochs.*-3"),
    ({"batch": -64}, "batch.*-64"),
    ({"batches_per_epoch": 1.5}, "batches_per_epoch.*1.5"),
    ({"learning_rate": 0.0}, "learning_rate"),
    ({"learning_rate": math.nan}, "learning_rate"),
    ({"learning_rate": "fast"}, "learning_rate.*fast"),
    ({"learning_rate": None}, "learning_rate.*None"),
    ({"clip": -1.0}, "clip"),
    ({"clip": "tight"}, "clip.*tight"),
    ({"batch": True}, "batch.*True"),
    ({"seeds": 0}, "seeds must be a list.*0"),
    ({"io_start": "zeros"}, "io_start 'zeros'.*torch, glorot, lecun"),
    ({"data": "stale"}, "data 'stale'.*fresh, fixed"),
    ({"clip": math.inf}, "clip.*inf"),
])
def test_bad_arguments_are_named(change, named):
    arguments = dict(task=FlipFlop(), construction="dense_orthogonal", seeds=[0], **SMALL)
    with pytest.raises(ValueError, match=named):
        train(**{**arguments, **change})


def test_a_task_is_a_task():
    with pytest.raises(TypeError, match="task must be a Task.*'sine'"):
        train("sine", "dense_orthogonal", [0], **SMALL)


def test_fixed_data_are_the_same_trials_in_another_order():
    trials = FlipFlop().sample(50, generator(0, "data"))
    shuffled = training._shuffled(trials, generator(1, "data"))
    assert not torch.equal(trials.inputs, shuffled.inputs)
    for before, after in zip(trials, shuffled, strict=True):
        rows = [{x.numpy().tobytes() for x in part} for part in (before, after)]
        assert rows[0] == rows[1]


def test_progress_bar_shows_loss_and_time_left(capsys):
    train(FlipFlop(), "dense_orthogonal", [0], **{**SMALL, "progress": True})
    shown = capsys.readouterr().err
    assert "loss" in shown and "16/16" in shown and "train flip_flop" in shown


