"""Sphinx extension: a footer on every page that says what its numbers were made from.

It reads ``provenance/*.json`` of the staged book, which ``workflow.run_notebook`` wrote beside the
results and ``workflow.book`` staged. A page of a smoke-sized run also gets a banner. The results
files go into the built book, so that the footer can link to what it names.
"""

import json
import re
import shutil
from html import escape
from pathlib import Path

BANNER = (
    '<div class="smoke-banner" role="note">Smoke-sized run: tiny networks, a few training steps. '
    "These numbers are not evidence.</div>"
)


def read_records(srcdir: Path) -> tuple[dict, dict[str, dict]]:
    """The record of the build and those of the notebooks by name."""
    records = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((srcdir / "provenance").glob("*.json"))
    }
    return records.pop("build"), records


def shown_notebooks(pagename: str, source: str, records: dict[str, dict]) -> list[str]:
    """Notebooks whose numbers or figures a page shows, in the order of their first mention."""
    if pagename.startswith("notebooks/"):
        return [pagename.removeprefix("notebooks/")]
    makers = {
        Path(file).name: name for name, record in records.items() for file in record["results"]
    }
    found = []
    for glued, figure in re.findall(r"(\w+)\.ipynb::|_figures/([\w.-]+)", source):
        name = glued or makers.get(figure)
        if name in records and name not in found:
            found.append(name)
    return found


def commit_text(record: dict) -> str:
    """Short commit, with whether the working tree differed from it."""
    if record["commit"] == "unknown":
        return "unknown (not run from a git clone)"
    return record["commit"][:10] + (" with uncommitted changes" if record["dirty"] else "")


def entries(rows: dict[str, str]) -> str:
    """A definition list; values are HTML already."""
    return "<dl>" + "".join(f"<dt>{k}</dt><dd>{v}</dd>" for k, v in rows.items() if v) + "</dl>"


def file_list(record: dict, pathto) -> str:
    """Links to a notebook's results tables with the start of their hashes."""
    items = [
        f'<li><a href="{escape(pathto(file, 1))}" download>{escape(file)}</a>, '
        f"SHA-256 <code>{digest[:16]}</code></li>"
        for file, digest in record["results"].items()
        if file.endswith(".csv")
    ]
    return f"<ul>{''.join(items)}</ul>"


def wall_time(record: dict) -> str:
    """How long the notebook ran, and how much of it was training."""
    text = f"{record['wall_seconds']:.0f} s"
    if record["training_seconds"] is not None:
        text += f", of which {record['training_seconds']:.0f} s training"
    return text


def parameter_text(record: dict) -> str:
    """Parameters but for the folder and the seeds, which stand elsewhere."""
    values = {k: v for k, v in record["parameters"].items() if k not in ("out", "seeds")}
    return ", ".join(f"{k} = {v}" for k, v in values.items())


def seed_text(record: dict, records: dict[str, dict]) -> str:
    """Seeds of a notebook, or of those whose results it reads."""
    makers = [records.get(Path(file).stem, {}) for file in record["inputs"]]
    seeds = {seed for one in (record, *makers) for seed in one.get("seeds") or []}
    return ", ".join(map(str, sorted(seeds)))


def notebook_rows(record: dict, records: dict[str, dict], pathto) -> dict[str, str]:
    """What the footer of a notebook's page lists."""
    read = {**record["inputs"], **record["reads"]}
    return {
        "Profile": escape(record["profile"]),
        "Parameters": escape(parameter_text(record)),
        "Seeds": escape(seed_text(record, records)),
        "Commit": escape(commit_text(record)),
        **environment_rows(record),
        "Wall time": escape(f"{wall_time(record)}, on {record['started'][:10]}"),
        "Reads": "; ".join(f"{escape(f)}, SHA-256 <code>{h[:16]}</code>" for f, h in read.items()),
        "Results": file_list(record, pathto),
    }


def environment_rows(record: dict) -> dict[str, str]:
    """Software and machine of a run."""
    processor = record["processor"]
    return {
        "Versions": escape(", ".join(f"{k} {v}" for k, v in record["versions"].items())),
        "BLAS": escape(", ".join(f"{k}: {v}" for k, v in record["blas"].items())),
        "Machine": escape(f"{processor['model']}, {record['threads']} thread per notebook"),
    }


def prose_rows(names: list[str], build: dict, records: dict[str, dict], pathto) -> dict[str, str]:
    """What the footer of a prose page lists: the build, and each notebook that it quotes."""
    rows = {"Profile": escape(build["profile"]), "Commit": escape(commit_text(build))}
    # The richest BLAS report: not every notebook loads every library.
    rows |= environment_rows(max(records.values(), key=lambda r: len(r["blas"])))
    for name in names:
        record = records[name]
        seeds, parameters = seed_text(record, records), parameter_text(record)
        about = [parameters, f"seeds {seeds}" if seeds else "", wall_time(record)]
        link = f'<a href="{escape(pathto(f"notebooks/{name}"))}">{escape(name)}</a>'
        text = escape("; ".join(filter(None, about)))
        rows[f"From {link}"] = text + file_list(record, pathto)
    if not names:
        rows["Results"] = "this page shows none"
    return rows


def footer(pagename: str, source: str, build: dict, records: dict[str, dict], pathto) -> str:
    """The footer of one page as HTML."""
    names = shown_notebooks(pagename, source, records)
    if pagename.startswith("notebooks/"):
        record = records[names[0]]
        rows = notebook_rows(record, records, pathto)
    else:
        record, rows = build, prose_rows(names, build, records, pathto)
    summary = escape(f"profile {record['profile']}, commit {commit_text(record)}")
    return (
        '<section class="provenance" aria-label="Provenance"><details>'
        f"<summary>Provenance: {summary}</summary>{entries(rows)}</details></section>"
    )


def to_source(url: str) -> str:
    """The address of a notebook's committed source: the executed notebook is not in git."""
    return re.sub(r"(notebooks/\w+)\.ipynb", r"\1.py", url)


def fix_buttons(buttons: list[dict]) -> None:
    """Point launch and edit buttons at files that the repository holds."""
    for button in buttons:
        if "buttons" in button:
            fix_buttons(button["buttons"])
        elif button.get("label") != "download-source-button" and "url" in button:
            if not button["url"].startswith((".", "_sources")):
                button["url"] = to_source(button["url"])


def add_to_page(app, pagename, templatename, context, doctree) -> None:
    """Put the banner above and the footer below a page made from a document."""
    if doctree is None:
        return
    build, records = read_records(Path(app.srcdir))
    source = Path(app.env.doc2path(pagename)).read_text(encoding="utf-8")
    banner = BANNER if build["profile"] == "smoke" else ""
    foot = footer(pagename, source, build, records, context["pathto"])
    context["body"] = banner + context["body"] + foot
    fix_buttons(context.get("header_buttons", []))


def copy_results(app, exception) -> None:
    """Put the results tables into the book."""
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir) / "results"
        target.mkdir(exist_ok=True)
        for path in (Path(app.srcdir) / "results").glob("*.csv"):
            shutil.copyfile(path, target / path.name)


def setup(app):
    """Register with Sphinx."""
    app.connect("html-page-context", add_to_page, priority=900)  # after the theme's buttons
    app.connect("build-finished", copy_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
