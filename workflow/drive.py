"""Run the notebooks of a profile and build the book.

::

    python -m workflow.drive --profile paper book            notebooks, then the book
    python -m workflow.drive --profile paper notebooks       notebooks alone
    python -m workflow.drive notebooks figure_2 --force      one notebook again, with what it needs
    python -m workflow.drive --profile smoke nbmake          notebooks for nbmake in build/nbmake/

Snakemake decides what has to run; this wraps it in what a person at a terminal needs: progress in
short lines, Ctrl-C that leaves nothing running, no stale lock, a summary.
"""

import argparse
import fcntl
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil

from workflow import WorkflowError, book, catalogue, parameters, provenance
from workflow.catalogue import ROOT
from workflow.files import cannot_write, open_folders, relative

LINE = re.compile(r"^(\w+) +│ (.*)$")


def duration(seconds: float) -> str:
    """A time for people: ``41 s``, ``3 min 20 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def take_lock():
    """Hold the lock of this repository's runs; waits for another run to end.

    The system frees it when the holder dies, however it dies, so it is never stale. Snakemake
    inherits it: while one that survived its driver is alive, the lock is held.
    """
    path = ROOT / "build" / ".lock"
    try:
        path.parent.mkdir(exist_ok=True)
        lock = open(path, "a+", encoding="utf-8")
    except OSError as error:
        raise WorkflowError(cannot_write(path.parent, error)) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        print(f"waiting for another run here to end (process {lock.read().strip()})", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def snakemake(profile: str, *arguments: str, executor: str = "default") -> list[str]:
    """A Snakemake command under a profile."""
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", "workflow/Snakefile"),
        *("--configfile", f"workflow/config/{profile}.yml"),
        *("--workflow-profile", f"workflow/profiles/{executor}", *arguments),
    ]


def environment() -> dict[str, str]:
    """This environment, with our interpreter's folder first and our process as the driver."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    driver = f"{platform.node()}:{os.getpid()}"
    return {**os.environ, "PATH": path, "WORKFLOW_DRIVER": driver, "PYTHONUNBUFFERED": "1"}


def stop(process: subprocess.Popen) -> None:
    """End a process with all its descendants: ask, wait, then kill.

    Kernels live in sessions of their own, so a signal to the process group does not reach them.
    """
    try:
        family = [*psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for send, patience in ((signal.SIGINT, 6), (signal.SIGTERM, 3), (signal.SIGKILL, 3)):
        try:
            os.killpg(process.pid, send)
        except ProcessLookupError:
            pass
        if send != signal.SIGINT:
            for child in family:
                try:
                    child.send_signal(send)
                except psutil.NoSuchProcess:
                    pass
        _, family = psutil.wait_procs(family, timeout=patience)
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
        if not family:
            return


class Follower:
    """Turns Snakemake's and the notebooks' output into short progress lines."""

    def __init__(self):
        self.started, self.total, self.done, self.targets = time.monotonic(), 0, 0, 0
        self.failed: list[str] = []

    def line(self, text: str) -> str | None:
        """What to show for a line of output; None for nothing."""
        # The table of jobs: "all 1" is the target, not a notebook.
        if match := re.match(r"^total +(\d+)", text):
            self.total = int(match[1]) - self.targets
            return f"{self.total} notebook{'s' * (self.total != 1)} to run"
        self.targets += bool(re.match(r"^all +1$", text))
        if not (match := LINE.match(text)):
            return None
        name, message = match.groups()
        if message.startswith("done in"):
            self.done += 1
            elapsed = duration(time.monotonic() - self.started)
            return f"{name:<16} │ {message}  [{self.done} of {self.total}, {elapsed} in all]"
        if message.startswith("error:"):
            self.failed.append(name)
        return text


def run_notebooks(lock, profile: str, names: list[str], *, force: bool, cores: int, executor: str):
    """Bring the results of a profile, or of some of its notebooks, up to date.

    Raises
    ------
    WorkflowError
        If a notebook fails; the others have run.
    """
    rows, out = catalogue.table(), ROOT / "build" / profile
    for name in names:
        if name not in rows:
            raise WorkflowError(catalogue.unknown("notebook", name, rows))
    given = catalogue.parameters(catalogue.load_profile(profile))
    for name in rows:  # all mistakes of a profile before any work
        parameters.prepare(name, given[name])
    open_folders(out)
    arguments = ["--cores", str(cores)] if executor == "default" else []
    arguments += [f"build/{profile}/provenance/{name}.json" for name in names]
    if force and names:
        arguments += ["--forcerun", *names]
    elif force:
        arguments += ["--forceall"]
    if any((ROOT / ".snakemake" / "locks").glob("*")):  # we hold our own lock: nobody is alive
        subprocess.run(
            snakemake(profile, "--unlock"), cwd=ROOT, env=environment(), capture_output=True
        )

    follower, begun = Follower(), time.time()
    log_path = out / "logs" / "snakemake.log"
    # A file, not a pipe: Snakemake hangs on a pipe whose reader was killed.
    with open(log_path, "wb") as log, open(log_path, "rb") as written:
        process = subprocess.Popen(
            snakemake(profile, *arguments, executor=executor),
            cwd=ROOT,
            env=environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )
        try:
            code, rest = None, b""
            while code is None:
                code = process.poll()  # before reading, so that nothing written is missed
                *lines, rest = (rest + written.read()).split(b"\n")
                for line in lines:
                    if shown := follower.line(line.decode(errors="replace")):
                        print(shown, flush=True)
                time.sleep(0.1 if code is None else 0)
        except BaseException:
            print("stopping the notebooks", flush=True)
            stop(process)
            raise
    if follower.done or not code:
        summary(profile, names or list(rows), begun, time.monotonic() - follower.started)
    if code:
        where = relative(log_path)
        if not follower.failed:  # no notebook: Snakemake itself, or a cluster
            last = log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
            raise WorkflowError("Snakemake failed:\n  " + "\n  ".join([*last, f"log: {where}"]))
        failed = ", ".join(follower.failed)
        raise WorkflowError(f"failed: {failed}. What is done is kept. Whole log: {where}")


def summary(profile: str, names: list[str], begun: float, seconds: float) -> None:
    """Print what ran, for how long, and how much of it was training."""
    ran = []
    for name in names:
        path = ROOT / "build" / profile / "provenance" / f"{name}.json"
        if path.is_file() and path.stat().st_mtime >= begun:
            ran.append(json.loads(path.read_text(encoding="utf-8")))
    if not ran:
        print(f"{len(names)} notebooks of {profile}: nothing new to run ({duration(seconds)})")
        return
    print(f"\n{'notebook':<16}   {'wall':>12}   {'training':>12}")
    for record in ran:
        training = record["training_seconds"]
        shown = "" if training is None else duration(training)
        print(f"{record['notebook']:<16}   {duration(record['wall_seconds']):>12}   {shown:>12}")
    wall = sum(record["wall_seconds"] for record in ran)
    training = sum(record["training_seconds"] or 0 for record in ran)
    print(
        f"{len(ran)} of {len(names)} notebooks ran in {duration(seconds)}; "
        f"{training / wall:.0%} of their {duration(wall)} was training\n"
    )


def write_nbmake(profile: str) -> list[Path]:
    """Write the notebooks with a profile's parameters for nbmake, in an order that can run.

    nbmake takes files in alphabetical order, so each name starts with the notebook's place.

    Raises
    ------
    WorkflowError
        If the folder can not be written.
    """
    folder = ROOT / "build" / "nbmake"
    given = catalogue.parameters(catalogue.load_profile(profile))
    prepared = [
        parameters.prepare(name, {**given[name], "out": "build/nbmake/out"})[0]
        for name in catalogue.table()
    ]
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        paths = []
        for place, (name, notebook) in enumerate(zip(catalogue.table(), prepared, strict=True)):
            paths.append(folder / f"{place:02d}_{name}.ipynb")
            nbformat.write(notebook, paths[-1])
    except OSError as error:
        raise WorkflowError(cannot_write(folder, error)) from None
    return paths


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.drive", description=__doc__.split("\n")[0]
    )
    parser.add_argument("what", choices=["book", "notebooks", "nbmake"])
    parser.add_argument("names", nargs="*", help="notebooks, for `notebooks`; all if none")
    parser.add_argument(
        "--profile", default="paper", help=f"one of {', '.join(catalogue.profiles())}"
    )
    parser.add_argument("--html", default="_build/html", help="folder of the built book")
    parser.add_argument("--force", action="store_true", help="run again what is up to date")
    parser.add_argument("--cores", type=int, default=provenance.available_cores())
    parser.add_argument(
        "--executor", default="default", help="a folder of workflow/profiles, such as slurm"
    )
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run from a command line; 0 on success, 2 on an error, 130 when interrupted."""
    options = arguments().parse_args(argv)

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        catalogue.load_profile(options.profile)
        executors = [path.parent.name for path in ROOT.glob("workflow/profiles/*/config.yaml")]
        if options.executor not in executors:
            raise WorkflowError(catalogue.unknown("executor", options.executor, executors))
        if options.cores < 1:
            raise WorkflowError(f"--cores must be at least 1, not {options.cores}")
        if options.names and options.what != "notebooks":
            raise WorkflowError(f"{options.what} takes no notebook names")
        if options.what == "book":
            book.check_destination((ROOT / options.html).resolve())
        if options.what == "nbmake":
            paths = write_nbmake(options.profile)
            print(f"wrote {len(paths)} notebooks to build/nbmake")
            return 0
        run_notebooks(
            take_lock(),
            options.profile,
            options.names,
            force=options.force,
            cores=options.cores,
            executor=options.executor,
        )
        if options.what == "book":
            book.build(options.profile, Path(options.html), options.force)
    except WorkflowError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {cannot_write(Path(error.filename or ROOT), error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from what is done", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
