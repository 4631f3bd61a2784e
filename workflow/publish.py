"""Keep a run's results in the repository: ``published/`` and the table in the README.

::

    python -m workflow.publish figure_1 figure_2 table_1         from build/paper
    python -m workflow.publish open_choices --out build/extended

A notebook's results table, its figure and its provenance are copied, with a few of the solutions
they rest on, and the README's table is written anew from the published results, so that no number
in it is typed.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from paperlib import load_solution, read_results, report, reported
from workflow import WorkflowError, catalogue
from workflow.catalogue import ROOT
from workflow.files import write_atomic

PUBLISHED = ROOT / "published"
MARKS = "<!-- results: written by workflow/publish.py -->", "<!-- end of results -->"
# Where the paper prints a number, and the notebook that remakes it.
SHOWN = {
    "Table 1": "table_1", "Figure 1": "figure_1", "Figure 2": "figure_2", "Section 4": "figure_2"
}
# Solutions kept besides: those of the chapters beyond the paper, because another machine trains
# other networks from the same seeds, and one more from which a test recomputes numbers.
SAMPLES = {
    "open_choices": [
        f"{task}-dense_orthogonal-64/seed-*.safetensors"
        for task in ("flip_flop", "sine", "integration")
    ],
    "order_gauge": ["copy-dense_orthogonal-72/seed-*.safetensors"],
    "copy_grid": ["copy-cayley-72/seed-0.safetensors"],
}
TITLES = {
    "flip_flop": "flip-flop", "sine": "sine generation", "integration": "integration"
}


def to_copy(name: str, out: Path) -> list[tuple[Path, Path]]:
    """What publishing a notebook copies from a run's folder, and where to; nothing is copied.

    Raises
    ------
    WorkflowError, ArtifactError
        If the notebook is unknown, has not run there, or ran at smoke size; if its results, their
        record or a solution is missing or damaged.
    """
    if name not in catalogue.table():
        raise WorkflowError(catalogue.unknown("notebook", name, catalogue.table()))
    record = out / "provenance" / f"{name}.json"
    if not record.is_file():
        raise WorkflowError(f"{name} has not run in {out}: no {record.name} there")
    try:
        profile = json.loads(record.read_text(encoding="utf-8"))["profile"]
    except (ValueError, KeyError, TypeError) as error:
        raise WorkflowError(f"{record} is damaged: {error}") from error
    if profile == "smoke":
        raise WorkflowError("smoke-sized results are not evidence and are not published")
    results = out / f"results/{name}.csv"
    read_results(results)
    pairs = [(results, PUBLISHED / results.name), (record, PUBLISHED / record.name)]
    figure = out / f"figures/{name}.png"
    if figure.is_file():  # tables have none
        pairs.append((figure, PUBLISHED / figure.name))
    for pattern in SAMPLES.get(name, ()):
        found = sorted((out / "solutions").glob(pattern))
        if not found:
            raise WorkflowError(f"no solutions {pattern} in {out / 'solutions'}")
        for path in found:
            load_solution(path)
            pairs.append((path, PUBLISHED / path.relative_to(out)))
    return pairs


def readme_table() -> str:
    """The README's table: every number the paper prints that we remake, beside ours."""
    lines = [
        "| what | notebook | remake it | paper | ours, mean ± SEM | networks |",
        "|---|---|---|---|---|---|",
    ]
    results = {name: read_results(PUBLISHED / f"{name}.csv") for name in SHOWN.values()}
    for _, printed in reported().iterrows():
        place = next(place for place in SHOWN if printed["where"].startswith(place))
        # Table 1 prints the same numbers at its three thresholds; the README shows one of them.
        if printed["removed"] == "each subset" or (place == "Table 1" and printed["alpha"] != 0.9):
            continue
        ours = results[SHOWN[place]]
        ours = ours[
            (ours["task"] == printed["task"]) & (ours["construction"] == printed["construction"])
        ]
        networks = str(ours["seed"].nunique())
        if printed["task"] == "copy":
            networks = f"{report.solved_text(ours)} solved"
            ours = report.of_solved(ours)
        ours = ours[ours["alpha"] == printed["alpha"]]
        values = report.per_seed(ours, printed["quantity"], printed["removed"])
        what = TITLES.get(printed["task"], printed["construction"].replace("_", " "))
        what += f": {report.QUANTITY_LABELS[printed['quantity']]}"
        if printed["removed"] != "none":
            what += f" without {report.plain_label(printed['removed'])}"
        theirs = printed["words"] or report.plus_minus(printed["value"], printed["sem"])
        lines.append(
            f"| {place}, {what} | `{SHOWN[place]}` | `make notebook NAME={SHOWN[place]}` | "
            f"{theirs} | {report.mean_sem_text(values)} | {networks} |"
        )
    return "\n".join(lines)


def readme_with_table(text: str) -> str:
    """README text with its table written anew.

    Raises
    ------
    WorkflowError
        If the marks around the table are missing.
    """
    before, start, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (start and end):
        raise WorkflowError(f"README.md lacks the marks {MARKS[0]} and {MARKS[1]}")
    return f"{before}{start}\n{readme_table()}\n{end}{after}"


def main(argv: list[str] | None = None) -> int:
    """Run from a command line; 0 on success, 2 on an error."""
    parser = argparse.ArgumentParser(prog="python -m workflow.publish")
    parser.add_argument("names", nargs="+", help="notebooks")
    parser.add_argument("--out", default="build/paper", help="folder of the run")
    options = parser.parse_args(argv)
    try:
        pairs = [pair for name in options.names for pair in to_copy(name, ROOT / options.out)]
        for source, target in pairs:  # all of them or none
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            print(target.relative_to(ROOT))
        readme = ROOT / "README.md"
        write_atomic(readme, readme_with_table(readme.read_text(encoding="utf-8")))
    except (WorkflowError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
