"""A notebook's parameters cell: reading it, checking values against it, writing values into it.

Values are written into the parameters cell itself instead of a second cell below it, so that the
executed page shows one cell, with the values used and their comments.
"""

import ast
import io
import json
import tokenize
from dataclasses import dataclass

import jupytext
import nbformat

from workflow import WorkflowError
from workflow.catalogue import ROOT, unknown

TAG, KERNEL = "parameters", "python3"


@dataclass(frozen=True)
class Parameter:
    """One assignment of the parameters cell; ``node`` is the literal's place in the source."""

    name: str
    default: object
    comment: str
    node: ast.expr


def read_source(name: str) -> nbformat.NotebookNode:
    """The notebook ``notebooks/<name>.py`` with reproducible cell ids.

    Raises
    ------
    WorkflowError
        If it does not exist or is not meant for the kernel ``python3``.
    """
    path = ROOT / "notebooks" / f"{name}.py"
    if not path.is_file():
        there = [p.stem for p in (ROOT / "notebooks").glob("*.py")]
        raise WorkflowError(unknown("notebook", name, there))
    notebook = jupytext.read(path)
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != KERNEL:
        raise WorkflowError(f"notebooks/{name}.py: kernel is {kernel!r}, must be {KERNEL!r}")
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index:02d}"  # jupytext draws them at random
    return notebook


def parameters_cell(notebook: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """The one code cell tagged ``parameters``.

    Raises
    ------
    WorkflowError
        If there is none or more than one.
    """
    cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and TAG in cell.metadata.get("tags", [])
    ]
    if len(cells) != 1:
        raise WorkflowError(
            f"notebooks/{name}.py has {len(cells)} cells tagged {TAG!r}, must have exactly one"
        )
    return cells[0]


def read_parameters(cell: nbformat.NotebookNode, name: str) -> dict[str, Parameter]:
    """Names, literal defaults and trailing comments of a parameters cell.

    Raises
    ------
    WorkflowError
        If the cell holds anything but ``name = literal``: a derived value would go stale when the
        value it derives from is replaced.
    """
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(cell.source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for node in ast.parse(cell.source).body:
        try:
            (target,) = node.targets
            found[target.id] = Parameter(
                target.id,
                ast.literal_eval(node.value),
                comments.get(node.value.end_lineno, ""),
                node.value,
            )
        except (AttributeError, ValueError):
            line = ast.unparse(node).splitlines()[0]
            raise WorkflowError(
                f"notebooks/{name}.py: the parameters cell may hold only `name = literal`, "
                f"not `{line}`"
            ) from None
    return found


def describe(value) -> str:
    """The type of a value in words, such as ``list of int``."""
    if isinstance(value, (list, tuple)) and value:
        inner = sorted({describe(item) for item in value})
        return f"{type(value).__name__} of {' or '.join(inner)}"
    return type(value).__name__


def _fit(value, default):
    """``value`` in the type of ``default``; raises TypeError where it is of another."""
    if default is None:
        return value
    if isinstance(default, bool) or isinstance(value, bool):
        if type(value) is type(default):
            return value
    elif isinstance(default, float) and isinstance(value, int):
        return float(value)
    elif isinstance(default, (list, tuple)) and isinstance(value, (list, tuple)):
        # Every element must fit at least one of the default's elements.
        return type(default)(_fit_any(item, default) for item in value)
    elif type(value) is type(default):
        return value
    raise TypeError


def _fit_any(value, defaults):
    for default in defaults:
        try:
            return _fit(value, default)
        except TypeError:
            continue
    if defaults:
        raise TypeError
    return value


def listing(parameters: dict[str, Parameter]) -> str:
    """The parameters with their defaults and comments, one per line."""
    lines = [
        f"  {p.name} = {p.default!r}" + (f"  # {p.comment}" if p.comment else "")
        for p in parameters.values()
    ]
    return "\n".join(lines)


def check(given: dict, parameters: dict[str, Parameter], name: str) -> dict:
    """All parameters of a notebook, defaults replaced by the given values in their types.

    Raises
    ------
    WorkflowError
        If a name is unknown or a value has another type than the default.
    """
    values = {p.name: p.default for p in parameters.values()}
    for key, value in given.items():
        if key not in parameters:
            message = unknown(f"parameter of {name}", key, parameters)
            raise WorkflowError(f"{message}\ntheir defaults:\n{listing(parameters)}")
        try:
            values[key] = _fit(value, parameters[key].default)
        except TypeError:
            raise WorkflowError(
                f"parameter {key!r} of {name} must be {describe(parameters[key].default)} "
                f"(default {parameters[key].default!r}), not {describe(value)}: {value!r}"
            ) from None
    return values


def parse_assignment(text: str, parameters: dict[str, Parameter]) -> tuple[str, object]:
    """``name=value`` from a command line; text is taken as it is where the default is text.

    Raises
    ------
    WorkflowError
        If there is no ``=``.
    """
    key, equals, raw = text.partition("=")
    key = key.strip()
    if not equals or not key.isidentifier():
        raise WorkflowError(f"-p wants name=value, such as -p n_hidden=32; got {text!r}")
    try:
        value = {"true": True, "false": False}.get(raw.strip().lower())
        value = ast.literal_eval(raw.strip()) if value is None else value
    except (ValueError, SyntaxError):
        value = raw  # plain text: right for a text parameter, a type error for any other
    if key in parameters and isinstance(parameters[key].default, str):
        value = value if isinstance(value, str) else raw
    return key, value


def write_values(cell: nbformat.NotebookNode, values: dict, parameters: dict[str, Parameter]):
    """Put the values into the parameters cell in place, comments kept."""
    lines = [line.encode() for line in cell.source.split("\n")]  # ast counts columns in bytes
    for parameter in reversed(parameters.values()):
        value, node = values[parameter.name], parameter.node
        if value == parameter.default and type(value) is type(parameter.default):
            continue
        before = lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :]
        # JSON text is a Python literal in the double quotes of this repository's style.
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
        lines[node.lineno - 1 : node.end_lineno] = [before + text.encode() + after]
    cell.source = b"\n".join(lines).decode()


def prepare(name: str, given: dict) -> tuple[nbformat.NotebookNode, dict]:
    """The notebook with the given parameters written in, and all its parameters.

    Raises
    ------
    WorkflowError
        For an unknown notebook, kernel, parameter or type, and for a bad parameters cell.
    """
    notebook = read_source(name)
    cell = parameters_cell(notebook, name)
    parameters = read_parameters(cell, name)
    values = check(given, parameters, name)
    write_values(cell, values, parameters)
    return notebook, values


def source_parameters(name: str) -> dict[str, Parameter]:
    """The parameters of ``notebooks/<name>.py`` as they stand."""
    return read_parameters(parameters_cell(read_source(name), name), name)
