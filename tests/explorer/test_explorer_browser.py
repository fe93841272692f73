"""The explorer in a real browser: controls, marks, back and forward, phones, keys, no complaint."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread

import pytest
from browser import complaints, count, requests, until
from explorer.opened import explorer, hostile, written
from models import tempered
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import calibrant as cal

OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text("utf-8")
RUN = "const done = arguments[0]; axe.run().then(done)"
QUIET = "return !document.querySelector('[aria-busy], .busy')"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Open a file with columns."""
    file = written(tmp_path_factory.mktemp("ward"))
    found = explorer(cal.load(file, keep=["shift", "age", "note"]), title="ward")
    yield found
    found.close()


def opened(browser, page, query="", width=1400):
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    complaints(browser), requests(browser)
    browser.get(page.address + query)
    settled(browser)


def settled(browser):
    assert until(lambda: browser.execute_script(QUIET))


def shown(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector).text


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize(
    "query",
    [
        "",
        "?style=bars",
        "?style=line",
        "?tab=rows",
        "?tab=classes",
        "?tab=groups&by=shift",
        "?tab=code",
    ],
)
def test_every_tab_is_quiet_and_fits(browser, page, query, width):
    opened(browser, page, query, width)
    assert not complaints(browser)
    assert count(browser, "#marks > svg") == 1
    assert count(browser, "#verdict .verdict") >= 1
    assert browser.execute_script(OVERFLOW) <= 0
    mine = page.address.partition("/")[2]
    assert all(mine.split("/")[1] in url for url in requests(browser) if url.startswith("http"))


def test_controls_change_the_page_and_the_address(browser, page):
    opened(browser, page)
    before = shown(browser, "#verdict")
    Select(browser.find_element(By.NAME, "by")).select_by_visible_text("shift")
    settled(browser)
    assert "by=shift" in browser.current_url
    Select(browser.find_element(By.NAME, "group")).select_by_visible_text("night")
    settled(browser)
    assert "group=night" in browser.current_url
    assert shown(browser, "#verdict") != before
    night = shown(browser, "#diagram")
    browser.back()
    settled(browser)
    assert until(lambda: shown(browser, "#verdict") == before)
    browser.forward()
    settled(browser)
    assert until(lambda: shown(browser, "#diagram") == night)
    browser.refresh()
    settled(browser)
    assert shown(browser, "#diagram") == night
    assert not complaints(browser)


def test_bins_by_keys(browser, page):
    opened(browser, page)
    slider = browser.find_element(By.NAME, "bins")
    slider.send_keys(Keys.ARROW_RIGHT)
    settled(browser)
    assert until(lambda: "bins=1" in browser.current_url)
    assert until(lambda: count(browser, "#marks .mark:not(.key *)") >= 1)
    assert browser.switch_to.active_element.get_attribute("name") == "bins"


def test_a_mark_leads_to_its_rows(browser, page):
    opened(browser, page)
    mark = browser.find_elements(By.CSS_SELECTOR, "#marks > svg .mark")[2]
    mark.click()
    settled(browser)
    assert "bin=2" in browser.current_url
    assert "in bin 3" in shown(browser, "#below")
    marks = browser.find_elements(By.CSS_SELECTOR, "#marks > svg .mark")
    pressed = [each.get_attribute("aria-pressed") for each in marks]
    assert pressed == ["true" if i == 2 else "false" for i in range(len(marks))]
    browser.back()
    settled(browser)
    assert until(lambda: count(browser, "[aria-pressed=true]") == 0)
    opened(browser, page)
    mark = browser.find_elements(By.CSS_SELECTOR, "#marks > svg .mark")[1]
    mark.send_keys(Keys.ENTER)
    settled(browser)
    assert "bin=1" in browser.current_url


def test_dragging_selects_rows(browser, page):
    opened(browser, page)
    svg = browser.find_element(By.CSS_SELECTOR, "#marks > svg")
    width = svg.size["width"]
    drag = ActionChains(browser).move_to_element_with_offset(svg, -width // 4, 60)
    drag.click_and_hold().move_by_offset(width // 3, 0).release().perform()
    settled(browser)
    assert "low=" in browser.current_url
    assert "with predictions from" in shown(browser, "#below")
    assert count(browser, "#marks .brush") == 1
    browser.find_element(By.LINK_TEXT, "All rows").click()
    settled(browser)
    assert until(lambda: count(browser, "#marks .brush") == 0)


def test_a_range_is_chosen_by_keys(browser, page):
    """Like dragging: fields over the rows say from where to where, and the picture shows it."""
    opened(browser, page, "?tab=rows")
    assert count(browser, "#marks .brush") == 0
    for name, value in (("low", "0.2"), ("high", "0.4")):
        field = browser.find_element(By.NAME, name)
        field.send_keys(Keys.CONTROL, "a", Keys.NULL, value, Keys.ENTER)
        settled(browser)
        assert f"{name}={value}" in browser.current_url
        assert browser.switch_to.active_element.get_attribute("name") == name
    assert "with predictions from 0.2 to 0.4" in shown(browser, "#below")
    assert count(browser, "#marks .brush") == 1
    Select(browser.find_element(By.NAME, "lens")).select_by_visible_text("predicted class")
    settled(browser)
    assert "low=" not in browser.current_url
    assert not complaints(browser)


@pytest.mark.parametrize("width", [390, 1400])
def test_questions_are_in_sight_from_the_start(browser, page, width):
    opened(browser, page, "", width)
    bar = browser.find_element(By.ID, "tabs").rect
    assert bar["y"] + bar["height"] <= browser.execute_script("return innerHeight") + 1
    browser.find_element(By.LINK_TEXT, "Which class?").click()
    settled(browser)
    assert browser.execute_script(
        "return document.querySelector('#below').getBoundingClientRect().top < innerHeight / 2"
    )
    current = browser.find_elements(By.CSS_SELECTOR, "#tabs [aria-current=page]")
    assert [each.text for each in current] == ["Which class?"]


def test_classes_are_buttons_and_can_be_clicked_together(browser):
    page = explorer(hostile())
    try:
        opened(browser, page, "?lens=top&tab=classes", 390)
        assert browser.execute_script(OVERFLOW) <= 0
        opened(browser, page, "?lens=top&tab=classes")
        browser.find_element(By.CSS_SELECTOR, ".sparks a").click()
        settled(browser)
        assert "lens=class" in browser.current_url
        browser.find_element(By.CSS_SELECTOR, ".settings details summary").click()
        browser.find_elements(By.CSS_SELECTOR, ".chip")[0].click()
        settled(browser)
        assert "lens=groups" in browser.current_url
        assert shown(browser, "#trouble") == ""
        assert not complaints(browser)
    finally:
        page.close()


def test_on_a_phone_answers_come_before_settings(browser, page):
    """Settings unfold there, stay so when something is chosen, and are open where there is room."""
    opened(browser, page, "", 390)
    verdict = "return document.querySelector('.verdict').getBoundingClientRect().top < innerHeight"
    assert browser.execute_script(verdict)
    style = browser.find_element(By.CSS_SELECTOR, "[name=style][value=bars]")
    assert not style.is_displayed()
    browser.find_element(By.CSS_SELECTOR, ".settings summary").click()
    style.click()
    settled(browser)
    assert until(lambda: "style=bars" in browser.current_url)
    assert browser.find_element(By.NAME, "statistic").is_displayed()
    browser.find_element(By.CSS_SELECTOR, ".settings summary").click()
    size = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert until(lambda: browser.find_element(By.NAME, "statistic").is_displayed())


def test_a_mistake_is_a_sentence(browser, page):
    opened(browser, page)
    field = browser.find_element(By.NAME, "region")
    field.send_keys("fish > 0.1", Keys.ENTER)
    trouble = browser.find_element(By.ID, "trouble")
    assert until(trouble.is_displayed)
    assert "region must be a class of the data" in trouble.text


def test_a_server_that_has_ended_is_said(browser):
    other = explorer([0.2, 0.8, 0.4, 0.9] * 20, labels=[0, 1, 0, 1] * 20)
    opened(browser, other)
    other.close()
    Select(browser.find_element(By.NAME, "lens")).select_by_visible_text("predicted class")
    trouble = browser.find_element(By.ID, "trouble")
    assert until(trouble.is_displayed)
    assert "has ended" in trouble.text
    complaints(browser)


def test_two_tabs_at_once(browser, page):
    """Neither ends the work of the other, nor shows its answers."""
    opened(browser, page)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        browser.get(page.address + "?by=shift&group=night&tab=where")
        second = browser.current_window_handle
        browser.switch_to.window(first)
        Select(browser.find_element(By.NAME, "lens")).select_by_visible_text("predicted class")
        settled(browser)
        assert until(lambda: "The predicted class" in shown(browser, "#diagram"))
        browser.switch_to.window(second)
        settled(browser)
        assert "shift = night" in shown(browser, "#diagram")
        assert "P(1)" in shown(browser, "#diagram h2")
        assert shown(browser, "#trouble") == ""
        browser.close()
    finally:
        browser.switch_to.window(first)
    assert shown(browser, "#trouble") == ""
    assert not complaints(browser)


def test_a_notebook_shows_the_page_in_a_cell(browser, page, tmp_path):
    """Notebooks are at localhost, which is another site than 127.0.0.1."""
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><body>{page._repr_html_()}")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as notebook:
        Thread(target=notebook.serve_forever, daemon=True).start()
        try:
            browser.get(f"http://localhost:{notebook.server_port}/notebook.html")
            browser.switch_to.frame(0)
            settled(browser)
            assert count(browser, "#verdict .verdict") >= 1
        finally:
            browser.switch_to.default_content()
            notebook.shutdown()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(browser, page, scheme, width):
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    try:
        for query in ("", "?tab=rows", "?tab=groups&by=shift", "?tab=where", "?tab=code"):
            opened(browser, page, query, width)
            for folded in browser.find_elements(By.CSS_SELECTOR, "details:not([open]) > summary"):
                folded.click()
            browser.execute_script(AXE)
            found = browser.execute_async_script(RUN)["violations"]
            assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_column_leads_to_its_groups(browser, page):
    opened(browser, page)
    Select(browser.find_element(By.NAME, "by")).select_by_visible_text("shift")
    settled(browser)
    assert until(lambda: "tab=groups" in browser.current_url)
    assert until(lambda: "night" in shown(browser, "#below"))


def test_a_bin_of_a_triangle_leads_to_its_rows(browser):
    page = explorer(tempered(400, 3, 2.0))
    try:
        opened(browser, page)
        browser.find_elements(By.CSS_SELECTOR, "#marks .cell")[1].send_keys(Keys.ENTER)
        settled(browser)
        assert until(lambda: "in bin 2" in shown(browser, "#below"))
        browser.find_element(By.LINK_TEXT, "Rows of the worst bin").click()
        settled(browser)
        assert "bin=" in browser.current_url
        assert not complaints(browser)
    finally:
        page.close()


def test_a_tetrahedron_turns(browser):
    page = explorer(tempered(400, 4, 2.0))
    try:
        opened(browser, page)
        svg = browser.find_element(By.CSS_SELECTOR, "#marks [data-turn]")
        before = svg.get_attribute("innerHTML")
        svg.send_keys(Keys.ARROW_RIGHT)
        assert until(lambda: svg.get_attribute("innerHTML") != before)
    finally:
        page.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_how_calibration_works(browser, page, width):
    opened(browser, page, "", width)
    browser.find_element(By.LINK_TEXT, "How calibration works").click()
    settled(browser)
    assert until(lambda: "No evidence" in shown(browser, "#verdict"))
    browser.find_element(By.NAME, "beta1").send_keys(Keys.ARROW_RIGHT)
    settled(browser)
    assert until(lambda: "beta1=-1.75" in browser.current_url)
    assert until(lambda: "No evidence" not in shown(browser, "#verdict"))
    browser.find_element(By.LINK_TEXT, "Next step").click()
    settled(browser)
    assert "lesson=2" in browser.current_url
    assert browser.execute_script(OVERFLOW) <= 0
    browser.execute_script(AXE)
    found = browser.execute_async_script(RUN)["violations"]
    assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    browser.find_element(By.LINK_TEXT, "Back to the data").click()
    settled(browser)
    assert "lesson" not in browser.current_url
    assert not complaints(browser)
