"""The site: questions lead to answers within two clicks, and every public name has its page."""

import inspect
import re

import pytest
from places import ROOT

import calibrant

DOCS = ROOT / "docs"
PAGES = [
    path for path in sorted(DOCS.rglob("*.md")) if not {"gallery", "reference"} & set(path.parts)
]
PAGES += sorted(ROOT.glob("*.md"))
ROWS = re.findall(
    r"^\| [^|]+ \| ([^|]+) \| \[[^\]]+\]\(([^)#]+)(#[^)]+)?\) \| ([^|]+) \|$",
    (DOCS / "questions.md").read_text("utf-8"),
    re.MULTILINE,
)


def linked(page):
    """Return the pages that a page leads to, by links in its text or its list of contents."""
    text = page.read_text("utf-8")
    links = re.findall(r"\]\(([^)#:]+\.md)", text)
    for names in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
        links += [f"{name}.md" for name in names.split("\n") if re.fullmatch(r"[a-z/-]+", name)]
    return {(page.parent / link).resolve() for link in links} - {DOCS / "gallery" / "index.md"}


def test_there_are_twenty_questions():
    assert len(ROWS) == 20


@pytest.mark.parametrize(("question", "page", "anchor", "words"), ROWS)
def test_an_answer_is_two_clicks_away(question, page, anchor, words):
    target = (DOCS / page).resolve()
    first = linked(DOCS / "index.md") - {DOCS / "questions.md"}
    assert target in first.union(*(linked(one) for one in first)), question
    text = target.read_text("utf-8")
    assert all(word in text.lower() for word in words.lower().split())
    assert not anchor or anchor in anchors(text)


def anchors(text):
    """Return the anchors of the headings of a page."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {"#" + re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)", text):
        target = (page.parent / file).resolve() if file else page
        if target == DOCS / "gallery" / "index":  # made with the site
            continue
        assert target.exists(), file
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), file + anchor


def test_every_figure_is_shown():
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for figure in (DOCS / "figures").rglob("*.*"):
        assert f"figures/{figure.relative_to(DOCS / 'figures').as_posix()}" in text, figure


@pytest.mark.parametrize("page", [DOCS / "start.md", *(DOCS / "guide").glob("*.md")])
def test_code_of_the_guide_runs_as_an_example(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert all(block.startswith(">>> ") for block in blocks)


def test_nothing_of_the_site_is_fetched():
    names = [DOCS / "conf.py", *DOCS.glob("_static/*"), *PAGES]
    for path in names:
        text = path.read_text("utf-8")
        assert not re.search(
            r"!\[[^\]]*\]\(https?:|<(?:img|script|link)[^>]*https?:|@import", text
        ), path


@pytest.mark.parametrize("name", sorted(calibrant.__all__))
def test_public_functions_have_an_example_and_types(name):
    public = getattr(calibrant, name)
    if inspect.isfunction(public):
        assert ">>> " in inspect.getdoc(public)
        signature = inspect.signature(public)
        hints = [each.annotation for each in signature.parameters.values()]
        assert inspect.Signature.empty not in [*hints, signature.return_annotation]


def test_every_public_name_has_a_page():
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE))
    modules = re.findall(r"^## `calibrant\.(\w+)`$", (DOCS / "api.md").read_text(), re.MULTILINE)
    names = set(calibrant.__all__) - set(modules)
    for module in set(modules) - {"sklearn"}:
        names |= set(getattr(calibrant, module).__all__)
    assert sorted(names - listed) == []
