"""How much a score changes, row by row."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.words import signed

Floats = NDArray[np.float64]

LEVEL = 0.95  # of the intervals


@final
@dataclass(frozen=True, slots=True)
class Change:
    r"""The mean difference of the scores of the same rows, after minus before.

    .. math:: \bar d = \frac{\sum_i w_i d_i}{\sum_i w_i}, \qquad
        \mathrm{se}^2 = \frac{n}{n - 1} \frac{\sum_i w_i^2 (d_i - \bar d)^2}{(\sum_i w_i)^2}

    Parameters
    ----------
    value : float
        The mean difference; negative if the score became better.
    standard_error : float
        Its standard error; nan if a difference is infinite.
    n : int
        Rows that have weight.
    level : float, default 0.95
        Of the interval.

    Notes
    -----
    The standard error is that of independent rows and given maps: how well these rows tell what
    these maps do. It says nothing of maps that other rows would have given.

    Examples
    --------
    >>> Change.of(np.array([-1.0, -2.0, -3.0]), np.ones(3))
    <change -2 ± 0.58>
    """

    value: float
    standard_error: float
    n: int
    level: float = LEVEL

    @classmethod
    def of(cls, differences: Floats, weights: Floats) -> "Change":
        """Return the mean of differences (n,) and its standard error."""
        held = weights > 0
        d, w = differences[held], weights[held]
        n, total = d.size, w.sum()
        with np.errstate(invalid="ignore"):  # infinite before and after: nothing is known
            mean = float(w @ d / total)
            spread = float(np.sqrt(n / max(n - 1, 1) * ((w * (d - mean)) ** 2).sum()) / total)
        return cls(mean, spread, n)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of Student's t; nan if the standard error is not known."""
        from scipy.special import stdtrit  # noqa: PLC0415

        reach = float(stdtrit(max(self.n - 1, 1), (1 + self.level) / 2)) * self.standard_error
        return self.value - reach, self.value + reach

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": list(self.interval),
            "level": self.level,
        }

    def __repr__(self) -> str:
        return f"<change {self.value:.4g} ± {self.standard_error:.2g}>"

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "–" if np.isnan(self.value) else f"{self.value:+}".replace("inf", "∞")
        low, high = self.interval
        return f"{signed(low, 4)} to {signed(high, 4)}"
