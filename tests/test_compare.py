"""Two runs beside each other: equal, equal to rounding, other draws, or something else."""

import re

import numpy as np
import pandas as pd
import pytest

import paperlib as pl
from paperlib.artifacts import RESULT_COLUMNS, ArtifactError
from workflow import WorkflowError, compare


def table(n=5, first=0, shift=0.0, stream=0, removed=("RR", "CR", "CC"), n_hidden=64):
    """ΔFVU of n networks, drawn from a normal distribution."""
    rng = np.random.default_rng(stream)
    rows = [
        ("sine", "constant_cue", "dense_orthogonal", n_hidden, seed, 0.9, block, "delta_fvu",
         shift + rng.normal())
        for seed in range(first, first + n) for block in removed
    ]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def test_a_table_equals_itself_in_any_order():
    a = table()
    a.loc[0, "value"] = np.nan
    verdict, note, rows = compare.compare(a, a.sample(frac=1, random_state=0))
    assert (verdict, note) == ("equal", "")
    assert rows.to_dict("records") == [{
        "quantity": "delta_fvu", "rows in both": 15, "largest absolute difference": 0.0,
        "largest relative difference": 0.0, "only in A": 0, "only in B": 0,
    }]


@pytest.mark.parametrize(("off", "expected"), [
    (1e-10, "equal to rounding"), (1e-8, "nearly equal"), (1e-2, "too few to tell"),
])
def test_rounding(off, expected):
    a = table(n=2).assign(value=1.0)
    verdict, _, rows = compare.compare(a, a.assign(value=1.0 + off))
    assert expected in verdict
    assert rows["largest absolute difference"].item() == pytest.approx(off, rel=1e-5)


def test_a_large_value_is_compared_by_its_size():
    a = table(n=2).assign(value=1e12)
    assert "rounding" in compare.compare(a, a.assign(value=1e12 + 100))[0]


def test_differences_by_hand():
    a, b = table(n=1, removed=("RR",)), table(n=1, removed=("RR",))
    a["value"], b["value"] = -2.0, 2.5
    row = compare.differences(a, b).iloc[0]
    assert row["absolute"] == 4.5 and row["relative"] == 1.8
    b["value"] = np.nan
    assert compare.differences(a, b)["absolute"].item() == np.inf
    a["value"] = b["value"] = np.inf
    assert compare.differences(a, b)["absolute"].item() == 0


def test_rows_of_one_alone_are_counted():
    verdict, note, rows = compare.compare(table(n=5), table(n=3))
    assert verdict == "equal where both have rows" and note == "6 rows only in A"
    assert rows["only in A"].item() == 6 and rows["only in B"].item() == 0


def test_lags_are_taken_together():
    a = pd.concat([table(n=1).assign(quantity=f"replay_accuracy_lag_{k}") for k in (1, 2, 10)])
    assert list(compare.by_quantity(compare.differences(a, a))["quantity"]) == [
        "replay_accuracy_lag"
    ]


@pytest.mark.parametrize(("n", "shift", "expected"), [
    (5, 0.0, "other networks from the same distribution"),
    (10, 0.0, "other networks from the same distribution"),
    (5, 100.0, "differs"), (10, 100.0, "differs"),
    (3, 100.0, "other networks, too few to tell from another distribution"),  # 20 exchanges
])
def test_other_networks(n, shift, expected):
    a, b = table(n=n, stream=1), table(n=n, first=20, shift=shift, stream=2)
    verdict, note, _ = compare.compare(a, b)
    assert verdict == expected and f"{n} and {n}" in note


def test_many_ensembles_differ_as_one_does():
    """Each alone has few networks, all of them together have many."""
    a = pd.concat([table(n=5, stream=k).assign(convention=f"c{k}") for k in range(16)])
    b = a.assign(seed=a["seed"] + 10, value=a["value"] * 1000 + 1000)
    assert compare.same_distribution(a, b)[0] == "differs"
    same = pd.concat([
        table(n=5, first=10, stream=50 + k).assign(convention=f"c{k}") for k in range(16)
    ])
    assert compare.same_distribution(a, same)[0] == "other networks from the same distribution"


def test_one_ensemble_that_differs_is_seen_among_many_that_do_not():
    a = pd.concat([table(n=10, stream=k).assign(convention=f"c{k}") for k in range(16)])
    moved = a["convention"] == "c3"
    b = a.assign(value=a["value"].where(~moved, a["value"] * 10 + 50))
    verdict, note = compare.same_distribution(a, b)
    assert verdict == "differs" and "most in sine c3" in note and "10 and 10" in note
    other = pd.concat([
        table(n=10, first=20, stream=90 + k).assign(convention=f"c{k}") for k in range(16)
    ])
    assert compare.same_distribution(a, other)[0] == "other networks from the same distribution"
    moved = other["convention"] == "c3"
    other["value"] = other["value"].where(~moved, other["value"] * 10 + 50)
    verdict, note = compare.same_distribution(a, other)
    assert verdict == "differs" and "most in sine c3" in note


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5)])
def test_one_network_is_too_few(n, m):
    verdict, _ = compare.same_distribution(table(n=n), table(n=m, first=20, shift=9.0))
    assert verdict == "other networks, too few to tell from another distribution"


def test_altered_numbers_of_the_same_networks_are_counted():
    a = table(n=5)
    b = a.copy()
    b.loc[0, "value"] += 0.25
    _, note, _ = compare.compare(a, b)
    larger = max(abs(a["value"][0]), abs(b["value"][0]))
    assert f"1 of {len(a)} common numbers differ, at most by 0.25 or, relative" in note
    assert f"by {0.25 / larger:.3g};" in note


def test_draws_from_one_distribution_seldom_differ():
    """By the test's level; 5 of 100 expected, more than 11 have a probability below 0.01."""
    differ = [
        compare.same_distribution(table(stream=2 * k), table(first=9, stream=2 * k + 1))[0]
        for k in range(100)
    ].count("differs")
    assert differ <= 11


def test_a_missed_criterion_is_a_value_too():
    a = table(n=6, removed=("none",)).assign(quantity="steps_to_solve", value=100.0, alpha=np.nan)
    b = a.assign(seed=a["seed"] + 10)
    assert compare.same_distribution(a, b)[0] == "other networks from the same distribution"
    b.loc[1:, "value"] = np.nan
    assert compare.same_distribution(a, b)[0] == "differs"


def test_other_sizes_have_nothing_in_common():
    verdict, note, _ = compare.compare(table(), table(n_hidden=16))
    assert verdict == "differs" and "no ensemble in common" in note


# --- folders ------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path):
    """Two runs' folders; the second has ten times the damage."""
    rows = [
        (task, convention, "dense_orthogonal", 64, seed, 0.9, removed, quantity, value)
        for task, convention, damage in (
            ("flip_flop", "pulses_0.10", 0.0945), ("sine", "constant_cue", 1.73),
            ("integration", "decision", 0.37),
        )
        for seed in range(6) for removed in ("none", "RR", "CR", "CC")
        for quantity, value in (("fvu", 0.01), ("delta_fvu", damage + 0.001 * seed))
    ]
    results = pd.DataFrame(rows, columns=RESULT_COLUMNS)
    for name, factor in (("a", 1.0), ("b", 10.0)):
        scaled = results["value"].where(results["quantity"] == "fvu", results["value"] * factor)
        path = tmp_path / name / "results" / "open_choices.csv"
        pl.write_results(results.assign(value=scaled), path)
    return tmp_path


def test_verdicts_on_claims_that_change_are_named(runs):
    text = compare.run(runs / "a", runs / "b", runs / "new" / "compare.html")
    assert "open_choices  differs" in text
    assert "f2-ff-cr: reproduced → same direction (paper 0.0945)" in text
    html = (runs / "new" / "compare.html").read_text(encoding="utf-8")
    changed = html.split("Claims whose verdicts change")[1].split("<h2>")[0]
    assert "f2-ff-cr" in changed and "s4-ff-full" not in changed
    assert "no evidence" in html.split("All claims")[1]  # of copy, on which neither has results
    assert not re.search(r"https?:|src=|href=|@import", html)


def test_what_neither_can_judge_is_no_change(runs):
    text = compare.run(runs / "a", runs / "a", runs / "x.html")
    counted = re.search(r"0 of (\d+) verdicts that both runs can judge change", text)
    assert 0 < int(counted[1]) < len(pl.claims.read_ledger())
    assert "not judged in A: " in text and "figure_1.csv does not exist" in text


def test_a_damaged_record_is_named(runs):
    record = runs / "b" / "provenance" / "open_choices.json"
    record.parent.mkdir()
    record.write_text("{", encoding="utf-8")
    text = compare.run(runs / "a", runs / "b", runs / "x.html")
    assert "not judged in B: " in text and "open_choices.json is damaged" in text


def test_the_command_line(runs, capsys):
    arguments = [str(runs / "a"), str(runs / "a"), "--html", str(runs / "x.html")]
    assert compare.main(arguments) == 0
    out = capsys.readouterr().out
    assert "open_choices  equal\n" in out and "0 of" in out and "ledger has" in out
    assert compare.main([str(runs / "nowhere"), str(runs / "a")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: there is no folder") and "nowhere" in error


def test_what_can_not_be_compared_is_said(runs):
    (runs / "b" / "results" / "open_choices.csv").rename(runs / "b" / "results" / "figure_2.csv")
    with pytest.raises(WorkflowError, match="no results table is in both.*open_choices.*figure_2"):
        compare.run(runs / "a", runs / "b", runs / "x.html")
    (runs / "b" / "results" / "open_choices.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ArtifactError, match="open_choices.csv: columns are"):
        compare.run(runs / "a", runs / "b", runs / "x.html")
    assert not (runs / "x.html").exists()


def test_the_table_of_verdicts_is_not_taken_for_results(runs):
    (runs / "a" / "results" / "claims.csv").write_text("id,verdict\nx,reproduced\n")
    assert list(compare.read_tables(runs / "a")) == ["open_choices"]


def test_a_study_that_shows_the_published_run_is_said_to(runs):
    record = runs / "b" / "provenance" / "open_choices.json"
    record.parent.mkdir()
    record.write_text('{"profile": "paper", "parameters": {"train_here": false}}')
    assert "open_choices  differs" in compare.run(runs / "a", runs / "b", runs / "x.html")
    for name in ("a", "b"):
        results = runs / name / "results" / "open_choices.csv"
        results.write_bytes((runs / "a" / "results" / "open_choices.csv").read_bytes())
    text = compare.run(runs / "a", runs / "b", runs / "x.html")
    assert "open_choices  the published run, shown again (nothing was trained" in text
