"""Build the library of compiled loops together with the package: nothing compiles them later."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledLoops(BuildHookInterface):
    """Runs `calibrant.engine.build` before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write libraries beside the kernels; the wheel is then for this kind of machine."""
        # From the folder of the sources, since pip hides what is named by an editable install.
        run = subprocess.run(
            [sys.executable, "-m", "calibrant.engine.build"],
            cwd=Path(self.root, "src"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode:
            raise RuntimeError(f"The compiled loops could not be built.\n{run.stdout}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{run.stdout.split()[-1]}"
