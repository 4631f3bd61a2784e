"""Time and accuracy of ordered real Schur forms: paperlib beside pyGPCCA, on the same matrices.

Prints a Markdown table. See README.md in this folder for how to run it.
"""

import argparse
import time

import numpy as np
import scipy.linalg
from pygpcca._sort_real_schur import sort_real_schur

import paperlib as pl


def gaussian(n, rng):
    """Independent entries: LAPACK's own order is already close to sorted."""
    return rng.normal(size=(n, n)) / np.sqrt(n)


def trained_like(n, rng):
    """Eighth roots of unity coupled weakly, over a decaying rest: many near-ties, as in replay."""
    copies = n // 16
    rest = n // 2 - 3 * copies
    moduli = np.concatenate([np.ones(3 * copies), rng.uniform(0.2, 0.8, rest)])
    roots = np.tile(np.arange(1, 4) * np.pi / 4, copies)
    angles = np.concatenate([roots, rng.uniform(0, np.pi, rest)])
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return U @ pairs(moduli, angles, 0.1 * gaussian(n, rng)) @ U.T


def tiny(n, rng):
    """The Gaussian matrix times 1e-12: thresholds must be relative."""
    return 1e-12 * gaussian(n, rng)


def ascending(n, rng):
    """Triangular, every pair of blocks in the wrong order: the most exchanges there can be."""
    moduli = np.linspace(0.1, 1, n // 2)
    return pairs(moduli, rng.uniform(0.1, 3, n // 2), 0.1 * gaussian(n, rng))


def pairs(moduli, angles, couplings):
    """Quasi-triangular matrix with these pairs of eigenvalues over these couplings."""
    T = np.triu(couplings, 2)
    for k, (modulus, angle) in enumerate(zip(moduli, angles)):
        c, s = modulus * np.cos(angle), modulus * np.sin(angle)
        T[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[c, -s], [s, c]]
    return T


MATRICES = {make.__name__: make for make in (gaussian, trained_like, ascending, tiny)}


def ours(W):
    form = pl.ordered_schur(W)
    return form.Q, form.T


def pygpcca(W):
    T, Q = scipy.linalg.schur(W, output="real")
    Q, T, _ = sort_real_schur(Q, T, z="LM", b=0)
    return Q, T


def decomposition(W):
    T, Q = scipy.linalg.schur(W, output="real")
    return Q, T


def measure(method, W, repeats):
    """Best time in seconds, relative residual, and largest rise of modulus down T over ρ."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        Q, T = method(W)
        best = min(best, time.perf_counter() - start)
    moduli, at = [], 0
    while at < len(T):
        size = 2 if at + 1 < len(T) and T[at + 1, at] != 0 else 1
        moduli.append(np.abs(np.linalg.eigvals(T[at : at + size, at : at + size])).max())
        at += size
    rise = max(0.0, np.diff(moduli, prepend=moduli[0]).max()) / max(moduli)
    return best, np.linalg.norm(Q @ T @ Q.T - W) / np.linalg.norm(W), rise


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--matrices", nargs="+", choices=MATRICES, default=list(MATRICES))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| n | matrix | unsorted (s) | paperlib (s) | pyGPCCA (s) | ratio of times "
          "| residuals: paperlib, pyGPCCA | rises of modulus over ρ |")  # fmt: skip
    print("|---:|---|---:|---:|---:|---:|---|---|")
    for n in arguments.sizes:
        for name in arguments.matrices:
            W = MATRICES[name](n, np.random.default_rng(arguments.seed))
            repeats = 5 if n <= 64 else 3 if n <= 256 else 1
            alone, *both = (measure(way, W, repeats) for way in (decomposition, ours, pygpcca))
            (time_a, residual_a, rise_a), (time_b, residual_b, rise_b) = both
            print(
                f"| {n} | {name} | {alone[0]:.4f} | {time_a:.4f} | {time_b:.4f} "
                f"| {time_b / time_a:.1f} | {residual_a:.1e}, {residual_b:.1e} "
                f"| {rise_a:.1e}, {rise_b:.1e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
