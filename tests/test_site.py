"""The site: questions lead to answers within two clicks, and every public name has its page."""

import re

import pytest
from places import ROOT

import calibrant

DOCS = ROOT / "docs"
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
    assert words.strip().lower() in text.lower()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {"#" + re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
    assert not anchor or anchor in slugs


def test_every_public_name_has_a_page():
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE))
    modules = re.findall(r"^## `calibrant\.(\w+)`$", (DOCS / "api.md").read_text(), re.MULTILINE)
    names = set(calibrant.__all__) - set(modules)
    for module in set(modules) - {"sklearn"}:
        names |= set(getattr(calibrant, module).__all__)
    assert sorted(names - listed) == []
