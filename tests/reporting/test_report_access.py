"""The report for everybody: dark or light, on a phone, read aloud, or on paper."""

import base64
from importlib.resources import files

import pytest
from browser import complaints
from models import tempered

from calibrant import report

AXE = files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text("utf-8")
CASES = {
    "binary": lambda: tempered(800, 2, 2.0, ["no", "yes"]),
    "four": lambda: tempered(800, 4, 2.0),
    "ten": lambda: tempered(2000, 10, 2.0),
    "models": lambda: {"a": tempered(800, 3, 2.0), "b": tempered(800, 3)},
}
# The colour of each text of a chart on the background of the page, as red, green and blue.
COLOURS = """
    const numbers = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
    const paper = numbers(getComputedStyle(document.body).backgroundColor);
    return [...document.querySelectorAll('.chart > svg text')]
        .map(text => [paper, numbers(getComputedStyle(text).fill), text.textContent]);
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes the report of a case once."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name):
        path = folder / f"{name}.html"
        return path if path.exists() else report(CASES[name](), path, n_resamples=99, rng=0)

    return write


@pytest.fixture
def opened(browser, written):
    """Return a function that opens the report of a case as some reader sees it."""

    def open_as(name, *, width=1280, scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        complaints(browser)
        browser.get(written(name).as_uri())
        return browser

    yield open_as
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", CASES)
def test_axe_finds_nothing(opened, name, width, scheme):
    browser = opened(name, width=width, scheme=scheme)
    browser.execute_script(AXE)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], one["impact"]) for one in found["violations"]] == []
    assert {"color-contrast", "svg-img-alt"} <= {one["id"] for one in found["passes"]}


def test_axe_would_find_something(opened):
    browser = opened("binary")
    browser.execute_script(
        "for (const p of document.querySelectorAll('p')) p.style.color = '#999';"
        "document.querySelector('.chart > svg').removeAttribute('aria-label');"
    )
    browser.execute_script(AXE)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert {one["id"] for one in found["violations"]} == {"color-contrast", "svg-img-alt"}


def contrast(one, other):
    """Return the ratio of contrast by the definition of WCAG 2."""

    def luminance(colour):
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_texts_of_charts_can_be_read(opened, scheme):
    """Axe does not judge texts of drawings."""
    assert contrast((255, 255, 255), (0, 0, 0)) == 21
    found = [text for name in CASES for text in opened(name, scheme=scheme).execute_script(COLOURS)]
    assert len(found) > 100
    assert sum(found[0][0]) > 700 if scheme == "light" else sum(found[0][0]) < 100
    assert min(contrast(paper, text) for paper, text, _ in found) >= 4.5


def test_every_table_and_chart_has_a_name(opened):
    browser = opened("models")
    bare = """
        return [...document.querySelectorAll('table')].filter(t => !t.caption)
            .concat([...document.querySelectorAll('th')].filter(h => !h.scope))
            .concat([...document.querySelectorAll('figure svg')]
                .filter(s => !s.getAttribute('aria-label') && !s.hasAttribute('aria-hidden')))
            .map(e => e.outerHTML.slice(0, 80))
    """
    assert browser.execute_script(bare) == []


def test_classes_come_in_one_order(opened):
    browser = opened("ten")
    cards, rows = (
        browser.execute_script(
            f"return [...document.querySelectorAll({selector!r})].map(e => e.textContent)"
        )
        for selector in (".sparks figcaption", ".against tbody th")
    )
    assert len(cards) == 10
    assert cards == rows


def printed(browser, **paper):
    """Return a page as PDF."""
    settings = {"printBackground": True, **paper}
    return base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", settings)["data"])


@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11)], ids=["A4", "letter"])
def test_ten_classes_print_on_five_pages(opened, paper):
    pdf = printed(opened("ten"), paperWidth=paper[0], paperHeight=paper[1])
    assert pdf.startswith(b"%PDF")
    assert 3 <= pdf.count(b"/Type /Page\n") <= 5


def test_on_paper_it_is_light_and_without_provenance(opened):
    browser = opened("ten", scheme="dark")
    shown = "return getComputedStyle(document.querySelector({!r})).{}".format
    assert browser.execute_script(shown("body", "backgroundColor")) == "rgb(18, 23, 28)"
    assert browser.execute_script("return document.querySelector('details').open") is False
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    emulated = {"media": "print", "features": features}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    assert browser.execute_script(shown("body", "backgroundColor")) == "rgb(255, 255, 255)"
    for hidden in ("nav", "#provenance", ".tip"):
        assert browser.execute_script(shown(hidden, "display")) == "none"
    assert "sha256" not in browser.execute_script("return document.body.innerText")
