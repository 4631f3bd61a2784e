"""The built book, page by page, and the prose it is made from.

``make test`` builds the smoke profile's book and names its folder in ``PAPERLIB_HTML``; without
that variable the tests of pages are skipped.
"""

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jupytext
import pytest
from bs4 import BeautifulSoup

from workflow import book

ROOT = Path(__file__).resolve().parents[1]
HTML = os.environ.get("PAPERLIB_HTML")
PAGES = book.toc_pages()
NOTEBOOKS = [page for page in PAGES if page.startswith("notebooks/")]
built = [
    pytest.mark.book,
    pytest.mark.skipif(HTML is None, reason="PAPERLIB_HTML names no built book: run `make test`"),
]


def of_built(function):
    """A test of the built book."""
    for mark in built:
        function = mark(function)
    return function


def folder() -> Path:
    """The built book's folder."""
    return (ROOT / HTML).resolve()


def read(page: str) -> str:
    """A page as HTML text."""
    return (folder() / f"{page}.html").read_text(encoding="utf-8")


@pytest.fixture(params=PAGES)
def page(request):
    """Each page of the table of contents in turn."""
    return request.param


@pytest.fixture
def soup(page):
    """The page, parsed."""
    return BeautifulSoup(read(page), "html.parser")


def article(soup):
    """The page's own content, without navigation."""
    return soup.find("article")


def prose(soup) -> str:
    """The text of the content, without code, its output, and formulas."""
    content = BeautifulSoup(str(article(soup)), "html.parser")
    for tag in content.select("pre, code, script, style, .math"):
        tag.decompose()
    return content.get_text(" ")


def executed(page: str) -> list[dict]:
    """Code cells of the executed notebook that the page offers for download."""
    path = folder() / "_sources" / f"{page}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def shows(output: dict) -> bool:
    """Whether an output is to be seen, and not a glued value kept for the prose."""
    hidden = "application/papermill.record/"
    return output["output_type"] == "stream" or any(
        not mime.startswith(hidden) for mime in output["data"]
    )


@of_built
def test_every_page_is_there():
    assert book.missing_pages(folder()) == []
    stamp = json.loads((folder() / book.STAMP).read_text(encoding="utf-8"))
    assert stamp["profile"] == "smoke"


@of_built
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_cell_was_run_and_its_output_is_on_the_page(page, soup):
    cells = executed(page)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not any(o["output_type"] == "error" for cell in cells for o in cell["outputs"])
    kept = [c for c in cells if "remove-cell" not in c["metadata"].get("tags", [])]
    wanted = sum(any(shows(output) for output in cell["outputs"]) for cell in kept)
    content = article(soup)
    assert len(content.select("div.cell")) == len(kept)
    assert len(content.select("div.cell_output")) == wanted
    assert all(box.find(["img", "table", "pre"]) for box in content.select("div.cell_output"))
    assert content.find("table")
    assert content.find("img") or page.startswith("notebooks/table_")


@of_built
def test_no_traceback(soup):
    text = soup.get_text(" ")
    assert "Traceback" not in text
    assert not re.search(r"^\w*(Error|Exception|Warning): ", text, re.MULTILINE)


@of_built
def test_no_absolute_path_anywhere():
    """Neither in pages nor in anything that they offer for download."""
    tops = "home|root|tmp|work|Users|usr|var|mnt|private"
    pattern = re.compile(rf"(?<![\w./-])/(?:{tops})/|(?<!\w)[A-Z]:\\")
    for path in folder().rglob("*"):
        ours = "_static" not in path.parts
        if path.is_file() and ours and path.suffix in (".html", ".ipynb", ".csv", ".js", ".md"):
            found = pattern.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.name}: {found.string[found.start() - 80 : found.end() + 80]}"


@of_built
def test_no_address_or_type_of_python_shows(soup):
    text = article(soup).get_text(" ")
    for pattern in (r"\bat 0x[0-9a-f]+", r"np\.(float|int|bool)", r"<[\w. ]+object"):
        assert not re.search(pattern, text), re.search(pattern, text)[0]


@of_built
def test_roles_and_citations_are_resolved(soup):
    assert not soup.select(".problematic, .system-message, .pending_xref")
    text = prose(soup)
    for pattern in (r"\{[\w:-]+\}", r"\.ipynb::", r"\[\?\]", r"\w+2\d{3}\w+\]"):
        assert not re.search(pattern, text), re.search(pattern, text)[0]


@of_built
def test_links_within_the_book_lead_somewhere(page, soup):
    here = folder() / f"{page}.html"
    for link in soup.find_all("a", href=True):
        url = urlsplit(link["href"])
        if url.scheme or url.netloc:
            continue
        target = (here.parent / unquote(url.path)).resolve() if url.path else here
        assert target.is_file(), link["href"]
        if url.fragment and target.suffix == ".html" and not url.fragment.startswith("/"):
            ids = re.findall(r'\bid="([^"]*)"', target.read_text(encoding="utf-8"))
            assert unquote(url.fragment) in [*ids, ""], link["href"]


@of_built
def test_a_provenance_footer_and_the_banner_are_on_the_page(page, soup):
    footers = article(soup).select("section.provenance")
    assert len(footers) == 1
    terms = [term.get_text() for term in footers[0].find_all("dt")]
    assert {"Profile", "Commit", "Versions", "BLAS"} <= set(terms)
    text = footers[0].get_text(" ")
    assert "profile smoke" in text and re.search(r"torch \d", text)
    if page in NOTEBOOKS:
        assert {"Parameters", "Seeds", "Wall time", "Results"} <= set(terms)
        assert re.search(r"SHA-256\s+[0-9a-f]{16}", text)
        name = page.removeprefix("notebooks/")
        assert footers[0].find("a", href=f"../results/{name}.csv")
    banner = article(soup).select(".smoke-banner")
    assert len(banner) == 1 and "not evidence" in banner[0].get_text()


@of_built
def test_every_image_has_alt_text(soup):
    for image in soup.find_all("img"):
        assert image.get("alt", "").strip(), image.get("src")
    for image in article(soup).find_all("img"):
        # A file's name is what Sphinx falls back to.
        assert not re.search(r"\.(png|svg)$", image["alt"]), image["alt"]


@of_built
def test_launch_and_edit_buttons_point_at_committed_files(page, soup):
    links = [a["href"] for a in soup.find_all("a", href=True)]
    for url in links:
        if "mybinder.org" in url or "/edit/" in url:
            path = re.search(r"(?:lab/tree|edit/\w+)/(.*)$", url)[1]
            assert (ROOT / path).is_file(), url
    if page in NOTEBOOKS:
        assert any("mybinder.org" in url for url in links)


# --- numbers in prose ---------------------------------------------------------------------------

# What looks like a number of ours and is none, each with its reason.
ALLOWED = {
    r"Python \d\.\d+": "a version that is asked for",
    r"arXiv:\d+\.\d+": "an identifier",
}


def typed_numbers(text: str) -> list[str]:
    """Decimal numbers and percentages in MyST text that no role, code or allowance covers."""
    # Directives hold prose (captions); other fences hold code.
    text = re.sub(r"^(`{3,}|~{3,})(?!\s*\{).*?^\1\s*$", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^:\w+:.*$", " ", text, flags=re.MULTILINE)  # options of directives
    text = re.sub(r"\{[\w:-]+\}`[^`]*`", " ", text)  # roles: glue, cite, ref
    text = re.sub(r"`[^`\n]*`", " ", text)
    text = re.sub(r"https?://\S+|\]\([^)]*\)", " ", text)
    for pattern in ALLOWED:
        text = re.sub(pattern, " ", text)
    return re.findall(r"\d+\.\d+\S*|\d+\s?%", text)


def prose_sources() -> dict[str, str]:
    """The prose of the book, page by page."""
    texts = {}
    for page in PAGES:
        if page in NOTEBOOKS:
            cells = jupytext.read(ROOT / f"{page}.py").cells
            texts[page] = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
        else:
            texts[page] = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    return texts


@pytest.mark.parametrize("page", PAGES)
def test_no_number_is_typed_where_a_glue_belongs(page):
    assert typed_numbers(prose_sources()[page]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The damage is 0.83.", ["0.83."]),
        ("Accuracy was 98 % here.", ["98 %"]),
        ("At $\\alpha = 0.9$ it", ["0.9$"]),
        ("```{glue:figure} x\n:name: a-1.5\n\nDamage 0.5 here\n```", ["0.5"]),
        ("The damage is {glue:text}`a.ipynb::b:.2f` at `0.9`.", []),
        ("```bash\nrun -p a=0.3\n```", []),
        ("Python 3.11 and arXiv:2606.18457 at https://x.org/1.2", []),
        ("Three seeds, 64 units, 2×2 blocks.", []),
    ],
)
def test_typed_numbers_are_found(text, found):
    assert typed_numbers(text) == found
