"""A real browser, without a screen, and what tests ask of it."""

import json
import shutil
from time import monotonic, sleep

import pytest

SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=900,800",
)
PATIENCE = 60  # seconds; a busy machine is slow, and a right figure is there at once


def start(profile):
    """Start Chromium with a fresh profile, logging its console and its requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver (Debian: chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    return webdriver.Chrome(options=options, service=Service(driver))


def until(condition):
    """Wait for a condition to hold and return its value."""
    end = monotonic() + PATIENCE
    while True:
        value = condition()
        if value or monotonic() > end:
            return value
        sleep(0.05)


def complaints(browser):
    """Return the errors of the console since the last call."""
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def count(browser, selector):
    """Return how many elements there are."""
    return browser.execute_script(f"return document.querySelectorAll({selector!r}).length")


def requests(browser):
    """Return the addresses that pages asked for since the last call.

    On a busy machine the browser's own first tab is still loading itself when a page is opened.
    """
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
        and not message["params"]["documentURL"].startswith("chrome:")
    ]
