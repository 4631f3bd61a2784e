"""Stage the book of one profile and build it with Jupyter Book.

Sphinx reads a staged copy, ``build/<profile>/book/``: the prose and configuration of the
repository, each executed notebook beside its source, and the figures, results and provenance of
that profile. So books of two profiles never mix, and the working tree holds no generated file.
The finished HTML replaces the destination in one step; a failed build leaves the old book alone.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import yaml

from workflow import WorkflowError, provenance
from workflow.catalogue import ROOT
from workflow.files import cannot_write, relative

STAMP = ".inputs.json"  # in the HTML folder: what it was built from
SUFFIXES = (".md", ".ipynb")


def toc_pages() -> list[str]:
    """Documents of ``_toc.yml`` in their order, the root first, without extensions."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))

    def walk(entry) -> list[str]:
        if isinstance(entry, list):
            return [page for item in entry for page in walk(item)]
        here = [entry["file"]] if "file" in entry else []
        below = [walk(entry[key]) for key in ("parts", "chapters", "sections") if key in entry]
        return here + [page for pages in below for page in pages]

    return [toc["root"], *walk(toc)]


def inputs(profile: str) -> dict[str, Path]:
    """Every file of the staged book: its path there, and where it comes from.

    Raises
    ------
    WorkflowError
        If a page of the table of contents has no source.
    """
    made = ROOT / "build" / profile
    files = {name: ROOT / name for name in ("_config.yml", "_toc.yml")}
    for folder in ("_static", "book"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(ROOT).as_posix()] = path
    for page in toc_pages():
        if page.startswith("notebooks/"):
            name = page.removeprefix("notebooks/")
            files[f"{page}.py"] = ROOT / f"{page}.py"
            files[f"{page}.ipynb"] = made / "notebooks" / f"{name}.ipynb"
            files[f"provenance/{name}.json"] = made / "provenance" / f"{name}.json"
        else:
            files[f"{page}.md"] = ROOT / f"{page}.md"
    # Figures under a name that prose can use whatever the profile.
    for kind, target in (("figures", "book/_figures"), ("results", "results")):
        for path in (made / kind).glob("*"):
            if path.is_file() and not path.name.startswith("."):
                files[f"{target}/{path.name}"] = path
    for staged, path in files.items():
        if not path.is_file():
            raise WorkflowError(f"the book needs {relative(path)}, as {staged}: it is not there")
    return files


def fingerprint(profile: str, files: dict[str, Path], state: dict) -> str:
    """Hash of everything the book's pages depend on."""
    digest = hashlib.sha256(json.dumps([profile, state], sort_keys=True).encode())
    # The lock stands for the versions of the builder.
    more = {name: ROOT / name for name in ("requirements.lock", "workflow/book.py")}
    for name, path in sorted({**files, **more}.items()):
        if path.is_file():
            digest.update(f"{name} {provenance.sha256(path)}\n".encode())
    return digest.hexdigest()


def stage(profile: str, files: dict[str, Path], state: dict) -> Path:
    """Write the staged book anew, without any trace of an earlier build."""
    folder = ROOT / "build" / profile / "book"
    shutil.rmtree(folder, ignore_errors=True)
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    record = {"profile": profile, **state}
    (folder / "provenance" / "build.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def sphinx(folder: Path, log_path: Path) -> None:
    """Run Jupyter Book over a staged book, every warning an error, all of them shown.

    Raises
    ------
    WorkflowError
        If there is any warning or error; the message holds them with paths of the repository.
    """
    command = Path(sys.executable).parent / "jupyter-book"
    done = subprocess.run(
        [command, "build", folder, "-W", "-n", "--keep-going"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).replace(f"{folder}{os.sep}", "")
    log_path.write_text(text, encoding="utf-8")
    if done.returncode:
        problems = [line for line in text.splitlines() if re.search(r"WARNING|ERROR|Error:", line)]
        shown = "\n  ".join(dict.fromkeys(problems[:30])) or text[-1500:]
        raise WorkflowError(f"the book has warnings:\n  {shown}\nwhole log: {relative(log_path)}")


def missing_pages(html: Path) -> list[str]:
    """Pages of the table of contents that a built book lacks, and its index."""
    names = ["index.html", *(f"{page}.html" for page in toc_pages())]
    return [name for name in dict.fromkeys(names) if not (html / name).is_file()]


def replace(built: Path, html: Path) -> None:
    """Put a built book where it belongs, whole: the old one stays until the new one is copied."""
    new = html.with_name(f".{html.name}.{uuid.uuid4().hex}")
    try:
        html.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(built, new)
        if html.exists():
            old = new.with_name(f"{new.name}.old")
            os.replace(html, old)
            shutil.rmtree(old)
        os.replace(new, html)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise WorkflowError(cannot_write(html, error)) from None


def check_destination(html: Path) -> None:
    """Refuse to replace a folder that holds something else than a built book.

    Raises
    ------
    WorkflowError
        If the folder is not empty and was not built by this module.
    """
    if html.exists() and not html.is_dir():
        raise WorkflowError(f"--html {relative(html)} is a file")
    if html.is_dir() and any(html.iterdir()) and not (html / STAMP).is_file():
        raise WorkflowError(f"--html {relative(html)} holds other files than a built book")


def build(profile: str, html: Path, force: bool = False) -> None:
    """Bring the HTML of a profile's book up to date.

    Raises
    ------
    WorkflowError
        If an input is missing, Sphinx warns, a page is missing, or the folder can not be written.
    """
    started, html = time.monotonic(), (ROOT / html).resolve()
    check_destination(html)
    files, state = inputs(profile), provenance.git_state()
    stamp = {"profile": profile, "inputs": fingerprint(profile, files, state)}
    try:
        old = json.loads((html / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        old = None
    where = relative(html / "index.html")
    if old == stamp and not missing_pages(html) and not force:
        print(f"book of {profile}: up to date in {where}")
        return
    try:
        folder = stage(profile, files, state)
    except OSError as error:
        raise WorkflowError(cannot_write(ROOT / "build" / profile / "book", error)) from None
    sphinx(folder, ROOT / "build" / profile / "logs" / "book.log")
    built = folder / "_build" / "html"
    if missing := missing_pages(built):
        raise WorkflowError(f"the build ended without the pages {', '.join(missing)}")
    (built / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    replace(built, html)
    print(f"book of {profile}: {where} ({time.monotonic() - started:.0f} s)")
