"""Published results: what they rest on is in the repository, and a sample of them is recomputed."""

import json

import numpy as np
import pytest

import paperlib as pl
from paperlib.artifacts import RESULT_COLUMNS
from workflow.publish import PUBLISHED, SAMPLES

ROWS = list(RESULT_COLUMNS[:-1])
CASES = [
    (name, path.relative_to(PUBLISHED / "solutions"))
    for name, patterns in SAMPLES.items()
    for pattern in patterns
    for path in sorted((PUBLISHED / "solutions").glob(pattern))[::9]  # the first, and a tenth
]
# From given weights everything is arithmetic in double precision, which machines round
# differently; copy amplifies rounding over its lags, and signs near zero may turn.
TOLERANCE = {"fvu": 1e-6, "delta_fvu": 1e-6, "removed_mass": 1e-9, "replay_accuracy": 1e-4}


def record(name):
    return json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(path.stem for path in PUBLISHED.glob("*.csv")))
def test_every_published_table_has_its_provenance(name):
    assert record(name)["profile"] in ("paper", "extended")
    pl.read_results(PUBLISHED / f"{name}.csv")


def test_every_ensemble_is_sampled():
    assert {place.parent.name for _, place in CASES} == {
        path.name for path in (PUBLISHED / "solutions").iterdir()
    }


@pytest.mark.parametrize(("name", "place"), CASES, ids=str)
def test_published_numbers_follow_from_published_weights(name, place):
    published = pl.read_results(PUBLISHED / f"{name}.csv")
    network = pl.load_solution(PUBLISHED / "solutions" / place)
    task = pl.make_task(network.meta["task"], network.meta["convention"])
    parameters = record(name)["parameters"]
    copy = task.name == "copy" and "copy_trials" in parameters
    n_trials = parameters["copy_trials" if copy else "n_trials"]
    subsets = ["none", "RR", "CR", "CC"]
    ours = pl.ablation_profile([network], task, 0.9, subsets, n_trials)
    both = ours.merge(published, on=ROWS, suffixes=("_ours", "_theirs"))
    both = both[both["quantity"].isin(TOLERANCE)]
    assert len(both) >= 8 and set(both["removed"]) == set(subsets)
    for quantity, rows in both.groupby("quantity"):
        np.testing.assert_allclose(
            rows["value_ours"], rows["value_theirs"], rtol=1e-5, atol=TOLERANCE[quantity],
            err_msg=f"{place}: {quantity}",
        )
