"""The report in a real browser: drawn, quiet, offline, at any width, whatever the names."""

import numpy as np
import pytest
from browser import complaints, count, requests, until
from models import EVIL, LONG, tempered
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from calibrant import report
from calibrant.lenses import Groups

OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Texts of a figure that stick out of it.
CUT = """
    return [...document.querySelectorAll('.chart > svg')].flatMap(chart => {
        const box = chart.getBoundingClientRect();
        return [...chart.querySelectorAll('text')].filter(text => {
            const r = text.getBoundingClientRect();
            return r.width > 0 && (r.left < box.left - 2 || r.right > box.right + 2
                                   || r.top < box.top - 2 || r.bottom > box.bottom + 2);
        }).map(text => text.textContent);
    });
"""
# What is drawn, and how many figures it has: one more for each model that should be repaired.
CASES = {
    "binary": (lambda: tempered(800, 2, 2.0, ["no", "yes"]), 5),
    "three": (lambda: tempered(800, 3, 2.0, ["cat", "dog", "bird"]), 5),
    "four": (lambda: tempered(800, 4, 2.0), 5),
    "ten": (lambda: tempered(800, 10, 2.0), 6),
    "hundred": (lambda: tempered(800, 100, 2.0, alpha=0.05), 5),
    "long names": (lambda: tempered(800, 6, 2.0, list(LONG)), 6),
    "two models": (lambda: {"a": tempered(800, 2, 2.0), "b": tempered(800, 2)}, 10),
    "three models": (lambda: {f"m{p}": tempered(600, 3, p) for p in (1, 2, 3)}, 15),
    "evil": (lambda: tempered(800, 4, 2.0, list(EVIL)), 5),
    "evil models": (lambda: {name: tempered(600, 3, 2.0, list(EVIL[:3])) for name in EVIL[:2]}, 11),
}


def opened(browser, path, width):
    mobile = width < 600
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    complaints(browser), requests(browser)  # of earlier pages
    browser.get(path.as_uri())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes the report of a case once."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name):
        path = folder / f"{name}.html"
        if not path.exists():
            title = EVIL[0] if "evil" in name else None
            report(CASES[name][0](), path, title=title, n_resamples=99, rng=0)
        return path

    return write


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", CASES)
def test_every_report_is_drawn_offline_without_complaint(browser, written, name, width):
    opened(browser, written(name), width)
    assert not complaints(browser)
    assert {url.partition(":")[0] for url in requests(browser)} <= {"file", "data", "blob"}
    assert count(browser, ".chart > svg") == CASES[name][1]
    assert count(browser, "[data-turn]") == (1 if name in ("four", "evil") else 0)
    assert browser.execute_script(OVERFLOW) <= 0
    assert browser.execute_script(CUT) == []


@pytest.mark.parametrize("name", ["binary", "four", "two models"])
def test_links_lead_somewhere(browser, written, name):
    opened(browser, written(name), 1400)
    links = browser.execute_script(
        "return [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"
    )
    assert len(links) >= 4
    for link in links:
        assert link.startswith("#")
        assert count(browser, link) == 1
    browser.find_element("css selector", "a[href='#provenance']").click()
    assert until(
        lambda: browser.execute_script(
            "return document.querySelector('#provenance').getBoundingClientRect().top < 900"
        )
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["ten", "two models"])
def test_the_contents_follow(browser, written, name, width):
    opened(browser, written(name), width)
    marked = "return [...document.querySelectorAll('nav a[aria-current]')].map(a => a.hash)"
    assert browser.execute_script(marked) == ["#summary"]
    for link in ("#model0-tests", "#model0-diagrams", "#model0-bins", "#model0-remedy"):
        browser.execute_script(f"document.querySelector('{link}').scrollIntoView()")
        assert until(lambda link=link: browser.execute_script(marked) == [link])
        assert seen_in_contents(browser)
    browser.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    assert until(lambda: browser.execute_script(marked) == ["#provenance"])
    assert seen_in_contents(browser)


def seen_in_contents(browser):
    """Return whether a link in bold is in the window: the section, or on a phone its model."""
    script = """
        return [...document.querySelectorAll('nav a')].some(a => {
            const box = a.getBoundingClientRect();
            return getComputedStyle(a).fontWeight === '600' && box.width > 0 && box.left >= 0
                && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
        })
    """
    return until(lambda: browser.execute_script(script))


@pytest.mark.parametrize("name", ["evil", "evil models"])
def test_names_never_run(browser, written, name):
    opened(browser, written(name), 1400)
    assert browser.title == EVIL[0]
    assert browser.find_element("tag name", "h1").text == EVIL[0]
    assert count(browser, "img[src='x']") == 0  # the picture that would have called alert
    assert count(browser, "script") == 1
    with pytest.raises(Exception, match="no such alert"):
        _ = browser.switch_to.alert.text
    text = browser.execute_script("return document.body.innerText")
    for evil in EVIL[:3]:
        assert evil in text
    assert not complaints(browser)


def test_the_policy_would_stop_a_script_that_got_in(browser, written):
    opened(browser, written("binary"), 1400)
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        "document.body.append(s);"
        "const i = document.createElement('div');"
        'i.innerHTML = \'<img src="https://example.invalid/x.png" onerror="window.ran = true">\';'
        "document.body.append(i);"
    )
    assert until(lambda: len(complaints(browser)) > 0)  # the policy complains
    assert browser.execute_script("return window.ran") is None


def hovered(browser, selector):
    """Move the mouse over an element and return what shows."""
    element = browser.find_element("css selector", selector)
    browser.execute_async_script(  # scrolling hides what shows, in one of the next frames
        "arguments[0].scrollIntoView({block: 'center'});"
        "requestAnimationFrame(() => requestAnimationFrame(() => arguments[1]()))",
        element,
    )
    ActionChains(browser, duration=20).move_to_element(element).perform()
    script = "const tip = document.querySelector('.tip'); return tip.hidden ? '' : tip.textContent"
    return until(lambda: browser.execute_script(script))


def test_hovering_tells_the_numbers(browser, written):
    from calibrant import reliability_diagram, words

    opened(browser, written("binary"), 1400)
    text = hovered(browser, "#model0-main .mark")
    series = reliability_diagram(CASES["binary"][0](), n_resamples=99, rng=0).series[0]
    first = f"predicted {series.function.predicted[0, 1]:.3f}"
    assert f"{int(series.function.counts[0])} rows (" in text
    assert f"{first}, observed {series.function.observed[0, 1]:.3f}" in text
    assert (
        f"adjusted {words.pvalue(series.cells.adjusted_pvalues[0], series.cells.largest.size)}"
        in text
    )
    assert "consistency band (each point): " in hovered(browser, "#model0-curve .spot")


def test_hovering_shows_evil_names_as_text(browser, written):
    opened(browser, written("evil models"), 1400)
    assert EVIL[0] in hovered(browser, "#comparison-figure .mark")
    assert EVIL[1] in hovered(browser, "#model0-simplex .cell")
    assert count(browser, "img") == 0


POINTS = """
    return [...document.querySelectorAll('[data-turn] .dot')]
        .map(dot => [...dot.dataset.at.split(',').map(Number), dot.getAttribute('cx'),
                     dot.getAttribute('cy')].map(Number));
"""


def drawn_from(points, azimuth, elevation):
    """Return where points in space (n, 3) are on the page: turned, then put into perspective."""
    (sa, ca), (se, ce) = ((np.sin(a), np.cos(a)) for a in (azimuth, elevation))
    upright = np.array([[ca, sa, 0], [-sa, ca, 0], [0, 0, 1]])  # the eye is over the first axis
    tilted = np.array([[ce, 0, se], [0, 1, 0], [-se, 0, ce]])
    depth, across, up = tilted @ upright @ points.T
    return np.column_stack((across, -up)) * (140 * 5 / (5 - depth))[:, None]


def test_the_tetrahedron_turns(browser, written):
    opened(browser, written("four"), 1400)
    before = np.array(browser.execute_script(POINTS))
    assert before[:, 3:] == pytest.approx(drawn_from(before[:, :3], 1.3, 0.3), abs=0.06)
    figure = browser.find_element("css selector", "[data-turn]")
    figure.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    after = np.array(browser.execute_script(POINTS))
    assert after[:, 3:] == pytest.approx(drawn_from(after[:, :3], 1.1, 0.4), abs=1e-6)
    assert sorted(map(tuple, after[:, :3])) == sorted(map(tuple, before[:, :3]))
    ActionChains(browser, duration=20).drag_and_drop_by_offset(figure, 60, 0).perform()
    turned = np.array(browser.execute_script(POINTS))
    assert turned[:, 3:] == pytest.approx(drawn_from(turned[:, :3], 0.6, 0.4), abs=1e-6)
    assert np.all(
        np.diff(turned[:, :3] @ [np.cos(0.6), np.sin(0.6), np.tan(0.4)]) >= -1e-3
    )  # depth
    assert not complaints(browser)


def test_users_groups_are_drawn(browser, tmp_path):
    lens = Groups({"low": [0, 1], "mid": [2, 3], "high": [4, 5], "top": [6]})
    path = report(tempered(600, 7, 2.0), tmp_path / "r.html", groups=lens, n_resamples=99, rng=0)
    opened(browser, path, 1400)
    assert count(browser, "#model0-groups [data-turn]") == 1
    assert not complaints(browser)


def test_five_models_are_compared_on_one_screen(browser, tmp_path):
    powers = {"raw": 1.0, "sharp": 1.5, "sharper": 2.0, "flat": 0.7, "flatter": 0.5}
    models = {f"network, {name}": tempered(1500, 10, power) for name, power in powers.items()}
    opened(browser, report(models, tmp_path / "r.html", n_resamples=99, rng=0), 1280)
    ends = browser.execute_script(
        "return [...document.querySelectorAll('#summary .verdict, #summary > .scroll table')]"
        ".map(e => e.getBoundingClientRect()).map(r => [r.right, r.bottom])"
    )
    assert len(ends) == 3  # one paragraph for each of two lenses, one table
    assert np.max(ends, axis=0)[0] <= 1280
    assert np.max(ends, axis=0)[1] <= 800
    assert count(browser, "#summary > .scroll tbody tr") == 5
