"""Numbers as text and figures, read back from a hand-made table."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from paperlib import figures, report
from paperlib.artifacts import RESULT_COLUMNS

VALUES = {  # removed: ΔFVU of two networks, and their removed mass
    "RR": ((0.1, 0.3), 0.05), "CR": ((2.0, 0.2), 0.1), "CC": ((-0.5, -0.3), 0.2),
}


@pytest.fixture
def results():
    rows = []
    for seed in (0, 1):
        where = ("sine", "constant_cue", "dense_orthogonal", 8, seed, 0.9)
        rows.append((*where, "none", "fvu", 0.01 * (seed + 1)))
        for removed, (damage, mass) in VALUES.items():
            rows += [
                (*where, removed, "delta_fvu", damage[seed]),
                (*where, removed, "removed_mass", mass),
                (*where, removed, "s_dt", damage[seed] / mass),
            ]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def test_numbers_say_which_block_and_in_how_many_networks(results):
    numbers = report.ablation_numbers(results)
    assert numbers["worst_block"] == "T_C→R (in 1 of 2 networks)"
    assert numbers["mildest_block"] == "T_CC (in 2 of 2 networks)"
    assert numbers["worst_s_block"] == "T_C→R (in 1 of 2 networks)"
    assert numbers["delta_fvu_RR"] == "0.20\u00a0±\u00a00.10" and numbers["n_seeds"] == "2"


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (0.123456, "0.123"), (-1.5, "−1.5"), (12345.6, "12300"), (1.5e-7, "1.50 × 10⁻⁷"),
    (np.nan, "not defined"), (np.inf, "not defined"),
])
def test_number(value, text):
    assert report.number(value) == text


def test_within():
    assert report.within(0.5, [0.4, 0.6]) == "yes" and report.within(0.7, [0.4, 0.6]) == "no"
    assert report.within(np.nan, [0.4]) == "—" and report.within(0.5, [np.nan]) == "—"


def test_figure_2_draws_the_table(results):
    paper = pd.DataFrame([{
        "task": "sine", "removed": "CR", "quantity": "delta_fvu", "value": 1.73, "sem": 0.34
    }])
    figure, alt = figures.figure_2(results, paper, {"sine": "sine generation"})
    damage, sensitivity = figure.axes
    heights = [bar.get_height() for bar in damage.patches]
    np.testing.assert_allclose(heights, [np.mean(v) for v, _ in VALUES.values()])
    heights = [bar.get_height() for bar in sensitivity.patches]
    np.testing.assert_allclose(heights, [np.mean(v) / mass for v, mass in VALUES.values()])
    points = [tuple(c.get_offsets()[:, 1]) for c in damage.collections if len(c.get_offsets()) == 2]
    assert points[: len(VALUES)] == [v for v, _ in VALUES.values()]
    diamonds = [line for line in damage.lines if line.get_marker() == "D"]
    assert [line.get_ydata()[0] for line in diamonds] == [1.73]
    assert "without T_C→R: 1.10" in alt
    plt.close(figure)
