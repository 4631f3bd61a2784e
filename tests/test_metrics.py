"""Known answers and invariances of the measures."""

import numpy as np
import pytest

from paperlib import metrics


@pytest.fixture
def trials():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 7, 3)), rng.integers(0, 2, size=(20, 7)), rng


def test_fvu_of_a_perfect_output_is_zero(trials):
    targets, mask, _ = trials
    assert metrics.fvu(targets, targets) == 0.0
    assert metrics.fvu(targets, targets, mask) == 0.0


def test_fvu_of_the_mean_target_is_one(trials):
    targets, mask, _ = trials
    mean = np.broadcast_to(targets.mean(axis=(0, 1)), targets.shape)
    assert metrics.fvu(mean, targets) == pytest.approx(1.0, rel=1e-12)
    masked = np.broadcast_to(targets[mask == 1].mean(axis=0), targets.shape)
    assert metrics.fvu(masked, targets, mask) == pytest.approx(1.0, rel=1e-12)


def test_fvu_by_hand():
    # Channel means 1 and 0; Σ‖y − ȳ‖² = 2 + 8 = 10; Σ‖ŷ − y‖² = 1 + 4 = 5.
    targets = np.array([[[0.0, -2.0], [2.0, 2.0]]])
    outputs = np.array([[[1.0, -2.0], [2.0, 0.0]]])
    assert metrics.fvu(outputs, targets) == 0.5


def test_fvu_takes_the_mean_per_channel_not_over_channels():
    # Two constant channels at different levels vary across channels only: no variance.
    targets = np.broadcast_to([0.1, 5.0], (4, 3, 2))
    with pytest.raises(ValueError, match="zero variance"):
        metrics.fvu(np.zeros((4, 3, 2)), targets)


def test_masked_entries_do_not_count(trials):
    targets, mask, rng = trials
    outputs = targets + rng.normal(size=targets.shape)
    expected = metrics.fvu(outputs, targets, mask)
    spoiled, unknown = outputs.copy(), targets.copy()
    spoiled[mask == 0] = np.nan
    unknown[mask == 0] = np.inf
    assert metrics.fvu(spoiled, unknown, mask) == expected
    full = np.repeat(mask[..., None], 3, axis=-1).astype(np.float32)
    assert metrics.fvu(outputs, targets, full) == expected


def test_a_mask_can_differ_between_channels(trials):
    targets, _, rng = trials
    outputs = targets + rng.normal(size=targets.shape)
    mask = np.zeros(targets.shape)
    mask[:, 2:, 1] = 1
    expected = metrics.fvu(outputs[:, 2:, 1:2], targets[:, 2:, 1:2])
    assert metrics.fvu(outputs, targets, mask) == pytest.approx(expected, rel=1e-12)


def test_fvu_keeps_leading_axes(trials):
    targets, mask, rng = trials
    outputs = targets + rng.normal(size=(2, 5, *targets.shape))
    values = metrics.fvu(outputs, targets, mask)
    assert values.shape == (2, 5)
    assert values[1, 3] == pytest.approx(metrics.fvu(outputs[1, 3], targets, mask), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_fvu_ignores_scale_and_shift_of_the_targets(trials, scale, shift):
    targets, mask, rng = trials
    outputs = targets + rng.normal(size=targets.shape)
    expected = metrics.fvu(outputs, targets, mask)
    moved = metrics.fvu(scale * (outputs + shift), scale * (targets + shift), mask)
    assert moved == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e200])
def test_outputs_that_blew_up_are_not_hidden(trials, bad):
    targets, _, _ = trials
    outputs = targets.copy()
    outputs[3, 4, 1] = bad
    assert not np.isfinite(metrics.fvu(outputs, targets))


@pytest.mark.parametrize(
    ("outputs", "targets", "mask", "match"),
    [
        (np.zeros((4, 3)), np.zeros((4, 3)), None, "targets must be a non-empty"),
        (np.zeros((0, 3, 2)), np.zeros((0, 3, 2)), None, "targets must be a non-empty"),
        (np.zeros((4, 3, 1)), np.eye(3)[None], None, "outputs must end in"),
        (np.zeros((1, 3, 3)), np.eye(3)[None], np.ones((2, 3)), "mask must be"),
        (np.zeros((1, 3, 3)), np.eye(3)[None], np.full((1, 3), 0.5), "only 0 and 1"),
        (np.zeros((1, 3, 3)), np.eye(3)[None], np.zeros((1, 3)), "selects nothing"),
        (np.zeros((1, 3, 3)), np.full((1, 3, 3), np.nan), None, "must be finite"),
        (np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), None, "zero variance"),
    ],
)
def test_fvu_refuses(outputs, targets, mask, match):
    with pytest.raises(ValueError, match=match):
        metrics.fvu(outputs, targets, mask)


def test_replay_accuracy_by_hand():
    targets = np.array([[[1.0, -1.0], [1.0, -1.0]]])
    outputs = np.array([[[0.2, -3.0], [0.0, np.nan]]])  # hit, hit, zero misses, NaN misses
    assert metrics.replay_accuracy(outputs, targets) == 0.5
    assert metrics.replay_accuracy(outputs, targets, np.array([[1, 0]])) == 1.0
    assert metrics.replay_accuracy(-outputs, targets) == 0.0
    np.testing.assert_array_equal(
        metrics.replay_accuracy(np.stack([outputs, targets]), targets), [0.5, 1.0]
    )


def test_replay_accuracy_refuses_targets_that_are_not_symbols():
    with pytest.raises(ValueError, match="-1 or [+]1"):
        metrics.replay_accuracy(np.ones((1, 2, 1)), np.array([[[1.0], [0.0]]]))
    # ... but what the mask leaves out may be anything.
    mask = np.array([[1, 0]])
    assert metrics.replay_accuracy(np.ones((1, 2, 1)), np.array([[[1.0], [0.0]]]), mask) == 1.0


def test_s_dt_is_a_ratio_and_nan_where_nothing_is_removed():
    assert metrics.s_dt(0.2, 0.5) == 0.4
    assert np.isnan(metrics.s_dt(0.0, 0.0))
    assert np.isnan(metrics.s_dt(1e-16, 1e-17))  # rounding over rounding
    assert metrics.s_dt(1e-16, 1e-17, floor=0.0) == pytest.approx(10.0)
    np.testing.assert_array_equal(metrics.s_dt([0.1, -0.3], [0.0, 0.5]), [np.nan, -0.6])


def test_removed_mass_by_hand():
    T = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert metrics.removed_mass(T, np.diag([3.0, 0.0])) == pytest.approx(0.8)
    assert metrics.removed_mass(T, T) == 0.0
    assert metrics.removed_mass(np.zeros((2, 2)), np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_removed_mass_at_any_scale(scale):
    T = scale * np.array([[3.0, 4.0], [0.0, 0.0]])
    assert metrics.removed_mass(T, np.diag(np.diag(T))) == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(5))
def test_henrici_is_its_definition(seed):
    W = np.random.default_rng(seed).normal(size=(30, 30))
    expected = np.sqrt(np.sum(W**2) - np.sum(np.abs(np.linalg.eigvals(W)) ** 2))
    assert metrics.henrici(W) == pytest.approx(expected, rel=1e-10)
    assert metrics.henrici(3 * W) == pytest.approx(3 * expected, rel=1e-10)


def test_henrici_of_normal_matrices_is_zero():
    W = np.random.default_rng(1).normal(size=(30, 30))
    for normal in (W + W.T, W - W.T, np.linalg.qr(W)[0], np.zeros((3, 3))):
        assert metrics.henrici(normal) <= 1e-12 * max(1.0, np.linalg.norm(normal))
    assert metrics.henrici([[0.0, 1.0], [0.0, 0.0]]) == pytest.approx(1.0)


def test_mean_sem_known_answer():
    assert metrics.mean_sem([1.0, 2.0, 3.0]) == (2.0, pytest.approx(1 / np.sqrt(3)), 3)
    single = metrics.mean_sem([4.0])
    assert single.mean == 4.0 and np.isnan(single.sem) and single.n == 1
    assert np.isnan(metrics.mean_sem([1.0, np.nan]).mean)


def test_bootstrap_interval_is_reproducible_and_holds_the_mean():
    values = np.random.default_rng(3).normal(2.0, 1.0, size=40)
    low, high = metrics.bootstrap_interval(values)
    assert (low, high) == metrics.bootstrap_interval(values)
    assert low < values.mean() < high
    # A normal interval is the right size to expect at n = 40.
    assert high - low == pytest.approx(2 * 1.96 * metrics.mean_sem(values).sem, rel=0.2)


def test_bootstrap_interval_degenerate_samples():
    assert metrics.bootstrap_interval([0.5, 0.5, 0.5]) == (0.5, 0.5)
    assert np.isnan(metrics.bootstrap_interval([0.5])).all()
    assert np.isnan(metrics.bootstrap_interval([0.5, np.nan])).all()
    low, high = metrics.bootstrap_interval([0.1, 0.2, 0.9])
    assert 0.1 <= low < high <= 0.9


@pytest.mark.parametrize("bad", [[], [[1.0]]])
def test_samples_must_be_flat_and_not_empty(bad):
    for summary in (metrics.mean_sem, metrics.bootstrap_interval):
        with pytest.raises(ValueError, match="values must be"):
            summary(bad)
