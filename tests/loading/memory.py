"""How much memory a process takes for one piece of work; Linux only."""

from pathlib import Path

STATUS = Path("/proc/self/status")


class Peak:
    """The most memory that the process holds from now on, beyond what it holds now."""

    def __init__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is held
        self.before = bytes_of("VmRSS")

    def grown(self):
        return bytes_of("VmHWM") - self.before


def bytes_of(name):
    """Return a line of the status of this process, which has kB."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
