"""The notebook runner, the table of notebooks, the profiles and the driver.

What the driver does is tried on a project of three tiny notebooks in a temporary folder, with the
repository's own workflow.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest
import yaml

from workflow import WorkflowError, book, catalogue, drive, parameters, run_notebook

ROOT = Path(__file__).resolve().parents[1]

HEADER = """\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # NAME

# %% tags=["parameters"]
"""
TASK = """\
out = "build/interactive"  # folder of the results
n_hidden = 64  # hidden units
seeds = [0, 1, 2]  # one network each
learning_rate = 1e-3  # of Adam
label = "plain"  # any text
seconds = 0.0  # time to spend
fail = False  # whether to fail half way

# %%
import sys
import time
from pathlib import Path

from myst_nb import glue

print("training: 50%", file=sys.stderr)
time.sleep(seconds)
if fail:
    raise RuntimeError("asked to fail")
glue("training_seconds", 0.25, display=False)

# %%
glue("n_hidden", str(n_hidden), display=False)
(Path("..") / out / "results" / "NAME.csv").write_text(f"{n_hidden},{seeds}\\n");

# %%
print("units", n_hidden)
"""
FIGURE = """\
out = "build/interactive"  # folder of the results

# %%
from pathlib import Path

folder = Path("..") / out / "results"
text = [(folder / f"task_{name}.csv").read_text() for name in "ab"]
(folder / "figure_z.csv").write_text("".join(text))
print(text)
"""
TABLE = {
    "sources": ["lib/**/*.py"],
    "notebooks": {
        "task_a": {"kind": "task"},
        "task_b": {"kind": "task"},
        "figure_z": {"kind": "figure", "needs": ["task_a", "task_b"]},
    },
}
TOC = {
    "format": "jb-book",
    "root": "index",
    "chapters": [{"file": f"notebooks/{name}"} for name in TABLE["notebooks"]],
}


def make_project(root: Path) -> Path:
    """A project of three notebooks that is run by the repository's workflow."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "workflow", root / "workflow", ignore=skip)
    for name in ("_static", "book/_ext"):
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    for folder in ("notebooks", "lib"):
        (root / folder).mkdir()
    (root / "lib" / "one.py").write_text("x = 1\n")
    for name in TABLE["notebooks"]:
        text = HEADER + (TASK if name.startswith("task") else FIGURE)
        (root / "notebooks" / f"{name}.py").write_text(text.replace("NAME", name))
    config = root / "workflow" / "config"
    for path in config.glob("*.yml"):
        path.unlink()
    (config / "notebooks.yml").write_text(yaml.safe_dump(TABLE))
    write_profile(root, "paper")
    write_profile(root, "slow", common={"seconds": 60.0})
    (root / "_toc.yml").write_text(yaml.safe_dump(TOC))
    (root / "index.md").write_text("# Root\n\n{glue:text}`notebooks/task_a.ipynb::n_hidden:s`\n")
    shutil.copy(ROOT / "_config.yml", root)
    (root / "book" / "references.bib").write_text("")
    return root


def write_profile(root: Path, name: str, common=None, task_b=None) -> None:
    """A profile of the small project."""
    content = {
        "profile": name,
        "common": {"task": {"n_hidden": 8, "seeds": [0], **(common or {})}},
        "notebooks": {"task_b": task_b or {}},
    }
    (root / "workflow" / "config" / f"{name}.yml").write_text(yaml.safe_dump(content))


def command(module: str, *arguments: str) -> list[str]:
    """A command of the workflow."""
    return [sys.executable, "-m", f"workflow.{module}", *arguments]


def call(root: Path, module: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run a command of the workflow in a project."""
    done = command(module, *arguments)
    return subprocess.run(done, cwd=root, capture_output=True, text=True, timeout=300)


def would_run(root: Path, profile: str = "paper") -> set[str]:
    """Notebooks that Snakemake would run now."""
    plan = subprocess.run(
        drive.snakemake(profile, "--dry-run"), cwd=root, capture_output=True, text=True, timeout=120
    )
    assert plan.returncode == 0, plan.stdout + plan.stderr
    rules = re.findall(r"^(?:local)?rule (\w+):", plan.stdout + plan.stderr, re.MULTILINE)
    return set(rules) - {"all"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The small project, its notebooks not run yet."""
    return make_project(tmp_path_factory.mktemp("work") / "project")


@pytest.fixture(scope="module")
def ran(project):
    """The small project after a run of its profile ``paper``."""
    done = call(project, "drive", "--profile", "paper", "notebooks")
    assert done.returncode == 0, done.stdout + done.stderr
    return project, done.stdout


def cell(text: str):
    """A parameters cell with its parameters."""
    made = nbformat.v4.new_code_cell(text)
    return made, parameters.read_parameters(made, "some_notebook")


EXAMPLE = """\
out = "build/x"  # folder
n_hidden = 64  # hidden units
rate = 1e-3  # step
seeds = [
    0,
    1,
]  # one network each
flag = False
name = "ä"; other = 2"""


# --- parameters ---------------------------------------------------------------------------------


def test_parameters_are_read_with_defaults_and_comments():
    _, found = cell(EXAMPLE)
    assert {p.name: p.default for p in found.values()} == {
        "out": "build/x", "n_hidden": 64, "rate": 1e-3, "seeds": [0, 1], "flag": False,
        "name": "ä", "other": 2,
    }
    assert found["seeds"].comment == "one network each"
    assert found["n_hidden"].comment == "hidden units"


@pytest.mark.parametrize(
    "line", ["b = a * 2", "b = range(3)", "import os", "a: int = 3", "b = c = 3", "print(1)"]
)
def test_a_parameters_cell_holds_literals_only(line):
    with pytest.raises(WorkflowError, match=re.escape(line)):
        cell(f"a = 1\n{line}")


def test_values_replace_the_defaults_in_place():
    made, found = cell(EXAMPLE)
    given = {"n_hidden": 8, "seeds": [5], "name": 'say "é"', "other": -1, "rate": 1}
    values = parameters.check(given, found, "some_notebook")
    parameters.write_values(made, values, found)
    assert {p.name: p.default for p in cell(made.source)[1].values()} == values
    assert "n_hidden = 8  # hidden units" in made.source
    assert "seeds = [5]  # one network each" in made.source
    assert isinstance(values["rate"], float)


def test_equal_values_leave_the_source_as_it_is():
    made, found = cell(EXAMPLE)
    parameters.write_values(made, parameters.check({"rate": 0.001}, found, "x"), found)
    assert made.source == EXAMPLE


def test_an_unknown_parameter_is_an_error_that_lists_the_known():
    with pytest.raises(WorkflowError) as error:
        parameters.check({"n_hiden": 3}, cell(EXAMPLE)[1], "some_notebook")
    message = str(error.value)
    assert "'n_hiden'" in message and "Did you mean 'n_hidden'?" in message
    assert "n_hidden = 64  # hidden units" in message and "some_notebook" in message


@pytest.mark.parametrize(
    ("name", "value", "wanted", "got"),
    [
        ("n_hidden", 3.5, "int", "float"),
        ("n_hidden", "3", "int", "str"),
        ("n_hidden", True, "int", "bool"),
        ("n_hidden", None, "int", "NoneType"),
        ("rate", "fast", "float", "str"),
        ("rate", False, "float", "bool"),
        ("seeds", 3, "list of int", "int"),
        ("seeds", [0, 1.5], "list of int", "list of float or int"),
        ("seeds", [[0]], "list of int", "list of list of int"),
        ("flag", 1, "bool", "int"),
        ("out", 3, "str", "int"),
    ],
)
def test_a_value_of_another_type_is_an_error(name, value, wanted, got):
    message = re.escape(f"{name!r} of some_notebook must be {wanted} (default")
    with pytest.raises(WorkflowError, match=f"{message}.*not {re.escape(got)}"):
        parameters.check({name: value}, cell(EXAMPLE)[1], "some_notebook")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("n_hidden=32", ("n_hidden", 32)),
        ("seeds=[0, 1]", ("seeds", [0, 1])),
        ("flag=true", ("flag", True)),
        ("name=32", ("name", "32")),  # text stays text
        ("name=a=b", ("name", "a=b")),
        ("rate=1e-4", ("rate", 1e-4)),
    ],
)
def test_assignments_from_a_command_line(text, wanted):
    assert parameters.parse_assignment(text, cell(EXAMPLE)[1]) == wanted


@pytest.mark.parametrize("text", ["n_hidden", "=3", "n hidden=3"])
def test_what_is_no_assignment_is_an_error(text):
    with pytest.raises(WorkflowError, match="name=value"):
        parameters.parse_assignment(text, cell(EXAMPLE)[1])


# --- table and profiles -------------------------------------------------------------------------


def test_the_table_lists_every_notebook_and_every_page():
    rows = catalogue.table()
    assert set(rows) == {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    pages = {page.split("/")[1] for page in book.toc_pages() if page.startswith("notebooks/")}
    assert pages == set(rows)


def test_notebooks_come_after_what_they_need():
    seen = set()
    for row in catalogue.table().values():
        assert set(row.needs) <= seen
        seen.add(row.name)


@pytest.mark.parametrize("profile", catalogue.profiles())
def test_profiles_fit_the_notebooks_parameters(profile):
    config = catalogue.load_profile(profile)
    assert config["profile"] == profile
    for name, given in catalogue.parameters(config).items():
        assert "out" not in given  # the workflow sets it
        parameters.prepare(name, given)


def test_the_paper_profile_has_the_papers_sizes():
    given = catalogue.parameters(catalogue.load_profile("paper"))
    for name in ("task_flip_flop", "task_sine", "task_integration"):
        row = given[name]
        assert (row["n_hidden"], row["seeds"], row["construction"]) == (
            64, [0, 1, 2], "dense_orthogonal",
        )
        assert (row["epochs"], row["batches_per_epoch"], row["batch"]) == (30, 128, 64)
        assert (row["learning_rate"], row["alpha"]) == (1e-3, 0.9)


def own_config(monkeypatch, folder: Path, content: dict) -> None:
    """Let the catalogue read another table."""
    (folder / "notebooks.yml").write_text(yaml.safe_dump({"notebooks": content}))
    monkeypatch.setattr(catalogue, "CONFIG", folder)


def test_an_unknown_need_is_an_error(monkeypatch, tmp_path):
    own_config(monkeypatch, tmp_path, {"figure": {"kind": "figure", "needs": ["tsak"]}})
    with pytest.raises(WorkflowError, match="figure needs an unknown notebook 'tsak'"):
        catalogue.table()


def test_needs_in_a_circle_are_an_error(monkeypatch, tmp_path):
    rows = {"a": {"kind": "task", "needs": ["b"]}, "b": {"kind": "task", "needs": ["a"]}}
    own_config(monkeypatch, tmp_path, rows)
    with pytest.raises(WorkflowError, match="need one another: a, b"):
        catalogue.table()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"comon": {}}, "unknown section 'comon'. Did you mean 'common'?"),
        ({"common": {"tasks": {}}}, "unknown kind of notebook 'tasks'. Did you mean 'task'?"),
        ({"notebooks": {"task_sin": {}}}, "unknown notebook 'task_sin'. Did you mean 'task_sine'?"),
    ],
)
def test_a_mistyped_profile_is_an_error(config, message):
    with pytest.raises(WorkflowError, match=re.escape(message)):
        catalogue.parameters(config)


def test_an_unknown_profile_is_an_error(capsys):
    assert drive.main(["--profile", "papper", "book"]) == 2
    message = capsys.readouterr().err
    assert "'papper'" in message and "Did you mean 'paper'?" in message and "smoke" in message


def test_an_unknown_notebook_is_an_error(capsys):
    assert run_notebook.main(["task_sin"]) == 2
    assert "Did you mean 'task_sine'?" in capsys.readouterr().err


# --- one notebook -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_leaves_results_notebook_and_provenance(ran):
    root, _ = ran
    record = json.loads((root / "build/paper/provenance/task_a.json").read_text())
    assert record["parameters"]["n_hidden"] == 8 and record["parameters"]["fail"] is False
    assert record["seeds"] == [0] and record["profile"] == "paper"
    assert record["commit"] == "unknown"  # the small project is not a git clone
    assert record["training_seconds"] == 0.25 <= record["wall_seconds"]
    assert {"python", "numpy", "torch", "paperlib"} <= set(record["versions"])
    assert set(record["results"]) == {"results/task_a.csv"}
    assert set(record["sources"]) == {"notebooks/task_a.py", "lib/one.py"}
    assert str(root) not in json.dumps(record)


@pytest.mark.slow
def test_an_executed_notebook_holds_nothing_of_one_run_alone(ran):
    root, _ = ran
    path = root / "build/paper/notebooks/task_a.ipynb"
    first = path.read_text()
    done = call(root, "run_notebook", "task_a", "--profile", "paper", "--out", "build/again")
    assert done.returncode == 0, done.stderr
    again = (root / "build/again/notebooks/task_a.ipynb").read_text()
    assert first.replace("build/paper", "build/again") == again
    notebook = nbformat.reads(first, as_version=4)
    assert "papermill" not in notebook.metadata
    outputs = [output for c in notebook.cells for output in c.get("outputs", [])]
    assert "training_seconds" not in str(outputs) and "'stderr'" not in str(outputs)
    assert "n_hidden = 8  # hidden units" in first
    assert "training: 50%" in (root / "build/again/logs/task_a.log").read_text()


@pytest.mark.slow
def test_a_failing_notebook_leaves_no_result_under_its_name(project):
    done = call(project, "run_notebook", "task_a", "-p", "fail=true", "--out", "build/failing")
    assert done.returncode == 2
    assert "cell 3 failed: RuntimeError: asked to fail" in done.stderr
    assert 'raise RuntimeError("asked to fail")' in done.stderr
    assert "Traceback" not in done.stderr
    left = {path.name for path in (project / "build/failing").rglob("*") if path.is_file()}
    assert left == {"task_a.failed.ipynb", "task_a.log"}


def test_the_results_of_others_are_asked_for(project):
    done = call(project, "run_notebook", "figure_z", "--out", "build/empty")
    assert done.returncode == 2
    assert "run_notebook task_a --out build/empty" in done.stderr
    assert not (project / "build/empty").exists()


def test_a_folder_that_can_not_be_written_is_named(project):
    (project / "file").write_text("")
    done = call(project, "run_notebook", "task_a", "--out", "file/below")
    assert done.returncode == 2 and "can not write to file/below" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER.replace("name: python3", "name: julia") + TASK, "kernel is 'julia'"),
        (HEADER.replace(' tags=["parameters"]', "") + TASK, "has 0 cells tagged 'parameters'"),
    ],
)
def test_a_notebook_without_kernel_or_parameters_is_an_error(project, text, message):
    path = project / "notebooks" / "odd.py"
    path.write_text(text)
    done = call(project, "run_notebook", "odd")
    path.unlink()
    assert done.returncode == 2 and message in done.stderr


# --- the driver ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_progress_says_which_of_how_many(ran):
    _, output = ran
    assert "3 notebooks to run" in output
    assert re.search(r"figure_z +│ done in \d+ s  \[3 of 3, ", output)
    assert re.search(r"3 of 3 notebooks ran in .*was training", output)


@pytest.mark.slow
def test_touching_reruns_nothing_and_a_change_only_what_depends_on_it(ran):
    root, _ = ran
    later = time.time() + 5
    for path in [*(root / "notebooks").glob("*.py"), root / "lib" / "one.py"]:
        os.utime(path, (later, later))
    assert would_run(root) == set()
    write_profile(root, "paper", task_b={"n_hidden": 9})
    assert would_run(root) == {"task_b", "figure_z"}
    write_profile(root, "paper")
    source = root / "notebooks" / "figure_z.py"
    text = source.read_text()
    source.write_text(text + "# more\n")
    assert would_run(root) == {"figure_z"}
    source.write_text(text)
    (root / "lib" / "one.py").write_text("x = 2\n")
    assert would_run(root) == {"task_a", "task_b", "figure_z"}
    (root / "lib" / "one.py").write_text("x = 1\n")
    assert would_run(root) == set()


def is_kernel(process: psutil.Process) -> bool:
    """Whether a process runs a notebook; False for one that ended while it was looked at."""
    try:
        return "ipykernel_launcher" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_no_process_and_the_next_one_goes_on(project, how):
    running = subprocess.Popen(
        command("drive", "--profile", "slow", "notebooks"),
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    kernels, until = [], time.monotonic() + 60
    while len(kernels) < 1 and time.monotonic() < until:
        family = psutil.Process(running.pid).children(recursive=True)
        kernels = [p for p in family if is_kernel(p)]
        time.sleep(0.2)
    assert kernels, "no kernel was started"
    running.send_signal(how)
    output, _ = running.communicate(timeout=60)
    if how != signal.SIGKILL:
        assert running.returncode == 130 and "interrupted" in output
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert not list((project / "build/slow/notebooks").glob("task_*.ipynb"))
    assert {"task_a", "task_b", "figure_z"} == would_run(project, "slow")


@pytest.mark.slow
def test_a_failure_keeps_what_others_did(project):
    write_profile(project, "half", task_b={"fail": True})
    done = call(project, "drive", "--profile", "half", "book", "--html", "build/half/html")
    assert done.returncode == 2 and "failed: task_b" in done.stderr
    assert (project / "build/half/results/task_a.csv").is_file()
    assert not (project / "build/half/results/task_b.csv").exists()
    assert not (project / "build/half/html").exists()
    assert would_run(project, "half") == {"task_b", "figure_z"}


@pytest.mark.slow
def test_notebooks_for_nbmake_are_written_in_an_order_that_runs(project):
    assert call(project, "drive", "--profile", "paper", "nbmake").returncode == 0
    names = sorted(path.name for path in (project / "build/nbmake").glob("*.ipynb"))
    assert names == ["00_task_a.ipynb", "01_task_b.ipynb", "02_figure_z.ipynb"]
    text = (project / "build/nbmake/00_task_a.ipynb").read_text()
    assert "n_hidden = 8" in text and "build/nbmake/out" in text


# --- the book -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_book_is_built_once_and_a_bad_one_leaves_the_old(ran):
    root, _ = ran
    arguments = ("drive", "--profile", "paper", "book", "--html", "build/html")
    done = call(root, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    page = root / "build/html/notebooks/task_a.html"
    good = page.read_text()
    assert "Provenance: profile paper" in good and "units 8" in good
    assert str(root) not in good

    started = time.monotonic()
    done = call(root, *arguments)
    assert "up to date in build/html/index.html" in done.stdout
    assert time.monotonic() - started < 15

    index = root / "index.md"
    text = index.read_text()
    index.write_text(text + "\n{cite}`nobody`\n")
    done = call(root, *arguments)
    index.write_text(text)
    assert done.returncode == 2 and "index.md:5: WARNING" in done.stderr
    assert "nobody" in done.stderr and str(root) not in done.stderr
    assert page.read_text() == good


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(WorkflowError, match="holds other files than a built book"):
        book.check_destination(tmp_path)


# --- what is published --------------------------------------------------------------------------


def test_the_readme_shows_the_published_results():
    from workflow import publish

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert publish.readme_with_table(text) == text


def test_smoke_results_are_not_published(tmp_path):
    from workflow import WorkflowError, publish

    (tmp_path / "provenance").mkdir()
    (tmp_path / "provenance/figure_2.json").write_text('{"profile": "smoke"}')
    with pytest.raises(WorkflowError, match="smoke"):
        publish.to_copy("figure_2", tmp_path)
    with pytest.raises(WorkflowError, match="figure_3.*figure_2"):
        publish.to_copy("figure_3", tmp_path)
    with pytest.raises(WorkflowError, match="has not run"):
        publish.to_copy("task_sine", tmp_path)


def test_a_run_is_published_whole_or_not_at_all(tmp_path):
    from paperlib import ArtifactError
    from workflow import WorkflowError, publish

    for folder in ("provenance", "results"):
        (tmp_path / folder).mkdir()
    record = tmp_path / "provenance/open_choices.json"
    record.write_text("{")
    with pytest.raises(WorkflowError, match="open_choices.json is damaged"):
        publish.to_copy("open_choices", tmp_path)
    record.write_text('{"profile": "extended"}')
    with pytest.raises(ArtifactError, match="open_choices.csv does not exist"):
        publish.to_copy("open_choices", tmp_path)
    shutil.copy(ROOT / "published/open_choices.csv", tmp_path / "results")
    with pytest.raises(WorkflowError, match=r"no solutions flip_flop\S+ in"):
        publish.to_copy("open_choices", tmp_path)
