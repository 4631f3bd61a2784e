"""Time and peak memory of `python -m paperlib diagnose`, at sizes of one's own network.

Each size runs in a process of its own, so that peak memory is that size's. Prints a Markdown
table. See README.md in this folder.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N_IN, N_OUT = 3, 2


def write(folder: Path, n_hidden: int, trials: int, steps: int) -> None:
    """An untrained network and noise: neither time nor memory depends on what it learned."""
    rng = np.random.default_rng(0)
    np.savez(
        folder / "weights.npz",
        W_xh=rng.normal(size=(n_hidden, N_IN)),
        W_hh=rng.normal(size=(n_hidden, n_hidden)) / n_hidden**0.5,
        W_hy=rng.normal(size=(N_OUT, n_hidden)) / n_hidden**0.5,
    )
    inputs = rng.normal(size=(trials, steps, N_IN)).astype(np.float32)
    targets = rng.normal(size=(trials, steps, N_OUT)).astype(np.float32)
    np.savez(folder / "data.npz", inputs=inputs, targets=targets)


def main() -> None:
    """Measure the sizes of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    print("| N_h | trials | steps | time (s) | peak memory (MB) |\n|---:|---:|---:|---:|---:|")
    for n_hidden in options.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, n_hidden, options.trials, options.steps)
            before = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "paperlib", "diagnose", folder / "weights.npz",
                 folder / "data.npz", "--convention", "column", "--out", folder / "out"],
                check=True, stdout=subprocess.DEVNULL,
            )
            took = time.perf_counter() - before
        # Of the largest child so far; sizes go up.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        row = n_hidden, options.trials, options.steps, f"{took:.0f}", f"{peak:.0f}"
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
