"""One network's diagnosis: known answers, invariances, warnings, and what is refused."""

import json
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import torch
from bs4 import BeautifulSoup

import paperlib as pl
from paperlib import _diagnosis_page as page
from paperlib import metrics
from paperlib.artifacts import ArtifactError
from paperlib.controls import CONTROLS
from paperlib.diagnose import BLOCKS, diagnose
from paperlib.recurrent import Network
from paperlib.schur import SUBSETS, ordered_schur

FEW = {"orders": 2, "controls": 2}


def random_network(n=9, seed=4, **options):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n, n)) / n**0.5
    return Network(rng.normal(size=(n, 2)), W, rng.normal(size=(3, n)) / n**0.5, **options)


def trials(n=40, steps=7, n_in=2, seed=1):
    return np.random.default_rng(seed).normal(size=(n, steps, n_in))


def chain(couplings, diagonal=(0.8, 0.78, 0.2, 0.1)):
    """A 4×4 network, upper triangular: R is units 1 and 2, outputs are units 1 and 3."""
    W = np.diag(diagonal).astype(float)
    for place, value in couplings.items():
        W[place] = value
    return Network(np.eye(4)[:, 3:], W, np.eye(4)[[0, 2]])


def change(found):
    return found.summary.set_index("removed")["change"]


@pytest.mark.parametrize(("block", "place"), [("CC", (2, 3)), ("CR", (0, 3))])
def test_the_one_coupling_there_is_carries_all_that_leaves_its_unit(block, place):
    found = diagnose(chain({place: 1.0}), trials(n_in=1), **FEW)
    for removed, value in change(found).items():
        # Input reaches the outputs through this coupling alone: without it they are zero.
        silent = diagnose(
            chain({place: 1.0}), trials(n_in=1), metric=lambda y: float(np.abs(y).max()), **FEW
        )
        left = silent.summary.set_index("removed")["metric"][removed]
        carries = block in removed.split("+")
        assert (left == pytest.approx(0, abs=1e-12)) == carries
        assert (value == pytest.approx(0, abs=1e-20)) != carries
    # A single coupling has no other place: its permutation is the ablation.
    drawn = found.table.query("kind == 'permuted' and quantity == 'change'")["value"]
    assert drawn.tolist() == pytest.approx([change(found)[block]] * 2)
    readings = found.summary.set_index("removed")["reading"]
    assert readings["RR"] == "empty" and readings["none"] == "unablated"
    assert set(found.table[found.table["kind"] == "gaussian"]["removed"]) == {block}


def test_numbers_are_those_of_the_definitions():
    network, inputs = random_network(), trials()
    targets = network.run(inputs) + 0.1 * trials(n_in=3, seed=5)
    mask = np.ones((40, 7)) * (np.arange(7) > 1)
    found = diagnose(network, inputs, targets, mask, alpha=0.7, draw_trials=15, **FEW)
    split = ordered_schur(network.W_hh).sectors(0.7)
    table = found.table
    for removed in SUBSETS:
        W = split.without(removed)
        for draw, n in ((None, 40), (0, 15)):
            rows = table[(table["removed"] == removed) & (table["kind"] == "block")]
            rows = rows[rows["draw"].isna() if draw is None else rows["draw"] == 0]
            values = rows.set_index("quantity")["value"]
            fvu, full = (
                metrics.fvu(network.run(inputs[:n], V), targets[:n], mask[:n]) for V in (W, None)
            )
            assert values["fvu"] == pytest.approx(fvu, rel=1e-12)
            assert values["change"] == pytest.approx(fvu - full, abs=1e-12)
            assert values["removed_mass"] == split.removed_mass(removed)
            if draw is None and removed != "none":
                assert values["s_dt"] == values["change"] / values["removed_mass"]
    assert (table[table["removed"] == "none"].query("quantity == 'change'")["value"] == 0).all()
    draws = table[table["draw"] > 0]
    counts = draws[draws["quantity"] == "change"].groupby("kind").size()
    assert counts.to_dict() == {"order": 2 * 6, **dict.fromkeys(CONTROLS, 2 * 3)}
    row = found.sectors[found.sectors["alpha"] == 0.7].iloc[0]
    assert (row["n_R"], row["mass_CC"]) == (split.n_R, split.removed_mass("CC"))


def test_an_order_inside_the_sectors_leaves_what_CR_removes():
    found = diagnose(random_network(), trials(), orders=4, controls=1, alpha=0.7)
    orders = found.table[(found.table["kind"] == "order") & (found.table["quantity"] == "change")]
    assert set(orders["removed"]) == set(SUBSETS) - {"none", "CR"}
    assert orders[orders["removed"] == "CC"]["value"].nunique() == 4


@pytest.mark.parametrize("how", ["permuted", "signs"])
def test_naming_the_units_otherwise_changes_nothing(how):
    network, inputs = random_network(), trials()
    P = np.eye(9)[np.random.default_rng(3).permutation(9)]
    if how == "signs":
        P = np.diag(np.sign(np.random.default_rng(3).normal(size=9)))
    other = Network(P @ network.W_xh, P @ network.W_hh @ P.T, network.W_hy @ P.T)
    targets = trials(n_in=3, seed=4)
    one, two = (
        diagnose(net, inputs, targets, alpha=0.7, **FEW).table for net in (network, other)
    )
    # Draws of the controls are made in the units' coordinates or within eigenvalue pairs'.
    one, two = (t[t["kind"].isin(["block", "order"])] for t in (one, two))
    pd.testing.assert_frame_equal(one, two, rtol=1e-8, atol=1e-10)


def test_signs_as_targets_bring_the_replay_accuracy():
    network, inputs = random_network(), trials()
    targets = np.sign(network.run(inputs))
    table = diagnose(network, inputs, targets, **FEW).table
    accuracy = table[table["quantity"] == "replay_accuracy"]
    assert accuracy[accuracy["removed"] == "none"]["value"].tolist() == [1.0, 1.0]
    assert set(accuracy["removed"]) == set(SUBSETS)
    table = diagnose(network, inputs, targets * 2, **FEW).table
    assert "replay_accuracy" not in set(table["quantity"])


def test_a_metric_that_writes_into_its_outputs_changes_nothing_else():
    def spoiling(outputs):
        value = float(outputs.std())
        outputs[:] = 0
        return value

    found = diagnose(random_network(), trials(), metric=spoiling, alpha=0.7, **FEW)
    rows = found.table[found.table["quantity"] == "metric"].query("kind == 'block'")
    again = rows[rows["draw"].isna()]["value"].tolist()
    assert again == pytest.approx(rows[rows["draw"] == 0]["value"].tolist())
    assert found.meta["measure"] == "metric" and again[0] > 0


def test_without_targets_the_unablated_network_is_the_target():
    network, inputs = random_network(), trials()
    found, told = (
        diagnose(network, inputs, targets, **FEW).summary.set_index("removed")
        for targets in (None, network.run(inputs))
    )
    np.testing.assert_allclose(found["discrepancy"], told["fvu"], rtol=1e-12)
    assert found["discrepancy"]["none"] == 0


@pytest.mark.parametrize("source", ["module", "solution"])
def test_what_load_network_takes_is_loaded(source):
    network, inputs = random_network(), trials()
    given = pl.Solution(network.W_xh, network.W_hh, network.W_hy)
    if source == "module":
        given = torch.nn.RNN(2, 9, bias=False, dtype=torch.float64)
        with torch.no_grad():
            given.weight_ih_l0.copy_(torch.as_tensor(network.W_xh))
            given.weight_hh_l0.copy_(torch.as_tensor(network.W_hh))
        network = Network(network.W_xh, network.W_hh)
    one, two = (diagnose(net, torch.as_tensor(inputs), **FEW) for net in (given, network))
    pd.testing.assert_frame_equal(one.table, two.table, rtol=1e-12)


def test_the_controls_do_not_depend_on_how_many_orders_are_drawn():
    one, two = (
        diagnose(random_network(), trials(), orders=n, controls=2, alpha=0.7).table for n in (1, 3)
    )
    assert (one["kind"] == "order").any()
    one, two = (t[t["kind"].isin(CONTROLS)].reset_index(drop=True) for t in (one, two))
    pd.testing.assert_frame_equal(one, two)


def test_the_summary_is_that_of_the_table():
    # Of a metric that goes up and down: the size of a change counts.
    found = diagnose(
        random_network(), trials(), metric=np.mean, orders=5, controls=6, alpha=0.7
    )
    changes = found.table[found.table["quantity"] == "change"].astype({"draw": float})
    for row in found.summary[found.summary["removed"].isin(BLOCKS)].itertuples():
        ours = changes[changes["removed"] == row.removed]
        drawn = ours[ours["kind"].isin(CONTROLS)]["value"]
        own = ours[(ours["kind"] == "block") & (ours["draw"] == 0)]["value"].item()
        assert row.control_median == drawn.median()
        assert row.control_share == np.mean(np.abs(drawn) >= abs(own))
        orders = ours[ours["kind"] == "order"]["value"]
        assert [row.order_low, row.order_high] == pytest.approx(
            [orders.min(), orders.max()], nan_ok=True
        )


WARNINGS = {
    "close": (
        chain({(0, 3): 1.0}, (0.8, 0.719, 0.2, 0.1)),
        "sits 0.13 % .* alpha = 0.89 n_R would be 2 instead of 1",
    ),
    "close above": (
        chain({(0, 3): 1.0}, (0.8, 0.721, 0.2, 0.1)),
        "sits 0.1[23] % .* alpha = 0.91 n_R would be 1 instead of 2",
    ),
    "R alone": (chain({(0, 3): 1.0}, (0.8, 0.79, 0.78, 0.77)), "puts all 4 coordinates into R"),
    "one block": (chain({(0, 3): 1.0}, (0.8, 0.3, 0.2, 0.1)), "R is one block .* T_RR is empty"),
    "equal": (chain({(0, 1): 1.0, (0, 3): 1.0}, (0.8, -0.8, 0.2, 0.1)), "All of the 2 blocks of R"),
    "nothing": (chain({(0, 3): 1.0}, (0, 0, 0, 0)), "spectral radius is 0"),
    "normal": (Network(np.eye(4)[:, 3:], np.diag([0.8, 0.3, 0.2, 0.1])), "W_hh is normal"),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_a_spectrum_that_decides_little_is_warned_of(case):
    network, message = WARNINGS[case]
    found = diagnose(network, trials(n_in=1), **FEW)
    assert sum(bool(re.search(message, warning)) for warning in found.warnings) == 1
    calm = diagnose(chain({(0, 1): 0.5, (2, 3): 0.1, (0, 3): 1.0}), trials(n_in=1), **FEW).warnings
    assert not any(re.search(message, warning) for warning in calm)


def test_few_trials_and_an_untrained_network_are_warned_of():
    found = diagnose(random_network(), trials(9), trials(9, n_in=3, seed=8), **FEW)
    assert any("9 trials" in warning for warning in found.warnings)
    assert any("no better than always" in warning for warning in found.warnings)


def test_sorted_trials_are_warned_of():
    inputs = trials()
    inputs[:20] *= 1e-3
    found = diagnose(random_network(), inputs, metric=np.var, draw_trials=20, **FEW)
    assert any("shuffle the trials" in warning for warning in found.warnings)


def blowing_up():
    """Unit 2 holds unit 1 down, which without that coupling grows as 3^t beyond float64."""
    network = Network(np.ones((2, 1)), [[3.0, -4.0], [0, 2.0]], [[1.0, 0]], activation="relu")
    return network, np.abs(trials(30, 700, 1)) * (np.arange(700) == 0)[:, None]


@pytest.mark.parametrize("measure", ["metric", "discrepancy"])
def test_outputs_that_blow_up_are_no_number_and_a_warning(measure):
    metric = (lambda y: float(y.mean())) if measure == "metric" else None
    found = diagnose(*blowing_up(), metric=metric, **FEW)
    assert not np.isfinite(change(found)["CR"]) and np.isfinite(found.summary[measure][0])
    assert any("T_C→R the outputs are not finite" in warning for warning in found.warnings)


def test_an_order_range_wider_than_the_change_is_warned_of():
    found = diagnose(random_network(20, seed=0), trials(), orders=10, controls=1, alpha=0.7)
    rows, warned = found.summary.set_index("removed"), {}
    for block, label in (("RR", "T_RR"), ("CC", "T_CC")):
        warned[block] = any("wider" in text and label in text for text in found.warnings)
        width = rows["order_high"][block] - rows["order_low"][block]
        assert warned[block] == (width > abs(rows["change"][block]))
    assert warned["CC"]


NETWORK, INPUTS = random_network(), trials()
OUTPUTS = NETWORK.run(INPUTS)
REFUSED = {
    "two axes": ({"inputs": INPUTS[0]}, r"inputs must have shape \(trial, time, 2\).*\[None\]"),
    "swapped": ({"inputs": INPUTS.swapaxes(1, 2)}, "inputs.*look swapped"),
    "channels": ({"inputs": trials(n_in=5)}, r"inputs.*\(40, 7, 5\)"),
    "empty": ({"inputs": INPUTS[:0]}, "inputs.*not be empty"),
    "ragged": ({"inputs": [[1, 2], [3]]}, "inputs must be one array of real numbers"),
    "words": ({"inputs": np.full((3, 2, 2), "a")}, "inputs must be an array of real numbers"),
    "complex": ({"inputs": INPUTS * 1j}, "inputs must be an array of real.*complex"),
    "NaN": (
        {"inputs": np.where(np.arange(7)[:, None] == 3, np.nan, INPUTS)},
        "inputs must be finite.*nan at.*3",
    ),
    "targets": ({"targets": OUTPUTS[:, :, :1]}, r"targets.*\(40, 7, 3\), got \(40, 7, 1\)"),
    "time first": ({"targets": OUTPUTS.swapaxes(0, 1)}, "targets.*look swapped"),
    "constant": ({"targets": np.ones_like(OUTPUTS)}, "targets must vary.*give metric="),
    "constant at first": (
        {"targets": OUTPUTS * (np.arange(40) >= 10)[:, None, None], "draw_trials": 10},
        "targets must vary.*first 10 trials.*draw_trials",
    ),
    "targets NaN": ({"targets": OUTPUTS * np.nan}, "targets must be finite"),
    "mask": ({"mask": np.ones((7, 40))}, r"mask must be \(trial, time\).*\(7, 40\)"),
    "mask values": ({"mask": np.full((40, 7), 2)}, "mask may hold only 0 and 1"),
    "mask empty": ({"mask": np.zeros((40, 7))}, "mask selects nothing"),
    "both": ({"metric": np.mean, "targets": OUTPUTS}, "metric takes the place of targets"),
    "no function": ({"metric": 3}, "metric must be a function of outputs, got 3"),
    "raises": ({"metric": lambda y: {}["x"]}, "metric failed on .* the unablated.*KeyError"),
    "None": ({"metric": lambda y: None}, "metric must return one finite real number, got None"),
    "array": ({"metric": lambda y: y.mean(0)}, "metric must return one finite real number"),
    "complex metric": ({"metric": lambda y: 1j}, "metric must return.*1j for the unablated"),
    "NaN metric": ({"metric": lambda y: np.nan}, "metric must return.*nan"),
    "NaN later": (
        {"metric": lambda y: np.nan if np.abs(y - OUTPUTS[: len(y)]).max() > 1e-9 else 1.0},
        "metric must return.*nan for the network without CR",
    ),
    "all trials": (
        {"metric": lambda y: float(np.mean((y - OUTPUTS) ** 2)), "draw_trials": 10},
        "metric failed.*first 10 of 40 trials.*draw_trials=40",
    ),
    "last step": ({"targets": np.ones((40, 3))}, "repeat them over time, with a mask"),
    "no readout": (
        {"network": replace(NETWORK, W_hy=None), "targets": np.ones((40, 7, 3))},
        "no readout.*give one",
    ),
    "alpha": ({"alpha": 1.2}, r"alpha must be in \(0, 1\], got 1.2"),
    "alphas": ({"alphas": [0.5, 0]}, r"alpha must be in \(0, 1\], got 0"),
    "orders": ({"orders": -1}, "orders must be a positive integer, got -1"),
    "controls": ({"controls": 2.5}, "controls must be a positive integer, got 2.5"),
    "draw_trials": ({"draw_trials": True}, "draw_trials must be a positive integer, got True"),
    "seed": ({"seed": -1}, "seeds? must be"),
    "network": ({"network": 3}, "source must be"),
    "blows up": (
        {
            "network": Network(np.ones((2, 2)), 30 * np.eye(2), activation="relu"),
            "inputs": trials(3, 300),
        },
        "network: its outputs on these inputs are not finite",
    ),
    "silent": (
        {"network": Network(np.zeros((2, 2)), np.eye(2))}, "unablated network's outputs must vary"
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_named(case):
    arguments, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        diagnose(**{"network": NETWORK, "inputs": INPUTS, **FEW, **arguments})


def test_a_numpy_or_torch_number_is_a_number():
    for metric in (np.mean, lambda y: torch.as_tensor(y).mean()):
        assert diagnose(NETWORK, INPUTS, metric=metric, **FEW).meta["measure"] == "metric"


@pytest.fixture(scope="module")
def found():
    return diagnose(NETWORK, INPUTS, alpha=0.7, alphas=[0.3, 0.5], **FEW)


def test_saving_twice_writes_the_same_bytes_and_reads_back(tmp_path, found):
    again = diagnose(NETWORK, INPUTS, alpha=0.7, alphas=[0.3, 0.5], **FEW)
    for name, diagnosis in (("a", found), ("b", again)):
        assert diagnosis.save(tmp_path / name) == tmp_path / name / "report.html"
    names = ["diagnosis.csv", "diagnosis.json", "diagnosis.png", "report.html"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    back = pd.read_csv(tmp_path / "a" / "diagnosis.csv", dtype={"draw": "Int64"})
    pd.testing.assert_frame_equal(
        back, found.table, check_exact=True, check_dtype=False,
    )
    record = json.loads((tmp_path / "a" / "diagnosis.json").read_text(encoding="utf-8"))
    assert record["alpha"] == 0.7 and record["warnings"] == list(found.warnings)
    assert list(found.sectors["alpha"]) == [0.3, 0.5, 0.7]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, found):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot write .*file"):
        found.save(tmp_path / "file")


def test_the_report_stands_alone(tmp_path):
    network = random_network(b_h=np.ones(9))
    spiked = Network(
        network.W_xh, network.W_hh, network.W_hy, remarks=("<script>alert(1)</script> & \"x\"",)
    )
    page = diagnose(spiked, trials(9), **FEW).save(tmp_path).read_text(encoding="utf-8")
    soup = BeautifulSoup(page, "html.parser")
    assert soup.html["lang"] == "en" and soup.title.text and soup.h1.text
    assert soup.find("meta", attrs={"name": "viewport"})
    assert not soup.find_all(["script", "link", "iframe"])
    images = soup.find_all(["img", "source"])
    assert len(images) == 2 and soup.img["alt"].startswith("Four panels")
    assert all((i.get("src") or i["srcset"]).startswith("data:image/png;base64,") for i in images)
    assert "http" not in re.sub(r"base64,[\w+/=]+", "", page)
    assert any("<script>alert(1)</script>" in li.text for li in soup.find_all("li"))
    assert any("9 trials" in li.text for li in soup.find_all("li"))
    first = soup.table
    assert len(first.tbody.find_all("tr")) == len(SUBSETS)
    assert all(cell.get("scope") == "col" for cell in first.thead.find_all("th"))


def test_the_figure_leaves_the_callers_style_and_figures(found):
    with mpl.rc_context({"savefig.dpi": 77}):
        before, open_figures = dict(mpl.rcParams), mpl.pyplot.get_fignums()
        figure = found.figure()
        assert dict(mpl.rcParams) == before and mpl.pyplot.get_fignums() == open_figures
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert len(titles) == 4 and f"$n_R$ = {found.split.n_R} of 9" in titles[0]
    assert f"{found.split.n_R} of 9" in found.alt
    with pytest.raises(ValueError, match="columns must be 1 or 2, got 3"):
        found.figure(3)
    assert found._repr_html_().count("<table>") == 2


@pytest.mark.parametrize("case", ["R alone", "nothing", "normal", "infinite"])
def test_every_kind_of_network_can_be_drawn(case):
    network, inputs = blowing_up() if case == "infinite" else (WARNINGS[case][0], trials(n_in=1))
    assert page.png(diagnose(network, inputs, **FEW)).startswith(b"\x89PNG")


def test_draws_that_cannot_differ_are_no_control_and_no_range():
    """T_RR of one coupling is itself when permuted; where T_RR is empty, order decides nothing."""
    W_hh = np.diag([1.0, 0.95, 0.3, 0.2])
    W_hh[0, 1], W_hh[0, 2], W_hh[2, 3] = 0.2, 0.3, 0.2
    rng = np.random.default_rng(0)
    one = pl.Network(rng.normal(size=(4, 2)), W_hh, rng.normal(size=(1, 4)))
    found = pl.diagnose(one, rng.normal(size=(40, 8, 2)), orders=6, controls=6)
    permuted = found.table.query("removed == 'RR' and kind == 'permuted' and quantity == 'change'")
    assert np.ptp(permuted["value"]) < 1e-12 and len(permuted) == 6
    rows = found.summary.set_index("removed")
    assert "permuted" not in rows.loc["RR", "reading"]
    W_hh[1, 1] = 0.5
    lone = pl.Network(one.W_xh, W_hh, one.W_hy)
    found = pl.diagnose(lone, rng.normal(size=(40, 8, 2)), orders=6, controls=6)
    rows = found.summary.set_index("removed")
    assert rows.loc["RR", "reading"] == "empty" and np.isnan(rows.loc["RR+CR", "order_low"])


class Model(torch.nn.Module):
    """A recurrent layer and a readout, with something done to the outputs after them."""

    def __init__(self, after=lambda y: y, batch_first=True):
        super().__init__()
        self.rnn, self.fc = torch.nn.RNN(2, 6, batch_first=batch_first), torch.nn.Linear(6, 1)
        self.after = after

    def forward(self, x):
        return self.after(self.fc(self.rnn(x)[0]))


@pytest.mark.parametrize(("after", "batch_first", "said"), [
    (lambda y: y, True, None),
    (lambda y: y, False, None),
    (lambda y: (y, None), True, None),
    (lambda y: y[:, -1], True, None),
    (lambda y: 2 * y, True, "give other outputs than the module's own forward, by up to"),
    (torch.relu, True, "give other outputs"),
    (lambda y: y.sum(), True, "could not be compared: it gives torch.Size"),
    (lambda y: y.missing, True, "could not be compared: AttributeError"),
])
def test_a_module_that_does_more_than_is_measured_is_warned_of(after, batch_first, said):
    torch.manual_seed(0)
    model = Model(after, batch_first)
    model.fc.bias.data.fill_(-0.1)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state = torch.get_rng_state()
    found = diagnose(model, trials(), orders=0, controls=0)
    text = [w for w in found.warnings if "forward" in w]
    assert (text == []) if said is None else (len(text) == 1 and said in text[0])
    assert model.training and torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_options_of_the_loader_pass_through():
    torch.manual_seed(0)
    cell = torch.nn.GRU(2, 6).state_dict()
    found = diagnose(cell, trials(), gate="reset", orders=1, controls=1)
    known = diagnose(pl.load_network(cell, gate="reset"), trials(), orders=1, controls=1)
    pd.testing.assert_frame_equal(found.table, known.table)
    with pytest.raises(TypeError, match="gate: no option of diagnose"):
        diagnose(random_network(), trials(), gate="reset")
    with pytest.raises(TypeError, match="aplha"):
        diagnose(cell, trials(), aplha=0.5)


def test_none_of_the_draws_leaves_the_blocks_themselves():
    every, none = (
        diagnose(random_network(), trials(), orders=n, controls=n).summary for n in (3, 0)
    )
    known = ["removed", "discrepancy", "change", "removed_mass", "change_drawn"]
    pd.testing.assert_frame_equal(every[known], none[known])
    assert none[["order_low", "order_high", "control_median", "control_share"]].isna().all(axis=None)
    assert set(none["reading"]) <= {"unablated", "empty", "changes nothing", "no controls drawn"}
    assert "—" in diagnose(random_network(), trials(), orders=0, controls=0).text()


def test_one_output_needs_no_axis_of_its_own():
    network = replace(random_network(), W_hy=np.ones((1, 9)))
    targets = trials(n_in=1, seed=5)
    flat, full = (diagnose(network, trials(), y, orders=1, controls=1)
                  for y in (targets[..., 0], targets))
    pd.testing.assert_frame_equal(flat.table, full.table)


def test_the_change_on_the_trials_of_the_draws_stands_beside_them():
    found = diagnose(random_network(), trials(n=60), orders=2, controls=2, draw_trials=31)
    known = diagnose(random_network(), trials(n=60)[:31], orders=2, controls=2).summary
    summary = found.summary.set_index("removed")
    # The discrepancy's reference is that of the same trials: only then do both agree.
    np.testing.assert_allclose(summary["change_drawn"], known.set_index("removed")["change"])
    assert "change, first 31" in found.text() and "first 31 trials" in found._repr_html_()
    whole = diagnose(random_network(), trials(n=60), orders=2, controls=2)
    assert "change, first" not in whole.text() and "on all trials" in whole._repr_html_()


def test_a_named_metric_is_called_by_its_name():
    def hit_rate(outputs):
        return float((outputs > 0).mean())

    found = diagnose(random_network(), trials(), metric=hit_rate, orders=1, controls=1)
    assert "hit_rate" in found.text() and "hit_rate" in found.alt and "hit_rate" in repr(found)
    assert found.meta["measure"] == "metric"
    found = diagnose(random_network(), trials(), metric=lambda y: 1.0, orders=1, controls=1)
    assert "lambda" not in found.text() and found.meta["metric"] is None


def test_a_block_the_network_is_better_without_is_said_so():
    network = random_network()
    without = ordered_schur(network.W_hh).sectors().without("CC")
    targets = network.run(trials(), without)  # what the network does without that block
    found = diagnose(network, trials(), targets, orders=2, controls=2)
    rows = found.summary.set_index("removed")
    assert rows.loc["CC", "fvu"] < 1e-20 and rows.loc["CC", "change"] < 0
    assert rows.loc["CC", "reading"].startswith("better without it; ")


def test_an_order_unlike_all_others_is_warned_of():
    from paperlib.diagnose import _about_the_numbers

    rows = pd.DataFrame({
        "removed": list(SUBSETS), "discrepancy": 0.5, "change": 0.5, "change_drawn": 0.5,
        "order_low": 0.4, "order_high": 0.6,
    }).set_index("removed", drop=False)
    rows.loc["CC", ["order_low", "order_high"]] = 0.1, 0.2
    table = pd.DataFrame(
        [(s, "block", 0, "change", 0.5) for s in SUBSETS],
        columns=["removed", "kind", "draw", "quantity", "value"],
    )
    meta = {"trials": 100, "measure": "discrepancy", "draw_trials": 100, "orders": 9}
    (said,) = _about_the_numbers(table, rows, meta, {})
    assert said.startswith("Without T_CC") and said.endswith("the change belongs to that order.")
    assert "0.1 to 0.2 in 9 random orders" in said
