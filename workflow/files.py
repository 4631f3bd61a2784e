"""Writing files whole or not at all, and saying in words why one can not be written."""

import errno
import os
import tempfile
import uuid
from pathlib import Path

from workflow import WorkflowError
from workflow.catalogue import ROOT

FOLDERS = ("results", "figures", "notebooks", "provenance", "logs", "solutions")


def relative(path: Path) -> str:
    """A path as text, relative to the repository where it lies inside it."""
    path = Path(path).resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()


def cannot_write(path: Path, error: OSError) -> str:
    """What is wrong with writing to a path, in words."""
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
    return f"can not write to {relative(path)}: {reason}"


def open_folders(out: Path) -> None:
    """Create the output folders and prove that they can be written, before any work is done.

    Raises
    ------
    WorkflowError
        If a folder can not be created or written.
    """
    for folder in FOLDERS:
        try:
            (out / folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out / folder) as probe:
                probe.write(b"x")
        except OSError as error:
            raise WorkflowError(cannot_write(out / folder, error)) from None


def write_atomic(path: Path, text: str) -> None:
    """Write a file so that its name never stands for a half-written one.

    Raises
    ------
    WorkflowError
        If it can not be written, such as on a full disk.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise WorkflowError(cannot_write(path, error)) from None
