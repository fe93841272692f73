"""Draw the picture of the explorer's documentation: a network, one class, its rows.

Needs Chromium and chromedriver.
"""

import shutil
import time
from io import BytesIO
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import calibrant as cal

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "explorer.png"
WIDTH, HEIGHT = 1280, 1450
PATIENCE = 60.0  # seconds
QUIET = "return !document.querySelector('[aria-busy]')"


def main() -> None:
    """Explore three networks, and photograph the classes of one."""
    models = {name: cal.datasets.cifar10(name) for name in cal.datasets.names()}
    page = cal.explore(models, title="Networks on CIFAR-10")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(f"{page.address}?model=resnet&tab=classes")
        end = time.monotonic() + PATIENCE
        while not browser.execute_script(QUIET) and time.monotonic() < end:
            time.sleep(0.1)
        Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB").save(
            TARGET, optimize=True
        )
    finally:
        browser.quit()
        page.close()


if __name__ == "__main__":
    main()
