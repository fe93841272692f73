"""The plotly figures in a real browser: they draw, and they answer the mouse."""

from time import sleep

import numpy as np
import pytest
from browser import complaints, count, until
from cases import ODD_NAMES, dirichlet, made, moved
from command import run, write
from selenium.webdriver.common.action_chains import ActionChains

from calibrant import reliability_diagram as diagram_of
from calibrant.diagrams.style import tetrahedron as corners_of

DRAWN = """
    const plot = document.querySelector('.js-plotly-plot');
    return Boolean(plot && plot._fullLayout && plot.querySelector('.main-svg')
                   && !plot._fullLayout._replotting);
"""
HOVER = "return [...document.querySelectorAll('.hovertext')].map(e => e.textContent).join()"
TEXTS = "return [...document.querySelectorAll('svg text')].map(e => e.textContent).join(' ')"
IN_SPACE = """
    const scene = document.querySelector('.js-plotly-plot')._fullLayout.scene._scene;
    if (!scene || !scene.glplot) return null;
    const camera = scene.glplot.cameraParams;
    let p = [0, 1, 2].map(i => arguments[0][i] * scene.dataScale[i]).concat(1);
    for (const m of [camera.model, camera.view, camera.projection])
        p = [0, 1, 2, 3].map(i => [0, 1, 2, 3].reduce((sum, j) => sum + m[4 * j + i] * p[j], 0));
    const box = scene.container.getBoundingClientRect();
    return [box.x + box.width * (1 + p[0] / p[3]) / 2, box.y + box.height * (1 - p[1] / p[3]) / 2];
"""


def opened(browser, figure, folder):
    """Open a figure as a file that needs no network, and return once it is drawn."""
    path = folder / "figure.html"
    figure.update_layout(width=760, height=600)
    figure.write_html(path, include_plotlyjs=True)
    browser.get(path.as_uri())
    assert until(lambda: browser.execute_script(DRAWN))
    return browser


def hover(browser, x, y):
    """Move the mouse to a point of the window and return the text that shows by then."""
    actions = ActionChains(browser, duration=20)
    for step in (8, 0):
        actions.w3c_actions.pointer_action.move_to_location(round(x) + step, round(y))
    actions.perform()
    sleep(0.2)
    return browser.execute_script(HOVER)


def centres(browser, selector):
    """Return the middle (k, 2) of each element on the page."""
    script = (
        f"return [...document.querySelectorAll({selector!r})].map(e => e.getBoundingClientRect())"
        ".map(r => [r.x + r.width / 2, r.y + r.height / 2])"
    )
    return np.array(browser.execute_script(script))


LINES = ["two outcomes", "classical truth", "models", "100 cells", "names, 2", "1 row, 2"]
TRIANGLES = ["three outcomes", "regions", "100 triangles", "tree, 3", "names, 3", "corner, 3"]
SPACES = ["four outcomes", "tree, 4", "names, 4", "1 row, 4"]


@pytest.mark.parametrize("name", LINES)
def test_two_outcomes_draw_and_answer(browser, name, tmp_path):
    found, options = made(name)
    opened(browser, found.figure(**options), tmp_path)
    cells = sum(int(series.shown.sum()) for series in found.series)
    extra = 2 * (len(found.series) > 1)  # marks that only explain the legend have no place
    assert count(browser, ".scatterlayer .point") in (cells, cells + extra)
    assert count(browser, ".barlayer .point path") == (found.edges.size - 1) * len(found.series)
    x, y = centres(browser, ".scatterlayer .point")[0]
    text = until(lambda: hover(browser, x, y))
    assert "rows (" in text
    assert "adjusted p\N{NO-BREAK SPACE}" in text
    assert not complaints(browser)


@pytest.mark.parametrize("name", TRIANGLES)
def test_three_outcomes_draw_and_answer(browser, name, tmp_path):
    found, options = made(name)
    opened(browser, found.figure(**options), tmp_path)
    cells = found.series[0].function.n_cells
    assert count(browser, ".ternarylayer .points .point") >= cells
    assert (count(browser, ".ternarylayer .js-fill") > 0) == (found.series[0].corners is not None)
    # Over the tail of an arrow in the triangle:
    a, b, c = found.series[0].function.predicted[0]
    text = until(lambda: hover(browser, *on_page(browser, (a, b, c))))
    assert "rows (" in text
    assert f"observed {found.series[0].function.observed[0, 0]:.3f}" in text
    assert not complaints(browser)


def on_page(browser, point):
    """Return where a point of the simplex is on the page, by the outline of the triangle alone."""
    box = browser.execute_script(
        "const r = document.querySelector('.ternarylayer .plotbg path').getBoundingClientRect();"
        "return [r.left, r.top, r.right, r.bottom]"
    )
    left, top, right, bottom = box
    corners = np.array([[(left + right) / 2, top], [left, bottom], [right, bottom]])
    return np.asarray(point) @ corners


@pytest.mark.parametrize("to", [0, 1, 2])
def test_the_head_is_at_the_name_of_the_outcome(browser, to, tmp_path):
    opened(browser, diagram_of(moved(3, to), rng=0).figure(), tmp_path)
    script = (
        "return [...document.querySelectorAll('.ternarylayer .trace .point')]"
        ".filter(e => e.getAttribute('d').length > 10 && e.style.opacity !== '0')"
        ".map(e => e.getBoundingClientRect()).map(r => [r.x + r.width / 2, r.y + r.height / 2])"
    )
    (head,) = np.array(browser.execute_script(script))
    names = centres(browser, ".ternarylayer .textpoint text")
    assert np.hypot(*(names - head).T).argmin() == to


@pytest.mark.parametrize("name", SPACES)
def test_four_outcomes_draw_and_answer(browser, name, tmp_path):
    found, options = made(name)
    opened(browser, found.figure(**options), tmp_path)
    assert count(browser, ".gl-container canvas") > 0
    names = until(lambda: count(browser, ".infolayer .annotation-text, g.annotation text") >= 4)
    assert names
    text = until(lambda: hover_in_space(browser, found))
    assert text
    assert "adjusted p\N{NO-BREAK SPACE}" in text
    assert not complaints(browser)


def hover_in_space(browser, found):
    """Hover where the camera puts the fullest cell."""
    fn = found.series[0].function
    place = browser.execute_script(
        IN_SPACE, (fn.predicted[fn.mass.argmax()] @ corners_of()).tolist()
    )
    return "" if place is None else hover(browser, *place)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_names_show_as_they_are(browser, m, tmp_path):
    classes = ["no", ODD_NAMES[1]] if m == 2 else list(ODD_NAMES[:m])
    opened(browser, diagram_of(dirichlet(100, m, classes=classes), rng=0).figure(), tmp_path)
    seen = until(lambda: "costs" in (text := browser.execute_script(TEXTS)) and text)
    for part in ("$5 &", "<b>more</b>", "$3_x"):
        assert part in seen


def test_a_phone_shows_all_names(browser, tmp_path):
    names = ("internationale", "counterfactual", "misclassified!", "electroencepha")
    file = write(tmp_path / "four.csv", classes=names)
    page = tmp_path / "four.html"
    assert run("plot", file, "--lens", "canonical", "-o", page).exit_code == 0
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(page.as_uri())
        script = (
            "return [...document.querySelectorAll('svg text')]"
            ".filter(e => arguments[0].includes(e.textContent))"
            ".map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])"
        )
        spans = until(lambda: len(found := browser.execute_script(script, names)) == 4 and found)
        assert min(left for left, _ in spans) >= 0
        width = browser.execute_script("return document.documentElement.clientWidth")
        assert max(right for _, right in spans) <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
