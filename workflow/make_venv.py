"""Make `.venv` as the lock has it, or finish at once where it already is so.

Runs on the reader's own interpreter before anything is installed: standard library only.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# Written last, so that an interrupted run is never taken for a finished one.
STAMP = VENV / "made-from.json"


def torch_pin():
    """Return the `torch==…` requirement of pyproject.toml."""
    dependencies = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    return next(pin for pin in dependencies if pin.startswith("torch=="))


def locked(name):
    """Return the lines of the lock that pin `name` with its hashes."""
    stanza = re.search(rf"^{name}==(?:.*\\\n)*.*\n", LOCK.read_text(), re.MULTILINE)
    if stanza is None:
        raise SystemExit(f"make .venv: {LOCK.name} does not pin {name}; run `make lock`")
    return stanza.group()


def wanted():
    """Return what `.venv` must have been made from: one key for packages, one for paperlib."""
    packages = hashlib.sha256()
    # The folder is part of it: an editable install points at the place it was made in.
    for part in (LOCK.read_bytes(), torch_pin().encode(), Path(__file__).read_bytes(), bytes(ROOT)):
        packages.update(hashlib.sha256(part).digest())
    project = hashlib.sha256(PROJECT.read_bytes())
    return {"packages": packages.hexdigest(), "paperlib": project.hexdigest()}


def found():
    """Return what `.venv` says it was made from; empty where it is missing or half-made."""
    try:
        return json.loads(STAMP.read_text()) if PYTHON.exists() else {}
    except (OSError, ValueError):
        return {}


def run(step, *command, **environment):
    """Run one step of the set-up and say how long it took."""
    print(f"make .venv: {step} …", flush=True)
    start = time.monotonic()
    command = [str(part) for part in command]
    subprocess.run(command, check=True, close_fds=False, env=os.environ | environment)
    print(f"make .venv: {step}: {time.monotonic() - start:.0f} s", flush=True)


def uv_settings():
    """Return pip's own settings in uv's words: uv reads none of pip's variables."""
    links, index = os.environ.get("PIP_FIND_LINKS"), os.environ.get("PIP_INDEX_URL")
    given = {"UV_FIND_LINKS": links and ",".join(links.split()), "UV_DEFAULT_INDEX": index}
    return {name: value for name, value in given.items() if value and name not in os.environ}


def add_uv():
    """Install the locked uv, or say that pip has to do without it."""
    pin = VENV / "uv.txt"
    pin.write_text(locked("uv"))
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement")
    try:
        run("uv", *pip, pin)
    except subprocess.CalledProcessError:
        print("make .venv: no uv here; going on with pip, which takes a few minutes", flush=True)


def install(step, *arguments, **environment):
    """Install packages into `.venv`, with uv where it is there."""
    # Without bytecode, each notebook's imports take four times as long.
    uv = ("uv", "pip", "install", "--python", PYTHON, "--compile-bytecode")
    command = uv if has_uv() else ("pip", "install")
    # A person watches the bars; a log needs no list of every package.
    quiet = () if sys.stdout.isatty() else ("--quiet",)
    run(step, PYTHON, "-m", *command, *quiet, *arguments, **uv_settings(), **environment)


def has_uv():
    """Tell whether `.venv` has uv."""
    return (VENV / "bin" / "uv").exists()


def install_torch():
    """Install torch: no one hash lock serves its CPU and its CUDA builds.

    TORCH_FIND_LINKS (a folder of wheels) or TORCH_INDEX (the address of an index) name another
    source. Without them a wheel that PIP_FIND_LINKS offers is taken, else uv's CPU build.
    """
    pin = torch_pin()
    links, index = os.environ.get("TORCH_FIND_LINKS"), os.environ.get("TORCH_INDEX")
    if links:
        return install(pin, "--find-links", links, pin)
    if index:
        return install(pin, "--index" if has_uv() else "--extra-index-url", index, pin)
    folders = os.environ.get("PIP_FIND_LINKS", "").split()
    offered = any(wheel for folder in folders for wheel in Path(folder).glob("torch-*.whl"))
    if sys.platform == "linux" and not offered:
        if has_uv():
            build = os.environ.get("UV_TORCH_BACKEND", "cpu")
            with contextlib.suppress(subprocess.CalledProcessError):
                return install(f"{pin}, {build} build", pin, UV_TORCH_BACKEND=build)
        print(
            f"make .venv: no CPU build of {pin} found. The default build follows: gigabytes of"
            " CUDA libraries that nothing here uses. To avoid them, stop now and name a folder"
            " of wheels (TORCH_FIND_LINKS=...) or an index (TORCH_INDEX=...) that has one.",
            flush=True,
        )
    return install(pin, pin)


def make(want, have):
    """Bring `.venv` from what it was made from (`have`) to what is wanted."""
    if have.get("packages") != want["packages"]:
        STAMP.unlink(missing_ok=True)
        # Anew rather than on top: leftovers of another lock, or a package that an interrupted
        # run half unpacked, would pass for installed. The base interpreter, because `python3`
        # may be the one of an activated .venv.
        run("an empty environment", sys._base_executable, "-m", "venv", "--clear", VENV)
        add_uv()
        install("the locked packages", "--require-hashes", "--requirement", LOCK)
        install_torch()
    install("paperlib", "--no-deps", "--no-build-isolation", "--editable", ROOT)
    new = STAMP.with_suffix(".new")
    new.write_text(json.dumps(want, indent=1) + "\n")
    os.replace(new, STAMP)


def main():
    """Make `.venv` where it is not as wanted; return the exit code."""
    with LOCK.open() as lock:
        # Two makes at once: the second waits, then finds nothing left to do. The steps inherit
        # the lock, so a step that outlives a killed run is waited for as well.
        os.set_inheritable(lock.fileno(), True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("make .venv: waiting for another run of it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        want, have = wanted(), found()
        if have == want:
            return 0
        try:
            make(want, have)
        except subprocess.CalledProcessError as error:
            command = " ".join(map(str, error.cmd))
            print(
                f"make .venv: this step failed with exit code {error.returncode}: {command}\n"
                "Its own message is above. Run the same make command again to go on.",
                file=sys.stderr,
            )
            return 1
        except KeyboardInterrupt:
            print("make .venv: interrupted; the next run makes it anew", file=sys.stderr)
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
