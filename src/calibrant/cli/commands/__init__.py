"""The commands, one in a file. What computes is imported when a command runs, not before."""

from calibrant.cli.commands.apply import apply
from calibrant.cli.commands.compare import compare
from calibrant.cli.commands.datasets import datasets
from calibrant.cli.commands.demo import demo
from calibrant.cli.commands.evaluate import evaluate
from calibrant.cli.commands.plot import plot
from calibrant.cli.commands.power import power
from calibrant.cli.commands.recalibrate import recalibrate
from calibrant.cli.commands.report import report
from calibrant.cli.commands.test import run_test

__all__ = [
    "apply",
    "compare",
    "datasets",
    "demo",
    "evaluate",
    "plot",
    "power",
    "recalibrate",
    "report",
    "run_test",
]
