"""Predictions that stay where they are: read in batches, added up, and never held at once.

A `Scan` knows where rows lie and which columns hold what. It hands batches of `Predictions` to
whatever adds them up, on the workers that it was given. It knows no lens and no statistic.
"""

from calibrant.scanning.batches import Batch, Group
from calibrant.scanning.columns import Columns
from calibrant.scanning.fragments import Fragment
from calibrant.scanning.reductions import Reduction, Together
from calibrant.scanning.scan import Scan

__all__ = ["Batch", "Columns", "Fragment", "Group", "Reduction", "Scan", "Together"]
