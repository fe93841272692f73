"""Cells of scanned rows that depend on the rows: they are found before anything is added up."""

from typing import Any

from calibrant.calibration.quantiles import Kept, equal_masses
from calibrant.calibration.trees import grown_tree
from calibrant.lenses import Lens
from calibrant.partitions import EqualMass, Partition, VarianceTree
from calibrant.partitions.variance_tree import coordinates


def kept_cells(rows: Any, lens: Lens, partition: Partition, seen: Any, unit: float) -> Partition:
    """Return what scanned rows are located with: bins of equal mass and trees are found first.

    rows : a Scan, or a problem that sees some of its rows
    seen : has `m` and `event` as the lens shows the rows
    unit : that of weights
    """
    if isinstance(partition, VarianceTree):
        columns = coordinates(seen.event, seen.m)
        return Kept(grown_tree(rows, lens, partition, columns, seen.m, unit), str(partition))
    if isinstance(partition, EqualMass) and seen.event is not None:
        return equal_masses(rows, lens, partition, seen.event)
    return partition
