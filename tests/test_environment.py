"""One set of pins everywhere, and a set-up that can be interrupted and repeated."""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import paperlib
from workflow import make_venv

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text()
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def name_and_version(requirement):
    """Split an exact pin; anything looser than `==` fails here."""
    match = re.fullmatch(r"([a-z0-9-]+)==([a-z0-9.]+)", requirement)
    assert match, f"{requirement!r} is not an exact pin"
    return match.groups()


def pins(*groups):
    """Return {name: version} of the direct pins in groups of pyproject.toml."""
    listed = [pin for group in groups for pin in group]
    found = dict(map(name_and_version, listed))
    assert len(found) == len(listed), "a package is pinned twice"
    return found


DIRECT = pins(PROJECT["dependencies"], EXTRAS["book"], EXTRAS["test"])
SETUP = pins(EXTRAS["setup"])


def locked_versions(name):
    """Return every version at which the lock pins a package (markers may ask for several)."""
    return re.findall(rf"^{re.escape(name)}==(\S+)", LOCK, re.MULTILINE)


def test_conda_environment_has_the_pins_of_pyproject():
    *conda, last = ENVIRONMENT["dependencies"]
    *pip, editable = last["pip"]
    assert dict(map(name_and_version, pip)) == DIRECT
    assert editable == "--editable ."
    python = next(spec for spec in conda if spec.startswith("python="))
    assert f">={python.removeprefix('python=')}," in PROJECT["requires-python"]


@pytest.mark.parametrize("name", sorted({**DIRECT, **SETUP}.keys() - {"torch"}))
def test_lock_has_the_pin_of_pyproject(name):
    assert locked_versions(name) == [{**DIRECT, **SETUP}[name]]


def test_lock_leaves_torch_and_cuda_out_but_keeps_what_torch_needs():
    names = set(re.findall(r"^([a-z0-9._-]+)==", LOCK, re.MULTILINE))
    assert not {name for name in names if re.match("torch|nvidia|cuda|triton", name)}
    assert {"filelock", "sympy", "networkx", "jinja2", "fsspec"} <= names


def test_every_locked_requirement_is_hashed_and_names_no_place():
    stanzas = re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]
    assert len(stanzas) > len(DIRECT)
    for stanza in stanzas:
        assert re.search(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", stanza, re.MULTILINE), stanza
    assert not re.search(r"://|@|-index-|--find-links|^-|[ =]/", LOCK, re.MULTILINE)
    assert "://" not in (ROOT / "environment.yml").read_text()


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_installed_version_is_the_pinned_one(name):
    # A local part such as +cpu says which build of that version it is.
    assert importlib.metadata.version(name).split("+")[0] == DIRECT[name]


def imported():
    """Return {top-level module: a file that imports it} over all Python in the repository."""
    found = {}
    folders = ("paperlib", "workflow", "tests", "notebooks", "book", "benchmarks")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            found |= {name.split(".")[0]: path.relative_to(ROOT) for name in names}
    return found


def test_whatever_is_imported_is_pinned():
    packages = importlib.metadata.packages_distributions()
    ours = {path.stem for path in ROOT.iterdir() if path.is_dir()}
    ours |= {path.stem for path in (ROOT / "book").rglob("*.py")}
    ours |= {path.stem for folder in ("tests", "benchmarks") for path in (ROOT / folder).glob("*.py")}
    # What a benchmark compares with is no dependency of ours; it is skipped where it is missing.
    peers = {"pygpcca"}
    for module, path in imported().items():
        if module in sys.stdlib_module_names or module in ours or module in peers:
            continue
        names = {name.lower().replace("_", "-") for name in packages.get(module, [module])}
        assert names & DIRECT.keys(), f"{path} imports {module}, which pyproject.toml does not pin"


def test_one_version_of_this_software():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    changes = re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation["version"] == changes[0] == PROJECT["version"]
    assert importlib.metadata.version("paperlib") == paperlib.__version__ == PROJECT["version"]


def test_citation_names_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    (paper,) = citation["references"]
    assert paper["title"] == "Task-Restricted Symmetries in Recurrent Weight Space"
    assert paper["identifiers"] == [{"type": "other", "value": "arXiv:2606.18457"}]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("jupyter-repo2docker"), reason="no jupyter-repo2docker here")
def test_repo2docker_accepts_the_environment():
    command = ["jupyter-repo2docker", "--no-build", "--debug", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '--file "environment.yml"' in done.stdout + done.stderr


def make(*arguments):
    """Run make as a person would: without what an outer `make test` hands down."""
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PAPERLIB_HTML"}
    environment = {key: value for key, value in os.environ.items() if key not in inherited}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["book"], "workflow.drive --profile paper book"),
        (["book", "PROFILE=extended"], "workflow.drive --profile extended book"),
        (["book", "EXECUTOR=slurm"], "workflow.drive --executor slurm --profile paper book"),
        (["smoke"], "workflow.drive --profile smoke book"),
        (["notebook", "NAME=figure_2"], "--profile paper notebooks figure_2 --force"),
        (["compare", "A=published", "B=build/paper"], "workflow.compare published build/paper"),
        (["test"], "pytest --nbmake"),
    ],
)
def test_make_runs(arguments, expected):
    done = make("--dry-run", *arguments)
    assert done.returncode == 0, done.stderr
    assert "make_venv.py" in done.stdout
    assert expected in " ".join(done.stdout.split())


def test_make_alone_lists_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    listed = [line.split()[0] for line in make().stdout.splitlines()]
    assert sorted(listed) == sorted(phony.split())


def test_make_says_which_python_it_needs():
    done = make(".venv", "PYTHON=/nowhere/python3")
    assert done.returncode != 0
    assert "no Python from 3.11 to 3.14 among: /nowhere/python3" in done.stderr


def test_python_versions_agree():
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    assert f"(3, {low}) <= sys.version_info[:2] < (3, {high})" in (ROOT / "Makefile").read_text()


@pytest.fixture
def venv(tmp_path, monkeypatch):
    """A set-up in a folder of its own whose steps are only noted, by name."""
    for name in ("LOCK", "PROJECT"):
        copy = tmp_path / getattr(make_venv, name).name
        copy.write_bytes(getattr(make_venv, name).read_bytes())
        monkeypatch.setattr(make_venv, name, copy)
    monkeypatch.setattr(make_venv, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(make_venv, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(make_venv, "STAMP", tmp_path / ".venv" / make_venv.STAMP.name)
    monkeypatch.setattr(make_venv, "ROOT", tmp_path)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "TORCH_"))]:
        monkeypatch.delenv(name)
    steps = []

    def run(step, *command, **environment):
        steps.append((step, [str(part) for part in command], environment))
        if step == "an empty environment":
            (tmp_path / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
            make_venv.PYTHON.touch()
        if step == "uv":
            (tmp_path / ".venv" / "bin" / "uv").touch()

    monkeypatch.setattr(make_venv, "run", run)
    return steps


def names(steps):
    """Return the names of the steps run since the last look."""
    found = [step for step, _, _ in steps]
    steps.clear()
    return found


WHOLE = ["an empty environment", "uv", "the locked packages"]


def test_venv_is_made_once(venv):
    assert make_venv.main() == 0
    made = names(venv)
    assert made[:3] == WHOLE and made[3].startswith("torch==") and made[4:] == ["paperlib"]
    assert make_venv.main() == 0
    assert names(venv) == []


def test_venv_follows_the_lock_and_the_project(venv):
    make_venv.main()
    names(venv)
    with make_venv.PROJECT.open("a") as project:
        project.write("\n# changed\n")
    make_venv.main()
    assert names(venv) == ["paperlib"]
    with make_venv.LOCK.open("a") as lock:
        lock.write("\n# changed\n")
    make_venv.main()
    assert names(venv)[:3] == WHOLE


@pytest.mark.parametrize("failing", [*WHOLE, "torch", "paperlib"])
@pytest.mark.parametrize(
    "error, code", [(KeyboardInterrupt(), 130), (subprocess.CalledProcessError(2, ["step"]), 1)]
)
def test_interrupted_venv_is_made_anew(venv, monkeypatch, capsys, failing, error, code):
    if failing == "uv" and code == 1:
        pytest.skip("without uv, pip goes on")
    working = make_venv.run

    def run(step, *command, **environment):
        if step.startswith(failing):
            raise error
        working(step, *command, **environment)

    with monkeypatch.context() as patch:
        patch.setattr(make_venv, "run", run)
        assert make_venv.main() == code
    assert "make .venv: " in capsys.readouterr().err
    assert not make_venv.STAMP.exists()
    names(venv)
    assert make_venv.main() == 0
    assert names(venv)[:3] == WHOLE


@pytest.mark.parametrize("stamp", ["", "{", '{"packages": "other"}'])
def test_venv_with_a_damaged_stamp_is_made_anew(venv, stamp):
    make_venv.main()
    names(venv)
    make_venv.STAMP.write_text(stamp)
    make_venv.main()
    assert names(venv)[:3] == WHOLE
    assert json.loads(make_venv.STAMP.read_text()) == make_venv.wanted()


def test_pip_takes_over_where_uv_can_not_be_had(venv, monkeypatch):
    working = make_venv.run

    def run(step, *command, **environment):
        if step == "uv":
            raise subprocess.CalledProcessError(1, ["pip"])
        working(step, *command, **environment)

    monkeypatch.setattr(make_venv, "run", run)
    assert make_venv.main() == 0
    (command,) = [command for step, command, _ in venv if step == "the locked packages"]
    assert command[1:4] == ["-m", "pip", "install"] and "--require-hashes" in command


def torch_step(steps):
    """Return the command of the torch step and the variables set for it."""
    (found,) = [(c, e) for step, c, e in steps if step.startswith("torch")]
    return found


def test_torch_is_the_cpu_build_on_linux_unless_a_source_is_named(venv, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    pin = f"torch=={DIRECT['torch']}"
    make_venv.main()
    command, environment = torch_step(venv)
    assert command[-1] == pin and environment == {"UV_TORCH_BACKEND": "cpu"}

    for variable, option in (("TORCH_INDEX", "--index"), ("TORCH_FIND_LINKS", "--find-links")):
        venv.clear()
        make_venv.STAMP.unlink()
        with monkeypatch.context() as patch:
            patch.setenv(variable, "somewhere")
            make_venv.main()
        command, environment = torch_step(venv)
        assert command[-3:] == [option, "somewhere", pin] and environment == {}

    venv.clear()
    make_venv.STAMP.unlink()
    (tmp_path / "torch-0-py3-none-any.whl").touch()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    make_venv.main()
    command, environment = torch_step(venv)
    assert command[-1] == pin and environment == {"UV_FIND_LINKS": str(tmp_path)}


def test_a_missing_pin_in_the_lock_is_named(venv):
    with pytest.raises(SystemExit, match="does not pin nonesuch"):
        make_venv.locked("nonesuch")
    assert make_venv.locked("uv").startswith(f"uv=={SETUP['uv']} ")
    assert "--hash=sha256:" in make_venv.locked("uv")
