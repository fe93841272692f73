"""Search the site that `make docs` built, in a browser: what docs/questions.md lists is found.

Usage: python tests/searches.py build/docs
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from browser import start, until
from places import ROOT

FIRST = 4  # pages of an answer that somebody reads
QUESTION = r"^\| [^|]+ \| [^|]+ \| \[[^\]]+\]\(([^)#]+)\.md[^)]*\) \| ([^|]+) \|$"
TOOLS = r"^\| \[[^\]]+\]\(([^)]+)\.md\) \| ([^|]+) \|$"
DONE = """return /finished|did not match/.test(
    document.querySelector('#search-results .search-summary')?.textContent)"""
HITS = """return [...document.querySelectorAll('#search-results li > a')]
    .map(link => link.getAttribute('href').split(/[.]html/)[0])"""


def searches() -> Iterator[tuple[str, str]]:
    """Yield what is searched for, and the page that should be found."""
    text = (ROOT / "docs" / "questions.md").read_text("utf-8")
    for page, words in re.findall(QUESTION, text, re.MULTILINE):
        yield words, page
    for page, names in re.findall(TOOLS, text, re.MULTILINE):
        yield from ((name, page) for name in names.split(", "))


def main(site: Path) -> int:
    """Print where each page is found; return the exit code."""
    late = 0
    with tempfile.TemporaryDirectory() as profile:
        browser = start(profile)
        try:
            for words, page in searches():
                browser.get(f"{(site.resolve() / 'search.html').as_uri()}?q={quote(words)}")
                until(lambda: browser.execute_script(DONE))
                found = list(dict.fromkeys(browser.execute_script(HITS)))  # pages, once each
                rank = found.index(page) + 1 if page in found else None
                late += rank is None or rank > FIRST
                print(f"{words}: {page} is number {rank}; {', '.join(found[:FIRST])}")
        finally:
            browser.quit()
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
