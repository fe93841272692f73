"""The evidence of several monitors together."""

from dataclasses import dataclass
from typing import final

from calibrant import words


@final
@dataclass(frozen=True, slots=True)
class Merged:
    """What monitors of different streams say together, at rows that were chosen in advance.

    Parameters
    ----------
    evalue : float
        Mean of the e-values, which is one whatever depends on what; or their product, which is one
        if the streams are independent.
    n : int
        Rows of all streams.
    n_monitors : int
        How many there are.
    independent : bool
        Whether the streams were said to be independent.
    """

    evalue: float
    n: int
    n_monitors: int
    independent: bool

    @property
    def pvalue(self) -> float:
        """1 / evalue, at most 1."""
        return min(1.0, 1.0 / self.evalue) if self.evalue > 0 else 1.0

    def __str__(self) -> str:
        how = "product" if self.independent else "mean"
        return (
            f"{words.many(self.n_monitors, 'monitor')}, {words.many(self.n, 'row')}: e-value"
            f" {self.evalue:.3g} ({how}), p = {self.pvalue:.2g}"
        )
