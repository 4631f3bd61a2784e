"""The batched network against torch.nn.RNN, autograd and finite differences."""

import numpy as np
import pytest
import torch

from paperlib.network import Solution, rollout
from paperlib.unroll import hidden_states


def weights(members, n_hidden, n_in, n_out, seed=0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    shapes = (members, n_hidden, n_in), (members, n_hidden, n_hidden), (members, n_out, n_hidden)
    return [torch.randn(s, generator=g, dtype=dtype) * n_hidden**-0.5 for s in shapes]


def torch_rnn(W_xh, W_hh, W_hy, inputs):
    rnn = torch.nn.RNN(W_xh.shape[1], len(W_hh), bias=False, batch_first=True).double()
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(W_xh)
        rnn.weight_hh_l0.copy_(W_hh)
    return rnn(inputs)[0] @ W_hy.T


def test_rollout_is_torch_rnn_member_by_member():
    W_xh, W_hh, W_hy = weights(3, 8, 2, 5)
    inputs = torch.randn(6, 11, 2, dtype=torch.float64)
    outputs = rollout(W_xh, W_hh, W_hy, inputs)
    assert outputs.shape == (3, 6, 11, 5)
    for i in range(3):
        expected = torch_rnn(W_xh[i], W_hh[i], W_hy[i], inputs)
        torch.testing.assert_close(outputs[i], expected, atol=1e-12, rtol=0)


def test_rollout_with_inputs_of_its_own_per_member_and_shared_readout():
    W_xh, W_hh, W_hy = weights(2, 6, 3, 2)
    inputs = torch.randn(2, 4, 5, 3, dtype=torch.float64)
    outputs, hidden = rollout(W_xh, W_hh, W_hy[0], inputs, return_hidden=True)
    for i in range(2):
        expected = torch_rnn(W_xh[i], W_hh[i], W_hy[0], inputs[i])
        torch.testing.assert_close(outputs[i], expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(hidden @ W_hy[0].T, outputs, atol=1e-12, rtol=0)


def test_one_unit_by_hand():
    outputs = rollout([[2.0]], [[0.5]], [[3.0]], [[[1.0], [0.0]]])
    h1 = np.tanh(2.0)
    np.testing.assert_allclose(
        outputs[0, 0, :, 0], [3 * h1, 3 * np.tanh(0.5 * h1)], rtol=1e-14
    )


@pytest.mark.parametrize("time", [1, 2, 5])
def test_backward_pass_against_finite_differences(time):
    W_xh, W_hh, _ = weights(2, 5, 3, 1)
    inputs = torch.randn(2, time, 4, 3, dtype=torch.float64)
    arguments = [x.requires_grad_() for x in (W_xh, W_hh, inputs)]
    assert torch.autograd.gradcheck(hidden_states, arguments)


def test_backward_pass_against_autograd_of_nn_rnn_in_float32():
    W_xh, W_hh, W_hy = weights(3, 16, 2, 2, dtype=torch.float32)
    inputs = torch.randn(3, 20, 7, 2)
    leaves = [w.clone().requires_grad_() for w in (W_xh, W_hh)]
    (hidden_states(*leaves, inputs) @ W_hy.mT[:, None]).square().sum().backward()
    for i in range(3):
        rnn = torch.nn.RNN(2, 16, bias=False)
        with torch.no_grad():
            rnn.weight_ih_l0.copy_(W_xh[i])
            rnn.weight_hh_l0.copy_(W_hh[i])
        (rnn(inputs[i])[0] @ W_hy[i].T).square().sum().backward()
        for leaf, own in zip(leaves, (rnn.weight_ih_l0, rnn.weight_hh_l0), strict=True):
            scale = own.grad.abs().max().item()
            torch.testing.assert_close(leaf.grad[i], own.grad, atol=1e-5 * scale, rtol=0)


def test_hidden_unit_permutations_and_sign_flips_are_symmetries():
    W_xh, W_hh, W_hy = (w[0] for w in weights(1, 9, 2, 3))
    inputs = torch.randn(5, 12, 2, dtype=torch.float64)
    g = torch.Generator().manual_seed(1)
    S = torch.eye(9, dtype=torch.float64)[torch.randperm(9, generator=g)]
    S = S * (2 * torch.randint(0, 2, (9,), generator=g) - 1)
    moved = rollout(S @ W_xh, S @ W_hh @ S.T, W_hy @ S.T, inputs)
    torch.testing.assert_close(moved, rollout(W_xh, W_hh, W_hy, inputs), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("change", "named"), [
    ({"W_hh": np.zeros((3, 4))}, "W_hh must be square"),
    ({"W_hh": np.zeros((0, 0))}, "W_hh must be square and not empty"),
    ({"W_xh": np.zeros((4, 2))}, "W_xh.*3"),
    ({"W_hy": np.zeros((1, 5))}, "W_hy.*3"),
    ({"inputs": np.zeros((4, 6, 9))}, "inputs have 9 channels.*2"),
    ({"inputs": np.zeros((4, 6))}, "inputs must have 3 or 4 axes"),
    ({"inputs": np.zeros((0, 6, 2))}, "empty"),
    ({"W_hh": np.zeros((2, 3, 3)), "W_xh": np.zeros((3, 3, 2))}, "members"),
])
def test_shapes_that_do_not_fit_are_named(change, named):
    arrays = dict(
        W_xh=np.zeros((3, 2)), W_hh=np.zeros((3, 3)), W_hy=np.zeros((1, 3)),
        inputs=np.zeros((4, 6, 2)),
    )
    with pytest.raises(ValueError, match=named):
        rollout(**{**arrays, **change})


def test_solution_checks_its_shapes_and_keeps_a_diverged_run():
    good = dict(W_xh=np.zeros((3, 2)), W_hh=np.eye(3), W_hy=np.zeros((1, 3)))
    with pytest.raises(ValueError, match="W_hy"):
        Solution(**{**good, "W_hy": np.zeros((1, 4))})
    with pytest.raises(ValueError, match="float matrix"):
        Solution(**{**good, "W_hh": np.eye(3, dtype=complex)})
    diverged = Solution(**{**good, "W_hh": np.full((3, 3), np.nan)})
    assert not diverged.finite and Solution(**good).finite


def test_read_only_weights_roll_out_without_a_warning():
    W_hh = np.eye(2)
    W_hh.flags.writeable = False
    outputs = rollout(np.ones((2, 1)), W_hh, np.ones((1, 2)), np.zeros((3, 4, 1)))
    assert (outputs == 0).all() and not W_hh.flags.writeable
