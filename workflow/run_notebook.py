"""Run one notebook: jupytext source, checked parameters, papermill, provenance.

By hand, from the top of the repository::

    python -m workflow.run_notebook task_sine -p n_hidden=32 -p "seeds=[0, 1]" --out build/mine
    python -m workflow.run_notebook task_sine --profile smoke --out build/mine
    python -m workflow.run_notebook task_sine --list

The kernel runs in ``notebooks/``, as it does for a reader who opens the notebook there.
"""

import argparse
import json
import logging
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import psutil
from nbclient.exceptions import DeadKernelError
from papermill import PapermillExecutionError, execute_notebook
from papermill.log import logger as papermill_logger

from workflow import WorkflowError, catalogue, parameters, provenance
from workflow.catalogue import ROOT
from workflow.files import cannot_write, open_folders, relative, write_atomic

# One thread each: notebooks run side by side, and sums come out in the same order on any machine.
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")
PROBE = (ROOT / "workflow" / "probe.py").read_text(encoding="utf-8")
PROBE_MIME = "application/x-provenance+json"


class Progress:
    """The kernel's stderr on our own, one prefixed line per event, bars throttled.

    A terminal gets a live bar; a pipe gets a line every ``interval`` seconds. Everything also goes
    to the log file.
    """

    def __init__(self, name: str, log, interval: float = 10.0):
        self.name, self.log = name, log
        self.live = sys.stderr.isatty()
        self.interval = 0.2 if self.live else interval
        self.shown_at, self.pending, self.drawn = time.monotonic(), "", False

    def say(self, text: str) -> None:
        """One whole line."""
        clear = "\r\x1b[K" if self.drawn else ""
        sys.stderr.write(f"{clear}{self.name:<16} │ {text}\n")
        sys.stderr.flush()
        self.drawn = False

    def write(self, text: str) -> None:
        """A piece of the kernel's stderr, which may hold several lines and bar updates."""
        self.log.write(text)
        *done, self.pending = re.split(r"(?<=[\r\n])", self.pending + text)
        for piece in done:
            line = piece.strip()
            if line and piece.endswith("\n"):
                self.say(line)
            elif line:
                self._bar(line)
        # tqdm puts \r before a bar, so the newest one is always still pending.
        if "\r" in text and self.pending.strip():
            self._bar(self.pending.strip())

    def _bar(self, line: str) -> None:
        now = time.monotonic()
        if now - self.shown_at < self.interval:
            return
        self.shown_at = now
        if self.live:
            width = shutil.get_terminal_size().columns - 1  # a wrapped line can not be redrawn
            sys.stderr.write("\r\x1b[K" + f"{self.name:<16} │ {line}"[:width])
            sys.stderr.flush()
            self.drawn = True
        else:
            self.say(line)

    def flush(self) -> None:
        """Asked for by papermill after each piece."""
        self.log.flush()


def kernel_environment(folder: Path) -> None:
    """Make ``python3`` mean this interpreter, single-threaded, without a user's own start-up files.

    A kernel of the same name in a home folder would otherwise win over the environment's. The log
    level silences ipykernel's warning about local TCP, one line per notebook.
    """
    spec = folder / "kernels" / parameters.KERNEL
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    content = {
        "argv": [*command, "--log-level=CRITICAL"],
        "display_name": "Python 3",
        "language": "python",
    }
    (spec / "kernel.json").write_text(json.dumps(content), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = str(folder)
    os.environ["IPYTHONDIR"] = str(folder / "ipython")
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in THREADS})
    # Bars that fit beside the prefix; else tqdm would take the whole width of a terminal.
    os.environ["TQDM_NCOLS"] = str(max(40, min(80, shutil.get_terminal_size((100, 24))[0] - 20)))


def watch_driver() -> None:
    """End this run when the driver that started it dies, even by SIGKILL: no orphan trains on.

    It takes its process group with it, else Snakemake would start the next notebook. A run by hand
    has no driver and may outlive its terminal.
    """
    host, _, driver = os.environ.get("WORKFLOW_DRIVER", "").rpartition(":")
    if host != platform.node():  # none, or on another node of a cluster, where it can not be seen
        return

    def watch() -> None:
        while psutil.pid_exists(int(driver)):
            time.sleep(1)
        os.killpg(os.getpgrp(), signal.SIGKILL)  # kernels notice within a second

    threading.Thread(target=watch, daemon=True).start()


def collect(notebook: nbformat.NotebookNode) -> tuple[dict, float | None]:
    """Take the probe's findings and the glued ``training_seconds`` out of an executed notebook.

    Raises
    ------
    WorkflowError
        If ``training_seconds`` is no number.
    """
    found, training = {}, None
    if notebook.cells and notebook.cells[-1].get("id") == "probe":
        for output in notebook.cells.pop().outputs:
            found = output.get("data", {}).get(PROBE_MIME, found)
    for cell in notebook.cells:
        for output in list(cell.get("outputs", [])):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == "training_seconds":
                text = "".join(next(iter(output["data"].values()))).strip("'\"")
                try:
                    training = (training or 0.0) + float(text)
                except ValueError:
                    raise WorkflowError(f"glued training_seconds is no number: {text}") from None
                cell.outputs.remove(output)
    return found, training


def strip(notebook: nbformat.NotebookNode) -> None:
    """Remove what differs from run to run: times, papermill's notes, progress on stderr."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for key in ("papermill", "execution", "lines_to_next_cell"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]


def explain(error: PapermillExecutionError | DeadKernelError) -> str:
    """A failed cell's error in a few lines: what, where, and the line that failed."""
    if isinstance(error, DeadKernelError):
        return "the kernel died, as it does when the memory is used up"
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    arrow = [line for line in trace.splitlines() if re.match(r"-+>", line)]
    message = f"cell {error.cell_index + 1} failed: {error.ename}: {error.evalue}"
    return message + (f"\n    {re.sub('^-+> ?[0-9]* *', '', arrow[0])}" if arrow else "")


def missing_results(row: catalogue.Row, out: Path, profile: str | None = None) -> str:
    """A message naming the notebooks to run first, empty where nothing is missing."""
    rows = catalogue.table()
    needs = [n for n in row.needs if not (out / rows[n].results[0]).is_file()]
    if not needs:
        return ""
    where, sized = relative(out), f" --profile {profile}" if profile else ""
    return f"{row.name} reads results that are not in {where}; run first\n" + "\n".join(
        f"  python -m workflow.run_notebook {need}{sized} --out {where}" for need in needs
    )


def run(name: str, given: dict, out: str | None = None, profile: str | None = None) -> dict:
    """Execute a notebook and return its provenance, also written beside the results.

    Parameters
    ----------
    name
        A notebook of ``notebooks/``, without the extension.
    given
        Parameters that replace the notebook's defaults.
    out
        Folder of the results, relative to the repository; the notebook's own default if None.
    profile
        Name written into the provenance.

    Raises
    ------
    WorkflowError
        For bad arguments, folders that can not be written, a failed cell, missing results.
    """
    notebook, values = parameters.prepare(name, given if out is None else {**given, "out": out})
    row = catalogue.table().get(name, catalogue.Row(name, "notebook"))
    folder = ROOT / values["out"]
    if message := missing_results(row, folder, profile):
        raise WorkflowError(message)
    open_folders(folder)

    final = folder / "notebooks" / f"{name}.ipynb"
    failed = final.with_suffix(".failed.ipynb")
    partial = final.with_name(f".{name}.partial.ipynb")
    notebook.cells.append(nbformat.v4.new_code_cell(PROBE, id="probe"))
    started, begun = time.monotonic(), time.time()
    # What it runs on, as it is now: an edit during the run must not pass for what was run.
    made_from = ingredients(name, row, folder)
    # The old record and pages describe the old results, which this run may replace.
    for path in (folder / "provenance" / f"{name}.json", final):
        path.unlink(missing_ok=True)
    stale = {path: path.stat().st_mtime_ns for path in _existing(row, folder)}
    log_path = folder / "logs" / f"{name}.log"
    with open(log_path, "w", encoding="utf-8") as log, tempfile.TemporaryDirectory() as scratch:
        progress = Progress(name, log)
        progress.say("started")
        kernel_environment(Path(scratch))
        try:
            executed = execute_notebook(
                notebook,
                partial,
                cwd=ROOT / "notebooks",
                progress_bar=False,
                stdout_file=log,
                stderr_file=progress,
            )
        except (PapermillExecutionError, DeadKernelError) as error:
            os.replace(partial, failed)
            where = relative(failed)
            raise WorkflowError(f"{explain(error)}\n  run up to there: {where}") from None
        except OSError as error:
            raise WorkflowError(cannot_write(partial, error)) from None
        finally:
            partial.unlink(missing_ok=True)

    seconds = time.monotonic() - started
    found, training = collect(executed)
    strip(executed)
    for path in (folder / file for file in row.results):
        if not path.is_file() or stale.get(path) == path.stat().st_mtime_ns:
            raise WorkflowError(f"{name} ended without writing {relative(path)}")
    record = {
        "notebook": name,
        "kind": row.kind,
        "profile": profile or "by hand",
        "parameters": values,
        "seeds": values.get("seeds", [values["seed"]] if "seed" in values else None),
        **made_from["git"],
        "started": datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds"),
        "wall_seconds": round(seconds, 2),
        "training_seconds": None if training is None else round(training, 2),
        **found,
        "threads": 1,
        "processor": provenance.machine(),
        "results": {file: provenance.sha256(folder / file) for file in row.results},
        "inputs": made_from["inputs"],
        "reads": made_from["reads"],
        "sources": made_from["sources"],
    }
    now = ingredients(name, row, folder)
    if any(now[kind] != made_from[kind] for kind in ("inputs", "reads", "sources")):
        changed = [
            file for kind in ("inputs", "reads", "sources") for file in now[kind]
            if now[kind][file] != made_from[kind].get(file)
        ]
        raise WorkflowError(
            f"{', '.join(changed) or 'a source'} changed while {name} ran: run it again"
        )
    write_atomic(folder / "provenance" / f"{name}.json", json.dumps(record, indent=1) + "\n")
    write_atomic(final, nbformat.writes(executed) + "\n")
    failed.unlink(missing_ok=True)
    share = f", training {training:.0f} s" if training else ""
    progress.say(f"done in {seconds:.0f} s{share}")
    return record


def ingredients(name: str, row: catalogue.Row, folder: Path) -> dict[str, dict]:
    """Commit, and hashes of the results, files and sources that a run starts from."""
    return {
        "git": provenance.git_state(),
        "inputs": {
            f"results/{need}.csv": provenance.sha256(folder / f"results/{need}.csv")
            for need in row.needs
        },
        "reads": {file: provenance.sha256(ROOT / file) for file in catalogue.found(row.reads)},
        "sources": {
            file: provenance.sha256(ROOT / file)
            for file in (f"notebooks/{name}.py", *catalogue.sources(row))
        },
    }


def _existing(row: catalogue.Row, folder: Path) -> list[Path]:
    return [folder / file for file in row.results if (folder / file).is_file()]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.run_notebook", description="Run one notebook of the book."
    )
    parser.add_argument("name", help="a notebook of notebooks/, such as task_sine")
    parser.add_argument(
        "-p", action="append", default=[], metavar="NAME=VALUE", help="set a parameter"
    )
    parser.add_argument("--profile", help="start from the parameters of a profile")
    parser.add_argument("--out", help="folder of the results (default: the notebook's own)")
    parser.add_argument("--list", action="store_true", help="show the parameters and stop")
    # How Snakemake passes a profile's parameters: all of them, as they stand in its rule.
    parser.add_argument("--parameters-json", default="{}", help=argparse.SUPPRESS)
    parser.add_argument("--label", help=argparse.SUPPRESS)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run from a command line; 0 on success, 2 on an error, 130 when interrupted."""
    options = arguments().parse_args(argv)
    papermill_logger.setLevel(logging.CRITICAL)

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)  # ignored by default in a shell's background jobs
    watch_driver()
    try:
        known = parameters.source_parameters(options.name)
        if options.list:
            print(f"{options.name} has the parameters\n{parameters.listing(known)}")
            return 0
        given = json.loads(options.parameters_json)
        if options.profile:
            given |= catalogue.parameters(catalogue.load_profile(options.profile)).get(
                options.name, {}
            )
        given |= dict(parameters.parse_assignment(text, known) for text in options.p)
        run(options.name, given, options.out, options.label or options.profile)
    except (WorkflowError, OSError) as error:
        if isinstance(error, OSError):  # such as a log file on a disk that is full
            error = cannot_write(Path(error.filename or ROOT), error)
        for line in f"error: {error}".splitlines():
            print(f"{options.name:<16} │ {line}", file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        print(f"{options.name:<16} │ interrupted", file=sys.stderr, flush=True)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
