"""Hidden states of many networks at once, differentiable: what training spends its time in.

``h_t = tanh(W_xh x_t + W_hh h_{t-1})``, ``h_0 = 0`` (paper, Section 2). Arrays are laid out
member-major, (member, time, trial, …), so that the gradient of ``W_hh`` over all steps of all
trials is a single batched product on views.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["hidden_states"]


class _TanhUnroll(torch.autograd.Function):
    """Hidden states of all members; back-propagation through time in one backward pass."""

    @staticmethod
    def forward(ctx, W_xh: Tensor, W_hh: Tensor, inputs: Tensor) -> Tensor:
        members, time, trials, n_in = inputs.shape
        n_hidden = W_hh.shape[-1]
        drive = torch.bmm(inputs.reshape(members, time * trials, n_in), W_xh.mT)
        hidden = drive.view(members, time, trials, n_hidden)
        states = hidden.unbind(1)
        states[0].tanh_()
        recurrent = W_hh.mT
        for t in range(1, time):
            states[t].baddbmm_(states[t - 1], recurrent).tanh_()
        ctx.save_for_backward(W_xh, W_hh, inputs, hidden)
        return hidden

    @staticmethod
    def backward(ctx, grad_hidden: Tensor):
        W_xh, W_hh, inputs, hidden = ctx.saved_tensors
        members, time, trials, n_hidden = hidden.shape
        delta = torch.empty_like(hidden)
        grads, states, deltas = grad_hidden.unbind(1), hidden.unbind(1), delta.unbind(1)
        # Step by step, so that each state is in the cache when it is needed.
        tanh_backward = torch.ops.aten.tanh_backward.grad_input
        tanh_backward(grads[-1], states[-1], grad_input=deltas[-1])
        for t in range(time - 2, -1, -1):
            passed = torch.baddbmm(grads[t], deltas[t + 1], W_hh)
            tanh_backward(passed, states[t], grad_input=deltas[t])

        def flat(x):  # a view for slices along time, thanks to the member-major layout
            return x.reshape(members, -1, x.shape[-1])

        grad_W_hh = torch.bmm(flat(delta[:, 1:]).mT, flat(hidden[:, :-1]))
        # The thin factor first: BLAS is an order of magnitude slower the other way round.
        grad_W_xh = torch.bmm(flat(inputs).mT, flat(delta)).mT
        grad_inputs = None
        if ctx.needs_input_grad[2]:
            grad_inputs = torch.bmm(flat(delta), W_xh).view_as(inputs)
        return grad_W_xh, grad_W_hh, grad_inputs


def hidden_states(W_xh: Tensor, W_hh: Tensor, inputs: Tensor) -> Tensor:
    """Hidden states of every member on its own inputs, time before trials.

    Parameters
    ----------
    W_xh : Tensor, shape (member, n_hidden, n_in)
    W_hh : Tensor, shape (member, n_hidden, n_hidden)
    inputs : Tensor, shape (member, time, trial, n_in)

    Returns
    -------
    Tensor, shape (member, time, trial, n_hidden)
        Differentiable in all three arguments.
    """
    return _TanhUnroll.apply(W_xh, W_hh, inputs)
