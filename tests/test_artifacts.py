"""Files: whole or not at all, checked on the way in and on the way out."""

import functools
import json
import os
import resource
import signal
import stat

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

import paperlib as pl
from paperlib import artifacts
from paperlib.artifacts import (
    RESULT_COLUMNS,
    ArtifactError,
    Paths,
    load_or_train,
    load_solution,
    read_results,
    reported,
    save_solution,
    write_atomically,
    write_results,
)

TINY = dict(n_hidden=8, epochs=1, batches_per_epoch=3, batch=4, progress=False)


def results(**columns):
    row = dict(zip(RESULT_COLUMNS, (
        "sine", "constant_cue", "dense_orthogonal", 8, 0, 0.9, "none", "fvu", 1 / 3
    ), strict=True))
    return pd.DataFrame([{**row, **columns}])


@pytest.fixture
def solution():
    return pl.train(pl.Sine(), "dense_orthogonal", [3], **TINY)[0]


def test_results_survive_the_round_trip_exactly(tmp_path):
    values = [1 / 3, 1e-300, -0.0, np.nan, 6.02e23]
    table = pd.concat([results(seed=i, value=v) for i, v in enumerate(values)], ignore_index=True)
    path = tmp_path / "deep" / "x.csv"
    write_results(table, path)
    pd.testing.assert_frame_equal(read_results(path), table, check_exact=True)
    assert path.read_text().splitlines()[0] == ",".join(RESULT_COLUMNS)


@pytest.mark.parametrize(("table", "named"), [
    (results().drop(columns="alpha"), "columns"),
    (results().iloc[:, ::-1], "columns"),
    (results().iloc[:0], "no rows"),
    (results(quantity="vibes"), "unknown quantity 'vibes'.*allowed: fvu"),
    (results(quantity="delta_fvu_order"), "unknown quantity 'delta_fvu_order'"),
    (results(quantity="delta_fvu_order_x"), "unknown quantity 'delta_fvu_order_x'"),
    (results(quantity="replay_accuracy_lag_01"), "unknown quantity"),
    (results(value="much"), "not a number"),
    (pd.concat([results(), results(value=2.0)]), "stands twice"),
])
def test_results_outside_the_contract_are_refused_both_ways(tmp_path, table, named):
    path = tmp_path / "bad.csv"
    with pytest.raises(ArtifactError, match=f"bad.csv.*{named}"):
        write_results(table, path)
    assert not path.exists()
    table.to_csv(path, index=False)
    with pytest.raises(ArtifactError, match=f"bad.csv.*{named}"):
        read_results(path)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"a,b\n1,2,3\n4\n", b"hello"])
def test_damaged_results_are_named(tmp_path, content):
    path = tmp_path / "damaged.csv"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="damaged.csv"):
        read_results(path)


def test_missing_results_say_what_to_run(tmp_path):
    with pytest.raises(ArtifactError, match="task_sine.csv does not exist.*make book"):
        read_results(tmp_path / "task_sine.csv")


def test_solution_survives_the_round_trip(tmp_path, solution):
    path = save_solution(solution, tmp_path / "seed-3.safetensors")
    again = load_solution(path)
    for name in ("W_xh", "W_hh", "W_hy", "history"):
        assert np.array_equal(getattr(again, name), getattr(solution, name))
    assert again.meta == solution.meta
    assert again.meta["task_parameters"] == pl.Sine().parameters and again.seed == 3


def test_damaged_and_foreign_solutions_are_named(tmp_path, solution):
    path = save_solution(solution, tmp_path / "s.safetensors")
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\x00" * 64, b"PK\x03\x04 not ours"):
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match="s.safetensors.*delete it"):
            load_solution(path)
    safetensors.numpy.save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(ArtifactError, match="s.safetensors.*not written by paperlib"):
        load_solution(path)
    arrays = {"W_xh": np.zeros((3, 2)), "W_hh": np.zeros((3, 4)), "W_hy": np.zeros((1, 3)),
              "history": np.zeros(1)}
    safetensors.numpy.save_file(arrays, path, metadata={"paperlib": "{}"})
    with pytest.raises(ArtifactError, match="s.safetensors.*W_hh"):
        load_solution(path)
    with pytest.raises(ArtifactError, match="does not exist"):
        load_solution(tmp_path / "none.safetensors")


def test_load_or_train_trains_once_and_only_what_is_missing(tmp_path, monkeypatch):
    trained = []
    real = artifacts.train

    @functools.wraps(real)
    def counting(task, construction, seeds, **recipe):
        trained.append(list(seeds))
        return real(task, construction, seeds, **recipe)

    monkeypatch.setattr(artifacts, "train", counting)
    first = load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0, 1], **TINY)
    again = load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0, 1], **TINY)
    assert trained == [[0, 1]]
    assert all(np.array_equal(a.W_hh, b.W_hh) for a, b in zip(first, again, strict=True))
    more = load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [1, 2, 0], **TINY)
    assert trained == [[0, 1], [2]] and [s.seed for s in more] == [1, 2, 0]
    load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0], **{**TINY, "learning_rate": 1e-2})
    assert trained[2:] == [[0]]
    load_or_train(tmp_path, pl.Sine(frequency_max=0.2), "dense_orthogonal", [0], **TINY)
    assert trained[3:] == [[0]]
    monkeypatch.setattr(artifacts, "training_source_hash", lambda _: "changed")
    load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0], **TINY)
    assert trained[4:] == [[0]]


def test_conventions_have_folders_of_their_own(tmp_path):
    paths = Paths(tmp_path)
    folders = {
        paths.ensemble(pl.make_task("sine", c), "dense_orthogonal", 64).name
        for c in pl.Sine.conventions
    }
    assert len(folders) == len(pl.Sine.conventions) and "sine-dense_orthogonal-64" in folders


def test_interrupt_in_training_keeps_what_is_stored(tmp_path, monkeypatch):
    load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0], **TINY)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("paperlib.training._step", interrupted)
    # A shell in the background lets its children ignore the signal.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0, 1], **TINY)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="halfway"), write_atomically(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("halfway")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_full_disk_is_named_and_loses_nothing(tmp_path, solution):
    """A limit on file size is what a full disk looks like to the writer."""
    path = tmp_path / "kept.csv"
    write_results(results(), path)
    before = path.read_bytes()
    big = pd.concat([results(seed=i) for i in range(3000)], ignore_index=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.raises(ArtifactError, match="cannot write .*kept.csv"):
            write_results(big, path)
        with pytest.raises(ArtifactError, match="cannot write .*s.safetensors"):
            save_solution(solution, tmp_path / "s.safetensors")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["kept.csv"]


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "blocked").write_text("")
    with pytest.raises(ArtifactError, match="cannot write .*blocked"):
        write_results(results(), tmp_path / "blocked" / "x.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(ArtifactError, match="cannot write .*x.csv.*[Pp]ermission"):
            write_results(results(), tmp_path / "x.csv")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_numbered_quantities_belong_to_families(tmp_path):
    table = pd.concat([results(quantity=f"replay_accuracy_lag_{k}") for k in (1, 2, 3000)])
    write_results(table, tmp_path / "x.csv")
    assert {artifacts.family(q) for q in table["quantity"]} == {"replay_accuracy_lag"}
    assert artifacts.family("delta_fvu_order_0") == "delta_fvu_order"
    assert artifacts.family("fvu") == "fvu" and artifacts.family("n_R") == "n_R"


def test_reported_numbers_of_the_paper():
    table = reported()
    assert table["id"].is_unique
    assert set(table["quantity"]) <= set(artifacts.QUANTITIES)
    number_or_words = table["value"].notna() ^ (table["words"] != "")
    assert number_or_words.all()
    assert set(reported("sine")["task"]) == {"sine"}


def test_no_pickle_in_a_solution(tmp_path, solution):
    path = save_solution(solution, tmp_path / "s.safetensors")
    header_size = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + header_size])
    assert set(header) == {"W_xh", "W_hh", "W_hy", "history", "__metadata__"}


@pytest.mark.parametrize(("change", "named"), [
    ({"alpha": 7.0}, "'alpha' holds.*7.0"),
    ({"alpha": "wide"}, "'alpha' holds 'wide'"),
    ({"seed": "first"}, "'seed' holds 'first'"),
    ({"n_hidden": 0}, "'n_hidden' holds.*0"),
    ({"removed": "XX"}, "unknown subset 'XX'.*RR"),
])
def test_results_with_impossible_labels_are_refused(tmp_path, change, named):
    with pytest.raises(ArtifactError, match=f"bad.csv.*{named}"):
        write_results(results(**change), tmp_path / "bad.csv")


def test_defaults_of_the_recipe_count(tmp_path):
    given = {k: v for k, v in TINY.items() if k != "progress"}
    other = load_or_train(
        tmp_path, pl.Sine(), "dense_orthogonal", [0], progress=False, **given, learning_rate=0.5
    )[0]
    default = load_or_train(
        tmp_path, pl.Sine(), "dense_orthogonal", [0], progress=False, **given
    )[0]
    assert not np.array_equal(other.W_hh, default.W_hh)


def test_a_file_under_another_seeds_name_is_not_that_seed(tmp_path):
    first, second = load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0, 1], **TINY)
    folder = Paths(tmp_path).ensemble(pl.Sine(), "dense_orthogonal", 8)
    (folder / "seed-0.safetensors").write_bytes((folder / "seed-1.safetensors").read_bytes())
    again = load_or_train(tmp_path, pl.Sine(), "dense_orthogonal", [0], **TINY)[0]
    assert np.array_equal(again.W_hh, first.W_hh)


@pytest.mark.parametrize("header", ["[]", "null", '"x"', "{"])
def test_a_header_that_is_no_table_is_named(tmp_path, header):
    arrays = {"W_xh": np.zeros((3, 2)), "W_hh": np.zeros((3, 3)), "W_hy": np.zeros((1, 3)),
              "history": np.zeros(1)}
    path = tmp_path / "s.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata={"paperlib": header})
    with pytest.raises(ArtifactError, match="s.safetensors.*delete it"):
        load_solution(path)


def test_a_recipe_may_hold_a_curriculum(tmp_path):
    task = pl.Copy(s=2, d=1, lags=4)
    recipe = dict(trainer=pl.train_copy, n_hidden=4, batch=4, progress=False)
    first, again = (
        pl.load_or_train(
            tmp_path, task, "dense_default", [0], curriculum=pl.Curriculum(max_steps=3), **recipe
        )[0]
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.W_hh, again.W_hh)
    assert first.meta["recipe"]["curriculum"]["max_steps"] == 3


def test_a_study_shows_its_own_results_or_the_published_ones():
    own = pl.study_results("refit", [results(), results()])
    assert len(own) == 2 * len(results()) and own.index.is_unique
    published = pl.read_results(pl.project_root() / "published" / "refit.csv")
    pd.testing.assert_frame_equal(pl.study_results("refit", []), published)
    with pytest.raises(ArtifactError, match="nothing_such"):
        pl.study_results("nothing_such", [])
