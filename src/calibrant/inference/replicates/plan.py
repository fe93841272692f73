"""Which replicates to make, how progress is shown, and what results say of their making."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant.checks.parameters import Rng, as_seed, function, make_key, whole
from calibrant.resampling import Resampler
from calibrant.resampling.resamplers import as_resampler

Progress = Callable[[int, int], None]
Settings = Mapping[str, Any]

MOST = 10**9  # resamples


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which replicates to make.

    Parameters
    ----------
    resampler : Resampler
        The source of data sets.
    n_resamples : int
        How many.
    seed : int
        Of the draws.
    progress : callable, optional
        Called with (done, total).
    """

    resampler: Resampler
    n_resamples: int
    seed: int
    progress: Progress | None = None

    @property
    def key(self) -> np.uint64:
        """The key of the draws."""
        return make_key(self.seed)

    @classmethod
    def of(
        cls,
        data: Any,
        resampler: Resampler | str,
        n_resamples: Any,
        rng: Rng,
        progress: Progress | None,
    ) -> "Plan":
        """Check what most functions take, and respect the clusters of the data."""
        check_progress(progress)
        chosen = as_resampler(resampler)
        count = check_resamples(n_resamples)
        return cls(chosen.respecting(data), count, as_seed(rng), progress)

    def settings(self, **chosen: Any) -> dict[str, Any]:
        """Return what a result was made with, as plain values, from which it can be made again."""
        drawn = {"resampler": self.resampler, "n_resamples": self.n_resamples, "seed": self.seed}
        return {name: _plain(value) for name, value in (chosen | drawn).items()}


def part(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Report the progress of one of several parts as progress of the whole, in thousandths."""
    if progress is None:
        return None
    return lambda done, total: progress(1000 * number + 1000 * done // total, 1000 * parts)


def check_resamples(value: Any, *, least: int = 1, name: str = "n_resamples") -> int:
    """Return a number of data sets to draw."""
    count = whole(name, value, least=least)
    if count > MOST:
        raise ValueError(f"`{name}` must be at most {MOST:,}; found {count:,}.")
    return count


def check_progress(progress: Any) -> None:
    """Refuse what cannot be called; nothing need be."""
    if progress is not None:
        function("progress", progress)


def _plain(value: Any) -> Any:
    """Return numbers and texts as they are, lists of them as lists, and objects as they print."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)
