"""Numbers as text and figures, read back from a hand-made table."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from paperlib import figures, report
from paperlib.artifacts import RESULT_COLUMNS
from paperlib.schur import SUBSETS

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


def test_of_no_network_nothing_is_said():
    assert report.within(0.5, []) == "—"
    for text in (report.range_text, report.mean_sd_text, report.mean_sem_text, report.median_count):
        assert text([]) == "not defined"


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


AS_TRAINED = (0.95, 0.9995, 0.999)


@pytest.fixture
def copies():
    """Three networks, the first unsolved; what is lost is a tenth times the seed."""
    rows = []
    for seed, accuracy in enumerate(AS_TRAINED):
        where = ("copy", "periodic_replay", "cayley", 8, seed, 0.9)
        rows.append((*where, "none", "replay_accuracy", accuracy))
        rows += [
            (*where, removed, "replay_accuracy", 0.9 - seed / 10) for removed in SUBSETS[1:]
        ]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def test_unsolved_networks_are_kept_apart(copies):
    assert report.solved_text(copies) == "2 of 3"
    solved, unsolved = report.of_solved(copies), report.of_solved(copies, solved=False)
    assert set(solved["seed"]) == {1, 2} and set(unsolved["seed"]) == {0}
    assert len(solved) + len(unsolved) == len(copies)
    with pytest.raises(ValueError, match="replay_accuracy as trained"):
        report.of_solved(copies[copies["removed"] != "none"])


def test_what_is_lost_does_not_decide_who_is_solved(copies):
    copies.loc[copies["removed"] != "none", "value"] = [0.0, 1.0] * 10 + [0.5]
    assert report.solved_text(copies) == "2 of 3"
    assert set(report.of_solved(copies)["seed"]) == {1, 2}


def test_solved_means_one_convention_construction_and_width(copies):
    """The same seed may be solved at one width and not at another."""
    other = copies.assign(n_hidden=9)
    other.loc[other["removed"] == "none", "value"] = [1.0, 0.998, 1.0]
    solved = report.of_solved(pd.concat([copies, other]))
    assert {*zip(solved["n_hidden"], solved["seed"], strict=True)} == {
        (8, 1), (8, 2), (9, 0), (9, 2)
    }


def points(ax, marker):
    return sorted(
        float(y) for line in ax.lines if line.get_marker() == marker for y in line.get_ydata()
    )


def test_figure_1_represents_by_the_first_solved_network(copies):
    paper = pd.DataFrame(columns=["construction", "removed", "value"])
    figure, alt = figures.figure_1(copies, paper, {"cayley": "Cayley"})
    (ax,) = figure.axes
    large = [y for line in ax.lines if line.get_markersize() == 9 for y in line.get_ydata()]
    np.testing.assert_allclose(sorted(large), [0.8] * 7 + [0.9995])
    np.testing.assert_allclose(points(ax, "x"), [0.9] * 7 + [0.95])
    assert "Cayley without T_CC 0.8;" in alt and len(large) == len(SUBSETS)
    plt.close(figure)


def test_figure_1_of_unsolved_networks_alone(copies):
    paper = pd.DataFrame(columns=["construction", "removed", "value"])
    figure, _ = figures.figure_1(copies[copies["seed"] == 0], paper, {"cayley": "Cayley"})
    assert len(points(figure.axes[0], "x")) == len(SUBSETS)
    plt.close(figure)


def test_grid_figure_marks_solved_and_unsolved(copies):
    figure, alt = figures.grid_figure(copies, fits_from=8)
    np.testing.assert_allclose(points(figure.axes[0], "x"), [0.9] * 3 + [0.95])
    np.testing.assert_allclose(
        points(figure.axes[0], "D"), [0.7] * 3 + [0.8] * 3 + [0.999, 0.9995]
    )
    assert "cayley 8 unsolved: 0.95" in alt and "cayley 8 solved: 0.999" in alt
    plt.close(figure)


@pytest.mark.parametrize("draw", [
    lambda rows: figures.figure_1(rows, rows, {}),
    lambda rows: figures.figure_2(rows, rows, {}),
    lambda rows: figures.lags_figure(rows),
    lambda rows: figures.grid_figure(rows, fits_from=8),
    lambda rows: figures.recipes_figure(rows, rows),
    lambda rows: figures.conventions_figure(rows, rows),
    lambda rows: figures.profiles_figure(rows),
    lambda rows: figures.verdicts_figure(rows, {}),
    lambda rows: figures.claims_figure(rows, rows),
    lambda rows: figures.spreads_figure(rows),
    lambda rows: figures.orders_figure(rows),
    lambda rows: figures.controls_figure(rows),
    lambda rows: figures.refit_figure(rows),
    lambda rows: figures.departure_figure(rows, ["kreiss"]),
    lambda rows: figures.couplings_figure(rows, (0.1,)),
    lambda rows: figures.prediction_figure(rows, "clipped", 1e-3),
])
def test_a_table_without_rows_is_refused(draw):
    columns = [*RESULT_COLUMNS, "id", "verdict", "networks"]
    with pytest.raises(ValueError, match="the table has no rows"):
        draw(pd.DataFrame(columns=columns))


def test_spreads_figure_shows_networks_filled_and_sets_by_size():
    spreads = pd.DataFrame([
        {"task": "sine", "removed": "none", "networks": 0.2, 64: 0.05, 256: 0.02},
        {"task": "copy", "removed": "CR", "networks": 0.4, 128: 0.1},
    ])
    figure, alt = figures.spreads_figure(spreads)
    filled, open_ = [], []
    for ax in figure.axes:
        for line in ax.lines:
            (open_ if line.get_mfc() == "none" else filled).extend(line.get_xdata())
    np.testing.assert_allclose(filled, [0.2, 0.4])
    np.testing.assert_allclose(open_, [0.05, 0.02, 0.1])
    assert "copy, T_C→R removed: 0.4 over networks, 0.1 over sets of 128" in alt
    plt.close(figure)


def networks(fvu, quantity="fvu", convention="constant_cue", removed="none"):
    return pd.DataFrame(
        [("sine", convention, "dense_orthogonal", 64, seed, 0.9, removed, quantity, value)
         for seed, value in enumerate(fvu)], columns=RESULT_COLUMNS,
    )


def test_failed_networks_are_left_out_whole():
    table = pd.concat([
        networks([0.01, 0.1, 0.2, np.nan]), networks([1.0] * 4, "delta_fvu", removed="CR"),
        networks([0.5, 0.9], convention="levels"),  # none trained: kept
        networks([0.3], "replay_accuracy", convention="other"),  # no FVU
    ])
    left = report.of_trained(table)
    assert list(left[left["convention"] == "constant_cue"]["seed"]) == [0, 1, 0, 1]
    assert (left["convention"] == "levels").sum() == 2 and "other" in set(left["convention"])


def test_nothing_removed_costs_nothing_per_mass():
    table = pd.concat([
        networks([0.0, 0.0, 0.2], "removed_mass", removed="RR"),
        networks([np.nan, np.nan, 3.0], "s_dt", removed="RR"),
        networks([np.nan] * 3, "s_dt", removed="none"), networks([0.0] * 3, "removed_mass"),
        networks([np.nan] * 3, "s_dt", removed="CR"), networks([1e-9] * 3, "removed_mass", removed="CR"),
    ])
    changed = report.empty_as_zero(table)
    np.testing.assert_array_equal(report.per_seed(changed, "s_dt", "RR"), [0, 0, 3])
    assert np.isnan(report.per_seed(changed, "s_dt", "none")).all()
    assert np.isnan(report.per_seed(changed, "s_dt", "CR")).all()


def test_orders_figure_shows_every_draw_and_the_stated_order():
    draws = pd.concat([
        networks([value, value + 0.1], f"delta_fvu_order_{k}", removed=removed)
        for k, value in enumerate((0.2, 0.5, 3.0)) for removed in ("RR", "CC")
    ])
    figure, alt = figures.orders_figure(draws)
    (ax,) = [ax for ax in figure.axes if ax.get_visible()]
    by_size = {3: [], 7: []}
    for line in ax.lines:
        if line.get_markersize() in by_size and line.get_marker() == "o":
            by_size[line.get_markersize()].extend(line.get_ydata())
    np.testing.assert_allclose(sorted(by_size[7]), [0.2, 0.2, 0.3, 0.3])
    np.testing.assert_allclose(sorted(by_size[3]), [0.5] * 2 + [0.6] * 2 + [3.0] * 2 + [3.1] * 2)
    low, high = ax.get_ylim()
    assert low < 0 and high > 3.1 and "sine, seed 1, T_CC: 0.6 to 3.1" in alt
    plt.close(figure)


def test_the_range_over_orders_is_that_of_the_mean():
    draws = pd.concat([
        networks([k / 10, k / 10 + 1], f"delta_fvu_order_{k}", removed="RR") for k in range(42)
    ])
    # Means of two networks: 0.5 + k / 10 for k = 1 … 41; the stated order, k = 0, is no draw.
    np.testing.assert_allclose(report.order_range(draws, "RR"), [0.7, 4.5])
    assert report.order_text(draws, "RR") == "0.7 to 4.5" and report.order_text(draws, "CR") == "—"


def test_controls_figure_shows_medians_of_each_network():
    rows = [
        networks([0.5, 0.7], "delta_fvu_block_0", removed="CR").assign(kind="block"),
        *(networks([v, v + 1], f"delta_fvu_gaussian_{k}", removed="CR").assign(kind="gaussian")
          for k, v in enumerate((0.1, 0.2, 0.9), 1)),
    ]
    figure, alt = figures.controls_figure(pd.concat(rows).assign(measure="delta_fvu"))
    (ax,) = [ax for ax in figure.axes if ax.get_visible()]
    np.testing.assert_allclose(points(ax, "s"), [0.2, 1.2])
    np.testing.assert_allclose(points(ax, "o"), [0.5, 0.7])
    assert "sine, T_C→R, gaussian: median 0.7" in alt
    plt.close(figure)


def test_refit_figure_shows_both_decoders():
    rows = [
        networks([0.4, 0.6], "fvu", removed="CC"), networks([0.1, 0.2], "fvu_refit", removed="CC"),
        networks([0.01, 0.01]), networks([0.01, 0.01], "fvu_refit"),
    ]
    figure, alt = figures.refit_figure(pd.concat(rows))
    (ax,) = [ax for ax in figure.axes if ax.get_visible()]
    open_ = [y for line in ax.lines if line.get_mfc() == "none" for y in line.get_ydata()]
    np.testing.assert_allclose(open_, [0.01, 0.01, 0.1, 0.2])
    assert "sine, T_CC removed, fitted anew: median 0.15" in alt
    plt.close(figure)


def test_prediction_figure_shows_every_removal_on_both_axes():
    wide = pd.DataFrame({
        "task": ["sine", "sine", "copy"], "removed": ["RR", "CC", "CR"],
        "unseen": [False, True, False], "delta_fvu": [0.1, -0.2, 1.0], "clipped": [0.2, 0.0, 1e9],
    })
    figure, alt = figures.prediction_figure(wide, "clipped", 1e-3)
    (ax,) = figure.axes
    dots = sorted(
        (float(x), float(y)) for line in ax.lines if line.get_marker() in ("o", "^", "s", "D")
        for x, y in zip(line.get_xdata(), line.get_ydata())
    )
    np.testing.assert_allclose(dots, [(1e-3, 1e-3), (0.101, 0.201), (1.001, 1e6 + 1e-3)])
    sizes = sorted(line.get_markersize() for line in ax.lines if line.get_marker() == "^")
    assert sizes == [5, 9] and "sine: median of predicted over measured" in alt
    plt.close(figure)


def test_couplings_figure_places_couplings_by_their_blocks():
    rows = [
        networks([0.3], "delta_fvu_coupling_2"), networks([-0.1], "delta_fvu_coupling_1002"),
        networks([0.2], "first_order_coupling_2"),
        networks([0.2, 0.4], "removable_mass_0"), networks([0.5, 0.7], "removable_mass_1"),
    ]
    figure, alt = figures.couplings_figure(pd.concat(rows), (0.01, 0.1))
    above, gradient, below = figure.axes[:3]
    grid = above.images[0].get_array()
    assert gradient.images[0].get_array()[0, 2] == 0.2
    assert grid[0, 2] == 0.3 and grid[1, 2] == -0.1 and np.isnan(np.ma.filled(grid, np.nan)[0, 1])
    lines = sorted(tuple(map(float, line.get_ydata())) for line in below.lines)
    assert lines == [(0.2, 0.5), (0.4, 0.7)] and "0.3 at 0.01, 0.6 at 0.1" in alt
    plt.close(figure)


def test_departure_figure_draws_medians_over_training():
    rows = [
        networks([v, v + 2], f"delta_fvu_epoch_{e}", removed="CC") for e, v in ((1, 0.0), (8, 1.0))
    ]
    rows += [networks([2.0, 4.0], f"kreiss_epoch_{e}") for e in (1, 8)]
    figure, alt = figures.departure_figure(pd.concat(rows), ["kreiss"])
    above, below = figure.axes
    drawn = [list(map(float, line.get_ydata())) for line in above.lines if line.get_marker() == "o"]
    assert [1.0, 2.0] in drawn and list(below.lines[0].get_ydata()) == [3.0, 3.0]
    assert "sine, T_CC: 1 to 2" in alt
    plt.close(figure)
