"""Every test starts from the same seeds, on one thread, without a screen."""

import os
import random

# One thread: sums come out in one order, and the notebooks' kernels beside us keep their core.
# Set before numpy and torch load their linear algebra.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "agg"

import numpy as np
import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded():
    """Seed the global generators, for whatever does not take a generator of its own."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
