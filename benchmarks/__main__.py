"""Run the sections, print them, and write docs/benchmarks.md."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    all_classes,
    device,
    evaluation,
    exact_tests,
    growth,
    import_time,
    inference_peers,
    point_estimates,
    recalibration_peers,
    scale,
    without_bins,
)

# A section is a module with `report() -> str`, which checks results before it times them.
SECTIONS = (
    point_estimates,
    exact_tests,
    all_classes,
    inference_peers,
    without_bins,
    recalibration_peers,
    growth,
    evaluation,
    scale,
    import_time,
    device,
)
PACKAGES = (
    "calibrant",
    "numpy",
    "torch",
    "torchmetrics",
    "netcal",
    "scikit-learn",
    "betacal",
    "probmetrics",
    "calzone-tool",
    "mapie",
    "pycalib",
    "relplot",
    "uncertainty-calibration",
)
TARGET = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def heading() -> str:
    day = datetime.now(UTC).date().isoformat()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        "# Benchmarks\n\n"
        f"Written by `make bench` on {day}: {cores} cores ({platform.machine()}), Python"
        f" {platform.python_version()}, {versions}. When it began, {os.getloadavg()[0]:.1f} other"
        " processes were running on average. Ratios within one run count; times depend on the"
        " machine and on what else it does, and what uses all cores suffers most from company."
    )


def main() -> None:
    """Run everything."""
    parts = [heading()]
    print(parts[0], flush=True)
    for section in SECTIONS:
        parts.append(section.report())
        print(f"\n{parts[-1]}", flush=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
