"""Rows, wherever they are: in memory, in files, on a cluster, on a GPU.

Rows can do two things: *fold* a reduction over all of them, and *exchange* themselves, so that all
rows of a cell come together. Whoever asks does not know where they lie; what cannot be done there
is said by the rows. They know no statistic, and lenses only as functions.
"""

from calibrant.rows.columns import Coded, Columns
from calibrant.rows.fragments import Fragment
from calibrant.rows.passes import Values
from calibrant.rows.rows import MEMORY, STAYS, Batch, Exchange, Group, Memory, Part, Reduction
from calibrant.rows.scan import Rows, Scan

__all__ = [
    "MEMORY", "STAYS", "Batch", "Coded", "Columns", "Exchange", "Fragment", "Group", "Memory",
    "Part", "Reduction", "Rows", "Scan", "Values",
]  # fmt: skip
