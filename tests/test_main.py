"""``python -m paperlib diagnose``: what it prints and writes, and how it refuses."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

import paperlib as pl
from paperlib.__main__ import as_options, main

OPTIONS = ["--orders", "1", "--controls", "1", "--quiet"]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.RNN(2, 6, batch_first=True)
        self.fc = torch.nn.Linear(6, 1)


@pytest.fixture
def files(tmp_path):
    """Weights and data, as arguments, and the data."""
    model, rng = Model(), np.random.default_rng(0)
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    data = {"inputs": rng.normal(size=(35, 5, 2)), "targets": rng.normal(size=(35, 5, 1))}
    np.savez(tmp_path / "data.npz", **data)
    return [str(tmp_path / "weights.pt"), str(tmp_path / "data.npz")], data, model


def diagnosed(folder):
    return pd.read_csv(folder / "diagnosis.csv", dtype={"draw": "Int64"})


def test_a_state_dict_gets_the_profile_of_the_module(files, tmp_path, capsys):
    (arguments, data, model), out = files, tmp_path / "out"
    assert main(["diagnose", *arguments, "--out", str(out), "--alpha", "0.5", *OPTIONS]) == 0
    assert capsys.readouterr() == (f"{out / 'report.html'}\n", "")
    expected = pl.diagnose(model, **data, alpha=0.5, orders=1, controls=1)
    pd.testing.assert_frame_equal(diagnosed(out), expected.table, check_dtype=False, rtol=1e-12)
    record = json.loads((out / "diagnosis.json").read_text(encoding="utf-8"))
    assert record["weights"].startswith("weights.pt, SHA-256 ") and str(tmp_path) not in str(record)


def test_the_same_run_twice_writes_the_same_bytes(files, tmp_path):
    for name in "ab":
        main(["diagnose", *files[0], "--out", str(tmp_path / name), "--seed", "3", *OPTIONS])
    for name in ("diagnosis.csv", "diagnosis.json", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_time_first_turns_every_array(files, tmp_path):
    (arguments, data, _), mask = files, np.arange(5) > np.arange(35)[:, None] % 4
    np.savez(tmp_path / "data.npz", **data, mask=mask)
    turned = {name: value.swapaxes(0, 1) for name, value in {**data, "mask": mask}.items()}
    np.savez(tmp_path / "turned.npz", **turned)
    main(["diagnose", *arguments, "--out", str(tmp_path / "a"), *OPTIONS])
    arguments = [arguments[0], str(tmp_path / "turned.npz"), "--time-first"]
    main(["diagnose", *arguments, "--out", str(tmp_path / "b"), *OPTIONS])
    pd.testing.assert_frame_equal(diagnosed(tmp_path / "a"), diagnosed(tmp_path / "b"))


def test_options_reach_the_loader(files, tmp_path):
    _, data, _ = files
    rng = np.random.default_rng(1)
    weights = {"W_xh": rng.normal(size=(2, 6)), "W_hh": rng.normal(size=(6, 6)) / 3}
    h_0 = rng.normal(size=6)
    np.savez(tmp_path / "rows.npz", **weights)
    np.savez(tmp_path / "inputs.npz", inputs=data["inputs"], h_0=h_0, subject=np.arange(3))
    options = [
        "--convention", "row", "--activation", "relu", "--leak", "0.5", "--leak-on", "potential",
    ]
    arguments = [str(tmp_path / "rows.npz"), str(tmp_path / "inputs.npz")]
    main(["diagnose", *arguments, *options, "--out", str(tmp_path / "out"), *OPTIONS])
    network = pl.Network(
        weights["W_xh"].T, weights["W_hh"].T, activation="relu", leak=0.5, leak_on="potential",
        h_0=h_0,
    )
    expected = pl.diagnose(network, data["inputs"], orders=1, controls=1).table
    found = diagnosed(tmp_path / "out")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-9, atol=1e-12)
    assert "subject" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_hidden_states_and_a_gate_can_be_asked_for(files, tmp_path):
    arguments, data, _ = files
    np.savez(tmp_path / "inputs.npz", inputs=data["inputs"])
    torch.save(torch.nn.GRU(2, 6).state_dict(), tmp_path / "gru.pt")
    for name, options in (("weights.pt", ["--readout", "none"]), ("gru.pt", ["--gate", "update"])):
        arguments = [str(tmp_path / name), str(tmp_path / "inputs.npz"), *options]
        assert main(["diagnose", *arguments, "--out", str(tmp_path / name[:3]), *OPTIONS]) == 0
        record = json.loads((tmp_path / name[:3] / "diagnosis.json").read_text(encoding="utf-8"))
        assert record["n_out"] == 6 and record["measure"] == "discrepancy"


def refused(arguments, capsys):
    """The one line on stderr, and the exit code."""
    try:
        code = main(["diagnose", *map(str, arguments), *OPTIONS])
    except SystemExit as exit:
        code = exit.code
    printed, error = capsys.readouterr()
    assert printed == "" and error.count("\n") == 1
    return code, error


class Unsafe:
    """Would write a file if it were unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


@pytest.mark.parametrize(("write", "message"), [
    (lambda path, data: None, "data.npz does not exist"),
    (lambda path, data: path.mkdir(), "data.npz cannot be read as a .npz"),
    (lambda path, data: path.write_bytes(b""), "data.npz cannot be read as a .npz"),
    (lambda path, data: path.write_bytes(b"PK\x03\x04rub"), "data.npz cannot be read as a .npz"),
    (lambda path, data: path.write_text("1, 2"), "data.npz cannot be read as a .npz"),
    (lambda path, data: np.savez(path, x=data["inputs"]), "no array named inputs; it holds x"),
    (
        lambda path, data: np.savez(path, inputs=np.array([Unsafe(path.parent / "marker")])),
        "data.npz cannot be read as a .npz",
    ),
    (
        lambda path, data: np.savez(path, inputs=data["inputs"], targets=data["targets"][:3]),
        "targets must have the shape of the outputs",
    ),
])
def test_bad_data_is_one_line(files, tmp_path, capsys, write, message):
    (tmp_path / "data.npz").unlink()
    write(tmp_path / "data.npz", files[1])
    code, error = refused([*files[0], "--out", tmp_path / "out"], capsys)
    assert code == 2 and error.startswith("paperlib: error: ") and message in error
    assert not (tmp_path / "marker").exists() and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("options", "message"), [
    (["--alpha", "2"], "alpha must be in (0, 1], got 2.0"),
    (["--alpha", "x"], "argument --alpha: invalid float value: 'x'"),
    (["--orders", "-1"], "orders must be a positive integer"),
    (["--seed", "-1"], "seed"),
    (["--gate", "reset"], "--gate reset"),
    (["--leak", "0"], "leak must be in (0, 1]"),
    (["--readout", "decoder"], "--readout decoder"),
    (["--activation", "sine"], "argument --activation: invalid choice"),
    (["--time-first"], "inputs"),
])
def test_bad_options_are_one_line(files, tmp_path, capsys, options, message):
    arguments, data, _ = files
    if options == ["--time-first"]:
        np.savez(tmp_path / "data.npz", inputs=data["inputs"][0])
    # The last of an option given twice counts.
    code = main_with(arguments, options, tmp_path)
    printed, error = capsys.readouterr()
    assert code == 2 and printed == ""
    assert error.startswith("paperlib: error: ") and message in error and error.count("\n") == 1


def main_with(arguments, options, tmp_path):
    try:
        return main(["diagnose", *arguments, *OPTIONS, *options, "--out", str(tmp_path / "out")])
    except SystemExit as exit:
        return exit.code


def test_a_folder_that_cannot_be_written_is_one_line(files, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    code, error = refused([*files[0], "--out", tmp_path / "taken"], capsys)
    assert code == 2 and "cannot write" in error


def test_the_module_runs_and_prints_the_table(files, tmp_path):
    command = [
        sys.executable, "-m", "paperlib", "diagnose", *files[0], "--out", "out", "--orders", "1",
        "--controls", "1",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment("ascii")
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("removed") and lines[1].split()[0] == "nothing"
    # Aligned: what is below a heading begins where it does.
    at = lines[0].index("FVU")
    assert all(line[at - 2 : at] == "  " and line[at] != " " for line in lines[:9])
    assert "Warning: " in done.stdout and lines[-1].startswith("Report: out")
    assert (tmp_path / "out" / "report.html").is_file()
    command[4] = "missing.pt"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment())
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "paperlib: error: missing.pt does not exist\n"


def environment(encoding="utf-8"):
    import os
    from pathlib import Path

    here = str(Path(pl.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": here, "PYTHONIOENCODING": encoding}


@pytest.mark.parametrize(("text", "expected"), [
    ("activation='relu' says otherwise", "--activation relu says otherwise"),
    ("say which by readout=", "say which by --readout"),
    ("look at activation=, leak=, the rest", "look at --activation, --leak, the rest"),
    ("leak_on='potential', leak=0.5", "--leak-on potential, --leak 0.5"),
    ("readout=False", "--readout none"),
    ("with alpha = 0.93 n_R would be 4", "with alpha = 0.93 n_R would be 4"),
    ("raise draw_trials, or draw_trials=40", "raise draw_trials, or --draw-trials 40"),
])
def test_messages_speak_of_options(text, expected):
    assert as_options(text) == expected


def test_an_older_report_is_said_to_be_replaced(files, tmp_path, capsys):
    arguments = ["diagnose", *files[0], "--out", str(tmp_path / "out"), *OPTIONS[:-1]]
    main(arguments)
    assert "in place of" not in capsys.readouterr().out
    main(arguments)
    assert capsys.readouterr().out.rstrip().endswith("report.html (in place of an older one)")


def test_no_draws_can_be_asked_for(files, tmp_path):
    options = ["--orders", "0", "--controls", "0", "--quiet", "--out", str(tmp_path / "out")]
    assert main(["diagnose", *files[0], *options]) == 0
    assert set(diagnosed(tmp_path / "out")["kind"]) == {"block"}


def test_the_help_lists_the_names_of_arrays(capsys):
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    printed = capsys.readouterr().out
    assert "None" not in printed
    for names in pl.ARRAY_NAMES.values():
        assert all(name in printed for name in names)
