"""Draw the picture of the report's documentation: its first screen, in the light and in the dark.

Needs Chromium.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import calibrant as cal

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
WIDTH, HEIGHT = 1280, 1640
HALF = 755  # between two diagrams
DARK, LIGHT = 0, 1  # as the browser counts them


def main() -> None:
    """Write a report on a network, and photograph it twice; the right part is dark."""
    with TemporaryDirectory() as folder:
        page = cal.report(
            cal.datasets.cifar10("resnet"),
            Path(folder, "report.html"),
            title="Calibration of resnet",
            rng=0,
        )
        light, dark = (_photograph(page, scheme) for scheme in (LIGHT, DARK))
    light.paste(dark.crop((HALF, 0, WIDTH, HEIGHT)), (HALF, 0))
    light.save(TARGET, optimize=True)


def _photograph(page: Path, scheme: int) -> Image.Image:
    picture = page.with_suffix(f".{scheme}.png")
    switches = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    switches += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"]
    switches += [f"--blink-settings=preferredColorScheme={scheme}"]
    subprocess.run(["chromium", *switches, page.as_uri()], check=True, capture_output=True)
    return Image.open(picture).convert("RGB").crop((0, 0, WIDTH, HEIGHT))


if __name__ == "__main__":
    main()
