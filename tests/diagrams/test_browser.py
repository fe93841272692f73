"""Charts in a real browser: they draw, answer the mouse, turn, and can be used by everybody."""

from importlib.resources import files

import numpy as np
import pytest
from browser import complaints, count, requests, until
from cases import ODD_NAMES, dirichlet, made
from command import run, write
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from calibrant import cumulative_diagram, isotonic_diagram, score_plane, smooth_diagram
from calibrant import reliability_diagram as diagram_of

AXE = files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text("utf-8")
TIP = "const tip = document.querySelector('.tip'); return tip.hidden ? '' : tip.textContent"
TEXTS = "return [...document.querySelectorAll('svg text')].map(e => e.textContent).join(' ')"
# Texts that stick out of the drawing.
CUT = """
    const box = document.querySelector('.chart > svg').getBoundingClientRect();
    return [...document.querySelectorAll('.chart > svg text')].filter(text => {
        const r = text.getBoundingClientRect();
        return r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2
            || r.bottom > box.bottom + 2;
    }).map(text => text.textContent);
"""
KINDS = {
    "isotonic": lambda: isotonic_diagram(dirichlet(900, 2), n_resamples=99, rng=0),
    "smooth": lambda: smooth_diagram(
        {"a": dirichlet(900, 2), "b": dirichlet(900, 2, 0.5)}, n_resamples=99, rng=0
    ),
    "cumulative": lambda: cumulative_diagram(dirichlet(900, 2), n_resamples=99, rng=0),
    "plane": lambda: score_plane(
        {f"model {k}": dirichlet(900, 2, k) for k in (1, 2, 3)}, n_resamples=99, rng=0
    ),
}
BINS = ["two outcomes", "line, truth", "models", "100 cells", "names, 2", "1 row, 2"]
SIMPLICES = ["regions", "100 triangles", "tree, 3", "names, 3", "four outcomes", "names, 4"]


def chart_of(name):
    if name in KINDS:
        return KINDS[name]().figure()
    found, options = made(name)
    return found.figure(**options)


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a chart as a page."""

    def open_chart(chart, width=760):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        complaints(browser), requests(browser)  # of earlier pages
        browser.get(chart.save(tmp_path / "chart.html").as_uri())
        return browser

    yield open_chart
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def hovered(browser, selector):
    """Move the mouse over the first element and return what shows."""
    element = browser.find_element("css selector", selector)
    ActionChains(browser, duration=20).move_to_element(element).perform()
    return until(lambda: browser.execute_script(TIP))


@pytest.mark.parametrize("width", [390, 760])
@pytest.mark.parametrize("name", [*BINS, *SIMPLICES, *KINDS])
def test_charts_draw_and_answer(opened, name, width):
    browser = opened(chart_of(name), width)
    marks = ".chart > svg .mark, .chart > svg .cell, .chart > svg .dot, .chart > svg .spot"
    assert count(browser, marks) > 0
    assert browser.execute_script(CUT) == []
    text = hovered(browser, "[data-note]:is(.mark, .cell, .dot, .spot)")
    assert "p\N{NO-BREAK SPACE}" in text
    assert not complaints(browser)
    assert {url.partition(":")[0] for url in requests(browser)} <= {"file", "data"}


@pytest.mark.parametrize("name", ["models", "regions", "four outcomes", "cumulative", "plane"])
def test_axe_finds_nothing(opened, name):
    browser = opened(chart_of(name))
    browser.execute_script(AXE)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], one["impact"]) for one in found["violations"]] == []


@pytest.mark.parametrize("m", [2, 3, 4])
def test_names_show_as_they_are(opened, m):
    classes = ["no", "$5 & <b>"] if m == 2 else [*ODD_NAMES[: m - 1], "$5 & <b>"]
    browser = opened(diagram_of(dirichlet(100, m, classes=classes), n_resamples=9, rng=0).figure())
    shown = browser.execute_script("return document.querySelector('.chart').innerText")
    assert "$5 & <b>" in shown + browser.execute_script(TEXTS)
    assert count(browser, ".chart b") == 0


PLACES = """
    return [...document.querySelectorAll('.dot')].map(dot =>
        [dot.dataset.at, Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]);
"""


def places(browser):
    return {at: (x, y) for at, x, y in browser.execute_script(PLACES)}


def farthest(one, other):
    return max(np.hypot(*np.subtract(one[at], other[at])) for at in one)


def test_a_tetrahedron_turns_by_keys_mouse_and_finger(opened):
    browser = opened(chart_of("four outcomes"))
    figure = browser.find_element("css selector", "[data-turn]")
    start = places(browser)
    figure.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_UP)
    turned = places(browser)
    assert farthest(start, turned) > 5
    figure.send_keys(Keys.ARROW_LEFT, Keys.ARROW_DOWN)
    assert farthest(start, places(browser)) < 0.1  # and back again
    ActionChains(browser, duration=20).drag_and_drop_by_offset(figure, 60, 20).perform()
    dragged = places(browser)
    assert farthest(start, dragged) > 20
    ActionChains(browser, duration=20).move_to_element_with_offset(figure, 30, 30).perform()
    assert places(browser) == dragged  # the mouse alone moves nothing
    box = figure.rect
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, at in (("touchStart", x), ("touchMove", x + 20), ("touchMove", x + 60)):
        points = [{"x": at, "y": y}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert until(lambda: farthest(dragged, places(browser)) > 20)
    assert not complaints(browser)


def test_edges_stay_behind_and_names_in_front(opened):
    browser = opened(chart_of("four outcomes"))
    browser.find_element("css selector", "[data-turn]").send_keys(Keys.ARROW_RIGHT)
    order = browser.execute_script(
        "return [...document.querySelectorAll('[data-at]')].map(e => e.getAttribute('class'))"
    )
    assert order[:6] == ["edge"] * 6
    assert order[-4:] == ["name"] * 4
    assert set(order[6:-4]) == {"dot", None}


def test_a_tetrahedron_does_not_move_by_itself(opened):
    """Nobody who prefers reduced motion sees any that they have not made."""
    browser = opened(chart_of("four outcomes"))
    assert browser.execute_script("return document.getAnimations().length") == 0
    before = places(browser)
    hovered(browser, ".dot")
    assert places(browser) == before


def test_a_phone_shows_all_names(browser, tmp_path):
    names = ("internationale", "counterfactual", "misclassified!", "electroencepha")
    file = write(tmp_path / "four.csv", classes=names)
    page = tmp_path / "four.html"
    assert run("plot", file, "--lens", "canonical", "-o", page).exit_code == 0
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(page.as_uri())
        assert browser.execute_script(CUT) == []
        shown = browser.execute_script(TEXTS).replace(" ", "")
        assert all(name in shown for name in names)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
