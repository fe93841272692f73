"""The report in a real browser: drawn, quiet, offline, at any width, whatever the names."""

import base64

import pytest
from browser import complaints, count, requests, until
from models import EVIL, LONG, tempered

from calibrant import report
from calibrant.lenses import Groups

DRAWN = """
    const plots = [...document.querySelectorAll('.plot')];
    const drawn = plot => plot._fullLayout && plot.querySelector('.main-svg')
                          && !plot._fullLayout._replotting;
    return plots.length > 0 && plots.every(drawn);
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Texts of a figure that stick out of it.
CUT = """
    return [...document.querySelectorAll('.plot')].flatMap(plot => {
        const box = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('svg text')].filter(text => {
            const r = text.getBoundingClientRect();
            return r.width > 0 && (r.left < box.left - 2 || r.right > box.right + 2);
        }).map(text => text.textContent);
    });
"""
# What is drawn, and how many figures it has: one more for each model that should be repaired.
CASES = {
    "binary": (lambda: tempered(800, 2, 2.0, ["no", "yes"]), 2),
    "three": (lambda: tempered(800, 3, 2.0, ["cat", "dog", "bird"]), 3),
    "four": (lambda: tempered(800, 4, 2.0), 3),
    "ten": (lambda: tempered(800, 10, 2.0), 4),
    "hundred": (lambda: tempered(800, 100, 2.0, alpha=0.05), 4),
    "long names": (lambda: tempered(800, 6, 2.0, list(LONG)), 4),
    "two models": (lambda: {"a": tempered(800, 2, 2.0), "b": tempered(800, 2)}, 4),
    "three models": (lambda: {f"m{p}": tempered(600, 3, p) for p in (1, 2, 3)}, 9),
    "evil": (lambda: tempered(800, 4, 2.0, list(EVIL)), 3),
    "evil models": (lambda: {name: tempered(600, 3, 2.0, list(EVIL[:3])) for name in EVIL[:2]}, 7),
}


def opened(browser, path, width):
    mobile = width < 600
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    complaints(browser), requests(browser)  # of earlier pages
    browser.get(path.as_uri())
    assert until(lambda: browser.execute_script(DRAWN))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes the report of a case once."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name):
        path = folder / f"{name}.html"
        if not path.exists():
            title = EVIL[0] if "evil" in name else None
            report(CASES[name][0](), path, title=title, n_resamples=99)
        return path

    return write


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", CASES)
def test_every_report_is_drawn_offline_without_complaint(browser, written, name, width):
    opened(browser, written(name), width)
    assert not complaints(browser)
    assert {url.partition(":")[0] for url in requests(browser)} <= {"file", "data", "blob"}
    assert count(browser, ".plot .main-svg") >= CASES[name][1]
    assert count(browser, ".plot") == count(browser, "script[data-figure]") == CASES[name][1]
    assert browser.execute_script(OVERFLOW) <= 0
    assert browser.execute_script(CUT) == []


@pytest.mark.parametrize("widths", [(390, 1400), (1400, 390)])
def test_turning_the_phone_draws_the_figures_anew(browser, written, widths):
    path, before, after = written("ten"), *widths
    opened(browser, path, before)
    size = {"width": after, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wide = after > 600
    script = (
        "return [...document.querySelectorAll('.plot')].every(plot =>"
        f" plot._fullLayout && (plot._fullLayout.width > 600) === {str(wide).lower()}"
        " && Math.abs(plot._fullLayout.width - plot.clientWidth) < 3)"
    )
    assert until(lambda: browser.execute_script(script))
    assert count(browser, "g.colorbar") == 2  # one scale for each triangle
    assert browser.execute_script(OVERFLOW) <= 0
    assert not complaints(browser)


@pytest.mark.parametrize("name", ["binary", "four", "two models"])
def test_links_lead_somewhere(browser, written, name):
    opened(browser, written(name), 1400)
    links = browser.execute_script(
        "return [...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
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


@pytest.mark.parametrize("name", ["evil", "evil models"])
def test_names_never_run(browser, written, name):
    opened(browser, written(name), 1400)
    assert browser.title == EVIL[0]
    assert browser.find_element("tag name", "h1").text == EVIL[0]
    assert count(browser, "img[src='x']") == 0  # the picture that would have called alert
    assert count(browser, "script:not([type])") == 2
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


def test_hovering_shows_evil_names_as_text(browser, written):
    opened(browser, written("evil"), 1400)
    browser.execute_script("Plotly.Fx.hover('model0-main', [{curveNumber: 3, pointNumber: 0}]);")
    script = "return [...document.querySelectorAll('.hovertext')].map(e => e.textContent).join()"
    assert "rows (" in until(lambda: browser.execute_script(script))
    assert count(browser, "img") == 0


def test_the_tetrahedron_has_a_picture(browser, written):
    opened(browser, written("four"), 1400)
    assert count(browser, ".gl-container canvas") > 0
    assert "cat" not in browser.execute_script("return document.title")


def test_users_groups_are_drawn(browser, tmp_path):
    lens = Groups({"low": [0, 1], "mid": [2, 3], "high": [4, 5], "top": [6]})
    path = report(tempered(600, 7, 2.0), tmp_path / "r.html", groups=lens, n_resamples=99)
    opened(browser, path, 1400)
    assert count(browser, "#model0-groups .gl-container canvas") > 0
    assert not complaints(browser)


def test_no_button_sends_the_chart_away(browser, written):
    opened(browser, written("four"), 1400)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)"
    )
    assert titles
    assert all("Download" in title or "Reset" in title for title in titles)


def test_it_prints(browser, written):
    opened(browser, written("ten"), 1400)
    found = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pdf = base64.b64decode(found["data"])
    assert pdf.startswith(b"%PDF")
    assert 3 <= pdf.count(b"/Type /Page\n") <= 15
