"""A network in JAX, written with row vectors: ``h = tanh(x @ kernel + h @ recurrent_kernel + b)``.

Its matrices are the transposes of those of PyTorch and of the paper. The task: two bits, a pause
between them, and at the end their XOR. Needs ``pip install jax``; takes about a minute::

    python examples/xor_rows.py
"""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

HERE = Path(__file__).parent
STEPS, PAUSE, ANSWER, HIDDEN = 24, 8, 5, 32  # steps, steps, steps, units


def trials(key, n):
    """Inputs (bit, cue), targets and which steps count, each (trial, time, channel)."""
    bits = jax.random.rademacher(key, (n, 2)).astype(float)
    step = jnp.arange(STEPS)
    first, second = step < 3, (step >= 3 + PAUSE) & (step < 6 + PAUSE)
    asked = step >= STEPS - ANSWER
    shown = bits[:, :1] * first + bits[:, 1:] * second
    cue = jnp.broadcast_to(asked.astype(float), shown.shape)
    targets = (-bits[:, :1] * bits[:, 1:]) * asked
    return jnp.stack([shown, cue], -1), targets[..., None], jnp.ones((n, STEPS, 1), bool)


def outputs(weights, inputs):
    """Outputs, shape (trial, time, 1)."""
    drive = inputs @ weights["kernel"] + weights["bias"]

    def step(h, x):
        h = jnp.tanh(x + h @ weights["recurrent_kernel"])
        return h, h

    start = jnp.zeros((len(inputs), HIDDEN))
    _, hidden = jax.lax.scan(step, start, drive.swapaxes(0, 1))
    return hidden.swapaxes(0, 1) @ weights["dense_kernel"] + weights["dense_bias"]


def loss(weights, inputs, targets):
    """Mean squared error."""
    return jnp.mean((outputs(weights, inputs) - targets) ** 2)


@partial(jax.jit, donate_argnums=(0, 1))
def adam(weights, moments, key, count):
    """One step of Adam on a fresh batch."""
    inputs, targets, _ = trials(key, 64)
    value, slope = jax.value_and_grad(loss)(weights, inputs, targets)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], slope)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, moments[1], slope)

    def moved(w, m, v):
        return w - 2e-3 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)

    return jax.tree.map(moved, weights, first, second), (first, second), value


def main():
    """Train, and write weights and held-out trials."""
    key = jax.random.key(0)
    keys = jax.random.split(key, 4)
    weights = {
        "kernel": jax.random.normal(keys[0], (2, HIDDEN)) / 2**0.5,
        "recurrent_kernel": jax.random.orthogonal(keys[1], HIDDEN),
        "bias": jnp.zeros(HIDDEN),
        "dense_kernel": jax.random.normal(keys[2], (HIDDEN, 1)) / HIDDEN**0.5,
        "dense_bias": jnp.zeros(1),
    }
    moments = tuple(jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    for count in range(1, 3001):
        batch = jax.random.fold_in(keys[3], count)
        weights, moments, value = adam(weights, moments, batch, count)
        if count % 500 == 0:
            print(f"batch {count}: loss {value:.5f}")
    np.savez(HERE / "xor_rows_weights.npz", **{k: np.asarray(w) for k, w in weights.items()})
    inputs, targets, counts = trials(jax.random.fold_in(key, 1), 400)
    np.savez_compressed(
        HERE / "xor_rows.npz", inputs=np.asarray(inputs), targets=np.asarray(targets),
        mask=np.asarray(counts),
    )


if __name__ == "__main__":
    main()
