"""Build machine code of the compiled loops together with the package.

Without it, numba compiles each loop when it is first called, which takes up to half a minute in
all. Where it cannot be built, the package is complete all the same.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface):
    """Runs `calibrant.engine.ahead` before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write machine code beside the kernels; the wheel is then for this kind of machine."""
        found = [str(Path(self.root, "src")), *filter(None, [os.environ.get("PYTHONPATH")])]
        run = subprocess.run(
            [sys.executable, "-m", "calibrant.engine.ahead"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(found)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode:
            self.app.display_warning(f"Loops are compiled at their first call.\n{run.stdout}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
