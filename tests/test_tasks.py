"""Tasks: what their trials must satisfy, whatever is drawn."""

import math

import numpy as np
import pytest
import torch

from paperlib.tasks import TASKS, FlipFlop, Integration, Sine, make_task
from paperlib.training import generator

ALL = [(name, c) for name, kind in TASKS.items() for c in kind.conventions]


@pytest.mark.parametrize(("name", "convention"), ALL)
def test_shapes_dtypes_and_determinism(name, convention):
    task = make_task(name, convention)
    trials = task.sample(7, generator(3, "data"))
    assert trials.inputs.shape == (7, task.length, task.n_in)
    assert trials.targets.shape == trials.mask.shape == (7, task.length, task.n_out)
    assert all(t.dtype == torch.float32 and torch.isfinite(t).all() for t in trials)
    assert set(trials.mask.unique().tolist()) <= {0.0, 1.0} and trials.mask.any()
    again = task.sample(7, generator(3, "data"))
    other = task.sample(7, generator(4, "data"))
    assert all(torch.equal(a, b) for a, b in zip(trials, again, strict=True))
    assert not torch.equal(trials.inputs, other.inputs)
    assert task.convention == convention


@pytest.mark.parametrize(("name", "length", "n_in"), [
    ("flip_flop", 25, 3), ("sine", 50, 1), ("integration", 48, 4),
])
def test_what_the_paper_fixes(name, length, n_in):
    for convention in TASKS[name].conventions:
        task = make_task(name, convention)
        assert (task.length, task.n_in) == (length, n_in)


def test_flip_flop_holds_the_last_pulse():
    task = FlipFlop(length=40, pulse_probability=0.2)
    inputs, targets, _ = task.sample(20, generator(0, "data"))
    for trial in range(20):
        for channel in range(3):
            held = 0.0
            for t in range(40):
                held = inputs[trial, t, channel].item() or held
                assert targets[trial, t, channel] == held


def test_flip_flop_pulse_rate():
    inputs = FlipFlop(pulse_probability=0.1).sample(4000, generator(0, "data")).inputs
    n = inputs.numel()
    rate, sign = (inputs != 0).float().mean().item(), inputs.sum().item()
    assert abs(rate - 0.1) < 5 * math.sqrt(0.1 * 0.9 / n)
    assert abs(sign) < 5 * math.sqrt(0.1 * n)


def test_flip_flop_intervals_one_channel_at_a_time():
    task = FlipFlop(schedule="intervals", length=200, response_delay=5, interval_min=5,
                    interval_max=25)
    inputs, targets, mask = task.sample(50, generator(0, "data"))
    for trial in range(50):
        onsets = inputs[trial].abs().sum(1).nonzero().flatten()
        assert onsets[0] == 1
        gaps = onsets.diff()
        assert gaps.min() >= 10 and gaps.max() <= 30
        for k, onset in enumerate(onsets):
            end = onsets[k + 1] if k + 1 < len(onsets) else 200
            channel = inputs[trial, onset].abs().argmax()
            sign = inputs[trial, onset, channel]
            assert (mask[trial, onset : onset + 5] == 0).all()
            assert (mask[trial, onset + 5 : end] == 1).all()
            assert (targets[trial, onset + 5 : end, channel] == sign).all()
            assert (targets[trial, onset + 5 : end].abs().sum(1) == 1).all()


@pytest.mark.parametrize("convention", Sine.conventions)
def test_sine_frequency_follows_cue(convention):
    task = make_task("sine", convention)
    inputs, targets, _ = task.sample(64, generator(0, "data"))
    frequency = (inputs[:, 0, 0] - task.cue_offset) * task.frequency_max
    assert frequency.min() >= task.frequency_min - 1e-6
    assert frequency.max() <= task.frequency_max + 1e-6
    steps = torch.arange(task.length)
    expected = torch.sin(2 * math.pi * frequency[:, None] * steps)
    torch.testing.assert_close(targets[..., 0], expected, atol=1e-4, rtol=0)
    if task.cue_steps:
        assert (inputs[:, task.cue_steps :] == 0).all()


def test_sine_levels_take_the_stated_number_of_values():
    inputs = make_task("sine", "levels").sample(5000, generator(0, "data")).inputs[:, 0, 0]
    assert len(np.unique(inputs.numpy().round(6))) == 51


def test_integration_without_noise_is_the_ramp_of_the_cued_coherence():
    task = make_task("integration", "running_integral", noise=0.0)
    inputs, targets, _ = task.sample(64, generator(0, "data"))
    window = slice(task.fixation, task.fixation + task.stimulus)
    context = inputs[:, task.fixation, 2:].argmax(1)
    coherence = inputs[:, task.fixation, :2].gather(1, context[:, None])[:, 0]
    ramp = torch.arange(1, task.stimulus + 1) / task.stimulus
    torch.testing.assert_close(targets[:, window, 0], coherence[:, None] * ramp)
    assert (targets[:, : task.fixation] == 0).all()
    held = targets[:, task.fixation + task.stimulus :, 0]
    torch.testing.assert_close(held, coherence[:, None].expand_as(held))
    assert (inputs[:, window, 2:].sum(2) == 1).all()


def test_integration_decision_is_the_sign_and_only_the_response_counts():
    task = make_task("integration", "decision_response")
    inputs, targets, mask = task.sample(256, generator(0, "data"))
    quiet = make_task("integration", "decision_response", noise=0.0)
    clean = quiet.sample(256, generator(0, "data"))
    context = clean.inputs[:, task.fixation, 2:].argmax(1)
    coherence = clean.inputs[:, task.fixation, :2].gather(1, context[:, None])[:, 0]
    responding = slice(task.length - task.response, None)
    assert (targets[:, responding, 0] == 0.5 * coherence.sign()[:, None]).all()
    assert (targets[:, : task.length - task.response] == 0).all()
    assert (mask[:, responding] == 1).all() and mask.sum() == 256 * task.response


@pytest.mark.parametrize(("make", "named"), [
    (lambda: make_task("copy_cat"), "copy_cat.*flip_flop, sine, integration"),
    (lambda: make_task("sine", "loud"), "loud.*constant_cue"),
    (lambda: make_task("sine", pitch=3), "pitch.*frequency_min"),
    (lambda: FlipFlop(pulse_probability=0.0), "pulse_probability.*0.0"),
    (lambda: FlipFlop(pulse_probability=math.nan), "pulse_probability.*nan"),
    (lambda: FlipFlop(length=0), "length.*at least 1.*0"),
    (lambda: FlipFlop(schedule="poisson"), "schedule.*bernoulli, intervals.*poisson"),
    (lambda: FlipFlop(interval_min=9, interval_max=5), "interval_max"),
    (lambda: Sine(frequency_max=0.5), "frequency_max.*0.5"),
    (lambda: Sine(frequency_min=-0.1), "frequency_min"),
    (lambda: Sine(n_frequencies=1), "n_frequencies"),
    (lambda: Integration(coherences=()), "coherences"),
    (lambda: Integration(coherences=(0.5, math.inf)), "coherences"),
    (lambda: Integration(target="vote"), "target.*integral, decision.*vote"),
    (lambda: Integration(noise=-1.0), "noise"),
    (lambda: FlipFlop().sample(-4, generator(0, "data")), "batch.*-4"),
    (lambda: FlipFlop().sample(2.5, generator(0, "data")), "batch.*2.5"),
])
def test_bad_parameters_are_named(make, named):
    with pytest.raises(ValueError, match=f"(?s){named}"):
        make()


def test_generator_is_required():
    with pytest.raises(TypeError, match="generator"):
        FlipFlop().sample(4, np.random.default_rng(0))


def test_streams_are_independent():
    draws = {
        (seed, stream): torch.rand(4, generator=generator(seed, stream)).tolist()
        for seed in range(5) for stream in ("weights", "data", "evaluation")
    }
    assert len({tuple(v) for v in draws.values()}) == len(draws)


@pytest.mark.parametrize("convention", ["decision", "running_integral_context_on"])
def test_integration_streams_context_and_noise(convention):
    task = make_task("integration", convention)
    inputs = task.sample(4000, generator(0, "data")).inputs
    window = slice(task.fixation, task.fixation + task.stimulus)
    shown = inputs[:, window if task.context == "stimulus" else slice(None), 2:]
    assert (shown.sum(2) == 1).all() and (shown == shown[:, :1]).all()
    assert (inputs[:, :, 2:].sum((1, 2)) == shown.shape[1]).all()
    assert abs(shown[:, 0, 0].mean() - 0.5) < 0.04  # either stream counts half of the time
    coherence = inputs[:, window, :2].mean(1)
    assert abs(np.corrcoef(coherence.T.numpy())[0, 1]) < 0.08
    outside = inputs[:, : task.fixation, :2]
    assert abs(outside.std() - task.noise) < 0.05 * task.noise
    inside = inputs[:, window, :2] - coherence[:, None]
    assert abs(inside.std() - task.noise) < 0.05 * task.noise


def test_running_integral_accumulates_the_noise_too():
    task = make_task("integration", "running_integral", noise=0.5)
    inputs, targets, _ = task.sample(16, generator(0, "data"))
    window = slice(task.fixation, task.fixation + task.stimulus)
    cued = inputs[:, task.fixation, 2:].argmax(1)
    stream = inputs[torch.arange(16), window, cued]
    torch.testing.assert_close(targets[:, window, 0], stream.cumsum(1) / task.stimulus)


def test_conventions_say_what_they_are_called():
    rates = [make_task("flip_flop", f"pulses_{p}").pulse_probability for p in ("0.05", "0.10")]
    assert rates == [0.05, 0.1]
