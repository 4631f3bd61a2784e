"""The notebooks as committed: what a reader, the runner and the book rely on."""

import ast
import subprocess
from pathlib import Path

import jupytext
import pytest

from workflow import catalogue, parameters

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
LONGEST_FUNCTION = 12  # lines: a one-off plot; anything longer belongs in the library
LONGEST_CELL = 25  # lines


@pytest.fixture(params=NAMES)
def name(request):
    """Each notebook in turn."""
    return request.param


@pytest.fixture
def cells(name):
    """The cells of a notebook."""
    return jupytext.read(ROOT / "notebooks" / f"{name}.py").cells


@pytest.fixture
def code(cells):
    """The sources of its code cells."""
    return [cell.source for cell in cells if cell.cell_type == "code"]


def test_there_is_one_parameters_cell_of_commented_literals(name):
    found = parameters.source_parameters(name)  # one cell, literals, kernel python3: or an error
    uncommented = [p.name for p in found.values() if not p.comment]
    assert not uncommented, "say what each parameter is in a trailing comment"
    assert found["out"].default == "build/interactive"


def test_no_executed_notebook_is_committed():
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "*.ipynb"], capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git clone")
    assert listed.stdout == ""


def test_functions_and_classes_live_in_the_library(code):
    for source in code:
        for node in ast.walk(ast.parse(source)):
            assert not isinstance(node, ast.ClassDef), node.name
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < LONGEST_FUNCTION, node.name


def test_cells_are_short(code):
    longest = max(code, key=lambda source: len(source.splitlines()))
    assert len(longest.splitlines()) <= LONGEST_CELL, longest


def test_results_are_written_under_the_notebooks_name(name, code):
    text = "\n".join(code)
    # Tables of verdicts are not of measured values: they have columns of their own.
    writer = "write_verdicts(" if name in ("claims", "conventions") else "write_results("
    assert writer in text and f"{name}.csv" in text


def test_training_time_is_recorded(code):
    text = "\n".join(code)
    if "load_or_train(" in text or "train(" in text:
        assert '"training_seconds"' in text, "glue it: the provenance takes it from there"


def test_figures_and_tables_only_read_results(name, code):
    if catalogue.table()[name].kind in ("figure", "table"):
        assert "train(" not in "\n".join(code)


def test_a_notebook_is_a_chapter(cells):
    """A title, what will be seen, what to read before, a summary and where next."""
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for part in ("**You will see**", "**Before this**", "## Summary", "**Where next**"):
        assert part in prose, f"the chapter has no {part}"
    titles = [line for line in prose.splitlines() if line.startswith("# ")]
    assert len(titles) == 1


def test_bars_are_plain_text(code):
    """A widget shows nothing in a static page, and cannot be followed from a terminal."""
    assert not any("tqdm.auto" in source or "tqdm.notebook" in source for source in code)


def test_no_cell_is_skipped(cells):
    """A skipped cell makes no claim that anyone checked."""
    assert not any("skip-execution" in cell.metadata.get("tags", []) for cell in cells)
