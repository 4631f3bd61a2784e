"""What made a notebook's results: commit, machine, sources, and hashes of the files."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path

from workflow.catalogue import ROOT


def sha256(path: Path) -> str:
    """Hash of a file's content."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def git_state() -> dict:
    """Commit and whether anything differs from it; ``unknown`` and None outside a git clone."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != ROOT:
            raise OSError("an unpacked archive inside some other repository")
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": "unknown", "dirty": None}


def machine() -> dict:
    """Processor and the cores this process may use."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass  # not Linux
    return {"model": model, "cores": available_cores()}


def available_cores() -> int:
    """Cores this process may run on, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
